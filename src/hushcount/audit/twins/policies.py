"""Twins of the policies, which visit people one after another: weights that move too far, items that come to light."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction

from hushcount.audit.neighbours import PERSON, Neighbours, table
from hushcount.audit.twins import weightings
from hushcount.audit.twins.twin import Twin
from hushcount.audit.twins.weighed import (
    Weigh,
    as_lists,
    as_weights,
    bounded_lists,
    lists_by_name,
    named_in_order,
    planned,
    weighing,
)
from hushcount.engines.incidence import MemoryIncidence
from hushcount.mechanisms.selection.union import plan_union
from hushcount.mechanisms.weighting.greedy import greedy
from hushcount.mechanisms.weighting.policy import L1_UNIT, l1_descent, l2_descent, l2_unit
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.inputs import Bound, WeightedHistogram

_EPSILON = epsilon_budget(1, "0.05")

# Errata 22 and 23: sequential weightings that one person moves by more than one.

_FOLLOWERS = 4
_GAP = 1 / math.sqrt(_FOLLOWERS + 1)
_CUTOFF_22 = 3 * _GAP - 1e-7


def chain_of_levels(n_items: int) -> Neighbours:
    """Erratum 22 on data: items wait one saturation gap below the cut-off, followers pass on what one person adds."""
    sizes = [n_items, n_items // _FOLLOWERS, n_items // _FOLLOWERS**2]
    fives = [[(level, n + k) for k in range(5)] for level in (0, 0, 1) for n in range(0, sizes[level], 5)]
    followers = [
        [*((level, _FOLLOWERS * n + k) for k in range(_FOLLOWERS)), (level + 1, n)]
        for level in range(2)
        for n in range(sizes[level + 1])
    ]
    extra = [(0, n) for n in range(n_items)]
    rows = [
        (f"{n:05d}", f"{level}/{item:05d}")
        for n, held in enumerate([*fives, extra, *followers])
        for level, item in held
    ]
    return Neighbours(
        rows=tuple(rows), person=f"{len(fives):05d}", where="items that wait just below saturation, in levels"
    )


def algorithm_8(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """l1-descent with an l2 budget (erratum 22)."""
    unit = l2_unit(_CUTOFF_22)
    return as_weights(weightings.algorithm_8(lists_by_name(data, bound.max_items), cutoff=_CUTOFF_22), unit, scale=unit)


def algorithm_7(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """l2-descent, as the product has it, on the same lists."""
    return l2_descent(as_lists(lists_by_name(data, bound.max_items)), _CUTOFF_22, max_items=bound.max_items)


def _stuck() -> Neighbours:
    """Erratum 23: an extra person lifts each of ten items so far that the followers no longer move any."""
    items = [f"{n}" for n in range(10)]
    people = [*([item] for item in items for _ in range(4)), items, *([item] for item in items)]
    rows = tuple((f"{n:03d}", item) for n, held in enumerate(people) for item in held)
    return Neighbours(rows=rows, person="040", where="ten items just below the cut-off, all of them held")


def printed_branch(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """l1-descent that leaves weights as they are where it should fill them (erratum 23)."""
    top = math.floor(Fraction(5.1) * L1_UNIT)
    steps = weightings.algorithm_4_as_printed(lists_by_name(data, bound.max_items), cutoff=top, budget=L1_UNIT)
    return as_weights({item: Fraction(step) for item, step in steps.items()}, L1_UNIT, scale=1)


def repaired_branch(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """l1-descent, as the product has it, on the same lists."""
    return l1_descent(as_lists(lists_by_name(data, bound.max_items)), 5.1)


# Where a first person leaves a half, or a quarter, of an item to be filled.
_HALVES, _QUARTERS = Fraction(3, 2), Fraction(5, 4)


def greedy_as_coded(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:  # noqa: ARG001  there is none
    """GW on unbounded lists, every item of which gets noise (erratum 36a)."""
    return as_weights(weightings.greedy_as_coded(lists_by_name(data, None), cutoff=5), L1_UNIT, scale=L1_UNIT)


def _greedy_positive_only(cutoff: Fraction) -> Weigh:
    """GW where only items of positive weight get noise (errata 25 and 36b)."""

    def weigh(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
        weights = weightings.greedy_positive_only(lists_by_name(data, bound.max_items), cutoff=cutoff)
        return as_weights(weights, L1_UNIT, scale=L1_UNIT)

    return weigh


def _repaired_greedy(cutoff: Fraction) -> Weigh:
    """The greedy weighting, as the product has it, on the same lists."""
    return lambda data, bound: greedy(as_lists(lists_by_name(data, bound.max_items)), float(cutoff))


def _ordered(order: Callable[[weightings.People], list[Sequence[Hashable]]]) -> Weigh:
    def weigh(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
        people = [[str(item) for item in held] for held in order(bounded_lists(data, bound))]
        return greedy(as_lists(people), 1.0)

    return weigh


def by_hash(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """People in the order of a keyed hash of their own name, as the product has it."""
    return greedy(data.lists(bound, "key"), 1.0)


def _rivals(n_pairs: int) -> tuple[Neighbours, ...]:
    """Whoever of two who want the same item comes second spends on their other item, or on nothing."""
    rows = [
        (f"{kind}{n}", item)
        for n in range(n_pairs)
        for kind, held in (("p", (f"a{n}", f"b{n}")), ("q", (f"a{n}", f"c{n}")))
        for item in held
    ]
    extra = [(PERSON, f"c{n}") for n in range(n_pairs)]
    return (
        Neighbours(rows=(*rows, (PERSON, "other")), person=PERSON, where="pairs of rivals, a person apart from them"),
        Neighbours(
            rows=(*rows, *extra), person=PERSON, where="pairs of rivals, a person who holds what one of each has"
        ),
    )


# The extra person pushes a half of each of two items on to the next, where it brings an item of others to light.
_REROUTED = named_in_order(
    ["a", "b", "ab", "ac", "bd", "ce", "df"],
    2,
    "two chains of people who share an item each, the first one held by one more",
)
# The same with one item: pieces of a half, a quarter and a quarter come to light in c, n and s.
_SPLIT_UP = named_in_order(
    ["a", "ab", "bc", "ak", "kl", "lm", "mn", "bp", "pq", "qr", "rs"],
    0,
    "a chain of people who share an item each, which branches twice",
)
_POLICY_L2 = planned(
    "policy-gaussian", plan_union("policy", "gaussian", rho_budget(1, "0.05"), max_items=160), chain_of_levels(160)
)
_POLICY_L1 = planned("policy-laplace", plan_union("policy", "laplace", _EPSILON, max_items=10), _stuck())
_GREEDY_2 = plan_union("greedy", "laplace", epsilon_budget("0.5", "0.05"), max_items=2)
_GREEDY_6 = plan_union("greedy", "laplace", _EPSILON, max_items=6)
_GREEDY_25 = planned("greedy", _GREEDY_2, _SPLIT_UP)
_GREEDY_36A = planned("greedy", _GREEDY_6, table({}, tuple("abcdef"), "one person alone holds six items"))
_GREEDY_36B = planned("greedy", _GREEDY_2, _REROUTED)
_GREEDY_28 = planned("greedy", plan_union("greedy", "laplace", _EPSILON, max_items=40), *_rivals(20))


POLICY_TWINS: tuple[Twin, ...] = (
    Twin(
        name="l1-descent for l2",
        erratum="erratum 22",
        what="One person moves the weights of Algorithm 8 by more than an l2 distance of one.",
        caught_by="replay",
        broken=_POLICY_L2.twin(run=weighing(algorithm_8)),
        sound=_POLICY_L2.twin(run=weighing(algorithm_7)),
        steps=("replay",),
    ),
    Twin(
        name="branch that fills nothing",
        erratum="erratum 23",
        what="Where a person could fill all their items to the cut-off, none is moved.",
        caught_by="replay",
        broken=_POLICY_L1.twin(run=weighing(printed_branch)),
        sound=_POLICY_L1.twin(run=weighing(repaired_branch)),
        steps=("replay",),
    ),
    Twin(
        name="positive weights only",
        erratum="erratum 25",
        what="Items of weight zero cannot be named, so one person brings more items of others to light than they hold.",
        caught_by="replay",
        broken=_GREEDY_25.twin(run=weighing(_greedy_positive_only(_QUARTERS))),
        sound=_GREEDY_25.twin(run=weighing(_repaired_greedy(_QUARTERS))),
        steps=("replay",),
    ),
    Twin(
        name="order seeded by the number of people",
        erratum="erratum 28",
        what="One person more shuffles all others, who then spend their weights elsewhere.",
        caught_by="replay",
        broken=_GREEDY_28.twin(run=weighing(_ordered(weightings.order_reseeded_by_size))),
        sound=_GREEDY_28.twin(run=weighing(by_hash)),
        steps=("replay",),
    ),
    Twin(
        name="order by popularity",
        erratum="erratum 28",
        what="People with the most popular items come first, so that one person reorders others.",
        caught_by="replay",
        broken=_GREEDY_28.twin(run=weighing(_ordered(weightings.order_by_popularity))),
        sound=_GREEDY_28.twin(run=weighing(by_hash)),
        steps=("replay",),
    ),
    Twin(
        name="greedy weighting as coded",
        erratum="erratum 36",
        what="Every item of an unbounded list gets noise, under a threshold for a single novel item.",
        caught_by="exact",
        broken=_GREEDY_36A.twin(
            run=weighing(greedy_as_coded),
            plan=replace(_GREEDY_6, threshold=weightings.greedy_threshold_as_printed(1.0, 0.05)),
        ),
        sound=_GREEDY_36A.sound,
    ),
    Twin(
        name="greedy weighting, positive only",
        erratum="erratum 36",
        what="One person brings two items of others to light, under a threshold for a single novel item.",
        caught_by="exact",
        broken=_GREEDY_36B.twin(
            run=weighing(_greedy_positive_only(_HALVES)),
            plan=replace(_GREEDY_2, threshold=weightings.greedy_threshold_as_printed(0.5, 0.05)),
        ),
        sound=_GREEDY_36B.twin(run=weighing(_repaired_greedy(_HALVES))),
    ),
)
