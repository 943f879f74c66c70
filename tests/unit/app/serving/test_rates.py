"""Request rates: a burst passes, a flood does not, and nobody pays for another's."""

from __future__ import annotations

import pytest

from hushcount.app.serving.callers.rates import BURST, Rates
from hushcount.errors import TooManyRequests


class Clock:
    """Tells the time that it was set to."""

    now = 100.0

    def __call__(self):
        """The time."""
        return self.now


def test_a_flood_is_held_and_flows_on_at_its_rate():
    """A burst at once, then so many a second."""
    clock = Clock()
    rates = Rates(each=10, seconds=clock)
    for _ in range(10 * BURST):
        rates.take("zoe")
    with pytest.raises(TooManyRequests) as told:
        rates.take("zoe")
    assert told.value.after == 1
    rates.take("adam")
    clock.now += 1
    for _ in range(10):
        rates.take("zoe")
    with pytest.raises(TooManyRequests):
        rates.take("zoe")


def test_those_who_wait_have_their_burst_again():
    """And no more than that."""
    clock = Clock()
    rates = Rates(each=2, seconds=clock)
    rates.take("zoe")
    clock.now += 1000
    for _ in range(2 * BURST):
        rates.take("zoe")
    with pytest.raises(TooManyRequests):
        rates.take("zoe")


def test_no_rate_is_no_limit():
    """For one person on their own machine."""
    rates = Rates(each=0)
    for _ in range(10_000):
        rates.take("zoe")
