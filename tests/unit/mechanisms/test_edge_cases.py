"""Edge cases that the docstrings promise: no data, one person, ties, short lists, huge counts; for every mechanism."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.errors import InvalidInput
from hushcount.mechanisms.calibration import inverse_above, root_above, root_below
from hushcount.mechanisms.counts.plume import plan_plume, run_plume
from hushcount.mechanisms.counts.tsgd import plan_tsgd, run_tsgd
from hushcount.mechanisms.ranking import rank
from hushcount.mechanisms.selection.optimal import plan_optimal, run_optimal
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.mechanisms.topk.known_domain import known_gumbel_at, run_known_gumbel
from hushcount.mechanisms.topk.unknown_domain import run_unknown_gumbel, unknown_gumbel_at
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import KeyedSource, NoiseContext, SeededSource, SystemSource
from tests.unit.mechanisms.made_inputs import (
    PUBLIC,
    as_items,
    empty_for,
    facts_for,
    histogram,
    input_for,
    made_histogram,
    of_rows,
    same_release,
)

EVERY = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
FROM_A_PUBLIC_LIST = {"known-laplace", "known-gaussian", "known-gumbel", "tsgd-public"}
WHOLE_HISTOGRAM = {"optimal", "tsgd", "tsgd-public", "gaussian-threshold"} | {
    "known-laplace",
    "known-gaussian",
    "known-gumbel",
}
CUT_HISTOGRAM = {"pcr", "pcr-batched", "unknown-laplace", "unknown-gumbel"}
BUDGET = rho_budget("0.5", "1e-6")


def plan_of(mechanism, budget=BUDGET):
    """The mechanism's plan for the made-up facts."""
    return mechanism.plan(budget, facts_for(mechanism))


def keyed(name: str, version: str = "v1") -> KeyedSource:
    """A secret source for one question on one version of the data."""
    context = NoiseContext(query="q", data_version=version, mechanism=name, mechanism_version=1)
    return KeyedSource(bytes(range(32)), context)


@EVERY
def test_no_data_gives_no_private_item(mechanism):
    """Without data nothing is shown that is not on the public list, and it is not free."""
    release = mechanism.run(empty_for(mechanism), plan_of(mechanism), SeededSource(1))

    assert set(release.items) <= (set(PUBLIC) if mechanism.name in FROM_A_PUBLIC_LIST else set())
    assert zcdp.spent(release.cost).rho > 0
    assert release.items.dtype == object


@EVERY
def test_one_person_alone_is_not_shown(mechanism):
    """Items that a single person has, unlisted ones, are not shown at delta = 1e-6, over 20 seeds."""
    data = of_rows(mechanism, ["p", "p"], ["x", "y"])
    plan = plan_of(mechanism)
    shown = [set(mechanism.run(data, plan, SeededSource(seed)).items) for seed in range(20)]

    assert not set().union(*shown) & {"x", "y"}


@EVERY
def test_items_of_many_people_are_shown(mechanism):
    """With a generous budget the items of 400 people are shown: the tests above do not pass by showing nothing."""
    release = mechanism.run(input_for(mechanism), plan_of(mechanism, rho_budget(20, "1e-2")), SeededSource(1))

    assert {"item 00", "item 01"} <= set(release.items)


@EVERY
def test_test_seeds_are_marked_and_secrets_are_not(mechanism):
    """A seeded release says that it is not private; releases from the system's or a secret key say that they are."""
    plan, data = plan_of(mechanism), input_for(mechanism)

    assert mechanism.run(data, plan, SeededSource(1)).private is False
    assert mechanism.run(data, plan, keyed(mechanism.name)).private is True
    assert mechanism.run(data, plan, SystemSource()).private is True


@EVERY
def test_a_keyed_release_can_be_repeated(mechanism):
    """The same secret and context give the same release; another version of the data gives other noise."""
    # So little that most items are neither sure to be named nor sure not to be.
    budget = rho_budget("0.01" if mechanism.name == "optimal" else 5, "1e-2")
    plan, data = plan_of(mechanism, budget), input_for(mechanism)
    one, two = (mechanism.run(data, plan, keyed(mechanism.name)) for _ in range(2))
    others = [mechanism.run(data, plan, keyed(mechanism.name, f"v{n}")) for n in range(2, 8)]

    assert same_release(one, two)
    assert not all(same_release(one, other) for other in others)


@EVERY
def test_releases_are_consistent_in_themselves(mechanism):
    """Items, counts and noise scales have one length, items come once, and the name is the table's."""
    release = mechanism.run(input_for(mechanism), plan_of(mechanism, rho_budget(5, "1e-2")), SeededSource(3))

    assert release.mechanism == mechanism.name == find(mechanism.name).name
    assert len(set(release.items)) == len(release.items)
    assert (release.counts is None) == (release.noise_scale is None) == (release.noise == "none")
    if release.counts is not None:
        assert len(release.counts) == len(release.noise_scale) == len(release.items)
        assert (release.noise_scale > 0).all()


@pytest.mark.parametrize("name", sorted(WHOLE_HISTOGRAM))
def test_mechanisms_that_look_at_every_item_refuse_a_cut_histogram(name):
    """A histogram that lacks items is refused: a missing row would be read as zero."""
    mechanism = find(name)

    with pytest.raises(InvalidInput, match="complete"):
        mechanism.run(histogram(["a", "b"], [5, 4], complete=False), plan_of(mechanism), SeededSource(1))


@pytest.mark.parametrize("name", sorted(CUT_HISTOGRAM))
def test_a_histogram_cut_where_the_plan_says_gives_the_same_release(name):
    """The rows that a plan asks for are enough: what is behind them changes nothing; one row fewer is refused."""
    mechanism = find(name)
    plan = replace(plan_of(mechanism, rho_budget(5, "1e-2")), rows=8)
    if name.startswith("pcr"):
        plan = replace(plan, fetched=16)
    data = made_histogram()
    rows = mechanism.fetch(plan)
    cut = histogram(data.items[:rows].tolist(), data.counts[:rows].tolist(), complete=False)
    short = histogram(data.items[: rows - 1].tolist(), data.counts[: rows - 1].tolist(), complete=False)

    assert same_release(mechanism.run(data, plan, SeededSource(5)), mechanism.run(cut, plan, SeededSource(5)))
    with pytest.raises(InvalidInput, match="largest counts"):
        mechanism.run(short, plan, SeededSource(5))


@pytest.mark.parametrize("name", sorted(WHOLE_HISTOGRAM | CUT_HISTOGRAM))
def test_counts_just_below_the_limit_do_not_wrap(name):
    """Counts near 2^62 come out near 2^62; at 2^62 the input is refused."""
    mechanism = find(name)
    data = histogram(["item 00", "item 01", "item 02"], [2**62 - 1, 2**61, 5])
    release = mechanism.run(data, plan_of(mechanism, rho_budget(5, "1e-2")), SeededSource(1))

    assert "item 00" in release.items
    if release.counts is not None:
        assert abs(int(release.counts[release.items.tolist().index("item 00")]) - 2**62) < 10**6
    with pytest.raises(InvalidInput, match="2\\^62"):
        histogram(["a"], [2**62])


@pytest.mark.parametrize("name", sorted(CUT_HISTOGRAM))
def test_ties_with_the_boundary_are_never_shown(name):
    """Where all items beyond the rows tie, none of them is shown, however many people have them."""
    mechanism = find(name)
    plan = replace(plan_of(mechanism, rho_budget(5, "1e-2")), rows=8)
    if name.startswith("pcr"):
        plan = replace(plan, fetched=16)
    data = histogram([f"item {n}" for n in range(40)], [10_000] * 40)

    assert not any(len(mechanism.run(data, plan, SeededSource(seed)).items) for seed in range(10))


def test_a_top_list_can_be_as_long_as_the_public_list():
    """A k equal to the length of the list gives all of it."""
    plan = known_gumbel_at(Decimal(1), Facts(k=len(PUBLIC), public_items=PUBLIC))

    assert set(run_known_gumbel(histogram([], []), plan, SeededSource(1)).items) == set(PUBLIC)


def test_an_empty_top_list_is_random_and_not_alphabetical():
    """Without data every listed name comes up first at times."""
    plan = known_gumbel_at(Decimal(1), Facts(k=1, public_items=as_items(["a", "b", "c"]), with_counts=False))
    first = {run_known_gumbel(histogram([], []), plan, SeededSource(seed)).items[0] for seed in range(60)}

    assert first == {"a", "b", "c"}


@pytest.mark.parametrize("k", [1, 5, 50])
def test_a_top_list_is_shorter_where_there_is_less_to_show(k):
    """More items asked for than there are: those that are above the threshold come back, and less is paid."""
    plan = unknown_gumbel_at(Decimal(1), Decimal("1e-6"), Facts(k=k))
    data = histogram(["a", "b", "c"], [9000, 8000, 7000])
    release = run_unknown_gumbel(data, plan, SeededSource(1))
    empty = run_unknown_gumbel(histogram([], []), plan, SeededSource(1))

    assert len(release.items) == min(k, 3)
    assert zcdp.spent(release.cost).rho <= zcdp.spent(plan.cost).rho
    assert len(empty.items) == 0
    # The place and bottom: two choices of epsilon²/8.
    assert zcdp.spent(empty.cost).rho == Decimal("0.25")


def test_two_thresholds_for_listed_and_unlisted_items():
    """Listed items are shown above their own threshold, zeros included; unlisted ones above the bound only."""
    public = as_items(["a", "nobody"])
    plan = plan_tsgd(epsilon_budget(1, "1e-5"), 1, public_items=public, public_threshold=-1000)
    release = run_tsgd(histogram(["a", "b", "c"], [3, 3, 1000]), plan, SeededSource(1))

    assert set(release.items) == {"a", "nobody", "c"}
    assert release.noise == "truncated-geometric"


@pytest.mark.parametrize("extra", [0, 1])
def test_truncated_noise_is_certain_beyond_its_ends(extra):
    """An item of 2 bound + 1 people is always shown; noise never exceeds the bound."""
    plan = plan_tsgd(epsilon_budget(1, "0.1"), 1)
    names = [f"item {n}" for n in range(3000)]
    release = run_tsgd(histogram(names, [2 * plan.bound + extra] * 3000), plan, SeededSource(2))

    assert (len(release.items) == 3000) == (extra == 1)
    assert np.abs(release.counts - 2 * plan.bound - extra).max() <= plan.bound


def test_counts_beyond_the_optimal_table_are_named_for_certain():
    """From the table's end on an item is always named; below `least` people never."""
    plan = plan_optimal(epsilon_budget(1, "0.1"), 1, least=4)
    names = [f"item {n}" for n in range(2000)]

    assert len(run_optimal(histogram(names, [len(plan.table) + 3] * 2000), plan, SeededSource(1)).items) == 2000
    assert len(run_optimal(histogram(names, [3] * 2000), plan, SeededSource(1)).items) == 0
    assert 100 < len(run_optimal(histogram(names, [4] * 2000), plan, SeededSource(1)).items) < 300


def test_plume_with_threshold_drops_rows_that_are_mostly_noise():
    """Rows below (2 + r) sigma / r are dropped after the noise is added, and no other rows."""
    data = input_for(find("plume"))
    plain, dropping = (plan_plume(rho_budget(5, "1e-2"), 2, relative_error=error) for error in (None, 0.1))
    all_rows, kept = (run_plume(data, plan, SeededSource(6)) for plan in (plain, dropping))

    assert kept.items.tolist() == all_rows.items[all_rows.counts >= dropping.least].tolist()
    assert 0 < len(kept.items) < len(all_rows.items)


def test_a_ranking_is_padded_with_zeros_and_strict():
    """Counts beyond the data are zero, and only what is strictly above a place counts as above it."""
    top = rank(histogram(["a", "b", "c", "d"], [3, 5, 3, 1]), 5)

    assert top.counts.tolist() == [5, 3, 3, 1, 0, 0]
    assert [top.above(place) for place in range(6)] == [0, 1, 1, 3, 4, 4]


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2), Fraction(4), Fraction(7, 10**20), Fraction(10**30, 7)])
def test_roots_are_rounded_to_their_side(value):
    """Squares of rounded roots are on the stated side, exactly, and close."""
    above, below = Fraction(root_above(value)), Fraction(root_below(value))

    assert below**2 <= value <= above**2
    assert above - below <= above * Fraction(1, 2**50)


@pytest.mark.parametrize("value", ["3", "0.1", "1e-9", "7e12"])
def test_inverses_are_rounded_up(value):
    """A noise scale of 1/epsilon is never below it."""
    assert 1 <= Fraction(inverse_above(Decimal(value))) * Fraction(value) <= 1 + Fraction(1, 2**50)


def test_unknown_laplace_looks_at_as_many_rows_as_a_person_may_have():
    """A declared bound above the usual thousand rows widens the top instead of failing."""
    plan = find("unknown-laplace").plan(rho_budget("1", "1e-6"), Facts(max_items=5000))

    assert plan.rows == 5000
    assert find("unknown-laplace").fetch(plan) == 5001
