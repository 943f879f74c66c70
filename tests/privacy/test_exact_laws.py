"""The exact output law of every mechanism that can be enumerated, over all small neighbouring inputs.

Each law is built twice: here from its formula, and by the library from many seeds, which a chi-square test ties
together. The privacy bounds are then checked on the formula, without sampling.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from hushcount.accounting import zcdp
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import require_covered
from hushcount.mechanisms.counts.gaussian_threshold import (
    any_above,
    plan_gaussian_threshold,
    run_gaussian_threshold,
    tail_above,
)
from hushcount.mechanisms.counts.known_domain import (
    plan_known_gaussian,
    plan_known_laplace,
    run_known_gaussian,
    run_known_laplace,
)
from hushcount.mechanisms.counts.pcr import level_epsilon, plan_pcr, run_pcr
from hushcount.mechanisms.counts.tsgd import plan_tsgd, run_tsgd
from hushcount.mechanisms.counts.unknown_domain import plan_unknown_laplace, run_unknown_laplace
from hushcount.mechanisms.ranking import bottom_odds
from hushcount.mechanisms.selection.optimal import plan_optimal, run_optimal
from hushcount.mechanisms.selection.union import plan_union
from hushcount.mechanisms.topk.known_domain import known_gumbel_at, run_known_gumbel
from hushcount.mechanisms.topk.unknown_domain import run_unknown_gumbel, unknown_gumbel_at
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.calls import KeepGaussian, KeepLaplace, Reach
from hushcount.noise.source import SeededSource
from tests.privacy.exact import (
    ROUNDING,
    Law,
    Selection,
    as_histogram,
    as_items,
    bottom_weights,
    discrete_gaussian_tail,
    discrete_laplace,
    fits,
    good_weights,
    hockey_stick,
    neighbours,
    normalised,
    peeled,
    place_law,
    renyi,
    selection_law,
    spread,
    top_of,
    truncated_geometric,
    worst_hockey_stick,
)

DELTA = 0.1
# A law that is right is rejected once in a million seeds, and the seeds are fixed.
REJECT = 1e-6
ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)
PAIRS = list(neighbours("abcd", most=2))


# Selections: the exponential mechanism with bottom


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
@pytest.mark.parametrize(("rows", "k"), [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2)])
def test_choices_above_bottom_are_approximate_bounded_range(rate, rows, k):
    """Given an event of probability 1 - delta, k choices are k steps of bounded range epsilon, on all small inputs."""
    rule = Selection(rows=rows, k=k, rate=rate, odds=float(bottom_odds(rows, Fraction(1, 10))))
    for one, two in PAIRS:
        for mine, other in ((one, two), (two, one)):
            law, good = selection_law(mine, rule), peeled(good_weights(mine, other, rule), k)
            assert all(law[names] >= (1 - DELTA) * p - ROUNDING for names, p in good.items())
        weights = good_weights(one, two, rule), good_weights(two, one, rule)
        assert spread(*weights) <= rate + ROUNDING
        good_one, good_two = (peeled(side, k) for side in weights)
        assert all(renyi(good_one, good_two, order) <= order * k * rate**2 / 8 + ROUNDING for order in ORDERS)
        assert all(renyi(good_two, good_one, order) <= order * k * rate**2 / 8 + ROUNDING for order in ORDERS)


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
@pytest.mark.parametrize(("rows", "k"), [(1, 1), (3, 1), (2, 2), (3, 2)])
def test_choices_above_bottom_are_differentially_private(rate, rows, k):
    """The names alone are (k epsilon, delta)-DP, and what only one side can show has probability at most delta."""
    rule = Selection(rows=rows, k=k, rate=rate, odds=float(bottom_odds(rows, Fraction(1, 10))))
    for one, two in PAIRS:
        laws = selection_law(one, rule), selection_law(two, rule)
        assert worst_hockey_stick(*laws, k * rate) <= DELTA
        assert all(
            math.fsum(p for names, p in law.items() if names not in other) <= DELTA for law, other in (laws, laws[::-1])
        )


def test_a_larger_cap_scales_the_choice():
    """Counts that one person moves by up to three, a cap of three and a rate of epsilon/3: the same guarantee."""
    rule = Selection(rows=2, k=1, rate=0.5 / 3, odds=20.0, cap=3)
    for one, two in neighbours("abc", most=2):
        raised = {item: two[item] + 3 * (one[item] > two[item]) for item in two}
        laws = selection_law(raised, rule), selection_law(two, rule)
        assert spread(good_weights(raised, two, rule), good_weights(two, raised, rule)) <= 0.5 + ROUNDING
        assert worst_hockey_stick(*laws, 0.5) <= DELTA


def worst_spread(epsilon: float, cap: int, delta: float) -> float:
    """The bounded range of a choice given that nothing swapped shows, over all neighbours of three items and a cap."""
    rule = Selection(rows=2, k=1, rate=epsilon / cap, odds=2 / delta, cap=cap)
    worst = 0.0
    for falling in itertools.combinations_with_replacement(range(3, -1, -1), 3):
        two = dict(zip("abc", falling, strict=True))
        for rise in itertools.product(range(cap + 1), repeat=3):
            one = {item: count + more for (item, count), more in zip(two.items(), rise, strict=True)}
            worst = max(worst, spread(good_weights(one, two, rule), good_weights(two, one, rule)))
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_epsilon_covers_delta_with_the_cap(epsilon):
    """By enumeration: at e^eps (1 - e^(-eps/cap)) a choice is within epsilon; at e^eps - 1, for a cap of 3, not."""
    for cap in (1, 2, 3):
        covered = math.exp(epsilon) * -math.expm1(-epsilon / cap)
        assert worst_spread(epsilon, cap, covered) <= epsilon + ROUNDING, cap
        require_covered(Decimal(min(covered, 1) * 0.999), Decimal(epsilon), cap)
        with pytest.raises(InvalidParameter, match="its epsilon can cover"):
            require_covered(Decimal(covered * 1.001), Decimal(epsilon), cap)

    assert worst_spread(epsilon, 3, math.expm1(epsilon)) > epsilon * 1.02


def test_plans_refuse_a_delta_that_epsilon_does_not_cover():
    """For both mechanisms with a bottom, when planned, before anything is charged; with a cap of one it is covered."""
    top = Facts(k=1, with_counts=False)
    unknown_gumbel_at(Decimal("0.3"), Decimal("0.3"), top)
    with pytest.raises(InvalidParameter, match="its epsilon can cover"):
        unknown_gumbel_at(Decimal("0.3"), Decimal("0.3"), replace(top, per_item_cap=3))
    plan_pcr(rho_budget("0.1", "0.5"), 99)
    with pytest.raises(InvalidParameter, match="its epsilon can cover"):
        plan_pcr(rho_budget("0.1", "0.5"), 101)


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
def test_the_threshold_place_is_bounded_range(rate):
    """Sorted counts move one way by at most one: the choice of the place has bounded range epsilon."""
    for one, two in PAIRS:
        for k in (1, 2):
            assert spread(place_law(one, k, 4, rate), place_law(two, k, 4, rate)) <= rate + ROUNDING


def whole_law(counts, k, rows, rate) -> Law:
    """The law of (place, ordered names) of the unknown-domain top list."""
    return {
        (place, names): chance * p
        for place, chance in place_law(counts, k, rows, rate).items()
        for names, p in selection_law(counts, Selection(rows=place, k=k, rate=rate, odds=place / DELTA)).items()
    }


@pytest.mark.parametrize(("k", "rate"), [(1, 0.3), (1, 1.0), (2, 0.3), (2, 1.0)])
def test_unknown_gumbel_is_differentially_private(k, rate):
    """Place and names together are ((k + 1) epsilon, delta)-DP on all small inputs."""
    for one, two in PAIRS:
        laws = whole_law(one, k, 3, rate), whole_law(two, k, 3, rate)
        assert worst_hockey_stick(*laws, (k + 1) * rate) <= DELTA


def test_unknown_gumbel_follows_its_law():
    """The library's names, over 1200 seeds, follow the enumerated law, and not the same law in another order."""
    counts, k, rows = {"a": 6, "b": 5, "c": 5, "d": 2}, 2, 3
    plan = unknown_gumbel_at(Decimal(1), Decimal("0.1"), Facts(k=k, with_counts=False), rows=rows)
    law: Law = {}
    for (place, names), p in whole_law(counts, k, rows, 1.0).items():
        shown = (place, tuple(name for name in names if name != "bottom"))
        law[shown] = law.get(shown, 0.0) + p
    places = {round(1 + math.log(place / DELTA), 6): place for place in range(k, rows + 1)}
    seen = Counter()
    for seed in range(1200):
        release = run_unknown_gumbel(as_histogram(counts), plan, SeededSource(seed))
        seen[places[round(release.cutoff, 6)], tuple(release.items)] += 1

    assert fits(seen, law) > REJECT
    assert fits(seen, {names: law[other] for names, other in zip(law, reversed(law), strict=True)}) < REJECT


def test_known_gumbel_follows_its_law():
    """The library's top two of a public list, over 800 seeds, follow peeling; the list's zeros take part."""
    counts, public = {"a": 2, "b": 1}, as_items(["a", "b", "c"])
    plan = known_gumbel_at(Decimal("0.7"), Facts(k=2, public_items=public, with_counts=False))
    law = peeled({item: math.exp(0.7 * counts.get(item, 0)) for item in public}, 2)
    seen = Counter(tuple(run_known_gumbel(as_histogram(counts), plan, SeededSource(seed)).items) for seed in range(800))

    assert fits(seen, law) > REJECT


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_known_gumbel_is_private_without_delta(rate):
    """Peeling k of a public list is k steps of bounded range epsilon: k epsilon-DP, no delta, on all small inputs."""
    for one, two in PAIRS:
        laws = [peeled({item: math.exp(rate * n) for item, n in side.items()}, 2) for side in (one, two)]
        assert worst_hockey_stick(*laws, 2 * rate) <= ROUNDING
        assert all(renyi(*laws, order) <= order * 2 * rate**2 / 8 + ROUNDING for order in ORDERS)


# Private Count Release


def pcr_plan(calls, rows):
    """A plan whose delta pays for so many selections and whose rho does not matter."""
    plan = plan_pcr(rho_budget(1000, "0.5"), rows=rows, epsilon_first="0.7")
    return replace(plan, delta_step=Decimal("0.05"), delta=Decimal("0.05") * calls)


def pcr_law(counts, plan, calls, top=top_of) -> Law:
    """The law of the names of PCR and its bottoms, in order, for a number of selections."""
    law: Law = {}

    def walk(said, level, left, chance) -> None:
        if len(said) == calls:
            law[said] = law.get(said, 0.0) + chance
            return
        rate = float(level_epsilon(plan, level))
        items, boundary = top(left, plan.rows)
        # Within a level the boundary stays; what the level has named already is left out.
        named = said[len(said) - 1 - said[::-1].index("bottom") if "bottom" in said else 0 :]
        weights = {item: math.exp(rate * count) for item, count in items.items() if item not in named}
        weights["bottom"] = plan.rows / 0.05 * math.exp(rate * (boundary + 1))
        for item, p in normalised(weights).items():
            if item == "bottom":
                rest = {other: count for other, count in left.items() if other not in said}
                walk((*said, item), level + 1, rest, chance * p)
            else:
                walk((*said, item), level, left, chance * p)

    walk((), 0, dict(counts), 1.0)
    return law


@pytest.mark.parametrize("rows", [1, 2])
def test_private_count_release_is_differentially_private(rows):
    """Three selections over two levels and more are private with the sums of epsilon and delta, on all small inputs."""
    plan = pcr_plan(3, rows)
    for one, two in neighbours("abcd", most=1):
        laws = pcr_law(one, plan, 3), pcr_law(two, plan, 3)
        # Every run's own epsilons are at most those of three bottoms.
        epsilon = float(sum(level_epsilon(plan, level) for level in range(3)))
        assert worst_hockey_stick(*laws, epsilon) <= 3 * 0.05


def test_private_count_release_follows_its_law():
    """The library's names, over 800 seeds, follow the enumerated law of three selections."""
    counts, plan = {"a": 9, "b": 8, "c": 8, "d": 3, "e": 3}, pcr_plan(3, 2)
    law: Law = {}
    for said, p in pcr_law(counts, plan, 3).items():
        names = frozenset(said) - {"bottom"}
        law[names] = law.get(names, 0.0) + p
    seen = Counter(frozenset(run_pcr(as_histogram(counts), plan, SeededSource(seed)).items) for seed in range(800))

    assert fits(seen, law) > REJECT


# Counts with thresholds


def tsgd_law(count, rate, bound, threshold) -> Law:
    """What is seen of one item: its noisy count if above the threshold, else None; an item nobody has is never seen."""
    law: Law = {}
    for x, p in truncated_geometric(rate, bound).items():
        shown = count + x if count + x > threshold else None
        law[shown] = law.get(shown, 0.0) + p
    return law


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("0.1", "1e-5"), ("0.5", "1e-8"), ("0.3", "0.1")])
@pytest.mark.parametrize("public_threshold", [None, -3, 0, 4])
def test_truncated_geometric_counts_are_private(epsilon, delta, public_threshold):
    """One item's noisy count is (epsilon, P[X = k])-DP for n and n + 1 people, n to 3k, private or on a public list."""
    plan = plan_tsgd(epsilon_budget(epsilon, delta), 1)
    (event, _), *_ = plan.cost.events
    threshold = plan.bound if public_threshold is None else public_threshold
    laws = [tsgd_law(n, float(epsilon), plan.bound, threshold) for n in range(3 * plan.bound + 2)]

    worst = max(worst_hockey_stick(*laws[n : n + 2], float(epsilon)) for n in range(3 * plan.bound + 1))
    assert worst <= float(event.delta) + 1e-15 <= float(delta) + 1e-15
    assert worst >= float(event.delta) - 1e-15


@pytest.mark.parametrize("count", [1, 4, 9])
def test_truncated_geometric_counts_follow_their_law(count):
    """Noisy counts of 20,000 items that equally many people have follow the enumerated law."""
    plan = plan_tsgd(epsilon_budget("0.5", "0.05"), 1)
    histogram = as_histogram({f"item {n}": count for n in range(20_000)})
    shown = run_tsgd(histogram, plan, SeededSource(count)).counts
    seen = Counter(shown.tolist()) + Counter({None: 20_000 - len(shown)})

    assert fits(seen, tsgd_law(count, 0.5, plan.bound, plan.bound)) > REJECT
    assert fits(seen, tsgd_law(count + 1, 0.5, plan.bound + 1, plan.bound)) < REJECT


def unknown_laplace_gap(one, two, plan) -> float:
    """The least delta of UnkLap for a pair of neighbours at the plan's epsilon, both directions, exactly.

    Given bottom's value, an item with the same count on both sides shows the same, so only the moved items and those
    that one side alone can show are enumerated.
    """
    rate = float(plan.epsilon) / plan.max_items
    reach = math.ceil(30 / rate)
    noise = np.array(list(discrete_laplace(rate, reach).values()))
    values = np.arange(-reach, reach + 1)
    tops = [top_of(side, plan.rows) for side in (one, two)]
    levels = np.arange(-reach - 5, reach + plan.offset + 10)
    growth = math.exp(float(plan.epsilon))

    def pmf(at, center):
        inside = np.abs(at - center) <= reach
        return np.where(inside, noise[np.clip(at - center + reach, 0, 2 * reach)], 0.0)

    def hidden(count):
        return np.array([math.fsum(noise[values + count <= level]) for level in levels])

    def joint(side):
        items, boundary = tops[side]
        law = pmf(levels, boundary + 1 + plan.offset)
        shared = sorted(tops[0][0].keys() & tops[1][0].keys())
        for item in items.keys() - set(shared):
            law = law * hidden(items[item])
        law = law.reshape(-1, 1)
        for item in [item for item in shared if one[item] != two[item]]:
            # Columns: hidden, then each value that is above bottom.
            grid = np.arange(-reach - 5, reach + 10)
            seen = np.where(grid[None, :] > levels[:, None], pmf(grid, items[item])[None, :], 0.0)
            each = np.concatenate([hidden(items[item])[:, None], seen], axis=1)
            law = (law[:, :, None] * each[:, None, :]).reshape(len(levels), -1)
        return law

    good = joint(0), joint(1)
    return max(
        1 - float(mine.sum()) + float(np.maximum(mine - growth * other, 0).sum()) for mine, other in (good, good[::-1])
    )


@pytest.mark.parametrize(("max_items", "rows"), [(1, 1), (1, 3), (2, 2), (2, 3)])
def test_unknown_laplace_is_private(max_items, rows):
    """Noisy counts above a noisy bottom are (epsilon, delta)-DP on all small inputs, by enumeration."""
    plan = plan_unknown_laplace(epsilon_budget(1 if max_items == 1 else 2, DELTA), max_items, rows=rows)
    pairs = list(neighbours("abcd" if max_items == 1 else "abc", most=2, holds=max_items))

    assert max(unknown_laplace_gap(one, two, plan) for one, two in pairs) <= DELTA + 1e-9


def test_a_union_over_the_persons_items_alone_is_too_small():
    """A strict test against the boundary drops other people's items too: an offset for one item gives 1.4 delta."""
    plan = plan_unknown_laplace(epsilon_budget(1, "0.01"), 1, rows=40)
    short = replace(plan, offset=plan_unknown_laplace(epsilon_budget(1, "0.01"), 1, rows=1).offset)
    two = {f"item {n}": 2 for n in range(40)} | {"last": 1}
    one = two | {"last": 2}

    assert unknown_laplace_gap(one, two, plan) <= 0.01
    assert unknown_laplace_gap(one, two, short) > 1.4 * 0.01


def test_unknown_laplace_follows_its_law():
    """Which items the library shows, over 1200 seeds, follows the law of independent noise and a shared bottom."""
    counts = {"a": 9, "b": 7, "c": 2}
    plan = plan_unknown_laplace(epsilon_budget(1, DELTA), 1, rows=2)
    noise = discrete_laplace(1.0, 40)
    law: Law = {}
    for y, p in noise.items():
        bottom = 2 + 1 + plan.offset + y
        above = {item: math.fsum(q for x, q in noise.items() if counts[item] + x > bottom) for item in "ab"}
        for shown in (frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")):
            part = math.prod(above[item] if item in shown else 1 - above[item] for item in "ab")
            law[shown] = law.get(shown, 0.0) + p * part
    seen = Counter(
        frozenset(run_unknown_laplace(as_histogram(counts), plan, SeededSource(seed)).items) for seed in range(1200)
    )

    assert fits(seen, law) > REJECT


def test_known_laplace_is_private_and_follows_its_law():
    """Each listed count has discrete Laplace noise of rate epsilon, whose loss never exceeds epsilon."""
    public = as_items([f"item {n}" for n in range(20_000)])
    plan = plan_known_laplace(epsilon_budget("0.5", "1e-6"), 1, public)
    release = run_known_laplace(as_histogram({}), plan, SeededSource(3))
    law = discrete_laplace(0.5, 60)
    moved = {x + 1: p for x, p in law.items()}

    assert fits(Counter(release.counts.tolist()), law) > REJECT
    assert hockey_stick(law, moved, 0.5) <= law[-60] + ROUNDING


def test_known_gaussian_follows_its_law():
    """Each listed count has discrete Gaussian noise of the deviation in the plan, and not of one a fifth larger."""
    public = as_items([f"item {n}" for n in range(20_000)])
    plan = plan_known_gaussian(rho_budget("0.1", DELTA), 1, public)
    seen = Counter(run_known_gaussian(as_histogram({}), plan, SeededSource(3)).counts.tolist())

    assert fits(seen, gaussian_law(plan.gaussian_stddev)) > REJECT
    assert fits(seen, gaussian_law(1.2 * plan.gaussian_stddev)) < REJECT


@pytest.mark.parametrize(("max_items", "cap"), [(1, 1), (3, 1), (2, 4)])
def test_known_gaussian_is_concentrated(max_items, cap):
    """By enumeration, max_items counts that move by cap are within rho at every order; noise for one item is not."""
    public = as_items(["a", "b", "c"])
    plan = plan_known_gaussian(rho_budget("0.3", DELTA), max_items, public, per_item_cap=cap)
    short = plan_known_gaussian(rho_budget("0.3", DELTA), 1, public, per_item_cap=cap)

    def loss(stddev, alpha):
        # In logarithms: far out the doubles of a narrow law are zero, and order 64 looks that far.
        x = np.arange(-800, 801)
        norm, here, moved = logsumexp(-(x**2) / (2 * stddev**2)), -(x**2), -((x - cap) ** 2)
        tilted = (alpha * here + (1 - alpha) * moved) / (2 * stddev**2) - norm
        return max_items * logsumexp(tilted) / (alpha - 1) / alpha

    assert zcdp.spent(plan.cost).rho <= Decimal("0.3")
    assert zcdp.spent(plan.cost).delta == 0
    for alpha in ORDERS:
        assert loss(plan.gaussian_stddev, alpha) <= 0.3 + 1e-9
        assert max_items == 1 or loss(short.gaussian_stddev, alpha) > 0.5


def gaussian_law(stddev: float) -> Law:
    """The discrete Gaussian by its formula."""
    last = math.ceil(12 * stddev)
    return normalised({x: math.exp(-x * x / (2 * stddev * stddev)) for x in range(-last, last + 1)})


@pytest.mark.parametrize(("max_items", "cap"), [(1, 1), (3, 1), (2, 4)])
def test_gaussian_threshold_charges_the_delta_that_it_uses(max_items, cap):
    """The charge is the exact chance that an item of one person shows, less than all of delta; half of it is caught."""
    plan = plan_gaussian_threshold(rho_budget("0.3", DELTA), max_items, cap)
    charged = float(zcdp.spent(plan.cost).delta)
    exact = 1 - (1 - float(discrete_gaussian_tail(plan.gaussian_stddev, plan.threshold - cap))) ** max_items

    assert exact <= charged <= exact * 1.03
    assert charged < 0.95 * DELTA
    assert not exact <= charged / 2


def test_the_chance_of_any_is_rounded_up():
    """1 - (1 - p)^n, and never below it."""
    for each, times in ((1e-20, 3), (0.01, 1), (0.3, 7), (1.0, 2), (1.5, 1)):
        exact = 1 - (1 - min(Fraction(1), Fraction(each))) ** times
        assert exact <= Fraction(any_above(each, times)) <= min(Fraction(1), exact * (1 + Fraction(1, 10**9))), each


@pytest.mark.parametrize(("max_items", "cap"), [(1, 1), (3, 1), (2, 4)])
def test_gaussian_threshold_hides_novel_items(max_items, cap):
    """By the exact tail, t items of one person alone all stay hidden with probability 1 - delta, for t to the bound."""
    plan = plan_gaussian_threshold(rho_budget("0.3", DELTA), max_items, cap)
    shown = float(discrete_gaussian_tail(plan.gaussian_stddev, plan.threshold - cap))

    assert 1 - (1 - shown) ** max_items <= DELTA
    assert max_items * cap**2 / (2 * plan.gaussian_stddev**2) <= 0.3


def test_gaussian_threshold_follows_its_law():
    """Of 20,000 items that three people have, as many are shown as the exact tail says."""
    plan = plan_gaussian_threshold(rho_budget("0.1", DELTA), 1)
    histogram = as_histogram({f"item {n}": 3 for n in range(20_000)})
    shown = len(run_gaussian_threshold(histogram, plan, SeededSource(5)).items)
    expected = float(discrete_gaussian_tail(plan.gaussian_stddev, plan.threshold - 3))

    assert stats.binomtest(shown, 20_000, expected).pvalue > REJECT
    assert stats.binomtest(shown, 20_000, 1.3 * expected).pvalue < REJECT


@pytest.mark.parametrize("stddev", [0.6, 1.0, 3.3, 20.0])
@pytest.mark.parametrize("deviations", [0, 1, 3, 6])
def test_discrete_gaussian_tails_are_rounded_up(stddev, deviations):
    """The tail used for planning is never below the exact one, and above it by a billionth where noise is usual."""
    level = round(deviations * stddev)
    exact, used = discrete_gaussian_tail(stddev, level), tail_above(stddev, level)

    assert used >= exact
    assert used <= exact * (1 + (2e-9 if stddev >= 1.5 else 0.02))


# Names by a coin


def named(weights, unit, **rule):
    """How many of these weights the library names."""
    noise = SeededSource(1)
    call = (KeepGaussian if "stddev" in rule else KeepLaplace)(
        purpose="test",
        keys=noise.identify(as_items([f"item {n}" for n in range(len(weights))])),
        values=np.array(weights),
        reach=Reach(),
        unit=unit,
        **rule,
    )
    return int(noise.perform(call).sum())


@pytest.mark.parametrize("weight", [0, 3, 8, 12])
def test_coins_follow_the_noisy_test(weight):
    """20,000 items of one weight are named as often as weight plus continuous noise exceeds the threshold."""
    weights = [weight] * 20_000
    gaussian, laplace = stats.norm.sf((1.1 - weight / 8) / 0.7), stats.laplace.sf((1.1 - weight / 8) / 0.4)

    assert stats.binomtest(named(weights, 8, stddev=0.7, threshold=1.1), 20_000, gaussian).pvalue > REJECT
    assert stats.binomtest(named(weights, 8, scale=0.4, threshold=1.1), 20_000, laplace).pvalue > REJECT
    assert stats.binomtest(named(weights, 8, stddev=0.7, threshold=1.1), 20_000, laplace).pvalue < REJECT


def coins(weights, tail) -> Law:
    """The law of the set of names, each item with its own coin."""
    law: Law = {frozenset(): 1.0}
    for n, weight in enumerate(weights):
        p = tail(weight)
        law = {shown | ({n} if yes else set()): q * (p if yes else 1 - p) for shown, q in law.items() for yes in (0, 1)}
    return law


GRID = [k / 2 for k in range(5)]
MOVES = {
    1: [(1, 0, 0), (0.5, 0.5, 0), (1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1)],
    2: [(1, 0, 0), (0.5**0.5, 0.5**0.5, 0), (3**-0.5,) * 3, (0.8, 0.36**0.5, 0)],
}


@pytest.mark.parametrize("rho", ["0.1", "1"])
def test_gaussian_coins_are_concentrated(rho):
    """A move of l2 length one on three common items costs at most rho alpha in Renyi divergence, for many orders."""
    plan = plan_union("weighted", "gaussian", rho_budget(rho, DELTA), max_items=3)

    def tail(weight):
        return float(stats.norm.sf((plan.threshold - weight) / plan.noise_scale))

    for base in [(a, b, 1.0) for a in GRID for b in GRID]:
        for move in MOVES[2]:
            one, two = coins(np.add(base, move), tail), coins(base, tail)
            for order in ORDERS:
                assert renyi(one, two, order) <= float(rho) * order + ROUNDING
                assert renyi(two, one, order) <= float(rho) * order + ROUNDING


def laplace_gap(plan, epsilon, moves, novel) -> float:
    """The largest delta of the coins over all weights on the grid; the first `novel` of the moved items are new."""

    def tail(weight):
        return float(stats.laplace.sf((plan.threshold - weight) / plan.noise_scale))

    worst = 0.0
    for base in [(a, b, 1.0) for a in GRID for b in GRID]:
        for move in moves:
            one = coins((*np.add(base, move)[novel:], *move[:novel]), tail)
            worst = max(worst, worst_hockey_stick(one, coins(base[novel:], tail), epsilon))
    return worst


@pytest.mark.parametrize("epsilon", [0.2, 1.5])
@pytest.mark.parametrize(("weighting", "moves"), [("weighted", MOVES[1][:3]), ("greedy", MOVES[1])])
def test_laplace_coins_are_private(epsilon, weighting, moves):
    """A move of l1 length one that the weighting allows is epsilon-DP, and (epsilon, delta)-DP with novel items."""
    plan = plan_union(weighting, "laplace", epsilon_budget(epsilon, DELTA), max_items=3)

    assert laplace_gap(plan, epsilon, moves, 0) <= ROUNDING
    for novel in (1, 2):
        # Every held item weighs something, except in the greedy weighting.
        allowed = [move for move in moves if weighting == "greedy" or all(move[:novel])]
        assert laplace_gap(plan, epsilon, allowed, novel) <= DELTA


def test_an_even_threshold_is_too_low_for_uneven_weights():
    """The threshold of the weighted mechanism does not fit the splits that a greedy person can make (erratum 36)."""
    plan = plan_union("weighted", "laplace", epsilon_budget(1.5, DELTA), max_items=3)

    assert laplace_gap(plan, 1.5, MOVES[1], 2) > 1.1 * DELTA


@pytest.mark.parametrize("people", [1, 3, 5, 9])
def test_the_optimal_primitive_follows_its_table(people):
    """20,000 items of equally many people are named as often as the table says."""
    plan = plan_optimal(epsilon_budget("0.5", "0.05"), 1)
    named_items = run_optimal(as_histogram({f"item {n}": people for n in range(20_000)}), plan, SeededSource(people))
    chance = plan.table[min(people, len(plan.table) - 1)] / 2**128

    assert stats.binomtest(len(named_items.items), 20_000, chance).pvalue > REJECT


@pytest.mark.parametrize("max_items", [1, 2, 3])
def test_the_optimal_primitive_is_private_for_all_items_of_a_person(max_items):
    """The names of all items of one person together are (epsilon, delta)-DP, for every combination of counts."""
    plan = plan_optimal(epsilon_budget(1, DELTA), max_items)
    table = [entry / 2**128 for entry in plan.table] + [1.0]
    last = len(table) - 1
    for counts in {tuple(sorted((n * 7 + m * 3) % last for m in range(max_items))) for n in range(last)}:
        one = coins([n + 1 for n in counts], lambda n: table[n])
        two = coins(counts, lambda n: table[n])
        assert worst_hockey_stick(one, two, 1.0) <= DELTA + ROUNDING


def test_a_choice_can_be_empty():
    """With no item above the boundary, bottom is certain: the enumerations above cover that case."""
    rule = Selection(rows=1, k=1, rate=1.0, odds=10.0)

    assert bottom_weights({"a": 2, "b": 2}, rule)[0] == {}
    assert selection_law({"a": 2, "b": 2}, rule) == {("bottom",): 1.0}
