"""The page of threats: all twenty-six points, each with tests that are there, or with why there is none."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs" / "serve" / "threats.md").read_text(encoding="utf-8")
_POINT = re.compile(r"^### (\d+)\. (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")
POINTS = {int(number): text for number, _, text in _POINT.findall(PAGE)}


def missing(text: str) -> list[str]:
    """The tests that a text names and that are not there."""
    found = []
    for path, name in _NAMED.findall(text):
        file = ROOT / path
        if not file.is_file() or not re.search(
            rf"^(async )?def {name}\(", file.read_text(encoding="utf-8"), re.MULTILINE
        ):
            found.append(f"{path}::{name}")
    return found


def test_all_points_are_there():
    """Twenty-six, in order."""
    assert list(POINTS) == list(range(1, 27))


@pytest.mark.parametrize("number", POINTS)
def test_a_point_is_shown_or_says_why_not(number):
    """Every point names a test, or says that none shows it; every test that is named is there."""
    text = POINTS[number]

    assert not missing(text)
    assert bool(_NAMED.search(text)) != ("Not shown by a test:" in text)


def test_a_test_that_is_not_there_is_seen():
    """The check can fail: in a file that is there and in one that is not."""
    text = "`tests/deploy/test_threats_page.py::test_nothing` and `tests/nowhere.py::test_x`"

    assert missing(text) == ["tests/deploy/test_threats_page.py::test_nothing", "tests/nowhere.py::test_x"]
    assert not missing("`tests/deploy/test_threats_page.py::test_all_points_are_there`")
