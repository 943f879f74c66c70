"""PCR in batches: levels, what each is charged, and the second count of everything."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.mechanisms.calibration import most_delta
from hushcount.mechanisms.counts.pcr import plan_pcr, run_pcr
from hushcount.mechanisms.counts.pcr_batched import (
    level_delta,
    level_epsilon,
    level_variance,
    plan_pcr_batched,
    run_pcr_batched,
)
from hushcount.model.budgets import rho_budget
from hushcount.model.costs import BoundedRange, DiscreteGaussian, Failure
from hushcount.noise.source import SeededSource
from hushcount.noise.widths import half_width
from tests.unit.mechanisms.made_inputs import histogram

BUDGET = rho_budget("0.1", "1e-6")
# Zipf's law over a thousand items, as words have it.
WORDS = histogram([f"word {n:04}" for n in range(1, 1001)], [50_000 // n for n in range(1, 1001)])


class Drawn(SeededSource):
    """A source that keeps the calls."""

    def __init__(self, seed):
        super().__init__(seed)
        self.calls = []

    def perform(self, call):
        """Noted, then drawn."""
        self.calls.append(call)
        return super().perform(call)


def test_epsilon_doubles_with_every_fourth_level():
    """From 0.002 by the fourth root of two, never above it, for as many levels as there are shares of delta."""
    plan = plan_pcr_batched(BUDGET)

    assert level_epsilon(plan, 0) == Decimal("0.002")
    assert level_epsilon(plan, 4) == 2 * level_epsilon(plan, 0)
    assert all(float(level_epsilon(plan, level)) <= 0.002 * 2 ** (level / 4) for level in range(64))
    assert sum(level_delta(plan, level) for level in range(64)) <= plan.delta


def test_noise_is_the_wanted_share_of_the_smallest_count_of_a_level():
    """Sigma = (r/1.7)(1 + ln(rows/delta)/epsilon), in units of the cap."""
    plan, capped = plan_pcr_batched(BUDGET), plan_pcr_batched(BUDGET, 3)
    smallest = 1 + math.log(10_000 / float(level_delta(plan, 7))) / float(level_epsilon(plan, 7))

    assert math.sqrt(level_variance(plan, 7)) == pytest.approx(0.1 / 1.7 * smallest)
    assert math.sqrt(level_variance(capped, 7)) == pytest.approx(3 * 0.1 / 1.7 * smallest)


def test_a_large_cap_lowers_the_delta_of_a_level():
    """Bottom must not move further than the items: with a cap of many rows that holds for a small delta only."""
    plan = plan_pcr_batched(rho_budget("0.1", "0.01"), 100_000)

    assert level_delta(plan, 0) == most_delta(level_epsilon(plan, 0), 100_000) < Decimal("0.01") / 64


def test_delta_is_charged_once_for_each_level():
    """As many failures as levels were begun, however many items each showed; all within the plan."""
    plan, source = plan_pcr_batched(BUDGET), Drawn(1)
    outcome = run_pcr_batched(WORDS, plan, source)
    levels = len({call.purpose for call in source.calls if call.purpose.split("/")[1].isdigit()})
    failures = sum(times for event, times in outcome.cost.events if isinstance(event, Failure))
    selections = sum(times for event, times in outcome.cost.events if isinstance(event, BoundedRange))

    assert failures == levels
    assert selections >= len(outcome.items) > levels
    assert zcdp.spent(outcome.cost).rho <= plan.rho
    assert zcdp.spent(outcome.cost).delta <= plan.delta


def test_what_is_left_counts_everything_again():
    """Hardly anything of rho stays, each item is counted twice, and its noise is below that of its level."""
    plan, source = plan_pcr_batched(BUDGET), Drawn(1)
    outcome = run_pcr_batched(WORDS, plan, source)
    again = [call for call in source.calls if "again" in call.purpose]
    counted = sum(times for event, times in outcome.cost.events if isinstance(event, DiscreteGaussian))

    assert zcdp.spent(outcome.cost).rho > plan.rho * Decimal("0.999999")
    assert sum(len(call.values) for call in again) == len(outcome.items)
    assert counted == 2 * len(outcome.items)


def test_nothing_found_leaves_the_rest_unspent():
    """Without data every level ends with bottom, and there is nothing to count again."""
    plan = plan_pcr_batched(BUDGET)
    outcome = run_pcr_batched(histogram([], []), plan, SeededSource(1))

    assert not len(outcome.items)
    assert zcdp.spent(outcome.cost).rho < plan.rho


def test_it_counts_more_than_pcr_and_no_worse():
    """On Zipf's law more counts are within a tenth, and no larger a share is off."""
    true = dict(zip(WORDS.items.tolist(), WORDS.counts.tolist(), strict=True))

    def good_and_share(run, plan):
        off = []
        for seed in range(8):
            outcome = run(WORDS, plan, SeededSource(seed))
            counts = np.array([true[item] for item in outcome.items.tolist()])
            off += (np.abs(outcome.counts - counts) > 0.1 * counts).tolist()
        return len(off) - sum(off), np.mean(off)

    ours, theirs = good_and_share(run_pcr_batched, plan_pcr_batched(BUDGET)), good_and_share(run_pcr, plan_pcr(BUDGET))

    assert ours[0] > 1.05 * theirs[0]
    assert ours[1] < theirs[1] + 0.01


def share_within(variance, factor, *, narrower=1.0):
    """The exact probability that the weighted mean of two counts, rounded, is as near to the truth as is said."""
    first, second = (exact_gaussian(each) for each in (variance, variance * factor))
    weight = factor / (1 + factor)
    # As the mechanism combines them.
    both = first[0][:, None] + np.rint((1 - weight) * (second[0][None, :] - first[0][:, None]))
    reach = half_width("discrete-gaussian", math.sqrt(variance * weight + 1 / 12))
    return float(((np.abs(both) <= narrower * reach) * first[1][:, None] * second[1][None, :]).sum())


def exact_gaussian(variance):
    """The discrete Gaussian: whole numbers and their probabilities."""
    numbers = np.arange(-math.ceil(9 * math.sqrt(variance)) - 2, math.ceil(9 * math.sqrt(variance)) + 3)
    weights = np.exp(-(numbers**2) / (2 * variance))
    return numbers, weights / weights.sum()


def test_intervals_of_peeled_counts_hold_what_they_say():
    """By every outcome of both noises: 95 % or more, for small noise and large, whichever of the two has more."""
    grid = itertools.product((0.05, 0.4, 1.7, 6.0, 21.0, 90.0, 400.0), (0.05, 0.5, 2, 20))
    worst = min(share_within(*one) for one in grid)

    assert 0.95 <= worst < 0.955


def test_intervals_a_tenth_narrower_hold_less():
    """Broken twin: the same with a tenth less at each side."""
    assert share_within(400.0, 2, narrower=0.9) < 0.94
