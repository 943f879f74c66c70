"""Laws of composition, for every pair of accountant and kind of event: the place where an under-count would show."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hushcount.accounting import basic, gdp, zcdp
from hushcount.accounting.filters import Filter
from hushcount.accounting.spent import EXACT, Spent
from hushcount.errors import BudgetExhausted
from hushcount.model.costs import (
    KINDS,
    Approximate,
    BoundedRange,
    Concentrated,
    Cost,
    DiscreteGaussian,
    Failure,
    Gaussian,
    Pure,
    Truncated,
)
from tests.laws.odometer import Odometer

AMOUNTS = st.decimals("1e-6", "2", places=6)
DELTAS = st.decimals("1e-12", "1e-8", places=12)
EVENTS = {
    Gaussian: st.builds(Gaussian, rho=AMOUNTS),
    DiscreteGaussian: st.builds(DiscreteGaussian, rho=AMOUNTS),
    Concentrated: st.builds(Concentrated, rho=AMOUNTS),
    Truncated: st.builds(Truncated, rho=AMOUNTS, order=st.just(Decimal(16))),
    BoundedRange: st.builds(BoundedRange, epsilon=AMOUNTS),
    Pure: st.builds(Pure, epsilon=AMOUNTS),
    Approximate: st.builds(Approximate, epsilon=AMOUNTS, delta=DELTAS),
    Failure: st.builds(Failure, delta=DELTAS),
}
SUPPORTED = {zcdp: list(EVENTS), gdp: [Gaussian, Failure], basic: [BoundedRange, Pure, Approximate, Failure]}
PAIRS = [pytest.param(a, k, id=f"{a.NAME}-{k.__name__}") for a, kinds in SUPPORTED.items() for k in kinds]
TOTAL_DELTA = Decimal("1e-4")
FEW = settings(max_examples=25, deadline=None)


def costs(accountant, most=5):
    """Costs of a few events of all kinds that the accountant supports."""
    pairs = st.tuples(st.one_of([EVENTS[kind] for kind in SUPPORTED[accountant]]), st.integers(1, 20))
    return st.lists(pairs, max_size=most).map(lambda entries: Cost.of(*entries))


def reading(accountant, cost):
    """Everything that an accountant says about a cost."""
    return accountant.epsilon(cost, TOTAL_DELTA), accountant.delta(cost, "0.5"), accountant.delta(cost, 3)


def test_every_kind_has_a_law():
    """All kinds of the model are among those tested here."""
    assert set(EVENTS) == set(KINDS.values())


@pytest.mark.parametrize(("accountant", "kind"), PAIRS)
@given(data=st.data(), times=st.integers(1, 12))
@FEW
def test_counted_n_times_is_n_times(accountant, kind, data, times):
    """An event with count n costs the same as n events, however they are put together, and more than n - 1 of them."""
    event = data.draw(EVENTS[kind])
    counted, listed = Cost.of((event, times)), Cost.of(*[event] * times)
    unmerged = Cost(tuple((event, 1) for _ in range(times)))

    assert reading(accountant, counted) == reading(accountant, listed) == reading(accountant, unmerged)
    if accountant is not basic:
        fewer = accountant.spent(Cost.of((event, times - 1)))
        one = accountant.spent(Cost.of(event))

        assert accountant.spent(counted) == fewer + one != fewer


@pytest.mark.parametrize(("accountant", "kind"), PAIRS)
@given(data=st.data())
@FEW
def test_more_never_costs_less(accountant, kind, data):
    """Adding an event to any cost lowers neither epsilon nor delta."""
    cost, event = data.draw(costs(accountant)), data.draw(EVENTS[kind])
    before, after = reading(accountant, cost), reading(accountant, cost + Cost.of(event))

    assert all(less <= more for less, more in zip(before, after, strict=True))


@pytest.mark.parametrize(("accountant", "kind"), PAIRS)
@given(data=st.data())
@FEW
def test_larger_event_costs_no_less(accountant, kind, data):
    """Raising a parameter of an event lowers neither epsilon nor delta; doubling rho or epsilon raises epsilon."""
    event = data.draw(EVENTS[kind])
    names = [name for name in ("rho", "epsilon", "delta") if hasattr(event, name)]
    larger = replace(event, **{name: 2 * getattr(event, name) for name in names})
    before, after = reading(accountant, Cost.of(event)), reading(accountant, Cost.of(larger))

    assert all(less <= more for less, more in zip(before, after, strict=True))
    if kind is not Failure:
        assert after[0] > before[0] or before[0] == after[0] == 0


@pytest.mark.parametrize("accountant", SUPPORTED)
@given(data=st.data())
@FEW
def test_order_does_not_matter(accountant, data):
    """Any order and any grouping of the same steps costs the same, to the last digit."""
    steps = data.draw(st.lists(costs(accountant, most=2), max_size=5))
    shuffled = data.draw(st.permutations(steps))
    cut = data.draw(st.integers(0, len(steps)))

    assert reading(accountant, Cost.total(steps)) == reading(accountant, Cost.total(shuffled))
    assert Cost.total(steps) == Cost.total(steps[:cut]) + Cost.total(steps[cut:])


@pytest.mark.parametrize("accountant", [zcdp, gdp])
@given(data=st.data())
@FEW
def test_sum_of_parts_is_the_whole(accountant, data):
    """The charge for a sum of costs is the exact sum of the charges."""
    first, second = data.draw(costs(accountant)), data.draw(costs(accountant))

    assert accountant.spent(first + second) == accountant.spent(first) + accountant.spent(second)


@given(cost=costs(gdp))
@FEW
def test_gdp_is_never_above_zcdp(cost):
    """Where both accountants apply they agree on what was spent, and exact composition is never the dearer one."""
    assert gdp.spent(cost) == zcdp.spent(cost)
    assert gdp.epsilon(cost, TOTAL_DELTA) <= zcdp.epsilon(cost, TOTAL_DELTA) * (1 + 1e-9)
    assert gdp.delta(cost, 1) <= zcdp.delta(cost, 1) * (1 + 1e-9)


@pytest.mark.parametrize("accountant", [zcdp, gdp])
@given(data=st.data(), wider=st.decimals("1.001", "100", places=3))
@FEW
def test_epsilon_falls_with_delta(accountant, data, wider):
    """At a larger total delta epsilon is no larger, and delta at that epsilon is within the total."""
    cost = data.draw(costs(accountant))
    assume(accountant.spent(cost).delta < TOTAL_DELTA)
    epsilon = accountant.epsilon(cost, TOTAL_DELTA)

    assert accountant.epsilon(cost, TOTAL_DELTA * wider) <= epsilon
    assert accountant.delta(cost, epsilon) <= TOTAL_DELTA * (1 + Decimal("1e-9"))


@given(
    steps=st.lists(costs(zcdp, most=3), max_size=30),
    rho=st.decimals("0", "20", places=4),
    delta=st.decimals("0", "1e-7", places=10),
)
@settings(deadline=None)
def test_filter_never_exceeds_and_refuses_exactly(steps, rho, delta):
    """Under any sequence the filter stays within both limits, and refuses a step if and only if it does not fit."""
    # Of steps that are known up to an order it promises as much.
    budget, odometer = Filter(rho, delta, order=Decimal(16)), Odometer()
    for step in steps:
        after = odometer.spent + zcdp.spent(step)
        fits = after.rho <= rho and after.delta <= delta

        assert budget.fits(step) is fits
        if fits:
            assert budget.spend(step) == zcdp.spent(step)
            odometer.record(step)
        else:
            with pytest.raises(BudgetExhausted):
                budget.spend(step)
        assert budget.spent == odometer.spent
        assert budget.left + budget.spent == budget.limit == Spent(rho=rho, delta=delta)
        assert budget.spent.rho <= rho
        assert budget.spent.delta <= delta


@given(step=EVENTS[Pure], count=st.integers(1, 10**9))
@FEW
def test_filter_allows_exactly_count(step, count):
    """A limit made for n steps holds n of them at once, and not n + 1."""
    price = zcdp.spent(Cost.of(step)).rho
    budget = Filter(EXACT.multiply(price, count), 0)

    assert budget.fits(Cost.of((step, count)))
    assert not budget.fits(Cost.of((step, count + 1)))
