"""Windows: calendar periods in UTC, and an honest sentence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.errors import InvalidParameter
from hushcount.ledger.windows import ends, micros, moment, renewal

MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 (hypothesis)


@pytest.mark.parametrize(
    ("window", "end"),
    [("day", (2026, 12, 31)), ("week", (2027, 1, 4)), ("month", (2027, 1, 1)), ("none", (2027, 1, 1))],
)
def test_calendar_ends(window, end):
    """A day ends at midnight, a week before Monday, a month with its last day."""
    at = datetime(2026, 12, 30, 23, 59, tzinfo=UTC)

    assert ends(window, at) == datetime(*end, tzinfo=UTC)


@given(MOMENTS, st.sampled_from(["day", "week", "month"]))
def test_a_window_ends_later_and_the_next_begins_there(at, window):
    """The end lies ahead, and belongs to the next window."""
    end = ends(window, at)

    assert at < end <= at + timedelta(days=31)
    assert ends(window, end - timedelta(microseconds=1)) == end
    assert ends(window, end) > end


@given(MOMENTS)
def test_moments_survive_storage(at):
    """Microseconds and back is the same moment, whatever the zone it came in."""
    elsewhere = at.astimezone(timezone(timedelta(hours=-7)))

    assert moment(micros(elsewhere)) == at


def test_a_moment_needs_a_zone():
    """A clock without a time zone is refused."""
    with pytest.raises(InvalidParameter):
        micros(datetime(2026, 1, 1))  # noqa: DTZ001 (that is the point)


def test_renewal_is_told_honestly():
    """The sentence says that what is learnt adds up over renewals, or that there are none."""
    assert "adds up over renewals" in renewal("month")
    assert "never renewed" in renewal("none")
