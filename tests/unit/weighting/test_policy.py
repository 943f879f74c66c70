"""The policy weightings compute what they say, on the grid they say, and refuse what their proofs do not cover."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.errors import InvalidInput, InvalidParameter, UnsafeMechanism
from hushcount.mechanisms.weighting import kernels
from hushcount.mechanisms.weighting.policy import (
    L1_UNIT,
    MOST_PEOPLE,
    l1_descent,
    l2_descent,
    l2_radius,
    l2_slack,
    l2_unit,
    refuse_l1_descent_for_gaussian,
)
from hushcount.model.inputs import UserLists
from tests.unit.weighting.made_lists import as_dict, encode

PEOPLE = st.lists(st.lists(st.integers(0, 7), unique=True, max_size=6), max_size=8)


def step_by_step(people, *, cutoff, budget):
    """l1-descent as its proof has it: one step at a time, in rounds."""
    weights = {item: 0 for items in people for item in items}
    for items in people:
        left = budget
        while left and any(weights[item] < cutoff for item in items):
            for item in items:
                if left and weights[item] < cutoff:
                    weights[item] += 1
                    left -= 1
    return weights


@given(PEOPLE, st.integers(1, 40), st.integers(1, 40))
def test_l1_kernel_is_the_round_robin_of_the_proof(people, cutoff, budget):
    """Finding the level directly gives what handing out one step after another gives."""
    lists = encode(people)
    weights = kernels.weigh(kernels.fill_evenly, lists, cutoff=cutoff, budget=budget)
    expected = step_by_step(people, cutoff=cutoff, budget=budget)

    assert dict(zip(lists.items.tolist(), weights.tolist(), strict=True)) == {str(k): v for k, v in expected.items()}


@given(PEOPLE, st.floats(0.1, 20.0))
def test_l2_is_algorithm_7(people, cutoff):
    """On the grid the weights are those of Algorithm 7 in real numbers, up to the slack and the rounding."""
    got = l2_descent(encode(people), cutoff, max_items=6)
    reach = l2_radius(cutoff, 6) / got.unit
    weights = {item: 0.0 for items in people for item in items}
    for items in people:
        gaps = {item: cutoff - weights[item] for item in items}
        norm = math.sqrt(sum(gap * gap for gap in gaps.values()))
        for item, gap in gaps.items():
            weights[item] += gap * min(1.0, reach / norm) if norm else 0.0

    for item, weight in weights.items():
        assert as_dict(got)[str(item)] / got.unit == pytest.approx(weight, abs=1e-9)


@given(PEOPLE, st.floats(0.1, 20.0))
def test_held_items_weigh_something_and_none_passes_the_cutoff(people, cutoff):
    """Every item of every list is in the result, with a weight above zero and at most the cutoff."""
    for got in (l1_descent(encode(people), cutoff), l2_descent(encode(people), cutoff, max_items=6)):
        assert set(got.items) == {str(item) for items in people for item in items}
        assert all(0 < weight <= Fraction(cutoff) * got.unit for weight in got.weights.tolist())


@given(PEOPLE, st.integers(1, 40), st.floats(0.1, 20.0), st.integers(0, 5))
def test_novel_items_share_the_budget(people, n_novel, cutoff, n_known):
    """Of t items that one person alone holds, none weighs more than ceil(unit / t), or unit / sqrt(t)."""
    extra = [*range(n_known), *(f"novel {n}" for n in range(n_novel))]
    lists = encode([*people, extra])
    one, two = l1_descent(lists, cutoff), l2_descent(lists, cutoff, max_items=45)

    assert max(as_dict(one)[item] for item in map(str, extra[n_known:])) <= -(-one.unit // n_novel)
    assert max(as_dict(two)[item] for item in map(str, extra[n_known:])) ** 2 * n_novel <= two.unit**2


def test_a_person_whose_gaps_fit_fills_them():
    """Erratum 23 repaired: what is left below the cutoff is filled, to the step."""
    one = l1_descent(encode([["a"], ["a"]]), 1.5)
    two = l2_descent(encode([["a"], ["a"]]), 1.5, max_items=1)

    assert one.weights.tolist() == [3 * L1_UNIT // 2]
    assert two.weights.tolist() == [3 * two.unit // 2]


def test_leftover_steps_go_to_the_first_of_the_list():
    """A budget that three items do not divide gives its odd step to the item that comes first."""
    got = l1_descent(encode([["c", "a", "b"]]), 5.0)

    assert as_dict(got) == {"c": L1_UNIT // 3 + 1, "a": L1_UNIT // 3, "b": L1_UNIT // 3}


def test_nobody_gives_an_empty_histogram():
    """No people, no items."""
    assert len(l1_descent(encode([]), 5.0).items) == 0
    assert len(l2_descent(encode([]), 5.0, max_items=3).items) == 0


@pytest.mark.parametrize("cutoff", [0.0, -1.0, math.nan, math.inf, 2.0**-40, 2.0**32])
def test_l1_refuses_cutoffs_without_a_grid(cutoff):
    """A cutoff must be a number that is some steps, but not 2^61 of them."""
    with pytest.raises(InvalidParameter, match="cutoff"):
        l1_descent(encode([["a"]]), cutoff)


@pytest.mark.parametrize("cutoff", [0.0, -1.0, math.nan, math.inf, 2.0**-60, 2.0**25])
def test_l2_refuses_cutoffs_without_a_grid(cutoff):
    """A cutoff must be a number, and small enough that rounding does not eat the budget."""
    with pytest.raises(InvalidParameter, match="cutoff"):
        l2_descent(encode([["a"]]), cutoff, max_items=10)


@pytest.mark.parametrize(("cutoff", "bits"), [(0.5, 47), (32.0, 47), (32.5, 46), (64.0, 46), (1000.0, 42)])
def test_l2_unit(cutoff, bits):
    """The grid is 2^47 steps to the unit, coarser where the cutoff would pass 2^52 of them."""
    assert l2_unit(cutoff) == 1 << bits
    assert cutoff * l2_unit(cutoff) <= 2**52


@pytest.mark.parametrize("max_items", [1, 2, 3, 300, 10_000])
def test_l2_slack_pays_for_every_rounding(max_items):
    """Radius and 2^30 times sqrt(max_items) + 1/4 are at most the unit, and within two steps of it."""
    left = l2_unit(20.0) - l2_radius(20.0, max_items) - MOST_PEOPLE // 4

    assert left**2 >= max_items * MOST_PEOPLE**2 > (left - 2) ** 2
    assert l2_slack(20.0, max_items) == Fraction(left + MOST_PEOPLE // 4, l2_unit(20.0))


def test_l2_slack_is_small():
    """Lists of 300 items give up less than 0.014 % of their weight."""
    assert 0.00013 < l2_slack(20.0, 300) < 0.00014


def test_l2_refuses_more_people_than_the_slack_pays_for():
    """More than 2^30 lists are refused before they are read."""
    offsets = np.broadcast_to(np.zeros(1, np.int64), (MOST_PEOPLE + 2,))
    lists = UserLists(items=np.empty(0, object), offsets=offsets, ids=np.empty(0, np.int32))

    with pytest.raises(InvalidInput, match=r"2\^30"):
        l2_descent(lists, 5.0, max_items=1)


def test_l2_refuses_a_list_over_the_declared_bound():
    """The slack was computed for the declared bound, so a longer list is an error and not a surprise."""
    with pytest.raises(InvalidInput, match="bound of 2"):
        l2_descent(encode([["a", "b", "c"]]), 5.0, max_items=2)


@pytest.mark.parametrize(
    ("ids", "offsets", "items", "words"),
    [
        ([0, 0], [0, 2], 1, "twice"),
        ([0], [0, 1], 2, "nobody"),
        ([1], [0, 1], 1, "positions"),
        ([-1], [0, 1], 1, "positions"),
        ([0], [0, 2], 1, "offsets"),
        ([0, 0], [0, 2, 1, 2], 1, "offsets"),
        ([0], [], 1, "offsets"),
    ],
)
def test_lists_that_break_the_proofs_are_refused(ids, offsets, items, words):
    """Errata 24 and 38: repeated items, items held by nobody and impossible codes never reach a weighting."""
    texts = np.array([f"secret {n}" for n in range(items)], dtype=object)
    lists = UserLists(items=texts, offsets=np.array(offsets, np.int64), ids=np.array(ids, np.int32))

    for weigh in (lambda: l1_descent(lists, 5.0), lambda: l2_descent(lists, 5.0, max_items=3)):
        with pytest.raises(InvalidInput, match=words) as caught:
            weigh()

        assert "secret" not in str(caught.value)


def test_algorithm_8_is_refused():
    """Erratum 22: whoever asks for l1-descent with Gaussian noise is told why not, and by whom."""
    with pytest.raises(UnsafeMechanism, match=r"corrigendum of 2026.*2\.44.*4\.13.*l2-descent"):
        refuse_l1_descent_for_gaussian()
