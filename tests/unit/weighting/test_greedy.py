"""The repaired greedy weighting fills a person's first items first, and always ends."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.audit.twins.weightings import greedy_as_coded
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.mechanisms.weighting.greedy import greedy
from hushcount.mechanisms.weighting.policy import L1_UNIT
from tests.unit.weighting.made_lists import as_dict, encode

PEOPLE = st.lists(st.lists(st.integers(0, 7), unique=True, max_size=6), max_size=12)


@given(PEOPLE, st.integers(L1_UNIT, 4 * L1_UNIT))
def test_weights_are_those_of_exact_arithmetic(people, steps):
    """On bounded lists the weights are those of the coded algorithm in fractions, for any cutoff on the grid."""
    got = greedy(encode(people), steps / L1_UNIT)
    exact = greedy_as_coded(people, cutoff=Fraction(steps, L1_UNIT))

    assert as_dict(got) == {str(item): weight * L1_UNIT for item, weight in exact.items()}


def test_preference_is_the_order_of_the_list():
    """The first item of a list is filled before the second gets anything."""
    got = greedy(encode([["b", "a"], ["b", "a"], ["b", "a"]]), 1.5)

    assert as_dict(got) == {"b": 3 * L1_UNIT // 2, "a": 3 * L1_UNIT // 2}


def test_full_items_end_the_turn():
    """Erratum 36: a person whose items are all full moves nothing, and the run ends."""
    got = greedy(encode([["a"]] * 50), 2.0)

    assert as_dict(got) == {"a": 2 * L1_UNIT}


def test_all_of_a_persons_novel_items_share_one_unit():
    """Items that one person alone holds weigh one together, whatever their number."""
    got = greedy(encode([["a"], ["a", "x", "y", "z"]]), 1.25)

    assert sum(as_dict(got)[item] for item in "xyz") <= L1_UNIT
    assert as_dict(got) == {"a": 5 * L1_UNIT // 4, "x": 3 * L1_UNIT // 4, "y": 0, "z": 0}


@pytest.mark.parametrize("cutoff", [0.999, 0.0, -1.0, float("nan"), float("inf"), 2.0**32])
def test_cutoffs_below_one_are_refused(cutoff):
    """The threshold assumes a cutoff of at least one."""
    with pytest.raises(InvalidParameter, match="cutoff"):
        greedy(encode([["a"]]), cutoff)


def test_repeated_items_are_refused():
    """Erratum 38: a list is a set."""
    with pytest.raises(InvalidInput, match="twice"):
        greedy(encode([["a", "b", "a"]]), 2.0)


def test_nobody_gives_an_empty_histogram():
    """No people, no items."""
    assert len(greedy(encode([]), 2.0).items) == 0
