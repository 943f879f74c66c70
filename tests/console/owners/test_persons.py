"""Whom a column would protect, told by its name and kind; and the figure of limits as text."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from hushcount.console.curves import figure
from hushcount.console.persons import looks_like_people, person_warning


@pytest.mark.parametrize("column", ["user_id", "userId", "PatientID", "reader", "customer-number", "email", "account"])
def test_columns_of_people_are_not_warned_of(column):
    """Also where the name says that it is a number of people."""
    assert person_warning(column, "text") is None
    assert looks_like_people(column)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("session_id", "visit"),
        ("deviceId", "visit"),
        ("ip", "visit"),
        ("row_id", "row"),
        ("id", "row"),
        ("uuid", "row"),
    ],
)
def test_rows_and_visits_are(column, words):
    """The sentence says what would be protected instead of a person."""
    assert f"would protect one {words}" in person_warning(column, "text")
    assert not looks_like_people(column)


@pytest.mark.parametrize("kind", ["moment", "zoned", "date", "boolean", "real", "decimal"])
def test_what_says_when_or_how_much_is_no_person(kind):
    """Whatever it is called."""
    assert "does not say who" in person_warning("user", kind)


def test_nothing_is_said_of_names_that_say_nothing():
    """Neither a warning nor a recommendation."""
    assert person_warning("diagnosis", "text") is None
    assert not looks_like_people("diagnosis")


def test_the_figure_is_as_high_as_the_share():
    """A share of all is at the top, of half in the middle, of nobody at the bottom; each day is a step."""
    drawn = figure("f", "shares", [("1", [0.0, 0.5, 1.0]), ("2", [0.0] * 3), ("4", [1.0] * 3)], most=1.0)
    rising, flat, high = re.findall(r'class="line \w+" d="([^"]+)"', drawn)

    assert rising == "M48 196.0V196.0H152.0V105.0H256.0V14.0H360.0"
    assert re.findall(r"V([\d.]+)", flat) == ["196.0"] * 3
    assert re.findall(r"V([\d.]+)", high) == ["14.0"] * 3


def test_names_of_lines_do_not_cover_each_other():
    """Three lines that end at the same height have names one above the other."""
    drawn = figure("f", "shares", [("1", [0.0]), ("2", [0.0]), ("4", [0.0])], most=0.0)
    places = [float(y) for y in re.findall(r'<text class="(?:fainter|main|faint)" x="\d+" y="([\d.]+)"', drawn)]

    assert all(abs(one - other) >= 15 for one, other in pairwise(places))
