"""Rules that hold for every mechanism: declared parameters, one neighbouring relation, a stated guarantee."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import pkgutil

import pytest

import hushcount.mechanisms
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.budgets import Budget, EpsilonBudget, RhoBudget, epsilon_budget, rho_budget
from hushcount.model.inputs import Histogram, Incidence, UserLists, WeightedHistogram
from tests.privacy.exact import ROUNDING, peeled, spread, worst_hockey_stick
from tests.unit.mechanisms.made_inputs import facts_for

DATA = (Histogram, Incidence, UserLists, WeightedHistogram)
RUNS = sorted({mechanism.run for mechanism in MECHANISMS}, key=lambda run: run.__name__)


def planners():
    """Every function of the mechanisms whose name starts with plan_ or ends with _at."""
    found = {}
    for module in pkgutil.walk_packages(hushcount.mechanisms.__path__, "hushcount.mechanisms."):
        functions = dict(inspect.getmembers(importlib.import_module(module.name), inspect.isfunction))
        found |= {n: f for n, f in functions.items() if n.startswith("plan_") or n.endswith("_at")}
    return [found[name] for name in sorted(found)]


@pytest.mark.parametrize("planner", planners(), ids=lambda planner: planner.__name__)
def test_erratum_39_plans_are_made_without_data(planner):
    """No planner takes a histogram, an incidence or lists: parameters are declared, never taken from the data."""
    hints = inspect.get_annotations(planner, eval_str=True)
    names = set(inspect.signature(planner).parameters)

    assert not any(hints[name] in DATA for name in names)
    assert not names & {"histogram", "incidence", "lists", "data", "counts", "noise"}
    assert any(hints[name] in {Budget, RhoBudget, EpsilonBudget} or name == "epsilon" for name in names)


def test_every_mechanism_has_a_planner_of_its_own():
    """The rule above looks at as many planners as there are families of mechanisms."""
    assert len(planners()) >= len(RUNS)
    assert {run.__name__.replace("run_", "plan_") for run in RUNS} <= {planner.__name__ for planner in planners()}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_erratum_39_a_plan_is_a_function_of_budget_and_facts(mechanism):
    """Planned twice from the same budget and facts, a mechanism has the same plan and the same price."""
    for budget in (rho_budget("0.1", "1e-6"), epsilon_budget(1, "1e-6")):
        one, two = (mechanism.plan(budget, facts_for(mechanism)) for _ in range(2))
        assert one.cost == two.cost
        assert one.name == mechanism.name


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_every_run_states_its_guarantee(run):
    """The docstring has a guarantee, its assumptions, its source and a table of edge cases, in this order."""
    text = inspect.getdoc(run)
    places = [text.find(word) for word in ("Guarantee", "Assumes", "| edge case | result |", "Source")]

    assert -1 not in places
    assert places == sorted(places)
    assert text.count("\n| ") >= 2


@pytest.mark.parametrize("rate", [0.2, 1.0])
def test_erratum_40_a_choice_costs_epsilon_for_one_person_and_twice_that_for_a_replaced_one(rate):
    """Adding a person moves scores one way: range epsilon. Replacing one moves some up, some down: up to 2 epsilon."""
    worst = {"add": 0.0, "replace": 0.0}
    losses = {"add": 0.0, "replace": 0.0}
    subsets = [frozenset(held) for size in range(4) for held in itertools.combinations("abc", size)]
    for base in itertools.product(range(3), repeat=3):
        without = dict(zip("abc", base, strict=True))

        def weights(held, without=without):
            return {item: math.exp(rate * (count + (item in held))) for item, count in without.items()}

        for one, two in itertools.permutations(subsets, 2):
            kind = "replace" if one and two else "add"
            worst[kind] = max(worst[kind], spread(weights(one), weights(two)))
            first, second = peeled(weights(one), 1), peeled(weights(two), 1)
            losses[kind] = max(losses[kind], *(math.log(p / second[name]) for name, p in first.items()))

    assert worst["add"] <= rate + ROUNDING
    assert losses["add"] <= rate
    assert worst["replace"] == pytest.approx(2 * rate)
    assert losses["replace"] > 1.2 * rate


def test_erratum_40_a_replaced_person_breaks_the_bound_of_an_added_one():
    """At the epsilon that covers one added person, replacing one leaves a delta far above zero."""
    others = [f"item {n}" for n in range(50)]
    nobody = {"a": 1.0, **dict.fromkeys(others, 1.0)}
    one, two = nobody | {"a": math.e}, nobody | dict.fromkeys(others, math.e)

    assert worst_hockey_stick(peeled(one, 1), peeled(nobody, 1), 1.0) <= ROUNDING
    assert worst_hockey_stick(peeled(two, 1), peeled(nobody, 1), 1.0) <= ROUNDING
    assert worst_hockey_stick(peeled(one, 1), peeled(two, 1), 1.0) > 0.01


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_erratum_40_every_guarantee_is_about_one_person(run):
    """The stated bounds are per person, and the cost events say for which neighbours they hold."""
    costs = importlib.import_module("hushcount.model.costs")

    assert "person" in inspect.getdoc(run)
    assert '"one person and all their rows are added or removed"' in " ".join(costs.__doc__.split())
