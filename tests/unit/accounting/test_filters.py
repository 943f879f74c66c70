"""The filter: what fits, what is refused, and that nothing is spent by a refusal."""

from __future__ import annotations

import math
import sys
from decimal import Decimal

import pytest

from hushcount.accounting.filters import Filter
from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted, InvalidParameter, UnsupportedCost
from hushcount.model.costs import BoundedRange, Concentrated, Cost, DiscreteGaussian, Failure, Gaussian

TENTH = Cost.of(Gaussian(rho=Decimal("0.1")))


def test_ten_tenths_fill_a_whole():
    """Ten charges of 0.1 fit into 1 exactly, where ten doubles would not; the eleventh does not fit."""
    budget = Filter(1, 0)
    for _ in range(10):
        budget.spend(TENTH)

    assert sum([0.1] * 10) != 1.0
    assert budget.left == Spent()
    assert not budget.fits(TENTH)


def test_refusal_spends_nothing_and_does_not_end():
    """What does not fit is refused whole, with what was asked and what is left; something smaller still fits."""
    budget = Filter("0.15", 0)
    budget.spend(TENTH)
    with pytest.raises(BudgetExhausted, match="rho of this filter") as refusal:
        budget.spend(TENTH)

    assert (refusal.value.asked, refusal.value.left) == (Decimal("0.1"), Decimal("0.05"))
    assert budget.spent == Spent(rho=Decimal("0.1"))
    assert budget.spend(Cost.of(Gaussian(rho=Decimal("0.05")))) == Spent(rho=Decimal("0.05"))


def test_refusal_of_one_part_spends_no_part():
    """A step whose rho fits and whose delta does not spends neither."""
    budget = Filter(1, "1e-6")
    with pytest.raises(BudgetExhausted, match="delta of this filter") as refusal:
        budget.spend(TENTH + Cost.of(Failure(delta=Decimal("2e-6"))))

    assert refusal.value.asked == Decimal("2e-6")
    assert budget.spent == Spent()


def test_number_of_calls_is_floor():
    """Erratum 16: delta is charged per call, so there are floor(delta/delta*) calls and no more."""
    budget, call = Filter(100, "1e-6"), Cost.of(BoundedRange(epsilon=Decimal("0.01")), Failure(delta=Decimal("3e-7")))
    calls = 0
    while budget.fits(call):
        budget.spend(call)
        calls += 1

    assert calls == 3
    assert budget.left.delta == Decimal("1e-7")


def test_limits_are_rounded_down():
    """A limit between two grid points is the lower one."""
    budget = Filter(Decimal("1e-36") * Decimal("1.9"), 0)

    assert budget.limit.rho == Decimal("1e-36")
    assert not budget.fits(Cost.of(Gaussian(rho=Decimal("1.1e-36"))))


def test_least_excess_is_refused():
    """One grid unit above the limit is refused even beside a large rho."""
    budget = Filter(10**6, 0)
    budget.spend(Cost.of(Gaussian(rho=Decimal(10**6))))

    assert budget.fits(Cost())
    assert not budget.fits(Cost.of(Gaussian(rho=Decimal("1e-36"))))


def test_state_does_not_grow():
    """After ten thousand steps the filter holds two sums and no history."""
    budget = Filter(10**6, "0.5")
    for _ in range(10_000):
        budget.spend(TENTH)

    assert budget.spent.rho == 1000
    assert budget.__slots__ == ("_limit", "_order", "_spent")
    assert sys.getsizeof(budget.spent.rho) < 200


def test_negative_cost_cannot_refund():
    """A negative or undefined charge is refused: it would give budget back."""
    budget = Filter(1, 0)
    for rho in ("-0.1", "NaN"):
        with pytest.raises(InvalidParameter):
            budget.spend(Cost.of(DiscreteGaussian(rho=Decimal(rho))))

    assert budget.spent == Spent()


def test_unknown_kind_is_refused():
    """A kind without a theorem is neither fitting nor spendable."""
    budget, cost = Filter(1, 0), Cost((("a step", 1),))
    for call in (budget.fits, budget.spend):
        with pytest.raises(UnsupportedCost):
            call(cost)


@pytest.mark.parametrize(
    ("rho", "delta"), [(-1, 0), (1, -1e-9), (1, 1), (math.nan, 0), (math.inf, 0), (1, math.nan), (1e100, 0)]
)
def test_bad_limits_are_refused(rho, delta):
    """A limit that is no amount, or a delta of one, is refused by name."""
    with pytest.raises(InvalidParameter, match="_limit = "):
        Filter(rho, delta)


@pytest.mark.parametrize(("rho", "delta", "times"), [("0.1", "0.01", 10), ("0.3", "0.001", 3), ("0.01", "0.03", 3)])
def test_times_is_how_often_a_cost_can_be_spent(rho, delta, times):
    """Exactly so many spends are accepted and the next is refused; a cost of nothing fits as often as one likes."""
    guarded = Filter("1", "0.1")
    cost = Cost.of(Concentrated(rho=Decimal(rho)), Failure(delta=Decimal(delta)))
    assert guarded.times(cost) == times
    for _ in range(times):
        guarded.spend(cost)
    assert guarded.times(cost) == 0
    assert not guarded.fits(cost)
    assert guarded.times(Cost.of()) == 2**31
