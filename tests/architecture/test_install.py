"""What an install brings: the base without a compiler, the demo's list, and the tests' list with everything."""

from __future__ import annotations

import re
import tomllib

from click.testing import CliRunner

from hushcount.cli.main import main
from tests.architecture.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pinned(name: str) -> dict[str, set[str]]:
    """The packages of a lock, each with its versions."""
    found: dict[str, set[str]] = {}
    for package, version in re.findall(
        r"^([a-z0-9.-]+)==(\S+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE
    ):
        found.setdefault(package, set()).add(version)
    return found


def names(requirements: list[str]) -> set[str]:
    """The packages that some requirements name."""
    return {re.split(r"[\[<>=!~ ;]", one)[0].lower() for one in requirements}


def test_the_demo_installs_what_it_shows_and_no_more():
    """Its list is part of the tests' list, with the base and the pictures, and without a service."""
    demo, everything = pinned("requirements-demo.lock"), pinned("requirements.lock")
    wanted = names(PROJECT["project"]["dependencies"]) | names(PROJECT["project"]["optional-dependencies"]["plot"])

    assert all(versions <= everything.get(package, set()) for package, versions in demo.items())
    assert wanted <= set(demo)
    assert not {"fastapi", "uvicorn", "pyspark", "pandas"} & set(demo)


def test_the_first_screen_shows_what_the_demo_prints(tmp_path, monkeypatch):
    """The README's table is the demo's: its sentences to the letter, its true values, and noise of the right size."""
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.split("hushcount demo ", 1)[1].split("```", 1)[0].splitlines()[1:]
    printed = CliRunner().invoke(main, ["demo"]).stdout.splitlines()
    rows = [re.split(r"\s{2,}", line) for line in shown[4:-1]]
    drawn = {row[0]: row for row in (re.split(r"\s{2,}", line) for line in printed[4:14])}

    # The width of a column is that of its widest item, and the tenth item is the noise's choice.
    assert shown[:3] == printed[:3]
    assert shown[3].split() == printed[3].split()
    assert len(rows) == 3
    for item, *numbers in rows:
        count, low, high, true = (int(number.replace(",", "")) for number in numbers)
        assert drawn[item][4] == numbers[3]
        assert low <= true <= high
        assert abs(count - true) < 500
