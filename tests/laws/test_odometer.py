"""The odometer: exact running totals and what they mean."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import InvalidParameter, UnsupportedCost
from hushcount.model.costs import BoundedRange, Cost, Failure
from tests.laws.odometer import Odometer

STEP = Cost.of(BoundedRange(epsilon=Decimal("0.15")), Failure(delta=Decimal("1e-10")))


def test_reads_what_was_recorded():
    """Thirty steps read as the cost of thirty steps, to the last digit."""
    odometer = Odometer()
    for _ in range(30):
        odometer.record(STEP)
    together = Cost.total([STEP] * 30)

    assert odometer.spent == zcdp.spent(together) == Spent(rho=Decimal("0.084375"), delta=Decimal("3e-9"))
    assert odometer.epsilon(1e-6) == zcdp.epsilon(together, 1e-6)
    assert odometer.delta(2) == zcdp.delta(together, 2)


def test_starts_at_zero():
    """Nothing recorded means epsilon 0 at any delta."""
    assert Odometer().spent == Spent()
    assert Odometer().epsilon(1e-9) == 0.0


def test_refuses_what_it_cannot_read():
    """An unknown kind is refused and leaves the totals alone; so is a delta that failures have used up."""
    odometer = Odometer()
    odometer.record(STEP)
    with pytest.raises(UnsupportedCost):
        odometer.record(Cost((("a step", 1),)))

    assert odometer.spent == zcdp.spent(STEP)
    with pytest.raises(InvalidParameter, match="already spent on failures"):
        odometer.epsilon("1e-10")
