"""One record for each mechanism: what it says of itself is so, for every mechanism and every fact."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

import pytest

from hushcount.errors import SAID, InvalidParameter
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.model.budgets import rho_budget
from hushcount.model.expectations import Expectation
from hushcount.model.facts import FACTS, Facts
from hushcount.model.queries import Question
from tests.unit.mechanisms.made_inputs import PUBLIC, as_items, facts_for

EVERY = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
BUDGET = rho_budget("0.1", "1e-6")
# For every fact, something else than what is said by `facts_for`.
OTHER = {
    "max_items": 1,
    "per_item_cap": 3,
    "public_items": as_items(["a", "b", "c", "d", "e"]),
    "k": 3,
    "with_counts": False,
    "relative_error": 0.2,
}


def with_another(mechanism, fact):
    """The facts of a mechanism with another value of one fact."""
    return replace(facts_for(mechanism), **{fact: OTHER[fact]})


def test_every_fact_has_a_name():
    """The names that records are written with are those of the facts."""
    assert {field.name for field in fields(Facts)} == set(FACTS) == set(OTHER)


@EVERY
@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_changes_the_plan_or_is_refused(mechanism, fact):
    """What a record says it takes makes another plan; what it does not take makes none, so it is refused by name."""
    facts = with_another(mechanism, fact)
    before, after = (mechanism.calibrate(BUDGET, one) for one in (facts_for(mechanism), facts))

    if fact in mechanism.needs | mechanism.takes:
        assert repr(after) != repr(before)
        assert repr(mechanism.plan(BUDGET, facts)) == repr(after)
    else:
        assert repr(after) == repr(before)
        with pytest.raises(InvalidParameter, match=f"^{SAID.get(fact, fact)} = .* left out for '{mechanism.name}'"):
            mechanism.plan(BUDGET, facts)


@EVERY
@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_is_needed_or_not(mechanism, fact):
    """Without a needed fact the planner can make nothing; without any other it can."""
    fewer = facts_for(mechanism).only(facts_for(mechanism).declared - {fact})

    if fact in mechanism.needs:
        with pytest.raises(InvalidParameter, match=f"^{SAID.get(fact, fact)} must be declared for '{mechanism.name}'"):
            mechanism.plan(BUDGET, fewer)
        with pytest.raises(InvalidParameter):
            mechanism.calibrate(BUDGET, fewer)
    else:
        assert mechanism.plan(BUDGET, fewer).name == mechanism.name


def check_every_fact(record):
    """Both tests above, for all facts."""
    for fact in FACTS:
        test_a_fact_changes_the_plan_or_is_refused(record, fact)
        test_a_fact_is_needed_or_not(record, fact)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("tsgd", {"needs": frozenset()}),
        ("pcr", {"takes": frozenset({"per_item_cap"})}),
        ("pcr", {"takes": frozenset({"per_item_cap", "relative_error", "max_items"})}),
    ],
)
def test_a_record_that_is_wrong_is_seen(name, wrong):
    """The two tests above fail on a record that says too little or too much."""
    record = replace(find(name), **wrong)

    with pytest.raises((AssertionError, pytest.fail.Exception, InvalidParameter)):
        check_every_fact(record)


def test_fitting_leaves_out_what_is_not_taken():
    """Facts that hold for the data, such as those of a catalog, are cut to what a mechanism takes."""
    said = Facts(max_items=2, per_item_cap=4, public_items=PUBLIC, k=3, with_counts=False, relative_error=0.5)

    assert said.declared == set(FACTS)
    assert find("tsgd").fitting(said) == Facts(max_items=2)
    assert find("pcr").fitting(said).declared == {"per_item_cap", "relative_error"}
    assert find("sips").plan(BUDGET, find("sips").fitting(said)).max_items == 2


def test_unsaid_facts_are_not_declared():
    """Facts as they are where nothing is said are none; ten per cent is one if somebody said it."""
    assert not Facts().declared
    assert not Facts(per_item_cap=1, with_counts=True).declared
    assert Facts(relative_error=0.1).declared == {"relative_error"}
    assert Facts(relative_error=0.1).aim == Facts().aim


@EVERY
def test_every_mechanism_says_what_to_expect(mechanism):
    """From its plan alone: a cut-off, a give or take, or a sentence; more budget never promises less."""
    little, much = (
        mechanism.expect(mechanism.plan(rho_budget(rho, "1e-6"), facts_for(mechanism))) for rho in ("0.05", "1")
    )

    assert isinstance(little, Expectation)
    assert little.give_or_take or little.cutoff or little.notes
    assert (little.give_or_take is None) == (much.give_or_take is None)
    assert (much.give_or_take or 0) <= (little.give_or_take or 0)
    assert (much.cutoff or 0) <= (little.cutoff or 0)


@EVERY
def test_small_plans_are_plans(mechanism):
    """The auditor's plan has the same name and the same worst case in shape, and checks facts all the same."""
    facts = facts_for(mechanism)
    small = mechanism.plan_small(rho_budget(1, "0.01"), facts)

    assert small.name == mechanism.name
    assert {type(event) for event, _ in small.cost.events} == {
        type(event) for event, _ in mechanism.plan(rho_budget(1, "0.01"), facts).cost.events
    }
    with pytest.raises(InvalidParameter, match="left out"):
        mechanism.plan_small(
            BUDGET, replace(facts, **{one: OTHER[one] for one in set(FACTS) - mechanism.needs - mechanism.takes})
        )


def test_names_are_unique_and_questions_are_answered():
    """A name means one mechanism, and every question has one."""
    names = [mechanism.name for mechanism in MECHANISMS]

    assert len(set(names)) == len(names)
    assert {mechanism.question for mechanism in MECHANISMS} == set(get_args(Question))
    assert all(mechanism.calibrate(BUDGET, facts_for(mechanism)).name == mechanism.name for mechanism in MECHANISMS)
