"""PCR, Private Count Release (Rogers 2024): counts with no item list and no bound on the items of a person."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.accounting.filters import Filter
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import concentrated, require_covered
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import Contest, bottom_odds, rank
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
from hushcount.noise.gaussian import require_variance
from hushcount.noise.source import ItemKeys, NoiseSource
from hushcount.noise.widths import half_width

# A rational just below the square root of two: rho doubles with each step (erratum 13: eps <- sqrt(2) eps, not sqrt(2
# eps)).
_ROOT_TWO = Decimal("1.41421356")
_CALLS = 100_000
_ROWS = 10_000
# The paper's noise is the wanted error divided by the first. Where a share was asked for, as half of a 95 % interval,
# by the second: 1.96, and room for counts that are selected though they are a little smaller than is likely.
_MARGIN, _ASKED = 1.5, 2.3


@frozen
class PcrPlan:
    """Parameters of PCR Algorithm 2: first epsilon, delta of a selection, rows to choose from, wanted error."""

    name: str
    max_items: None
    per_item_cap: int
    rows: int
    fetched: int
    epsilon_first: Decimal
    delta_step: Decimal
    relative_error: float
    rho: Decimal
    delta: Decimal
    cost: Cost


def plan_pcr(
    budget: Budget,
    per_item_cap: int = 1,
    *,
    rows: int = _ROWS,
    epsilon_first: Number = "0.0005",
    relative_error: float = 0.1,
) -> PcrPlan:
    """The paper's parameters are the defaults; delta is split over 100,000 selections, as there."""
    whole("rows", rows, most=2**24)
    first = positive("epsilon_first", epsilon_first)
    if not 0 < relative_error < math.inf:
        raise InvalidParameter("relative_error", relative_error, "above zero", "0.1 asks for ten per cent.")
    total = concentrated(budget)
    if total.rho < first**2 / 4:
        raise InvalidParameter(
            "rho", total.rho, f"at least epsilon_first²/4 = {first**2 / 4}", "Not even one step fits."
        )
    # The first epsilon is the smallest: if it covers the delta of a step, all do.
    require_covered(share(total.delta, _CALLS), first, per_item_cap)
    plan = PcrPlan(
        name="pcr",
        max_items=None,
        per_item_cap=per_item_cap,
        rows=rows,
        # Twice as many as are looked at, so that releases do not soon use up the rows behind them.
        fetched=2 * rows,
        epsilon_first=first,
        delta_step=share(total.delta, _CALLS),
        relative_error=relative_error,
        rho=total.rho,
        delta=total.delta,
        cost=Cost.of(Concentrated(rho=total.rho), Failure(delta=total.delta)),
    )
    # The first counts have the most noise.
    require_variance((Fraction(clamped_stddev(plan, first)) * per_item_cap) ** 2)
    return plan


def level_epsilon(plan: PcrPlan, level: int) -> Decimal:
    """Epsilon after `level` bottoms: times the square root of two for each."""
    return plan.epsilon_first * Decimal(2) ** (level // 2) * (_ROOT_TWO if level % 2 else 1)


def clamped_stddev(plan: PcrPlan, epsilon: Decimal) -> float:
    """Sigma of PCR eq. (2), clamped from below at 2/epsilon, in units of the per-item cap.

    A count costs 1/(2 sigma²), and a step reserves epsilon²/4 = epsilon²/8 + epsilon²/8 for selection and count: that
    needs sigma >= 2/epsilon. The paper says "as long as sigma > 2/eps" and nothing for the other case, where a success
    would cost up to 2.0 times (r = 0.05) or 9.9 times (r = 0.02) what was reserved (erratum 11). Where the clamp acts,
    the wanted relative error is missed and the released noise scale says by how much.
    """
    wanted = (plan.relative_error / _MARGIN) * (1 + math.log(plan.rows / float(plan.delta_step)) / float(epsilon))
    return max(wanted, 2 / float(epsilon) * (1 + 1e-15))


@frozen
class _Level:
    """What every step of a level has in common: epsilon, the odds of bottom, the noise of a count, what it costs."""

    epsilon: Fraction
    bottom: Fraction
    stddev: float
    variance: Fraction
    selection: Cost
    step: Cost


# Exact numbers take longer than the draws, and a service asks by the same plan again and again.
@lru_cache(maxsize=1024)
def _level(plan: PcrPlan, level: int) -> _Level:
    epsilon = level_epsilon(plan, level)
    stddev = clamped_stddev(plan, epsilon)
    selection = Cost.of(BoundedRange(epsilon=epsilon), Failure(delta=plan.delta_step))
    return _Level(
        epsilon=Fraction(epsilon),
        bottom=bottom_odds(plan.rows, Fraction(plan.delta_step)),
        stddev=stddev * plan.per_item_cap,
        # The product as a fraction: rounded to a double, it could be below what was charged for.
        variance=(Fraction(stddev) * plan.per_item_cap) ** 2,
        selection=selection,
        step=selection + Cost.of(DiscreteGaussian(rho=charge(1 / (2 * Fraction(stddev) ** 2)))),
    )


@dataclass(slots=True)
class _Run:
    """One run under way: what may still be selected, largest first, what has been released, and what it cost."""

    plan: PcrPlan
    noise: NoiseSource
    keys: ItemKeys
    left: Int64s
    filter: Filter
    items: list[Items]
    counts: list[Int64s]
    stddevs: list[float] = field(default_factory=list)
    spent: list[Cost] = field(default_factory=list)

    def spend(self, cost: Cost, times: int) -> None:
        """Charge `cost` so many times; the filter raises before anything is spent if it does not fit."""
        if times:
            charged = Cost(tuple((event, times * each) for event, each in cost.events))
            self.filter.spend(charged)
            self.spent.append(charged)


def run_pcr(histogram: Histogram, plan: PcrPlan, noise: NoiseSource) -> Outcome:
    """Select the largest counts one by one, above a threshold that falls as epsilon grows, until the budget is used.

    Guarantee: delta-approximate rho-zCDP by the filter of Whitehouse et al. (PCR Theorems 5 and 6; its (epsilon, delta)
    form has rho where the print has 2, erratum 14). Each selection is delta_step-approximate epsilon²/8-zCDP (Theorem
    4), each count 1/(2 sigma²)-zCDP with the sigma that is used. Every step, bottoms included, is charged before its
    output is used, and the loop stops when the next step's full reserve does not fit (erratum 16).
    Assumes: one person adds at most cap to any one count; nothing about how many counts.

    | edge case | result |
    |---|---|
    | empty histogram | empty release; bottoms are drawn and charged until the budget is used |
    | fewer than rows + 1 items, complete | boundary count zero |
    | fewer than rows + 1 items, not complete | refused |
    | all items tie | none is strictly above the boundary unless the boundary is zero |

    Source: PCR Algorithms 1 and 2. Corrected: at each level the boundary is the true count at rank rows + 1 of what is
    left, and where fewer rows were fetched the last fetched row, with a smaller top; it is never taken as zero unless
    the data ends there (erratum 12); ties need no order; sigma is clamped (11); noisy Gumbel scores are never released
    (6, 15). At a fixed epsilon, repeated selection of the top one is peeling, so one set of Gumbel numbers serves a
    whole level (the same law, far fewer draws).
    """
    top = rank(histogram, plan.fetched)
    counts = top.counts[: len(top.items)]
    run = _Run(
        plan, noise, noise.identify(top.items), counts, Filter(plan.rho, plan.delta), [top.items[:0]], [counts[:0]]
    )
    level = 0
    while run.filter.fits(_level(plan, level).step):
        released = len(top.items) - len(run.left)
        chosen = _select(run, level, min(plan.rows, plan.fetched - released))
        if len(chosen):
            _count(run, level, chosen)
        level += 1
    return _release(run, level - 1)


def _select(run: _Run, level: int, place: int) -> Int64s:
    """Rows of what is left, each charged with its count before use, until bottom comes up or no step fits.

    Args:
        run: the run.
        level: which step of epsilon it is.
        place: where the boundary is; beyond the end of the data all counts are zero.
    """
    plan, at = run.plan, _level(run.plan, level)
    boundary = int(run.left[place]) if place < len(run.left) else 0
    above = int(np.count_nonzero(run.left > boundary))
    contest = Contest(
        keys=run.keys.at(slice(above)),
        counts=run.left[:above],
        bottom=(boundary + plan.per_item_cap, at.bottom),
        epsilon=at.epsilon,
        cap=plan.per_item_cap,
        most=run.filter.times(at.step),
    )
    order = run.noise.perform(contest.call(f"pcr/{level}"))
    chosen = order[order < above]
    run.spend(at.step, len(chosen))
    run.spend(at.selection, len(order) - len(chosen))
    return chosen


def _count(run: _Run, level: int, chosen: Int64s) -> None:
    """Noise the counts of what was chosen, and take it out of what is left."""
    at, keys = _level(run.plan, level), run.keys.at(chosen)
    call = AddGaussian(
        purpose="pcr/count",
        keys=keys,
        values=run.left[chosen],
        # Any number of them may move: each was charged for itself.
        reach=Reach(each=run.plan.per_item_cap),
        variance=at.variance,
    )
    run.items.append(np.asarray(keys.items, dtype=object))
    run.counts.append(run.noise.perform(call))
    run.stddevs += [at.stddev] * len(chosen)
    rest = np.delete(np.arange(len(run.left)), chosen)
    run.keys, run.left = run.keys.at(rest), run.left[rest]


def _release(run: _Run, last_level: int) -> Outcome:
    plan = run.plan
    # From the last epsilon only: the boundary count itself is private.
    odds = math.log(plan.rows / float(plan.delta_step))
    cutoff = plan.per_item_cap * (1 + odds / float(level_epsilon(plan, last_level)))
    release = release_counts(
        plan,
        np.concatenate(run.items),
        np.concatenate(run.counts),
        law=("discrete-gaussian", np.array(run.stddevs)),
        cutoff=cutoff,
        noise=run.noise,
    )
    return replace(release, cost=Cost.total(run.spent))


def expect_pcr(plan: PcrPlan) -> Expectation:
    """For a few list lengths: the cut-off that the budget can reach, and the noise there."""
    odds = math.log(plan.rows / float(plan.delta_step))
    notes = []
    for length in (10, 100, 1000):
        epsilon = math.sqrt(float(plan.rho) / length / 0.22)
        if epsilon < float(plan.epsilon_first):
            continue
        level = max(0, math.floor(2 * math.log2(epsilon / float(plan.epsilon_first))))
        stddev = clamped_stddev(plan, level_epsilon(plan, level)) * plan.per_item_cap
        width, cutoff = half_width("discrete-gaussian", stddev), plan.per_item_cap * (1 + odds / epsilon)
        notes.append(
            f"If {length:,} items are shown, the rarest has about {cutoff:,.0f} people, give or take {width:,}."
        )
    return Expectation(notes=tuple(notes))


def _plan(budget: Budget, facts: Facts) -> PcrPlan:
    asked = facts.relative_error
    wanted = facts.aim if asked is None else asked * _MARGIN / _ASKED
    if asked is not None:
        _require_reachable(budget, asked)
    return plan_pcr(budget, facts.per_item_cap, relative_error=wanted)


def _require_reachable(budget: Budget, asked: float) -> None:
    """Refuse a share at which the noise of every count would be clamped (`clamped_stddev`): none would be met."""
    odds = math.log(_ROWS / float(share(concentrated(budget).delta, _CALLS)))
    least = math.ceil(2000 * _ASKED / odds) / 1000
    if asked < least:
        raise InvalidParameter(
            "relative_error",
            asked,
            f"at least {least} for 'pcr'",
            "It pays no more for a count than for finding it. Use 'ntm' or 'pcr-batched', which pay what it takes.",
        )


def _plan_small(budget: Budget, facts: Facts) -> PcrPlan:
    """Two rows, two selections to share delta, and a first epsilon with which both fit.

    A bottom costs epsilon²/8 and doubles epsilon², of which the next step reserves a quarter: 5/8 epsilon² is rho.
    """
    first = (concentrated(budget).rho * Decimal("1.599")).sqrt()
    plan = plan_pcr(budget, facts.per_item_cap, rows=2, epsilon_first=first, relative_error=facts.aim)
    return replace(plan, delta_step=share(plan.delta, 2))


PCR = Mechanism(
    name="pcr",
    question="count",
    wants="histogram",
    takes=frozenset({"per_item_cap", "relative_error"}),
    calibrate=_plan,
    run=run_pcr,
    expect=expect_pcr,
    small=_plan_small,
    fetch=lambda plan: plan.fetched + 1,
    from_boundary=True,
)
