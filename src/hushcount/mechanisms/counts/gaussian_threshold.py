"""Gaussian sparse histogram: counts with discrete Gaussian noise, shown above a threshold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hushcount.accounting.convert import split_delta
from hushcount.accounting.normal import isf
from hushcount.mechanisms.calibration import concentrated, root_above
from hushcount.mechanisms.mechanism import Mechanism, even_noise
from hushcount.mechanisms.ranking import require_complete
from hushcount.mechanisms.released import past_threshold, release_counts
from hushcount.model.amounts import charge, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import Cost, DiscreteGaussian, Failure
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Histogram, Shown
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, Reach
from hushcount.noise.gaussian import require_variance
from hushcount.noise.source import NoiseSource

# Beyond this the integral is as good as the sum.
_WIDE = 2.0**14


@frozen
class GaussianThresholdPlan:
    """Discrete Gaussian noise of this standard deviation on every count; counts above the threshold are shown."""

    name: str
    max_items: int
    per_item_cap: int
    gaussian_stddev: float
    threshold: int
    cost: Cost


def plan_gaussian_threshold(budget: Budget, max_items: int, per_item_cap: int = 1) -> GaussianThresholdPlan:
    """The noise that rho allows, and the least integer threshold that hides novel items with probability 1 - delta.

    sigma = cap sqrt(max_items) / sqrt(2 rho). Under rho this is the best where a person has few items.
    """
    whole("max_items", max_items, most=2**20)
    total = concentrated(budget)
    stddev = root_above(Fraction(max_items * per_item_cap**2, 2) / Fraction(total.rho))
    require_variance(Fraction(stddev) ** 2)
    hidden = float(split_delta(total.delta, max_items)) * (1 - 1e-12)
    offset = math.floor(stddev * isf(hidden)) - 2
    while tail_above(stddev, offset) > hidden:
        offset += 1
    spent = Fraction(max_items * per_item_cap**2, 2) / Fraction(stddev) ** 2
    # The threshold is a whole number, so it hides novel items better than it must: what it does is charged.
    used = min(total.delta, charge(any_above(tail_above(stddev, offset), max_items)))
    return GaussianThresholdPlan(
        name="gaussian-threshold",
        max_items=max_items,
        per_item_cap=per_item_cap,
        gaussian_stddev=stddev,
        threshold=per_item_cap + offset,
        cost=Cost.of(DiscreteGaussian(rho=charge(spent)), Failure(delta=used)),
    )


def any_above(each: float, times: int) -> float:
    """1 - (1 - each)^times, rounded up: the chance that any of so many novel items is shown."""
    if each >= 1:
        return 1.0
    return min(1.0, -math.expm1(times * math.log1p(-each)) * (1 + 1e-12))


def tail_above(stddev: float, level: int) -> float:
    """An upper bound of P[X > level] for discrete Gaussian X.

    The normaliser is sqrt(2 pi) sigma (1 + 2 sum exp(-2 pi² sigma² j²)) by Poisson summation, so dividing by its first
    part rounds up.
    """
    if stddev > _WIDE and level < 0:
        # By symmetry 1 - P[X > -level - 1], of which the integral from -level on is a lower bound.
        return 1 - math.erfc(-level / stddev / math.sqrt(2)) / 2 * (1 - 1e-9)
    if stddev > _WIDE:
        # Above zero the density falls, so a sum is at most its first term and the integral from there on. Adding up one
        # by one would take as much memory as the noise is wide, and a small budget makes it as wide as one likes.
        start = (level + 1) / stddev
        first = math.exp(-start * start / 2) / (math.sqrt(2 * math.pi) * stddev)
        return (first + math.erfc(start / math.sqrt(2)) / 2) * (1 + 1e-9)
    last = max(level, 0) + math.ceil(40 * stddev) + 2
    steps = np.arange(level + 1, last, dtype=np.float64) / stddev
    return float(np.exp(-steps * steps / 2).sum()) / (math.sqrt(2 * math.pi) * stddev) * (1 + 1e-9)


def run_gaussian_threshold(histogram: Counts, plan: GaussianThresholdPlan, noise: NoiseSource) -> Outcome:
    """Noisy counts of all items whose noisy count exceeds the threshold.

    Guarantee: delta-approximate rho-zCDP with rho = max_items cap² / (2 sigma²): the discrete Gaussian on integers of
    l2-sensitivity cap sqrt(max_items) (Canonne, Kamath and Steinke), and novel items, at most max_items of them with
    counts at most cap, stay hidden with probability 1 - delta. The delta of the plan is that of the whole-number
    threshold, at most the budget's.
    Assumes: each person adds at most cap to each of at most max_items counts; the histogram is complete.

    | edge case | result |
    |---|---|
    | empty histogram | empty release, full cost |
    | an item of one person | shown with probability at most delta |

    Source: the sparse histogram of Korolova et al. with the calibration of SIPS Theorem 13 carried to integers: the
    test is `>` and the tail is the discrete law's own, not the continuous one (errata 29, 32).
    """
    require_complete(histogram)

    def shown(block: Histogram) -> Shown:
        call = AddGaussian(
            purpose=plan.name,
            keys=noise.identify(block.items),
            values=block.counts,
            reach=Reach(each=plan.per_item_cap, rows=plan.max_items),
            variance=Fraction(plan.gaussian_stddev) ** 2,
        )
        noisy = noise.perform(call)
        return block.items[noisy > plan.threshold], noisy[noisy > plan.threshold]

    items, counts = histogram.each(shown)
    release = release_counts(
        plan,
        items,
        counts,
        law=("discrete-gaussian", plan.gaussian_stddev),
        cutoff=float(plan.threshold),
        noise=noise,
    )
    return past_threshold(release, plan.threshold)


GAUSSIAN_THRESHOLD = Mechanism(
    name="gaussian-threshold",
    question="count",
    wants="histogram",
    needs=frozenset({"max_items"}),
    takes=frozenset({"per_item_cap"}),
    calibrate=lambda budget, facts: plan_gaussian_threshold(budget, facts.max_items or 0, facts.per_item_cap),
    run=run_gaussian_threshold,
    expect=lambda plan: even_noise("discrete-gaussian", plan.gaussian_stddev, cutoff=plan.threshold),
)
