"""Neighbours: what a family must hold, and that every mechanism of the table is a subject with one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from hushcount.audit.exact.enumeration import fixed_salts
from hushcount.audit.neighbours import PERSON, Neighbours, family, sizes_of, small_tables, table
from hushcount.audit.subject import subjects, subjects_of
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold
from hushcount.mechanisms.selection.sips import plan_sips
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.mechanisms.topk.unknown_domain import plan_unknown_gumbel
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import SeededSource

ALL = subjects(quick=False)


def counts(rows):
    """How many people have each item."""
    return Counter(item for _, item in set(rows))


def test_a_table_says_who_has_what():
    """Others hold one item each, or, nested, as many as they can; the person's rows go with the person."""
    single = table({"a": 2, "b": 1}, "ab", "")
    nested = table({"a": 2, "b": 1}, "a", "", nested=True)

    assert counts(single.rows) == {"a": 3, "b": 2}
    assert counts(single.without) == {"a": 2, "b": 1}
    assert len({person for person, _ in single.rows}) == 4
    assert len({person for person, _ in nested.rows}) == 3
    assert PERSON not in {person for person, _ in single.without}


def test_all_small_tables_are_there():
    """Two people and two items: 3 kinds of people, 3 + 6 tables, and each kind of person is taken out of each."""
    pairs = list(small_tables(people=2, items=2))

    assert len({pair.rows for pair in pairs}) == 9
    assert len(pairs) == 3 + 3 * 1 + 3 * 2
    assert all(set(pair.rows) - set(pair.without) for pair in pairs)


def test_sizes_come_from_any_plan():
    """Thresholds, rows and rounds of a plan, and the cut-off, are numbers to build tables around."""
    threshold = plan_gaussian_threshold(rho_budget(1, "0.01"), 2)
    rows = plan_unknown_gumbel(rho_budget(1, "0.01"), Facts(k=2), rows=3)
    rounds = plan_sips(rho_budget(1, "0.01"), 2)

    assert {threshold.threshold - 1, threshold.threshold, threshold.threshold + 1} <= set(
        sizes_of(threshold, most_items=4).levels
    )
    assert sizes_of(threshold, most_items=4).held == 2
    assert sizes_of(rows, most_items=4).places == (2, 3)
    assert {6, 7, 8} <= set(sizes_of(rows, most_items=4, cutoff=7.3).levels)
    assert all(int(one.threshold) in sizes_of(rounds, most_items=4).levels for one in rounds.rounds)


def test_the_worst_cases_are_there():
    """One person with everything, ties, places around the rank, threshold neighbours, single-person items."""
    plan = plan_unknown_gumbel(rho_budget(1, "0.01"), Facts(k=1), rows=2)
    pairs = list(family(sizes_of(plan, most_items=4, cutoff=5.5)))
    forms = {(tuple(sorted(counts(p.rows).values())), tuple(sorted(counts(p.without).values()))) for p in pairs}

    assert ((1, 1, 1), ()) in forms, "one person holds everything"
    assert ((2, 2, 2), (1, 1, 1)) in forms, "all tie, and all are held"
    assert ((1, 1, 2), (1, 1, 1)) in forms, "all tie at rank rows + 1, and one is held"
    assert ((2, 2, 3), (2, 2, 2)) in forms, "the item at the boundary is lifted"
    assert {((n + 1,), (n,)) for n in (4, 5, 6)} <= forms, "counts around the threshold"
    assert ((1, 6), (5,)) in forms, "a single-person item beside a common one"
    assert any(len(pair.rows) > len(set(pair.rows)) for pair in pairs), "repeated rows"


def test_with_a_cap_the_person_moves_counts_by_it():
    """The first neighbours and all small tables have a person whose every row is there twice; some have them once."""
    plan = plan_unknown_gumbel(rho_budget(1, "0.01"), Facts(k=1, per_item_cap=2), rows=2)
    pairs = list(family(sizes_of(plan, most_items=4, cutoff=5.5, cap=2)))
    plain = list(family(sizes_of(plan, most_items=4, cutoff=5.5)))
    own = [Counter(item for person, item in pair.rows if person == pair.person) for pair in pairs]

    assert all(min(times.values()) == 2 for times in own[:5])
    assert any(set(times.values()) == {1} for times in own[:6])
    assert len(plain) < len(pairs) <= 2 * len(plain)
    assert {pair.repeated(2).rows for pair in plain} <= {pair.rows for pair in pairs} | {()}
    assert all(pair.without == pair.repeated(2).without for pair in plain)


def test_some_of_each_kind_come_first():
    """Whoever stops after a dozen has seen more than one kind."""
    first = list(islice(ALL[0].neighbours(), 12))

    assert len({pair.items for pair in first}) >= 2
    assert any(not pair.without for pair in first)
    assert any(len(pair.without) > 3 for pair in first)


@pytest.mark.parametrize("subject", ALL, ids=lambda subject: f"{subject.name}, {subject.variant}")
def test_families_are_neighbours(subject):
    """Every pair differs in one person, no pair comes twice, and there are hundreds."""
    pairs = list(subject.neighbours())

    assert len(pairs) > 200
    assert len({(tuple(sorted(pair.rows)), pair.person) for pair in pairs}) == len(pairs)
    for pair in pairs:
        taken = [row for row in pair.rows if row[0] == pair.person]
        assert taken
        assert sorted([*pair.without, *taken]) == sorted(pair.rows)
        assert pair.items <= 4
        assert pair.where


def test_every_mechanism_is_a_subject():
    """Each is there in the quick audit too, and answers on an empty and on a full table."""
    assert {subject.name for subject in subjects(quick=True)} == {mechanism.name for mechanism in MECHANISMS}
    for subject in subjects(quick=True):
        pair = Neighbours(rows=(("p", "a"), ("q", "b")), person="p", where="")
        for rows in (pair.rows, pair.without, ()):
            assert subject.answer(rows, SeededSource(1)).mechanism == subject.name


def test_a_new_mechanism_is_a_subject_by_being_listed():
    """One that nothing else is known about is planned with the facts that its record says it takes."""
    new = replace(find("known-laplace"), name="new", listed_only=False)
    found = subjects_of(new, quick=False)

    assert {subject.name for subject in found} == {"new"}
    assert {subject.facts.per_item_cap for subject in found} == {1, 2}
    assert all(subject.facts.declared <= new.needs | new.takes for subject in found)


def test_a_record_that_takes_more_than_its_planner_is_no_subject():
    """A planner that refuses what its record says it takes is told, not passed over."""
    boastful = replace(find("optimal"), needs=frozenset(), takes=frozenset())

    with pytest.raises(InvalidParameter, match="max_items"):
        subjects_of(boastful, quick=True)


def test_inputs_are_read_as_the_product_reads_them():
    """Bounded by the plan, only listed items where nothing else is looked at, rows cut to what is fetched."""
    rows = (*(("p", item) for item in "abcd"), ("q", "a"), ("q", "a"))
    by_name = {(subject.name, subject.facts.per_item_cap): subject for subject in ALL}
    noise = fixed_salts()
    listed = by_name["known-laplace", 1].read(rows, noise)
    capped = by_name["known-gumbel", 2].read(rows, noise)
    cut = by_name["pcr", 1].read(tuple((f"{n}", item) for n in range(2) for item in "abcdefg"), noise)

    assert set(listed.items.tolist()) <= set(by_name["known-laplace", 1].facts.public_items.tolist())
    assert dict(zip(capped.items.tolist(), capped.counts.tolist(), strict=True))["a"] == 3
    assert (len(cut.items), cut.complete) == (5, False)
    bounded = by_name["gaussian-threshold", 1]
    assert int(np.sum(bounded.read(rows, noise).counts)) == bounded.plan.max_items + 1
