"""Variants: every fact of a mechanism's record is tried at more than one value, in all pairs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from hushcount.audit.subject import subjects_of
from hushcount.audit.variants import VALUES, covering, variants_of
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.model.facts import FACTS, Facts

EVERY = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)


def value(facts, fact):
    """What is said of a fact, in a form that can be compared."""
    said = getattr(facts, fact)
    return tuple(said.tolist()) if fact == "public_items" and said is not None else said


def test_every_fact_has_values_to_try():
    """A fact that is added to the facts needs two values here, or no mechanism that takes it could be audited."""
    assert set(VALUES) == set(FACTS)
    assert all(len(values) > 1 for values in VALUES.values())
    assert max(VALUES["per_item_cap"]) > 1


@pytest.mark.parametrize("levels", [{}, {"a": 3}, {"a": 2, "b": 2, "c": 2}, {"a": 3, "b": 2, "c": 2, "d": 2, "e": 2}])
def test_a_covering_has_every_pair(levels):
    """Every level of one factor with every level of every other, in far fewer rows than all combinations."""
    rows = covering(levels)

    for (one, many), (two, more) in itertools.combinations(levels.items(), 2):
        assert {(row[one], row[two]) for row in rows} == set(itertools.product(range(many), range(more)))
    for one, many in levels.items():
        assert {row[one] for row in rows} == set(range(many))
    assert len(rows) <= max(4, 2 * len(levels))
    assert rows == covering(levels)


@EVERY
@pytest.mark.parametrize("quick", [True, False])
def test_every_fact_is_tried_at_more_than_one_value(mechanism, quick):
    """By being in the record; two facts of it in all pairs of values; and each kind of budget."""
    variants = variants_of(mechanism, quick=quick)
    named = mechanism.needs | mechanism.takes

    for fact in named:
        assert len({value(one.facts, fact) for one in variants}) > 1, fact
    for pair in itertools.combinations(sorted(named), 2):
        wanted = len(VALUES[pair[0]]) * len(VALUES[pair[1]])
        assert len({tuple(value(one.facts, fact) for fact in pair) for one in variants}) == wanted, pair
    assert len({type(one.budget) for one in variants}) == 2
    assert all(one.facts.declared <= named for one in variants)


def test_a_fact_in_the_record_is_enough():
    """A mechanism that says tomorrow that it takes a cap is tried with one, with nothing else written."""
    today = replace(find("gaussian-threshold"), takes=frozenset())

    assert {one.facts.per_item_cap for one in variants_of(today, quick=True)} == {1}
    assert {one.facts.per_item_cap for one in variants_of(find("gaussian-threshold"), quick=True)} == {1, 2}


def test_a_mechanism_without_facts_has_both_budgets():
    """Nothing is declared, and it is looked at all the same."""
    plain = replace(find("pcr"), takes=frozenset())

    for quick in (True, False):
        assert [one.facts for one in variants_of(plain, quick=quick)] == [Facts(), Facts()]


def test_a_planner_that_forgets_the_cap_hides_no_variant():
    """Its plans are equal with and without, and the subjects are two all the same, since their inputs differ."""
    good = find("unknown-laplace")
    forgetful = replace(good, small=lambda budget, facts: good.small(budget, replace(facts, per_item_cap=1)))

    assert [one.facts.per_item_cap for one in subjects_of(forgetful, quick=False)].count(2) == 2


def test_a_variant_says_what_it_is():
    """The words name every fact that is declared."""
    facts = Facts(max_items=2, per_item_cap=3, k=5, with_counts=False, relative_error=0.25)
    words = replace(variants_of(find("pcr"), quick=True)[0], facts=facts).words

    for part in ("up to 2 items", "up to 3 times", "the first 5", "names only", "within 0.25", "delta 0.05"):
        assert part in words
