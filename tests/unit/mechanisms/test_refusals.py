"""What cannot be done is refused with a typed error whose text says what to write instead."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushcount.errors import HushcountError, InvalidInput, InvalidParameter, UnsafeMechanism
from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold
from hushcount.mechanisms.counts.known_domain import plan_known_laplace
from hushcount.mechanisms.counts.pcr import plan_pcr
from hushcount.mechanisms.counts.plume import plan_plume
from hushcount.mechanisms.counts.tsgd import plan_tsgd
from hushcount.mechanisms.counts.unknown_domain import plan_unknown_laplace
from hushcount.mechanisms.selection.optimal import keep_table, plan_optimal
from hushcount.mechanisms.selection.sips import plan_sips
from hushcount.mechanisms.selection.union import plan_union
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.mechanisms.topk.unknown_domain import plan_unknown_gumbel
from hushcount.model.amounts import amount
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Histogram, WeightedHistogram
from tests.unit.mechanisms.made_inputs import PUBLIC, as_items

BUDGET = rho_budget("0.1", "1e-6")
NEED_A_BOUND = {
    "optimal",
    "tsgd",
    "tsgd-public",
    "gaussian-threshold",
    "plume",
    "plume-threshold",
    "unknown-laplace",
}
NEED_A_LIST = {"tsgd-public", "known-laplace", "known-gaussian", "known-gumbel"}
COUNT_PEOPLE_ONLY = {"optimal", "tsgd", "sips", "weighted-gaussian", "greedy", "plume"}


def plan(name, facts):
    """A plan from those of the facts that the mechanism takes."""
    return find(name).plan(BUDGET, find(name).fitting(facts))


@pytest.mark.parametrize("counts", [[-1], [0], [2**62]])
def test_counts_outside_their_range_are_refused(counts):
    """Negative, zero and enormous counts are no histogram, and the text does not tell them."""
    with pytest.raises(InvalidInput, match="sensitivity") as caught:
        Histogram(items=as_items(["a"]), counts=np.array(counts, dtype=np.int64), complete=True)
    assert "-1" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64, object])
def test_counts_of_another_type_are_refused(dtype):
    """NaN cannot get in, since only int64 does; neither can types that would wrap."""
    counts = np.array([math.nan], dtype=dtype) if dtype is np.float64 else np.array([1], dtype=dtype)

    with pytest.raises(InvalidInput, match="int64"):
        Histogram(items=as_items(["a"]), counts=counts, complete=True)


@pytest.mark.parametrize(("items", "counts"), [(["a"], [1, 2]), ([], [1]), (["a", "b"], [[1, 2]])])
def test_items_and_counts_must_match(items, counts):
    """One count for each item, in one dimension."""
    with pytest.raises(InvalidInput, match="same length"):
        Histogram(items=as_items(items), counts=np.array(counts, dtype=np.int64), complete=True)


def test_weights_may_be_zero_and_not_negative():
    """Items of weight zero are listed (erratum 25); negative weights are refused."""
    assert WeightedHistogram(items=as_items(["a"]), weights=np.array([0]), unit=8).unit == 8
    with pytest.raises(InvalidInput, match="from 0"):
        WeightedHistogram(items=as_items(["a"]), weights=np.array([-1]), unit=8)


@pytest.mark.parametrize("make", [rho_budget, epsilon_budget])
@pytest.mark.parametrize("value", [0, -1, "0", math.nan, math.inf, "much"])
def test_budgets_must_be_positive_numbers(make, value):
    """Zero, negative, infinite and unreadable budgets are refused by name."""
    with pytest.raises(InvalidParameter, match=r"rho|epsilon"):
        make(value, "1e-6")


@pytest.mark.parametrize("make", [rho_budget, epsilon_budget])
@pytest.mark.parametrize("delta", [0, 1, 2, -1e-9, math.nan])
def test_delta_must_be_between_zero_and_one(make, delta):
    """A private list of items needs a delta above zero, and one of one says nothing."""
    with pytest.raises(InvalidParameter, match="delta") as caught:
        make(1, delta)
    if delta == 0:
        assert "1e-6 is the usual choice" in str(caught.value)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_must_be_a_positive_whole_number(k):
    """A top list of no, half or true items is refused."""
    with pytest.raises(InvalidParameter, match="k = "):
        Facts(k=k)


@pytest.mark.parametrize("name", ["known-gumbel", "unknown-gumbel"])
def test_a_top_list_needs_its_k(name):
    """Without k there is nothing to plan."""
    with pytest.raises(InvalidParameter, match="k must be"):
        plan(name, Facts(public_items=PUBLIC))


@pytest.mark.parametrize("max_items", [0, -3, 2.0])
def test_max_items_must_be_a_positive_whole_number(max_items):
    """A bound of zero would let nobody in."""
    with pytest.raises(InvalidParameter, match="max_items"):
        Facts(max_items=max_items)
    for planner in (plan_optimal, plan_tsgd, plan_gaussian_threshold, plan_plume, plan_sips, plan_unknown_laplace):
        with pytest.raises(InvalidParameter, match="max_items"):
            planner(BUDGET, max_items)


@pytest.mark.parametrize("name", sorted(NEED_A_BOUND))
def test_bounded_mechanisms_need_a_declared_bound(name):
    """Without max_items they are refused, and the text names mechanisms that need none."""
    with pytest.raises(InvalidParameter, match=f"declared for '{name}'.*'ntm' or 'sips'"):
        plan(name, Facts(public_items=PUBLIC, k=2))


@pytest.mark.parametrize("name", sorted({mechanism.name for mechanism in MECHANISMS} - NEED_A_BOUND))
def test_the_other_mechanisms_need_none(name):
    """All others can be planned without a bound."""
    assert plan(name, Facts(public_items=PUBLIC, k=2)).name == name


@pytest.mark.parametrize("public", [None, as_items([]), as_items(["a", "b", "a"])])
@pytest.mark.parametrize("name", sorted(NEED_A_LIST))
def test_public_lists_must_be_there_and_without_repeats(name, public):
    """A missing, an empty and a repeating public list are refused."""
    with pytest.raises(InvalidParameter, match="public list"):
        plan(name, Facts(public_items=public, k=1, max_items=1))


def test_a_top_list_cannot_be_longer_than_the_public_list():
    """A k above the length of the list is refused, with the length."""
    with pytest.raises(InvalidParameter, match=f"at most {len(PUBLIC)}"):
        find("known-gumbel").plan(BUDGET, Facts(public_items=PUBLIC, k=len(PUBLIC) + 1))


@pytest.mark.parametrize("name", sorted(COUNT_PEOPLE_ONLY))
def test_a_cap_above_one_is_refused_where_the_proof_counts_people(name):
    """Mechanisms whose proof has each person add one at most do not take a larger cap."""
    with pytest.raises(InvalidParameter, match=r"per_item_cap = 3 .* people, not at rows"):
        find(name).plan(BUDGET, Facts(max_items=2, per_item_cap=3))


@pytest.mark.parametrize("name", ["", "laplace", "PCR", "policy_gaussian"])
def test_unknown_methods_are_refused_with_the_list(name):
    """The text lists what there is."""
    with pytest.raises(InvalidParameter, match=r"sips.*pcr.*unknown-gumbel"):
        find(name)


def test_the_unsafe_policy_is_refused_by_name():
    """policy-gaussian-l1 is known, not private, and refused with the reference and what to use (erratum 22)."""
    with pytest.raises(UnsafeMechanism, match=r"corrigendum[\s\S]*l2-descent"):
        find("policy-gaussian-l1")


def test_greedy_has_laplace_noise_only():
    """The greedy weighting with Gaussian noise is refused."""
    with pytest.raises(InvalidParameter, match="greedy"):
        plan_union("greedy", "gaussian", BUDGET, max_items=3)


@pytest.mark.parametrize("relative_error", [0, -0.1, math.inf, math.nan])
def test_relative_errors_must_be_positive(relative_error):
    """PCR and Plume with threshold aim at a positive relative error."""
    with pytest.raises(InvalidParameter, match="error = "):
        plan_pcr(BUDGET, relative_error=relative_error)
    if not math.isinf(relative_error):
        with pytest.raises(InvalidParameter, match="error = "):
            plan_plume(BUDGET, 3, relative_error=relative_error)


def test_budgets_that_do_not_reach_a_first_step_are_refused():
    """A rho below PCR's first step, a table too long, a delta below the grid: refused before data is read."""
    with pytest.raises(InvalidParameter, match="Not even one step fits"):
        plan_pcr(rho_budget("1e-9", "1e-6"))
    with pytest.raises(InvalidParameter, match="large enough"):
        keep_table(amount("epsilon", "1e-6"), amount("delta", "1e-15"))
    with pytest.raises(InvalidParameter, match="delta"):
        keep_table(amount("epsilon", 1), amount("delta", "1e-50"))


@pytest.mark.parametrize("rows", [0, -1, 1])
def test_rows_must_hold_what_is_asked_for(rows):
    """Fewer rows than k, or than the items of a person, are refused."""
    with pytest.raises(InvalidParameter, match="rows"):
        plan_unknown_gumbel(BUDGET, Facts(k=2), rows=rows)
    with pytest.raises(InvalidParameter, match="rows"):
        plan_unknown_laplace(BUDGET, 2, rows=rows)


def test_refusals_are_value_errors_with_fields():
    """A refusal can be caught as ValueError and as the library's own, and carries name, value and wish."""
    with pytest.raises(ValueError, match="cannot be used") as caught:
        plan_known_laplace(BUDGET, 0, PUBLIC)
    assert isinstance(caught.value, HushcountError)
    assert (caught.value.name, caught.value.value) == ("max_items_per_user", 0)


def test_a_delta_that_a_step_cannot_cover_is_refused():
    """One delta for the whole list needs delta at most e^epsilon - 1 for a cap of one: an absurd one is refused."""
    facts = Facts(k=5)

    assert find("unknown-gumbel").plan(rho_budget("0.001", "0.01"), facts)
    with pytest.raises(InvalidParameter, match=r"at most 0.0273 for each choice"):
        find("unknown-gumbel").plan(rho_budget("0.001", "0.1"), facts)
