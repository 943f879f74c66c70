"""What a plan costs is within the budget it was made from, in both currencies, for every mechanism."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.accounting import basic, gdp, zcdp
from hushcount.accounting.filters import Filter
from hushcount.mechanisms.calibration import concentrated, gaussian_noise, pure_epsilon, unfailing
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.model.amounts import float_above
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import SeededSource
from tests.unit.mechanisms.made_inputs import PUBLIC, facts_for, input_for

EVERY = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
FACTS = [
    Facts(max_items=1, public_items=PUBLIC, k=1),
    Facts(max_items=3, public_items=PUBLIC, k=9, with_counts=False),
    Facts(max_items=2, public_items=PUBLIC, k=5),
]


def found_epsilon(cost, delta) -> float:
    """The least epsilon, rounded up, among the accountants that have a theorem for all events of the cost."""
    return min(one.epsilon(cost, delta) for one in (gdp, basic, zcdp) if one.supports(cost) and pays(one, cost, delta))


def pays(one, cost, delta) -> bool:
    """Whether the accountant leaves a delta for the epsilon: the basic one needs none."""
    return one is basic or one.spent(cost).delta < Decimal(delta)


@EVERY
@pytest.mark.parametrize("rho", ["0.001", "0.1", "0.333333333333333333", "7"])
@pytest.mark.parametrize("delta", ["1e-10", "1e-6", "0.01"])
def test_rho_budgets_are_kept(mechanism, rho, delta):
    """The worst case of a run, exactly summed, is at most rho and delta."""
    for facts in FACTS:
        spent = zcdp.spent(mechanism.plan(rho_budget(rho, delta), mechanism.fitting(facts)).cost)
        assert spent.rho <= Decimal(rho)
        assert spent.delta <= Decimal(delta)
        # And the budget is used: a plan that spends nothing would pass the lines above.
        assert spent.rho >= Decimal(rho) * Decimal("0.99")


@EVERY
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3.3"])
@pytest.mark.parametrize("delta", ["1e-10", "1e-6", "0.01"])
def test_epsilon_budgets_are_kept(mechanism, epsilon, delta):
    """The best accountant with a theorem for the plan's events finds no more than epsilon at delta, rounded up."""
    for facts in FACTS:
        cost = mechanism.plan(epsilon_budget(epsilon, delta), mechanism.fitting(facts)).cost
        assert 0.5 * float(epsilon) <= found_epsilon(cost, delta) <= float_above(Decimal(epsilon))


@EVERY
def test_a_plan_fits_a_filter_of_its_budget(mechanism):
    """The reserve of a plan is accepted by a filter that has just its budget left."""
    limit = Filter("0.1", "1e-6")
    plan = mechanism.plan(rho_budget("0.1", "1e-6"), facts_for(mechanism))

    assert limit.fits(plan.cost)
    limit.spend(plan.cost)
    assert not limit.fits(plan.cost)


@EVERY
@pytest.mark.parametrize("seed", [1, 2])
def test_runs_cost_no_more_than_their_plans(mechanism, seed):
    """What a run reports as its cost is covered by what was reserved."""
    plan = mechanism.plan(rho_budget("0.5", "1e-4"), facts_for(mechanism))
    spent = zcdp.spent(mechanism.run(input_for(mechanism), plan, SeededSource(seed)).cost)
    reserved = zcdp.spent(plan.cost)

    assert spent.rho <= reserved.rho
    assert spent.delta <= reserved.delta


@settings(max_examples=60)
@given(
    name=st.sampled_from([mechanism.name for mechanism in MECHANISMS]),
    rho=st.decimals("0.002", "50", places=7),
    # With the least rho and nine items, a larger delta is more than unknown-gumbel's epsilon can cover.
    delta=st.decimals("0.0000001", "0.02", places=9),
    k=st.integers(1, 9),
    max_items=st.integers(1, 3),
)
def test_random_rho_budgets_are_kept(name, rho, delta, k, max_items):
    """Whatever the decimals of the budget, rounding goes against the spender."""
    mechanism = next(mechanism for mechanism in MECHANISMS if mechanism.name == name)
    facts = Facts(max_items=max_items, public_items=PUBLIC, k=k)
    spent = zcdp.spent(mechanism.plan(rho_budget(rho, delta), mechanism.fitting(facts)).cost)

    assert spent.rho <= rho
    assert spent.delta <= delta


@settings(max_examples=60)
@given(
    name=st.sampled_from([mechanism.name for mechanism in MECHANISMS]),
    epsilon=st.decimals("0.05", "9", places=6),
    delta=st.decimals("0.0000001", "0.2", places=9),
    max_items=st.integers(1, 3),
)
def test_random_epsilon_budgets_are_kept(name, epsilon, delta, max_items):
    """The same for (epsilon, delta)."""
    mechanism = next(mechanism for mechanism in MECHANISMS if mechanism.name == name)
    facts = Facts(max_items=max_items, public_items=PUBLIC, k=3)
    cost = mechanism.plan(epsilon_budget(epsilon, delta), mechanism.fitting(facts)).cost

    assert found_epsilon(cost, delta) <= float_above(epsilon)


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_pure_steps_share_a_budget(parts):
    """All parts together cost at most the budget, and nearly all of it."""
    each = pure_epsilon(epsilon_budget(1, "1e-6"), parts)

    assert each * parts <= 1
    assert float(each) == pytest.approx(1 / parts)
    assert pure_epsilon(rho_budget("0.5", "1e-6"), parts) ** 2 * parts <= Decimal("1.2")


def test_gaussian_noise_under_epsilon_takes_half_of_delta():
    """Half of delta is for the noise and half for the threshold; under rho all of it is for the threshold."""
    stddev, left = gaussian_noise(epsilon_budget(3, "1e-6"))

    assert left == Decimal("5e-7")
    assert 1 < stddev < 2
    assert gaussian_noise(rho_budget("0.5", "1e-6")) == (1.0, Decimal("1e-6"))


@pytest.mark.parametrize("name", ["known-gumbel", "known-gaussian"])
def test_nothing_is_kept_back_for_failures_that_cannot_happen(name):
    """With a public list all of delta pays for the conversion: at (1, 1e-6) that is 6 % more rho than half of it."""
    mechanism, budget = find(name), epsilon_budget(1, "1e-6")
    spent = zcdp.spent(mechanism.plan(budget, facts_for(mechanism)).cost)

    assert spent.delta == 0
    assert spent.rho > concentrated(budget).rho * Decimal("1.06")
    assert 0.9999 < zcdp.epsilon(mechanism.plan(budget, facts_for(mechanism)).cost, "1e-6") <= 1


def test_what_cannot_fail_takes_rho_as_it_is():
    """Under rho there is nothing to convert."""
    assert unfailing(rho_budget("0.3", "1e-6")) == Decimal("0.3")


def test_gaussian_steps_get_more_rho_for_the_same_epsilon():
    """Accounted as Gaussian DP the same (epsilon, delta) allows about a sixth more rho (erratum 35)."""
    budget = epsilon_budget(2, "1e-6")
    plain, gaussian = concentrated(budget), concentrated(budget, gaussian_only=True)

    assert 1.1 < gaussian.rho / plain.rho < 1.3
    assert plain.delta == gaussian.delta == Decimal("5e-7")
