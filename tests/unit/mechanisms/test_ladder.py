"""The ladder: rounds, shares, names, and what one person can do."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.engines.incidence import incidence
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.selection.ladder import plan_ladder, run_ladder
from hushcount.mechanisms.selection.sips import plan_sips
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.costs import EVERY_ORDER, Concentrated, Failure, Truncated
from hushcount.noise.coins import KearnsSaul
from hushcount.noise.source import SeededSource

BUDGET = rho_budget("0.1", "1e-5")
# Two thousand people with six items of twenty-five, and one of their own.
PEOPLE = [person for person in range(2000) for _ in range(7)]
ITEMS = [
    item
    for person in range(2000)
    for item in [*(f"item {(person * 7 + place * place) % 25:02}" for place in range(6)), f"own {person}"]
]


def test_rounds_share_the_budget_one_to_four_to_sixteen():
    """Of rho and of delta, and together never more than all of it."""
    plan = plan_ladder(BUDGET, 100)
    total = zcdp.spent(plan.cost)

    assert [round(Fraction(one.rho) / Fraction(plan.rounds[0].rho)) for one in plan.rounds] == [1, 4, 16]
    assert [round(Fraction(one.delta) / Fraction(plan.rounds[0].delta)) for one in plan.rounds] == [1, 4, 16]
    assert Decimal("0.0999999") < total.rho <= BUDGET.rho
    assert Decimal("9.99999e-6") < total.delta <= BUDGET.delta


def test_short_lists_take_one_round():
    """With three items or fewer all of the budget goes to a single round."""
    assert [len(plan_ladder(BUDGET, most).rounds) for most in (1, 3, 4, 100)] == [1, 1, 3, 3]


def test_under_epsilon_half_of_delta_is_for_the_conversion():
    """The rho that (epsilon, delta) allows for a loss that is not Gaussian."""
    plan = plan_ladder(epsilon_budget(1, "1e-6"), 10)

    assert zcdp.epsilon(plan.cost, Decimal("1e-6")) <= 1
    assert zcdp.epsilon(plan.cost, Decimal("1e-6")) > 0.999


def test_names_are_shared_items_in_their_order():
    """Items of many people are named, items of one person are not, sorted by name, at the whole cost."""
    plan = plan_ladder(BUDGET, 100)
    outcome = run_ladder(incidence(PEOPLE, ITEMS), plan, SeededSource(3))

    assert outcome.items.tolist() == [f"item {number:02}" for number in range(25)]
    assert outcome.counts is None
    assert outcome.cost == plan.cost


def test_the_same_seed_gives_the_same_names_in_any_order_of_rows():
    """Rows may stand in any order."""
    plan, order = plan_ladder(rho_budget("0.01", "1e-5"), 3), np.random.default_rng(1).permutation(len(ITEMS))
    one = run_ladder(incidence(PEOPLE, ITEMS), plan, SeededSource(3))
    other = run_ladder(incidence([PEOPLE[n] for n in order], [ITEMS[n] for n in order]), plan, SeededSource(3))

    assert one.items.tolist() == other.items.tolist()


def test_no_data_is_an_empty_release_at_full_cost():
    """Nobody, nothing: the plan is paid all the same."""
    plan = plan_ladder(BUDGET, 100)
    outcome = run_ladder(incidence([], []), plan, SeededSource(0))

    assert len(outcome.items) == 0
    assert outcome.cost == plan.cost


@pytest.mark.parametrize(("rho", "tables"), [("1e-6", 0), ("0.1", 1)])
def test_where_no_table_is_of_use_the_curve_stands_alone(rho, tables):
    """Every round has a column for each table and one for the curve."""
    for one in plan_ladder(rho_budget(rho, "1e-6"), 100).rounds:
        assert len(one.ladders.tables) == tables
        assert len(one.weights) == tables + 1
        assert one.weights[-1] == tuple(math.isqrt(2**60 // length) for length in range(1, 101))
        assert one.threshold <= one.ladders.threshold


@pytest.mark.parametrize("budget", [rho_budget("0.01", "1e-6"), BUDGET, epsilon_budget(1, "1e-6")])
@pytest.mark.parametrize("max_items", [4, 100])
def test_the_cutoff_is_below_that_of_sips(budget, max_items):
    """In weight: people who have nothing else count one."""
    ours, theirs = plan_ladder(budget, max_items), plan_sips(budget, max_items)

    assert ours.rounds[-1].threshold < 0.92 * theirs.rounds[-1].threshold


@pytest.mark.parametrize("max_items", [0, -1, 2**20 + 1])
def test_bounds_that_make_no_sense_are_refused(max_items):
    """At least one item, and no more than a million."""
    with pytest.raises(InvalidParameter, match="max_items"):
        plan_ladder(BUDGET, max_items)


def test_a_budget_for_all_orders_costs_plain_zcdp():
    """No order is said, so none is left out."""
    plan = plan_ladder(BUDGET, 100)

    assert plan.cost.order == EVERY_ORDER
    assert {type(event) for event, _ in plan.cost.events} == {Concentrated, Failure}
    assert {one.cap for one in plan.rounds} == {math.inf}


def test_a_budget_up_to_an_order_says_so_and_has_four_profiles():
    """Every round is certified for that order, costs it, and weighs in four ways beside the curve."""
    plan = plan_ladder(replace(BUDGET, order=Decimal(16)), 100)

    assert plan.cost.order == 16
    assert {type(event) for event, _ in plan.cost.events} == {Truncated, Failure}
    for one in plan.rounds:
        assert one.cap == 16.0
        assert len(one.weights) == 5
        assert len(one.ladders.tables) == 4


def test_an_order_lowers_the_bar_for_long_lists():
    """People with a hundred items: a third fewer of them are needed up to order sixteen than for all orders."""

    def needed(order):
        one = plan_ladder(replace(BUDGET, order=Decimal(order)), 100, parts=(1,)).rounds[0]
        tables = zip(one.ladders.tables, one.weights, strict=False)
        return min(table.even_odds / weights[99] for table, weights in tables)

    assert needed("16") < 0.78 * needed("Infinity")
    assert needed("10") < needed("16")


@pytest.mark.parametrize(("kept", "order"), [("1", "11.5"), ("16", "16"), ("8", "11.5")])
def test_under_epsilon_the_order_is_that_of_the_conversion_or_of_whoever_adds_up(kept, order):
    """The larger of the two: the epsilon is met, and the sum can be told."""
    budget = replace(epsilon_budget("2.2", "2e-6"), order=Decimal(kept))
    plan = plan_ladder(budget, 100)

    assert plan.cost.order == Decimal(order)
    assert 2.19 < zcdp.epsilon(plan.cost, Decimal("2e-6")) <= 2.2


@pytest.mark.parametrize("rho", ["0.01", "0.1", "1"])
def test_the_curve_hides_new_items_of_every_list(rho):
    """One person, d items that nobody else has: each is shown with 1 - (1 - delta)^(1/d) at the most, for every d."""
    for one in plan_ladder(replace(rho_budget(rho, "1e-5"), order=Decimal(16)), 100).rounds:
        law = KearnsSaul(unit=one.ladders.unit, scale=one.ladders.stddev, threshold=one.ladders.threshold)
        weights = np.array(one.weights[-1]) / law.unit
        shares = -np.expm1(np.log1p(-float(one.delta)) / np.arange(1, 101))
        shown = law.probability((law.threshold - weights) / law.scale) / shares

        assert 0.999 < shown.max() <= 1 + 1e-9


def test_an_order_that_no_double_holds_is_covered():
    """A cap is a double that is not below the order that is claimed."""
    plan = plan_ladder(replace(BUDGET, order=Decimal("7.1")), 3)

    assert Decimal(plan.rounds[0].cap) >= Decimal("7.1")
    assert plan.cost.order == Decimal("7.1")
