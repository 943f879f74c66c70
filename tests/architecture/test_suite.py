"""The suite itself: no part of it can go missing unseen, nor the data that some of it needs."""

from __future__ import annotations

import itertools
import shutil

import pytest

from tests.architecture.sources import ROOT
from tests.conftest import LONGEST_FIRST, thin_suites
from tests.inner import pytest_run

TINY = """
[pytest]
addopts = --import-mode=importlib --strict-markers --strict-config
testpaths = tests
markers = spark: as in the real suite
floors =
  laws 1
  unit 2
"""


@pytest.fixture
def tiny(tmp_path):
    """A suite of two folders and three tests, with the real conftest."""
    for place, tests in {"laws": 1, "unit": 2}.items():
        (tmp_path / "tests" / place).mkdir(parents=True)
        text = "".join(f"def test_{n}(): ...\n" for n in range(tests))
        (tmp_path / "tests" / place / f"test_{place}.py").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    (tmp_path / "pytest.ini").write_text(TINY, encoding="utf-8")
    return tmp_path


def test_every_folder_of_tests_has_a_floor(pytestconfig):
    """Of at least one test, and no floor is of a folder that is gone."""
    folders = {path.parent.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    floors = dict(line.split() for line in pytestconfig.getini("floors"))

    assert floors.keys() == folders
    assert all(int(floor) >= 1 for floor in floors.values())


def test_a_whole_suite_passes(tiny):
    """With as many tests as its floors say."""
    run = pytest_run(folder=tiny)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "3 passed" in run.stdout


@pytest.mark.parametrize("words", [(), ("-n", "1"), ("tests", "-k", "test_0")], ids=" ".join)
def test_a_missing_folder_fails_the_run(tiny, words):
    """It is told by name: in one process, in several, and when tests are chosen from the whole suite."""
    shutil.rmtree(tiny / "tests" / "laws")
    run = pytest_run(*words, folder=tiny)

    assert run.returncode != 0
    assert "a part of the suite is missing: tests/laws has 0 tests, its floor is 1" in run.stdout + run.stderr


def test_a_part_may_be_run_alone(tiny):
    """Who names a folder, or leaves one out, does not miss the others."""
    shutil.rmtree(tiny / "tests" / "laws")
    named, left_out = (pytest_run(word, folder=tiny) for word in ("tests/unit", "--ignore=tests/laws"))

    assert "2 passed" in named.stdout, named.stdout + named.stderr
    assert "2 passed" in left_out.stdout, left_out.stdout + left_out.stderr


WHERE = """
import os
import pytest

@pytest.mark.parametrize("engine", ["spark csv", "duckdb", "spark frame"])
def test_where(engine, request):
    with open(os.environ["RAN"], "a") as file:
        file.write(f"{request.node.nodeid} in {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def test_all_of_spark_runs_in_one_process(tiny):
    """And each other file in one, whichever: of two processes none has a part of what another one shares."""
    for n, folder in itertools.product(range(4), ("laws/spark", "unit/spark", "unit")):
        (tiny / "tests" / folder).mkdir(exist_ok=True)
        (tiny / "tests" / folder / f"test_{n}.py").write_text(WHERE, encoding="utf-8")
    run = pytest_run("-n", "2", "-k", "test_where", folder=tiny, RAN=str(tiny / "ran.txt"))
    told = dict(line.split(" in ") for line in (tiny / "ran.txt").read_text(encoding="utf-8").splitlines())
    of_spark = {process for test, process in told.items() if "spark" in test}
    others = {(test.split("::")[0], process) for test, process in told.items() if "spark" not in test}

    assert "36 passed" in run.stdout, run.stdout + run.stderr
    assert len(of_spark) == 1
    assert len(others) == 4
    assert of_spark | {process for _, process in others} == {"gw0", "gw1"}


@pytest.mark.parametrize("place", LONGEST_FIRST)
def test_what_begins_first_is_there(place):
    """A file that was moved would begin somewhere among the others, and one process would wait for it at the end."""
    assert (ROOT / place).exists()


def test_lost_tests_of_a_folder_are_seen():
    """The numbers are those of each folder, however many tests others have."""
    paths = [ROOT / "tests" / "laws" / "test_a.py"] * 3 + [ROOT / "tests" / "unit" / "noise" / "test_b.py"] * 9

    assert thin_suites(["laws 3", "unit 9"], paths) == []
    assert thin_suites(["laws 4", "unit 9"], paths) == ["tests/laws has 3 tests, its floor is 4"]


@pytest.mark.parametrize(
    ("ci", "outcome", "words"),
    [("true", "1 error", "CI is set"), ("", "1 skipped", "no real data: set HUSHCOUNT_DATA")],
)
def test_missing_data_is_told(tmp_path, ci, outcome, words):
    """Without data a data test is skipped with a clear word; in CI it is an error."""
    probe = tmp_path / "test_probe.py"
    probe.write_text("def test_probe(data_dir):\n    assert data_dir.is_dir()\n", encoding="utf-8")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    run = pytest_run("-rs", str(probe), folder=tmp_path, CI=ci, HUSHCOUNT_DATA=str(tmp_path / "nowhere"))

    assert outcome in run.stdout, run.stdout + run.stderr
    assert words in run.stdout
