"""The chooser: from declared facts to a mechanism, with a reason that a person can read."""

from __future__ import annotations

import inspect
import itertools

import pytest

from hushcount.mechanisms.chooser import choose
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from tests.unit.mechanisms.made_inputs import PUBLIC, as_items

RHO, EPSILON = rho_budget("0.1", "1e-6"), epsilon_budget(1, "1e-6")
# What any mechanism for the question takes: more is refused by whichever is chosen.
TAKEN = {"vocab": {"max_items"}, "count": {"max_items", "public_items"}, "top": {"k", "public_items"}}
BUDGETS = pytest.mark.parametrize("budget", [RHO, EPSILON], ids=["rho", "epsilon"])


@BUDGETS
@pytest.mark.parametrize(
    ("question", "public", "max_items", "name"),
    [
        ("top", True, None, "known-gumbel"),
        ("top", False, None, "hybrid-top"),
        ("count", False, None, "ntm"),
    ],
)
def test_the_cells_of_linkedins_table(budget, question, public, max_items, name):
    """Known or unknown list, restricted or unrestricted items: LI Table 1, with PCR where nothing bounds the counts."""
    facts = Facts(max_items=max_items, public_items=PUBLIC if public else None, k=3)

    assert choose(question, budget, facts).mechanism.name == name


@BUDGETS
@pytest.mark.parametrize("max_items", [1, 5, None])
def test_a_public_list_is_a_comparison_of_widths(budget, max_items):
    """LI's KnownLap is compared with Gaussian noise by give or take, in the accounting that is in force."""
    choice = choose("count", budget, Facts(max_items=max_items, public_items=PUBLIC))

    assert choice.widths.keys() == {"known-laplace", "known-gaussian"}
    assert choice.widths[choice.mechanism.name] == min(choice.widths.values())
    assert not choice.cutoffs


def test_a_long_public_list_has_gaussian_noise():
    """A thousand listed items at epsilon = 1: give or take 2,996 by Laplace noise, 281 by Gaussian noise."""
    public = as_items([f"item {n}" for n in range(1000)])
    choice = choose("count", EPSILON, Facts(public_items=public))

    assert choice.widths == {"known-laplace": 2996, "known-gaussian": 281}
    assert choice.mechanism.name == "known-gaussian"
    assert "give or take: known-gaussian 281, known-laplace 2,996" in choice.reason


def test_a_short_public_list_has_laplace_noise_under_epsilon():
    """One item for each person at epsilon = 1: Laplace noise is narrower, and pure."""
    choice = choose("count", EPSILON, Facts(max_items=1, public_items=PUBLIC))

    assert choice.mechanism.name == "known-laplace"


@BUDGETS
def test_the_restricted_unknown_cell_is_a_comparison(budget):
    """For an unknown list and few items LI's UnkLap is compared with what came later, by expected cut-off."""
    choice = choose("count", budget, Facts(max_items=5))

    assert {"unknown-laplace", "gaussian-threshold"} <= choice.cutoffs.keys()
    assert choice.cutoffs[choice.mechanism.name] == min(choice.cutoffs.values())


@pytest.mark.parametrize("question", ["count", "vocab"])
def test_one_item_for_each_person(question):
    """With one item each, truncated noise and `optimal` win under epsilon, Gaussian and ladder under rho."""
    facts = Facts(max_items=1)
    pure = choose(question, EPSILON, facts).mechanism.name
    concentrated = choose(question, RHO, facts).mechanism.name

    assert pure == {"count": "tsgd", "vocab": "optimal"}[question]
    assert concentrated == {"count": "gaussian-threshold", "vocab": "ladder"}[question]


@BUDGETS
@pytest.mark.parametrize(("max_items", "offered"), [(1, True), (3, True), (4, False), (None, False)])
def test_splitting_is_offered_up_to_three_items(budget, max_items, offered):
    """DVGM's rule: the primitive for one item is split over at most three (erratum 20); beyond, the ladder."""
    choice = choose("vocab", budget, Facts(max_items=max_items))

    assert ("optimal" in choice.cutoffs) == offered
    assert offered or choice.mechanism.name == "ladder"


@BUDGETS
def test_a_cap_above_one_excludes_truncated_noise(budget):
    """k-TSGD counts people; capped sums go to mechanisms with a cap, and the winner can be planned."""
    facts = Facts(max_items=1, per_item_cap=4)
    choice = choose("count", budget, facts)

    assert "tsgd" not in choice.cutoffs
    assert choice.mechanism.plan(budget, facts).name == choice.mechanism.name


@BUDGETS
@pytest.mark.parametrize("question", ["vocab", "count", "top"])
def test_every_choice_has_a_reason_and_can_be_planned(budget, question):
    """Whatever the facts, the reason is a sentence that starts with the name, and the plan can be made."""
    for max_items, public in itertools.product([None, 1, 2, 4, 50], [None, PUBLIC]):
        said = Facts(max_items=max_items, public_items=public, k=3)
        facts = said.only(TAKEN[question])
        choice = choose(question, budget, facts)
        assert choice.mechanism in MECHANISMS
        assert choice.mechanism.question == question
        assert choice.reason.startswith(f"{choice.mechanism.name}: ")
        assert len(choice.reason.split()) >= 8
        assert choice.mechanism.plan(budget, facts).name == choice.mechanism.name


def test_no_data_is_looked_at():
    """The chooser takes a question, a budget and facts, and nothing else (erratum 39)."""
    assert list(inspect.signature(choose).parameters) == ["question", "budget", "facts"]
