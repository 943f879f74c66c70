"""What all tests share: real data, how hypothesis searches, who runs beside whom, and the least number of tests."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false", "no"}

# Deadlines measure the machine, not the code. In CI the search is the same in every run: a red run can be repeated.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if IN_CI else "default")

# Tests of Spark: in a folder of that name, in a test_spark.py, or with a parameter such as "spark csv". Their names are
# all that the process knows which hands out the tests to others.
_OF_SPARK = re.compile(r"/spark/|/test_spark\.py::|\[spark ")
# Tests that start Pinot: in these folders, or in a test_pinot.py.
_OF_PINOT = re.compile(r"/integration/pinot/|/conformance/engines/pinot/|/test_pinot\.py::")
# Tests of the console, which share one server and one browser.
_OF_CONSOLE = re.compile(r"(^|/)tests/console/")
# What takes longest begins first, so that all processes end at about the same time: all of Spark, which is in one of
# them, then every other file of more than about fifteen seconds, each before those that take less. What is not named
# here is soon done, and fills the end.
LONGEST_FIRST = (
    "tests/integration/pinot/",
    "tests/conformance/engines/pinot/",
    "tests/integration/spark/",
    "tests/conformance/engines/test_spark.py",
    "tests/conformance/engines/spark/",
    "tests/unit/engines/spark/",
    "tests/architecture/test_spark.py",
    "tests/data/test_spark.py",
    "tests/unit/app/serving/test_spark.py",
    "tests/console/",
    "tests/e2e/test_audit.py",
    "tests/faults/test_storm.py",
    "tests/api/test_links.py",
    "tests/api/test_fuzz.py",
    "tests/integration/test_paper_month.py",
    "tests/leaks/test_delays.py",
    "tests/faults/",
    "tests/deploy/test_live.py",
    "tests/api/test_serve.py",
    "tests/api/test_patience.py",
    "tests/deploy/test_systemd.py",
    "tests/integration/ledger/",
    "tests/data/",
    "tests/conformance/ledgers/",
    "tests/unit/audit/system/",
    "tests/statistical/",
    "tests/attacks_serving/test_strain.py",
    "tests/architecture/test_suite.py",
    "tests/conformance/engines/",
    "tests/privacy/",
    "tests/unit/engines/duckdb/",
    "tests/laws/",
    "tests/deploy/",
    "tests/e2e/",
    "tests/unit/app/test_intervals.py",
    "tests/unit/engines/",
    "tests/unit/weighting/",
    "tests/unit/noise/",
    "tests/architecture/",
    "tests/attacks_serving/",
    "tests/api/",
)
# What makes a run of pytest one of less than the whole suite, although it names no test.
_NARROWING = ("ignore", "ignore_glob", "deselect", "lf")
# The test that runs now, if any; `tests.spark` and `tests.pinot` start something only for one that is marked.
RUNNING: list[pytest.Item] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Tests are collected without a search for garbage, and later searches pass over what was loaded until then.

    It all stays until the end: looking through it ten times is a sixth of collecting, in each process.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # At its end Python lets go of everything, and some libraries say so if it cannot.
        session.config.add_cleanup(gc.unfreeze)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The setting `floors` of pyproject.toml."""
    parser.addini("floors", "lines such as 'unit 2000': the least number of tests under tests/unit", type="linelist")


# First of all: before tests are chosen by -m and -k.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Give every test its place, mark those of Spark and Pinot, and refuse a suite of which a part is missing."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))
    for item in items:
        if _OF_SPARK.search(item.nodeid):
            item.add_marker("spark")
        if _OF_PINOT.search(item.nodeid):
            item.add_marker("pinot")
    # What could not be imported is told by pytest itself.
    if _collects_everything(session.config) and not session.testsfailed:
        missing = thin_suites(session.config.getini("floors"), [item.path for item in items])
        if missing:
            # As a folder that cannot be read: also the processes of xdist tell of those.
            words = f"a part of the suite is missing: {'; '.join(missing)}"
            report = pytest.CollectReport(nodeid="tests", outcome="failed", longrepr=words, result=[])
            session.config.hook.pytest_collectreport(report=report)


@cache
def _place(file: str) -> int:
    return next((n for n, start in enumerate(LONGEST_FIRST) if file.startswith(start)), len(LONGEST_FIRST))


class _Scheduling(LoadFileScheduling):  # type: ignore[misc]  # the runner has no types
    """Tests of one file run in one process; all of Spark in one, of Pinot, of the console: they share what they start.

    Groups of xdist's own are not kept: it writes them into the names of tests, and pytest 9.2 takes no such names.
    """

    def _split_scope(self, nodeid: str) -> str:
        if _OF_PINOT.search(nodeid):
            return "pinot"
        if _OF_CONSOLE.search(nodeid):
            return "console"
        return "spark" if _OF_SPARK.search(nodeid) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Scheduling:
    """With -n, whatever else is said: our groups, in our order."""
    config.option.loadscopereorder = False
    return _Scheduling(config, log)


def _collects_everything(config: pytest.Config) -> bool:
    asked = {(config.invocation_params.dir / word).resolve() for word in config.args}
    return (
        bool(asked) and asked <= {ROOT, ROOT / "tests"} and not any(config.getoption(name, None) for name in _NARROWING)
    )


def thin_suites(floors: list[str], paths: list[Path]) -> list[str]:
    """The folders under tests that hold fewer tests than their floor says, each with both numbers."""
    found = Counter(path.relative_to(ROOT / "tests").parts[0] for path in paths)
    wanted = {folder: int(number) for folder, number in (line.split() for line in floors)}
    return [
        f"tests/{folder} has {found[folder]} tests, its floor is {least}"
        for folder, least in wanted.items()
        if found[folder] < least
    ]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember which test runs."""
    RUNNING[:] = [item]


def find_data() -> Path | None:
    """The directory of real data: HUSHCOUNT_DATA, or shared/data beside the repository, or None."""
    said = os.environ.get("HUSHCOUNT_DATA")
    place = Path(said) if said else ROOT.parent / "shared" / "data"
    return place.resolve() if any(place.glob("*.parquet")) else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of real data. Without it the test is skipped; in CI it fails, so that it cannot go missing."""
    place = find_data()
    if place is None:
        reason = "no real data: set HUSHCOUNT_DATA to the directory that holds the parquet files"
        if IN_CI:
            pytest.fail(f"{reason} (CI is set, so this is a failure and not a skip)")
        pytest.skip(reason)
    return place
