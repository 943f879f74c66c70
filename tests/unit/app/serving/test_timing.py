"""The grid: what an observer of delays learns is a moment of a short public list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.app.serving.jobs.timing import in_time, visible
from hushcount.app.serving.setup.config import Timing

BEGUN = datetime(2026, 11, 16, 12, tzinfo=UTC)
GRID = Timing(kind="grid", every=timedelta(milliseconds=500))
FIXED = Timing(kind="fixed", every=timedelta(seconds=5))


@given(st.floats(0, 3000))
def test_an_answer_is_never_seen_before_it_is_there(seconds):
    """And under the grid at one of few moments."""
    ended = BEGUN + timedelta(seconds=seconds)
    shown = visible(GRID, BEGUN, ended)
    ticks = {timedelta(seconds=0.5) * n for n in range(1, 17)} | {timedelta(seconds=8) * 2**n for n in range(1, 10)}

    assert shown >= ended
    assert shown - BEGUN in ticks
    assert visible(Timing(kind="off"), BEGUN, ended) == ended


@pytest.mark.parametrize(("took", "shown"), [(0, 0.5), (0.5, 0.5), (0.51, 1), (7.9, 8), (8, 8), (8.1, 16), (40, 64)])
def test_moments_of_the_grid(took, shown):
    """Half seconds, then doubling."""
    assert visible(GRID, BEGUN, BEGUN + timedelta(seconds=took)) == BEGUN + timedelta(seconds=shown)


def test_a_fixed_delay_tells_one_bit():
    """Whether it was in time."""
    quick, late = BEGUN + timedelta(seconds=0.1), BEGUN + timedelta(seconds=6)

    assert visible(FIXED, BEGUN, quick) == visible(FIXED, BEGUN, late) == BEGUN + timedelta(seconds=5)
    assert in_time(FIXED, BEGUN, quick)
    assert not in_time(FIXED, BEGUN, late)
