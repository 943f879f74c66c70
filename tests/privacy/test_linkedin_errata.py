"""LinkedIn's mechanisms where the paper is wrong: what hushcount does passes, what is printed fails the same check."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from hushcount.accounting import basic, units, zcdp
from hushcount.audit.twins import formulas
from hushcount.mechanisms.counts.known_domain import plan_known_laplace, run_known_laplace
from hushcount.mechanisms.counts.unknown_domain import difference_tail, plan_unknown_laplace
from hushcount.mechanisms.ranking import bottom_odds, place_call, rank
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.mechanisms.topk.known_domain import known_gumbel_at, plan_known_gumbel, run_known_gumbel
from hushcount.mechanisms.topk.unknown_domain import plan_unknown_gumbel, run_unknown_gumbel, unknown_gumbel_at
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.costs import BoundedRange, DiscreteGaussian, Failure
from hushcount.model.facts import Facts
from hushcount.noise.source import SeededSource
from tests import broken_twins
from tests.privacy.exact import (
    Selection,
    as_histogram,
    as_items,
    discrete_laplace,
    fits,
    neighbours,
    place_law,
    selection_law,
)
from tests.unit.mechanisms.made_inputs import PUBLIC, facts_for, input_for, same_release

REJECT = 1e-6


# Erratum 1: how many items the threshold's union bound runs over


def shown_against_nothing(rows: int, odds: float) -> float:
    """P[an item is shown] for `rows` items one above the boundary; the neighbour, all counts equal, shows none."""
    return rows / (rows + odds)


@pytest.mark.parametrize(("place", "fetched", "times"), [(999, 1000, 999), (990, 1000, 99)])
def test_erratum_1_printed_threshold_multiplies_delta(place, fetched, times):
    """ln(min(place, fetched - place)/delta) lets through up to 999 times delta; ln(place/delta) delta at most."""
    delta = 1e-12
    printed = formulas.bottom_odds_as_printed(place, fetched, delta)
    ours = float(bottom_odds(place, Fraction(delta)))

    assert shown_against_nothing(place, printed) / delta == pytest.approx(times, rel=1e-6)
    assert shown_against_nothing(place, ours) <= delta


def test_erratum_1_printed_threshold_vanishes_at_the_last_row():
    """With the place at the last fetched row the printed bottom has no weight at all: everything is released."""
    assert shown_against_nothing(1000, formulas.bottom_odds_as_printed(1000, 1000, 1e-10)) == 1
    assert shown_against_nothing(1000, float(bottom_odds(1000, Fraction(1, 10**10)))) <= 1e-10


def test_erratum_1_printed_threshold_fails_on_small_inputs():
    """Over all neighbours of six items, what one side alone can show stays below delta with ours and not as printed."""
    delta, rows = 0.1, 3

    def worst(odds: float) -> float:
        rule = Selection(rows=rows, k=3, rate=0.5, odds=odds)
        laws = [(selection_law(a, rule), selection_law(b, rule)) for a, b in neighbours("abcdef", most=1)]
        return max(math.fsum(p for names, p in two.items() if names not in one) for one, two in laws)

    assert worst(float(bottom_odds(rows, Fraction(1, 10)))) <= delta
    assert worst(formulas.bottom_odds_as_printed(rows, 4, delta)) > 2 * delta


# Erratum 2: the choice of the threshold's place


def gumbel_loss(candidates: int, height: float) -> float:
    """The loss, in units of epsilon = 0.15, when one of so many places falls by one count from `height`."""
    rest = [0.0] * (candidates - 1)
    low, high = (broken_twins.argmin_plus_gumbel([at, *rest], 0.15, 0) for at in (height - 1, height))
    return math.log(low / high) / 0.15


@pytest.mark.parametrize(
    ("candidates", "height", "loss"), [(10, 0, 1.83), (100, 0, 3.93), (1000, 0, 6.07), (1000, 1 / 0.15, 14.6)]
)
def test_erratum_2_argmin_of_added_gumbel_noise_loses_many_epsilon(candidates, height, loss):
    """argmin(threshold + Gumbel) loses up to 14.6 epsilon; the exponential mechanism at most one."""
    rest = [0.0] * (candidates - 1)

    def chance(at: float) -> float:
        weights = [math.exp(-0.15 * threshold) for threshold in (at, *rest)]
        return weights[0] / math.fsum(weights)

    assert gumbel_loss(candidates, height) == pytest.approx(loss, abs=0.05 if loss > 10 else 0.006)
    assert math.log(chance(height - 1) / chance(height)) <= 0.15


def test_erratum_2_subtracted_gumbel_noise_is_the_exponential_mechanism():
    """argmin(threshold - Gumbel), by integration, has the weights e^(-epsilon threshold) that the library uses."""
    thresholds, epsilon = [3.0, 5.0, 4.0, 3.5], 0.4
    heights = [-epsilon * threshold for threshold in thresholds]

    def chance(which: int) -> float:
        def density(x: float) -> float:
            others = math.fsum(-math.exp(height - x) for n, height in enumerate(heights) if n != which)
            return math.exp(heights[which] - x - math.exp(heights[which] - x) + others)

        return integrate.quad(density, -8, 40)[0]

    total = math.fsum(math.exp(height) for height in heights)
    assert [chance(n) for n in range(4)] == pytest.approx([math.exp(height) / total for height in heights])


def drawn_places(counts, k: int, rows: int, runs: int) -> Counter[int]:
    """The places that the library draws at epsilon = 1."""
    call = place_call(rank(as_histogram(counts), rows), k, epsilon=Fraction(1), cap=1, purpose="unknown-gumbel/place")
    return Counter(k + int(SeededSource(seed).perform(call)[0]) for seed in range(runs))


@pytest.mark.parametrize(("k", "rows"), [(1, 4), (2, 5)])
def test_erratum_2_places_follow_the_exponential_mechanism(k, rows):
    """The place, over 2000 seeds, follows weight (1/i) e^(-epsilon h_(i+1)), and not the law of added noise."""
    counts = {"a": 7, "b": 6, "c": 4, "d": 4, "e": 2}
    ranked = [*sorted(counts.values(), reverse=True), 0, 0]
    seen = drawn_places(counts, k, rows, 2000)
    thresholds = [ranked[place] + 1 + math.log(place / 0.1) for place in range(k, rows + 1)]
    printed = {k + n: broken_twins.argmin_plus_gumbel(thresholds, 1.0, n) for n in range(len(thresholds))}

    assert fits(seen, place_law(counts, k, rows, 1.0)) > REJECT
    assert fits(seen, printed) < REJECT


def test_erratum_2_sign_prefers_the_lowest_threshold():
    """The most drawn place is the one of the lowest threshold; the third-party sign slip would prefer the highest."""
    counts = {"a": 30, "b": 29, "c": 28, "d": 2, "e": 1}
    ranked = sorted(counts.values(), reverse=True)
    thresholds = [ranked[place] + 1 + math.log(place / 0.1) for place in range(1, 5)]
    slip = broken_twins.place_weights_with_wrong_sign(thresholds, 1.0)
    seen = drawn_places(counts, 1, 4, 100)

    assert seen.most_common(1)[0][0] == 1 + thresholds.index(min(thresholds))
    assert slip.index(max(slip)) == thresholds.index(max(thresholds))


# Erratum 3: what a top list may cost


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("with_counts", [True, False])
def test_erratum_3_the_reserve_is_two_k_and_one(k, with_counts):
    """The plan reserves k choices, k counts and the place: 2k + 1 units; the printed check runs it with 2k left."""
    facts = Facts(k=k, with_counts=with_counts)
    plan = unknown_gumbel_at(Decimal("0.1"), Decimal("1e-9"), facts)
    times = {type(event): count for event, count in plan.cost.events}
    steps = times[BoundedRange] + times.get(DiscreteGaussian, 0)

    assert steps == units.unknown_gumbel(k, counts=with_counts) == (2 * k if with_counts else k) + 1
    assert times[Failure] == 1
    if with_counts:
        assert broken_twins.may_run_as_printed(k, 2 * k)
        assert steps > 2 * k


@given(
    counts=st.lists(st.integers(1, 300), max_size=30),
    k=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    with_counts=st.booleans(),
)
def test_erratum_3_no_run_costs_more_than_its_plan(counts, k, seed, with_counts):
    """An answer of j items and bottom is paid as 2j + 2 units, one of k items as 2k + 1, at most the reserve."""
    facts = Facts(k=k, with_counts=with_counts)
    plan = plan_unknown_gumbel(rho_budget("0.5", "1e-3"), facts, rows=10)
    release = run_unknown_gumbel(
        as_histogram({f"item {n}": count for n, count in enumerate(counts)}), plan, SeededSource(seed)
    )
    found, bottom = len(release.items), len(release.items) < k
    paid = sum(count for event, count in release.cost.events if not isinstance(event, Failure))
    spent, reserved = zcdp.spent(release.cost), zcdp.spent(plan.cost)

    assert paid == units.unknown_gumbel_used(found, bottom=bottom, counts=with_counts)
    assert spent.rho <= reserved.rho <= Decimal("0.5")
    assert spent.delta <= reserved.delta <= Decimal("1e-3")


def test_erratum_3_known_domains_cost_no_delta():
    """A public list is counted and ranked without any delta."""
    facts = Facts(k=2, public_items=PUBLIC)

    assert zcdp.spent(plan_known_gumbel(rho_budget(1, "1e-6"), facts).cost).delta == 0
    assert basic.guarantee(plan_known_laplace(epsilon_budget(1, "1e-6"), 2, PUBLIC).cost).delta == 0


# Erratum 4: the known domain is a declared list


@pytest.mark.parametrize("counts", [{}, {"a": 1}, {"a": 5, "not listed": 9}])
def test_erratum_4_the_support_is_the_public_list(counts):
    """Whatever the data, the listed items come back, zeros included, and no others; observed items depend on data."""
    public = as_items(["c", "a", "b"])
    plan = plan_known_laplace(epsilon_budget(1, "1e-6"), 1, public)
    release = run_known_laplace(as_histogram(counts), plan, SeededSource(1))
    top = run_known_gumbel(
        as_histogram(counts), known_gumbel_at(Decimal(1), Facts(k=3, public_items=public)), SeededSource(1)
    )

    assert set(release.items) == set(top.items) == {"a", "b", "c"}
    assert broken_twins.observed_support(counts) != frozenset("abc")


# Erratum 5: the noisy threshold of UnkLap


@pytest.mark.parametrize("rate", [0.05, 0.5, 2.0])
def test_erratum_5_the_tail_of_a_difference_is_exact(rate):
    """P[X - Y > t] of two discrete Laplace numbers is the convolution's, rounded up, and near (2 + t/b)e^(-t/b)/4."""
    reach = math.ceil(45 / rate)
    noise = np.array(list(discrete_laplace(rate, reach).values()))
    difference = np.convolve(noise, noise)
    for level in (0, 1, 3, round(5 / rate)):
        exact = math.fsum(difference[2 * reach + level + 1 :])
        assert exact * (1 - 1e-10) <= difference_tail(rate, level) <= exact * (1 + 1e-8)
    if rate == 0.05:
        step = rate * 100.5
        assert difference_tail(rate, 100) == pytest.approx((2 + step) * math.exp(-step) / 4, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta", "max_items"), [(1.0, 1e-6, 1), (0.5, 1e-8, 3), (2.0, 0.05, 2)])
def test_erratum_5_the_appendix_constant_breaks_delta(epsilon, delta, max_items):
    """Appendix A's offset lets a person's own items through far too often; the library's offset keeps to delta."""
    plan = plan_unknown_laplace(epsilon_budget(epsilon, delta), max_items, rows=max_items)
    rate = epsilon / max_items
    reach = math.ceil(60 / rate)
    noise = np.array(list(discrete_laplace(rate, reach).values()))
    difference = np.convolve(noise, noise)

    def spent(offset: int) -> float:
        return (math.exp(epsilon) + 1) * max_items * math.fsum(difference[2 * reach + offset + 1 :])

    assert spent(plan.offset) <= delta
    assert spent(plan.offset - 1) > delta
    assert spent(formulas.appendix_a_offset(epsilon, delta, max_items)) > 2 * delta


# Erratum 6: what leaves the mechanism


def test_erratum_6_counts_have_noise_of_their_own():
    """The noise on a selected count has mean zero: had it been the score that won, its mean would be above zero."""
    counts = {f"item {n:02}": 100 for n in range(40)}
    plan = known_gumbel_at(Decimal(1), Facts(k=1, public_items=as_items(list(counts))))
    noise = [
        int(run_known_gumbel(as_histogram(counts), plan, SeededSource(seed)).counts[0]) - 100 for seed in range(300)
    ]
    scores = [max(np.random.default_rng(seed).gumbel(size=40)) for seed in range(300)]

    assert abs(np.mean(noise)) < 5 * np.std(noise) / 300**0.5
    assert np.mean(scores) > 5 * np.std(scores) / 300**0.5


class Recorded(SeededSource):
    """A source that writes down which draws it gave, by purpose and item."""

    def __init__(self) -> None:
        super().__init__(11)
        self.given: Counter[tuple[str, str, object]] = Counter()

    def item_draws(self, purpose, keys):
        """Pass on, and write down each item."""
        self.given.update(("item", purpose, tuple(digest)) for digest in keys.digests.T.tolist())
        return super().item_draws(purpose, keys)

    def draws(self, purpose, rows):
        """Pass on, and write down."""
        self.given["row", purpose, None] += 1
        return super().draws(purpose, rows)

    def salt(self, purpose):
        """Pass on, and write down."""
        self.given["salt", purpose, None] += 1
        return super().salt(purpose)


@pytest.mark.parametrize("name", [mechanism.name for mechanism in MECHANISMS])
def test_erratum_6_no_random_number_is_used_twice(name):
    """Choice, count, bottom, place and bound of one run each have draws of their own: none is given out again."""
    mechanism, noise = find(name), Recorded()
    mechanism.run(input_for(mechanism), mechanism.plan(rho_budget(5, "1e-2"), facts_for(mechanism)), noise)

    assert noise.given
    assert set(noise.given.values()) == {1}


def test_erratum_6_the_order_of_true_counts_is_not_released():
    """With two items one count apart either order comes up; sorted again by true count, one order has probability 0."""
    counts, swapped = {"a": 51, "b": 50}, {"a": 50, "b": 51}
    plan = known_gumbel_at(Decimal("0.5"), Facts(k=2, public_items=as_items(["a", "b"])))
    orders = [
        {tuple(run_known_gumbel(as_histogram(side), plan, SeededSource(seed)).items) for seed in range(40)}
        for side in (counts, swapped)
    ]

    assert orders[0] == orders[1] == {("a", "b"), ("b", "a")}
    assert broken_twins.names_by_true_count(counts, ["b", "a"]) != broken_twins.names_by_true_count(swapped, ["b", "a"])


@pytest.mark.parametrize("name", [mechanism.name for mechanism in MECHANISMS])
def test_erratum_6_releases_are_in_released_order(name):
    """Rows with counts stand by released count, then by item; names alone by item, or in the order of selection."""
    mechanism = find(name)
    plan = mechanism.plan(rho_budget(5, "1e-2"), facts_for(mechanism))
    release = mechanism.run(input_for(mechanism), plan, SeededSource(2))

    assert len(release.items) > 1
    if release.counts is not None:
        rows = list(zip((-release.counts).tolist(), release.items, strict=True))
        assert rows == sorted(rows)
        assert release.counts.dtype == np.int64
    elif mechanism.question == "vocab":
        assert list(release.items) == sorted(release.items)


@pytest.mark.parametrize("name", [mechanism.name for mechanism in MECHANISMS])
@pytest.mark.parametrize("shuffle", [1, 2])
def test_erratum_6_the_order_of_input_rows_does_not_matter(name, shuffle):
    """The same data in another order of rows gives the same release, bit for bit."""
    mechanism = find(name)
    plan = mechanism.plan(rho_budget(5, "1e-2"), facts_for(mechanism))
    one = mechanism.run(input_for(mechanism), plan, SeededSource(9))
    two = mechanism.run(input_for(mechanism, shuffle=shuffle), plan, SeededSource(9))

    assert same_release(one, two)
    assert not same_release(one, replace(one, items=one.items[::-1]))
