"""Parts of the interface by themselves: what is kept, what headers mean, how amounts and times are read, log lines."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from hushcount.api import bodies
from hushcount.api.answers import to_json
from hushcount.api.kept import Kept
from hushcount.api.logs import JsonLines, TextLines
from hushcount.api.parameters import LONGEST_WAIT, USUAL_WAIT, seconds_to_wait
from hushcount.api.rendering import split_name


def test_what_is_kept_takes_no_more_room_than_it_may():
    """The least lately used goes first; what would take most of the room is not kept at all."""
    kept, made = Kept(len, most=100), []

    def making(name, size):
        return kept.get((name,), lambda: made.append(name) or b"x" * size)

    for name in ("a", "b", "c", "d"):
        making(name, 25)
    making("a", 25)
    making("e", 25)
    assert made == ["a", "b", "c", "d", "e"]
    for name in ("a", "c", "b"):
        making(name, 25)
    assert made == ["a", "b", "c", "d", "e", "b"]
    making("large", 26)
    making("large", 26)
    assert made[-2:] == ["large", "large"]


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        (None, USUAL_WAIT),
        ("wait=3", 3),
        ('wait="3"', 3),
        ("WAIT = 3", 3),
        ("respond-async, wait=3", 0),
        ("respond-async", 0),
        ("handling=lenient; wait=0", 0),
        ("wait=9999999999999", LONGEST_WAIT),
        ("wait=-1", USUAL_WAIT),
        ("wait=³", USUAL_WAIT),
        ("wait", USUAL_WAIT),
        ("", USUAL_WAIT),
    ],
)
def test_how_long_to_wait_is_read_as_the_standard_says(prefer, seconds):
    """What cannot be read is no preference; nobody waits for ever."""
    assert seconds_to_wait(prefer) == seconds


@pytest.mark.parametrize("given", ["0.1", "1e-6", "1E+2", "007", "5"])
def test_amounts_keep_their_digits(given):
    """They are handed on as they came."""
    assert bodies.Most(releases=given).releases == given


@pytest.mark.parametrize(
    "given", ["", "-1", "+1", "1e", "0x1", "NaN", "inf", "1e9999", "١", "1_0", None, True, [], "1" * 101]
)
def test_what_is_no_amount_is_refused(given):
    """Also what Python would read as a number."""
    with pytest.raises(ValidationError):
        bodies.Most(releases=given)


def test_times_are_in_utc_and_a_day_ends_with_itself():
    """Without a zone a time means something else to everybody."""
    wish = {"dataset": "d", "releases": "1", "why": "w"}
    assert bodies.WishForMore(**wish, until="2026-12-01T02:00:00+02:00").until == datetime(2026, 12, 1, tzinfo=UTC)
    assert bodies.WishForMore(**wish, until="2026-12-01").until.isoformat() == "2026-12-01T23:59:59.999999+00:00"
    for text in ("2026-12-01T00:00:00", "tomorrow", "2026-13-01", "0001-01-01T00:00:00+23:00"):
        with pytest.raises(ValidationError):
            bodies.WishForMore(**wish, until=text)


@pytest.mark.parametrize(("text", "span"), [("30s", timedelta(seconds=30)), ("7d", timedelta(days=7))])
def test_spans_have_a_unit(text, span):
    """A number alone would be seconds to one and minutes to another."""
    assert bodies.NewToken(label="l", life=text).life == span
    for wrong in ("30", "0s", "-1s", "1w", "9999999d"):
        with pytest.raises(ValidationError):
            bodies.NewToken(label="l", life=wrong)


def test_json_is_ascii_and_holds_no_number_that_is_none():
    """An item may hold half a sign; an infinite epsilon is null."""
    assert to_json({"a": "\ud800é", "b": float("inf")}) == b'{"a":"\\ud800\\u00e9","b":null}'


@pytest.mark.parametrize(
    ("name", "parts"), [("r_a", ("r_a", None)), ("r_a.csv", ("r_a", "csv")), ("r_a-2.json", ("r_a-2", "json"))]
)
def test_a_suffix_says_the_format(name, parts):
    """And is no part of the name."""
    assert split_name(name) == parts


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_a_line_of_the_log_has_known_fields_only(form):
    """Not the text of an error, not what was put into a message, and never a second line."""
    try:
        int("somebody's name")
    except ValueError:
        record = logging.getLogger("hushcount.x").makeRecord(
            "hushcount.x",
            logging.ERROR,
            "f",
            1,
            "it failed: %s",
            ("a secret",),
            sys.exc_info(),
            extra={"job": "q_1\nx"},
        )
    line = form.format(record)
    assert "somebody" not in line
    assert "a secret" not in line
    assert "ValueError at test_parts.py:" in line
    assert "\n" not in line
    if isinstance(form, JsonLines):
        assert json.loads(line)["job"] == "q_1\nx"
