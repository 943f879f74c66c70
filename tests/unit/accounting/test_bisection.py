"""Bisection over doubles ends on the exact border."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.accounting.bisection import last_true


@given(border=st.floats(1e-290, 1e290))
@settings(deadline=None)
def test_ends_on_the_border(border):
    """The answer holds and the next double does not, whatever the size of the border."""
    found = last_true(lambda x: x <= border, 1e-300, 1e300)

    assert found == border


def test_takes_few_steps():
    """A range of 600 decades takes less than a hundred evaluations."""
    seen = []

    last_true(lambda x: seen.append(x) or x <= math.pi, 1e-300, 1e300)

    assert len(seen) < 100


def test_ends_of_the_range():
    """All true gives the upper end, none true gives the lower end."""
    assert last_true(lambda _: True, 1.0, 2.0) == 2.0
    assert last_true(lambda _: False, 1.0, 2.0) == 1.0
