"""PCR in batches: as `pcr`, with finer steps, delta once for each level, and all that is left spent at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hushcount.mechanisms.calibration import concentrated, most_delta, root_above
from hushcount.mechanisms.counts.purse import Purse
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import Contest, Ranking, bottom_odds, rank
from hushcount.mechanisms.released import release_counts
from hushcount.model.amounts import Number, charge, positive, share, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import BoundedRange, Concentrated, Cost, DiscreteGaussian, Failure
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram, Int64s, Items
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, Reach
from hushcount.noise.source import ItemKeys, NoiseSource
from hushcount.noise.widths import half_width

# Rationals just below the powers of 2^(1/4): rho doubles with every second level.
_ROOTS = (Decimal(1), Decimal("1.18920711"), Decimal("1.41421356"), Decimal("1.68179283"))
_LEVELS = 64
# Numbers of a level are fractions, and asked for again and again: those of some plans are kept.
_KEPT = 1024
# The noise is the wanted error divided by this: a wrong share no larger than that of PCR, which divides by 1.5 and
# then charges for a selection at half of the step.
_MARGIN = 1.7
# Where a share was asked for, as half of a 95 % interval: 1.96, and room for counts that are picked though they are a
# little smaller than is likely.
_ASKED = 2.3


@frozen
class BatchedPlan:
    """First epsilon, delta of a level, rows to choose from, wanted error."""

    name: str
    max_items: None
    per_item_cap: int
    rows: int
    fetched: int
    levels: int
    epsilon_first: Decimal
    relative_error: float
    rho: Decimal
    delta: Decimal
    cost: Cost


def plan_pcr_batched(
    budget: Budget,
    per_item_cap: int = 1,
    *,
    rows: int = 10_000,
    epsilon_first: Number = "0.002",
    relative_error: float = 0.1,
    levels: int = _LEVELS,
) -> BatchedPlan:
    """Delta is split over the levels, of which there are so many that epsilon ends above 100."""
    whole("rows", rows, most=2**24)
    whole("levels", levels, most=1000)
    total = concentrated(budget)
    return BatchedPlan(
        name="pcr-batched",
        max_items=None,
        per_item_cap=per_item_cap,
        rows=rows,
        # Twice as many as are looked at, so that releases do not soon use up the rows behind them.
        fetched=2 * rows,
        levels=levels,
        epsilon_first=positive("epsilon_first", epsilon_first),
        relative_error=relative_error,
        rho=total.rho,
        delta=total.delta,
        cost=Cost.of(Concentrated(rho=total.rho), Failure(delta=total.delta)),
    )


def level_epsilon(plan: BatchedPlan, level: int) -> Decimal:
    """Epsilon of a level: the fourth root of two times that of the level before."""
    return plan.epsilon_first * Decimal(2) ** (level // 4) * _ROOTS[level % 4]


@lru_cache(maxsize=_KEPT)
def level_delta(plan: BatchedPlan, level: int) -> Decimal:
    """The delta of a level: an even share, and no more than bottom may have (`most_delta`)."""
    return min(share(plan.delta, plan.levels), most_delta(level_epsilon(plan, level), plan.per_item_cap))


def _odds(plan: BatchedPlan, level: int) -> float:
    return math.log(plan.rows / float(level_delta(plan, level)))


@lru_cache(maxsize=_KEPT)
def level_variance(plan: BatchedPlan, level: int) -> Fraction:
    """The variance of a count of this level: the wanted share of the smallest count that is likely to be picked."""
    smallest = 1 + _odds(plan, level) / float(level_epsilon(plan, level))
    return (Fraction(plan.relative_error / _MARGIN * smallest) * plan.per_item_cap) ** 2


def peeling_rho(plan: BatchedPlan, count: float) -> float:
    """About what it costs to pick an item of this count and to count it as well as is wanted, with no cap."""
    odds = _odds(plan, plan.levels - 1)
    return (odds**2 / 8 + (_MARGIN / plan.relative_error) ** 2 / 2) / count**2


def narrower(asked: float) -> float:
    """The wanted error with which half of a 95 % interval is about the share that was asked for."""
    return asked * _MARGIN / _ASKED


@frozen
class Peeled:
    """Counts that were picked one after another: their items, values and noise, and the cut-off of the last level."""

    items: Items
    counts: Int64s
    stddevs: npt.NDArray[np.float64]
    cutoff: float


def run_pcr_batched(histogram: Histogram, plan: BatchedPlan, noise: NoiseSource) -> Outcome:
    """Select and count level by level, then spend what is left on counting everything again.

    Guarantee: delta-approximate rho-zCDP by the filter (PCR Theorems 5 and 6). A level is one unknown-domain draw: its
    places are epsilon²/8-zCDP each, bottom's included, outside of one event of probability level_delta for the *whole*
    draw, in which an item that one person moves into or out of the top rows beats bottom (the decomposition is in the
    docs, mechanisms/top.md). Each count costs its 1/(2 sigma²), the second ones too. All is charged before it
    is used.
    Assumes: one person adds at most cap to any one count; nothing about how many counts.

    | edge case | result |
    |---|---|
    | empty histogram | empty release; bottoms are drawn and charged until the next step does not fit |
    | fewer than rows + 1 items, complete | boundary count zero |
    | fewer than rows + 1 items, not complete | refused |
    | nothing selected | nothing to count again: what is left stays unspent |

    Source: PCR Algorithms 1 and 2 with the corrections of `pcr`; Durfee and Rogers 2019 for the whole draw. Changed:
    epsilon grows by 2^(1/4) from 0.002, sigma is (r/1.7)(1 + ln(rows/level_delta)/epsilon) and charged as it is, so it
    needs no clamp (erratum 11); a second, independent count of everything with the rest.
    """
    purse = Purse(plan.rho, plan.delta)
    found = peel_counts(rank(histogram, plan.fetched), plan, purse=purse, noise=noise)
    release = release_counts(
        plan,
        found.items,
        found.counts,
        law=("discrete-gaussian", found.stddevs),
        cutoff=found.cutoff,
        noise=noise,
    )
    return replace(release, cost=purse.bought)


def peel_counts(top: Ranking, plan: BatchedPlan, *, purse: Purse, noise: NoiseSource) -> Peeled:
    """All counts that the purse pays for, each counted a second time with what is left."""
    run = _Run(plan=plan, noise=noise, top=top, keys=noise.identify(top.items), purse=purse)
    run.left = np.arange(plan.fetched + 1)
    level = 0
    while level < plan.levels and purse.fits(_level_cost(plan, level)):
        chosen = _select(run, level)
        run.picked.append(chosen)
        run.counts.append(_count(run, chosen, "count", level_variance(plan, level)))
        run.left = np.setdiff1d(run.left, chosen, assume_unique=True)
        level += 1
    counts, stddevs = _counted_again(run)
    last = max(level - 1, 0)
    return Peeled(
        items=top.items[np.concatenate([*run.picked, run.left[:0]])],
        counts=counts,
        stddevs=stddevs,
        # From the last epsilon only: the boundary count itself is private.
        cutoff=plan.per_item_cap * (1 + _odds(plan, last) / float(level_epsilon(plan, last))),
    )


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run under way: what may still be selected, and the rows and counts of each level."""

    plan: BatchedPlan
    noise: NoiseSource
    top: Ranking
    keys: ItemKeys
    purse: Purse
    left: Int64s = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    picked: list[Int64s] = field(default_factory=list)
    counts: list[Int64s] = field(default_factory=list)


def _select(run: _Run, level: int) -> Int64s:
    """Rows selected at this level, each charged with its count before use, until bottom comes up or no step fits."""
    plan, purse = run.plan, run.purse
    selection = _selection_cost(plan, level)
    step = selection + _count_cost(plan, level_variance(plan, level), 1)
    delta = level_delta(plan, level)
    purse.pay(Cost.of(Failure(delta=delta)))
    counts = run.top.counts[run.left]
    boundary = int(counts[min(plan.rows, len(counts) - 1)])
    rows = run.left[counts > boundary]
    contest = Contest(
        keys=run.keys.at(rows),
        counts=run.top.counts[rows],
        bottom=(boundary + plan.per_item_cap, bottom_odds(plan.rows, Fraction(delta))),
        epsilon=Fraction(level_epsilon(plan, level)),
        cap=plan.per_item_cap,
        most=purse.times(step),
    )
    order = run.noise.perform(contest.call(f"pcr-batched/{level}"))
    chosen = order[order < len(rows)]
    for cost in [step] * len(chosen) + [selection] * (len(order) - len(chosen)):
        purse.pay(cost)
    return rows[chosen]


def _count(run: _Run, chosen: Int64s, purpose: str, variance: Fraction) -> Int64s:
    """Noisy counts of some rows, which were charged for before."""
    call = AddGaussian(
        purpose=f"pcr-batched/{purpose}",
        keys=run.keys.at(chosen),
        values=run.top.counts[chosen],
        # Any number of them may move: each was charged for itself.
        reach=Reach(each=run.plan.per_item_cap),
        variance=variance,
    )
    return run.noise.perform(call)


def _counted_again(run: _Run) -> tuple[Int64s, npt.NDArray[np.float64]]:
    """All counts once more, with noise in proportion to what each has, from all that is left; the better of both.

    With variances v and f v the weights of the two are f/(1 + f) and 1/(1 + f), the variance v f/(1 + f); rounding to a
    whole number adds 1/12.
    """
    variances = [level_variance(run.plan, level) for level in range(len(run.picked))]
    rows_of = [len(rows) for rows in run.picked]
    spent = sum(many * run.plan.per_item_cap**2 / (2 * one) for many, one in zip(rows_of, variances, strict=True))
    left = Fraction(run.purse.rho) - Fraction(1, 10**30)
    if not spent or left <= 0:
        roots = [np.full(len(rows), root_above(one)) for rows, one in zip(run.picked, variances, strict=True)]
        return np.concatenate([*run.counts, run.left[:0]]), np.concatenate([*roots, np.zeros(0)])
    factor = spent / left
    counts, stddevs = [], []
    for level, (rows, first) in enumerate(zip(run.picked, run.counts, strict=True)):
        if not len(rows):
            continue
        run.purse.pay(_count_cost(run.plan, factor * variances[level], len(rows)))
        second = _count(run, rows, f"again/{level}", factor * variances[level])
        weight = float(factor / (1 + factor))
        counts.append(first + np.rint((1 - weight) * (second - first)).astype(np.int64))
        stddevs.append(np.full(len(rows), math.sqrt(float(variances[level]) * weight + 1 / 12)))
    return np.concatenate(counts), np.concatenate(stddevs)


def _selection_cost(plan: BatchedPlan, level: int) -> Cost:
    return Cost.of(BoundedRange(epsilon=level_epsilon(plan, level)))


def _count_cost(plan: BatchedPlan, variance: Fraction, times: int) -> Cost:
    return Cost.of((DiscreteGaussian(rho=charge(plan.per_item_cap**2 / (2 * variance))), times))


@lru_cache(maxsize=_KEPT)
def _level_cost(plan: BatchedPlan, level: int) -> Cost:
    """What must fit for a level to begin: its delta, one selection and one count."""
    one = _selection_cost(plan, level) + _count_cost(plan, level_variance(plan, level), 1)
    return one + Cost.of(Failure(delta=level_delta(plan, level)))


def expect_pcr_batched(plan: BatchedPlan) -> Expectation:
    """For a few list lengths: the cut-off that the budget can reach, and the noise there."""
    odds = _odds(plan, plan.levels - 1)
    each = 1 / 8 + (_MARGIN / plan.relative_error / odds) ** 2 / 2
    notes = []
    for length in (10, 100, 1000):
        epsilon = math.sqrt(float(plan.rho) / length / each)
        if epsilon < float(plan.epsilon_first):
            continue
        cutoff = plan.per_item_cap * (1 + odds / epsilon)
        width = half_width("discrete-gaussian", plan.relative_error / _MARGIN * cutoff)
        notes.append(
            f"If {length:,} items are shown, the rarest has about {cutoff:,.0f} people, give or take {width:,}."
        )
    return Expectation(notes=tuple(notes))


def _plan(budget: Budget, facts: Facts) -> BatchedPlan:
    wanted = facts.aim if facts.relative_error is None else narrower(facts.relative_error)
    return plan_pcr_batched(budget, facts.per_item_cap, relative_error=wanted)


def small_pcr_batched(budget: Budget, facts: Facts) -> BatchedPlan:
    """For the auditor: two rows, two levels to share delta, and a first epsilon with which both fit.

    A small wanted error makes counts dear at a large epsilon, where nothing would ever be drawn.
    """
    first = (concentrated(budget).rho * Decimal("1.2")).sqrt()
    while True:
        plan = plan_pcr_batched(
            budget, facts.per_item_cap, rows=2, epsilon_first=first, relative_error=facts.aim, levels=2
        )
        if Purse(plan.rho, plan.delta).fits(_level_cost(plan, 0) + _level_cost(plan, 1)):
            return plan
        first = first * 3 / 4


PCR_BATCHED = Mechanism(
    name="pcr-batched",
    question="count",
    wants="histogram",
    takes=frozenset({"per_item_cap", "relative_error"}),
    calibrate=_plan,
    run=run_pcr_batched,
    expect=expect_pcr_batched,
    small=small_pcr_batched,
    fetch=lambda plan: plan.fetched + 1,
    from_boundary=True,
)
