"""Naming items where DPSU, SIPS and GW are wrong: ours keeps to delta, the printed form exceeds it."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import mpmath
import pytest
from scipy import stats

from hushcount.accounting import zcdp
from hushcount.accounting.convert import split_delta
from hushcount.audit.keep_curve import steepest_keep
from hushcount.audit.twins import formulas
from hushcount.audit.twins.weightings import greedy_threshold_as_printed
from hushcount.engines.incidence import incidence
from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold
from hushcount.mechanisms.selection.sips import plan_sips, run_sips
from hushcount.mechanisms.selection.threshold import gaussian_threshold, greedy_threshold, laplace_threshold
from hushcount.mechanisms.selection.union import plan_union, run_union
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.inputs import Bound, UniformWeights
from hushcount.noise.source import SeededSource
from tests import broken_twins
from tests.privacy.exact import discrete_gaussian_tail
from tests.unit.mechanisms.made_inputs import made_incidence

DELTA = 0.1
UNIONS = [
    ("count", "gaussian"),
    ("weighted", "gaussian"),
    ("policy", "gaussian"),
    ("weighted", "ks"),
    ("policy", "ks"),
    ("count", "laplace"),
    ("weighted", "laplace"),
    ("policy", "laplace"),
    ("greedy", "laplace"),
]


def shown_alone(weights, tail) -> float:
    """P[at least one of these items, held by one person alone, is named]."""
    return -math.expm1(math.fsum(math.log1p(-tail(weight)) for weight in weights))


def tail_of(plan):
    """P[named] as a function of the weight."""
    if plan.primitive == "ks":
        return lambda weight: steepest_keep((weight - plan.threshold) / plan.noise_scale)
    law = stats.norm if plan.primitive == "gaussian" else stats.laplace
    return lambda weight: float(law.sf((plan.threshold - weight) / plan.noise_scale))


# Thresholds


@pytest.mark.parametrize(("weighting", "primitive"), [pair for pair in UNIONS if pair[0] != "greedy"])
@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-6])
def test_novel_items_stay_hidden(weighting, primitive, delta):
    """For every t up to the bound, t items of one person alone are all hidden with probability 1 - delta."""
    norm = 1 if primitive == "laplace" else 2
    for max_items in (1, 2, 7, 60):
        tail = tail_of(plan_union(weighting, primitive, rho_budget("0.5", delta), max_items=max_items))
        worst = max(
            shown_alone([(max_items if weighting == "count" else t) ** (-1 / norm)] * t, tail)
            for t in range(1, max_items + 1)
        )

        assert 0.99 * delta <= worst <= delta, f"up to {max_items} items"


def splits(parts: int, grid: int):
    """All ways to hand out at most one unit of weight over so many items, on a grid."""
    for bars in itertools.combinations_with_replacement(range(grid + 1), parts):
        if sum(bars) <= grid:
            yield [bar / grid for bar in bars]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("max_items", [1, 2, 4])
@pytest.mark.parametrize("delta", [0.2, 0.01])
def test_a_greedy_person_stays_hidden_however_they_split(epsilon, max_items, delta):
    """Over all splits of a weight of one over novel items, none is named with probability 1 - delta (erratum 36)."""
    plan = plan_union("greedy", "laplace", epsilon_budget(epsilon, delta), max_items=max_items)
    worst = max(shown_alone(weights, tail_of(plan)) for weights in splits(max_items, 12))

    assert worst <= delta
    assert plan.full >= 1


@pytest.mark.parametrize(("held", "epsilon", "times"), [(100, 1.7, 19.1), (1000, 0.5, 605)])
def test_erratum_36_a_threshold_for_one_novel_item_multiplies_delta(held, epsilon, times):
    """GW's threshold lets a person with many own items through 19 or 605 times as often; the repaired one does not."""
    delta = 1e-9
    printed = greedy_threshold_as_printed(epsilon, delta)
    ours = greedy_threshold(1 / epsilon, Decimal("1e-9"), held)
    weights = [1.0] + [0.0] * (held - 1)

    def shown(threshold: float) -> float:
        return shown_alone(weights, lambda weight: float(stats.laplace.sf((threshold - weight) * epsilon)))

    assert shown(printed) / delta == pytest.approx(times, rel=0.01)
    assert 0.99 * delta <= shown(ours) <= delta


def test_the_set_union_test_vector():
    """At epsilon 3, delta e^-10 and 100 items: sigma 1.33279 and threshold 6.82366, reached at t = 100."""
    plan = plan_union("weighted", "gaussian", epsilon_budget(3, math.exp(-10)), max_items=100)

    assert plan.noise_scale == pytest.approx(1.33279, abs=5e-6)
    assert plan.threshold == pytest.approx(6.82366, abs=5e-6)


def test_a_threshold_for_one_item_is_too_low_for_many():
    """Under much noise the number of items matters more than their weight: t = 1 alone lets a hundred through."""
    stddev, delta = 10.0, Decimal("1e-6")

    def worst(threshold: float) -> float:
        return max(
            shown_alone([t**-0.5] * t, lambda weight: float(stats.norm.sf((threshold - weight) / stddev)))
            for t in (1, 2, 10, 100)
        )

    assert worst(gaussian_threshold(stddev, delta, 100, novel_weight=lambda t: t**-0.5)) <= 1e-6
    assert worst(gaussian_threshold(stddev, delta, 1, novel_weight=lambda t: t**-0.5)) > 50e-6


@pytest.mark.parametrize("max_items", [999, 1000, 1001, 5000, 2**20])
def test_thresholds_of_long_lists_are_bounded_from_above(max_items):
    """Beyond a thousand items the ends bound all t between: the threshold is no lower than at any t that is tried."""
    threshold = laplace_threshold(2.0, Decimal("1e-6"), max_items, novel_weight=lambda t: 1 / t)
    tried = {t for t in (1, 2, 10, 500, 999, 1000, 1001, 3000, max_items) if t <= max_items}

    for t in tried:
        assert -math.expm1(t * math.log1p(-float(stats.laplace.sf((threshold - 1 / t) / 2)))) <= 1e-6


# Erratum 24: only bounded lists are noised


def test_erratum_24_noise_on_items_that_were_cut_multiplies_delta():
    """One person with 10,000 items and a bound of 100: as printed, delta/2 is exceeded 67.6 times; bounded, never."""
    plan = plan_union("weighted", "gaussian", epsilon_budget(3, math.exp(-10)), max_items=100)
    allowed = math.exp(-10) / 2
    printed = broken_twins.noised_without_bound(10_000, 100)

    assert shown_alone(printed, tail_of(plan)) / allowed == pytest.approx(67.6, abs=0.1)
    assert shown_alone(printed[:100], tail_of(plan)) <= allowed


@pytest.mark.parametrize(("weighting", "primitive"), UNIONS)
def test_erratum_24_no_mechanism_looks_at_more_than_the_bound(weighting, primitive):
    """A person of a thousand items under a bound of five: with thresholds out of the way, five items are named."""
    lists = incidence(["only"] * 1000, [f"item {n}" for n in range(1000)])
    plan = plan_union(weighting, primitive, rho_budget("0.5", "0.5"), max_items=5)
    low = type(plan)(**{name: getattr(plan, name) for name in plan.__slots__} | {"threshold": -1e9})

    assert len(run_union(lists, low, SeededSource(1)).items) == 5


# Erratum 25: items of weight zero


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("order", ["key", "frequency"])
def test_erratum_25_what_one_person_adds_is_their_own(seed, order):
    """The items that can be named with a person and not without are within that person's bounded list."""
    people = [(f"user {n}", f"item {(n * n + seed * k) % 9}") for n in range(25) for k in range(3)]
    extra = [("extra", f"item {n}") for n in (1, 4, 7, 50, 51)]
    bound = Bound(max_items=3, salt=bytes([seed] * 16))
    one, two, alone = (
        set(incidence(*zip(*rows, strict=True)).lists(bound, order).items) for rows in (people + extra, people, extra)
    )

    assert two <= one
    assert one - two <= alone
    assert len(alone) == 3


def test_erratum_25_a_weight_of_zero_can_be_named():
    """A greedy person spends all on their first item; the other is still noised, with the chance of weight zero."""
    # Twice the same first item makes it the most frequent one of that person.
    lists = incidence(["p", "p", "p"], ["first", "first", "second"])
    plan = plan_union("greedy", "laplace", epsilon_budget(1, "0.5"), max_items=2)
    shown = [run_union(lists, plan, SeededSource(seed)).items for seed in range(300)]

    assert plan.weighting == "greedy"
    assert any("second" in items for items in shown)
    assert sum("second" in items for items in shown) < sum("first" in items for items in shown)


# Errata 29 and 32: numerics and the strict test


def test_erratum_29_shares_of_delta_survive_small_numbers():
    """In doubles the printed share is 0 at delta = 1e-15 and 1.3e-4 off at 1e-10; the library's is right to 1e-14."""
    with mpmath.workdps(50):
        for delta, parts in ((1e-15, 100), (1e-10, 100), (1e-6, 7), (0.1, 3)):
            exact = 1 - (1 - mpmath.mpf(delta)) ** (mpmath.mpf(1) / parts)
            assert exact * (1 - 1e-14) <= split_delta(delta, parts) <= exact

    assert formulas.share_as_printed(1e-15, 100) == 0
    assert formulas.share_as_printed(1e-10, 300) * 300 / 1e-10 == pytest.approx(1 - 1.33e-4, abs=1e-6)


@pytest.mark.parametrize("delta", ["1e-15", "1e-20", "1e-30"])
def test_erratum_29_thresholds_of_small_deltas_are_finite_and_right(delta):
    """At delta = 1e-15 and below the threshold is where forty digits put it; the printed share would be infinite."""
    threshold = gaussian_threshold(2.0, Decimal(delta), 50, novel_weight=lambda t: t**-0.5)
    with mpmath.workdps(50):
        tails = [mpmath.erfc((threshold - t**-0.5) / 2 / mpmath.sqrt(2)) / 2 for t in range(1, 51)]
        shown = [1 - (1 - tail) ** t for t, tail in enumerate(tails, start=1)]

    assert max(shown) <= mpmath.mpf(delta)
    assert max(shown) >= mpmath.mpf(delta) * 0.999999
    assert math.isinf(stats.norm.isf(formulas.share_as_printed(float(delta), 50)))


@pytest.mark.parametrize(("rho", "max_items", "cap"), [("0.1", 1, 1), ("0.5", 3, 1), ("2", 2, 5)])
@pytest.mark.parametrize("delta", ["0.1", "1e-6"])
def test_erratum_32_on_a_grid_the_test_must_be_strict(rho, max_items, cap, delta):
    """Novel counts pass `> threshold` with probability at most delta together; `>= threshold` would pass too often."""
    plan = plan_gaussian_threshold(rho_budget(rho, delta), max_items, cap)
    strict = discrete_gaussian_tail(plan.gaussian_stddev, plan.threshold - cap)
    loose = discrete_gaussian_tail(plan.gaussian_stddev, plan.threshold - cap - 1)

    assert 1 - (1 - strict) ** max_items <= float(delta)
    assert 1 - (1 - loose) ** max_items > float(delta)


# Erratum 34: rounds


class Recorded:
    """An incidence that writes down how it was asked to bound people."""

    def __init__(self) -> None:
        self.lists = made_incidence()
        self.bounds: list[Bound] = []

    def weights(self, rule: UniformWeights):
        """Pass on, and write down."""
        self.bounds.append(rule.bound)
        return self.lists.weights(rule)


def test_erratum_34_each_round_has_a_fresh_salt_and_removes_what_was_named():
    """Rounds draw independent salts, and leave out exactly the items that earlier rounds named."""
    recorded, plan = Recorded(), plan_sips(rho_budget(2, "1e-3"), 3, rounds=4)
    release = run_sips(recorded, plan, SeededSource(4))
    removed = [set() if bound.without is None else set(bound.without) for bound in recorded.bounds]

    assert len({bound.salt for bound in recorded.bounds}) == len(plan.rounds) == 4
    assert removed[0] == set()
    assert all(before <= after for before, after in itertools.pairwise(removed))
    assert removed[-1] <= set(release.items)
    assert len(removed[-1]) > 0
    assert len(set(release.items)) == len(release.items)


@pytest.mark.parametrize("rounds", [1, 2, 3, 7])
def test_erratum_34_the_deltas_of_the_rounds_add_up(rounds):
    """The rounds' shares of rho and delta sum to at most the budget, and to nearly all of it."""
    spent = zcdp.spent(plan_sips(rho_budget("0.1", "1e-5"), 100, rounds=rounds).cost)

    assert Decimal("0.0999999") < spent.rho <= Decimal("0.1")
    assert Decimal("0.999999e-5") < spent.delta <= Decimal("1e-5")


def test_later_rounds_have_more_budget_and_lower_thresholds():
    """Each round has three times the rho and delta of the one before (erratum 31: the text inverts the ratio)."""
    rounds = plan_sips(rho_budget("0.1", "1e-5"), 100).rounds
    shares = [zcdp.spent(one.cost) for one in rounds]

    for before, after in itertools.pairwise(shares):
        assert float(after.rho / before.rho) == pytest.approx(3, rel=1e-9)
        assert float(after.delta / before.delta) == pytest.approx(3, rel=1e-9)
    assert rounds[0].threshold > rounds[1].threshold > rounds[2].threshold
