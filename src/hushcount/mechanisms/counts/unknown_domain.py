"""UnkLap (LI Algorithm 3): counts with Laplace noise above a noisy threshold, no item list, few items per person."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.mechanisms.calibration import pure_epsilon
from hushcount.mechanisms.mechanism import Mechanism, even_noise
from hushcount.mechanisms.ranking import rank
from hushcount.mechanisms.released import past_threshold, release_counts
from hushcount.model.amounts import float_below, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import Approximate, Cost
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddLaplace, Reach
from hushcount.noise.laplace import require_rate
from hushcount.noise.source import NoiseSource

# How many of the largest counts are looked at, unless a person may have more items than that (LI section 8.3).
UNKNOWN_ROWS = 1000


@frozen
class UnknownLaplacePlan:
    """Noise of scale cap max_items / epsilon; bottom stands `offset` above the boundary count plus cap."""

    name: str
    max_items: int
    per_item_cap: int
    rows: int
    epsilon: Decimal
    offset: int
    cost: Cost


def plan_unknown_laplace(
    budget: Budget, max_items: int, per_item_cap: int = 1, *, rows: int = UNKNOWN_ROWS
) -> UnknownLaplacePlan:
    """The least offset with (e^epsilon + 1) rows P[X - Y > offset] <= delta, X and Y the two noises.

    The union runs over all `rows` items, not over the person's own max_items: ties with the boundary are left out, so
    a person who lifts the boundary by one count takes every item that stands one above it out of the top, whoever holds
    them. (LI counts max_items, for a top whose ties are broken by a fixed order of all items.)

    LI solves delta = (dhat/4) (e^(eps/2) + 1) (3 + ln(Delta/dhat)) for a logarithm; the exact tail of the difference
    replaces it (erratum 5: 3 + ln may be 2 + ln; Appendix A's constant lacks the factor 2). LI's
    epsilon_per is twice this epsilon.
    """
    whole("max_items", max_items, most=2**31)
    whole("rows", rows, least=max_items, most=2**31)
    epsilon = pure_epsilon(budget)
    require_rate(Fraction(epsilon) / (per_item_cap * max_items))
    rate = float(epsilon) / (per_item_cap * max_items)
    # In logarithms: a large epsilon has no exponential in doubles.
    share = math.log(float_below(budget.delta)) - math.log(rows) - log_growth(float(epsilon))
    high = 1
    while log_difference_tail(rate, high) > share:
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if log_difference_tail(rate, middle) > share else (low, middle)
    offset = low if log_difference_tail(rate, low) <= share else high
    cost = Cost.of(Approximate(epsilon=epsilon, delta=budget.delta))
    return UnknownLaplacePlan(
        name="unknown-laplace",
        max_items=max_items,
        per_item_cap=per_item_cap,
        rows=rows,
        epsilon=epsilon,
        offset=offset,
        cost=cost,
    )


def log_growth(epsilon: float) -> float:
    """ln(e^epsilon + 1), rounded up."""
    return (epsilon + math.log1p(math.exp(-epsilon))) * (1 + 1e-15)


def log_difference_tail(rate: float, level: int) -> float:
    """Ln P[X - Y > level] for independent discrete Laplace X, Y of this rate, rounded up; level >= 0.

    P[X - Y = m] = ((1-q)/(1+q))² q^m (m + (1+q²)/(1-q²)) with q = e^-rate; summed over m > level. As rate tends to 0
    this is (1/4)(2 + t/b) e^(-t/b).
    """
    q, p = math.exp(-rate), -math.expm1(-rate)
    first = level + 1
    middle = (1 + q * q) / (p * (1 + q))
    total = (first + middle) / p + q / p**2
    return (2 * math.log(p / (1 + q)) - rate * first + math.log(total)) + 1e-9 * (1 + rate * first * 1e-6)


def difference_tail(rate: float, level: int) -> float:
    """As `log_difference_tail`, itself."""
    return math.exp(log_difference_tail(rate, level))


def run_unknown_laplace(histogram: Histogram, plan: UnknownLaplacePlan, noise: NoiseSource) -> Outcome:
    """Noisy counts of the items above the noisy bottom, whose own noisy value is released as the cut-off.

    Guarantee: (epsilon, delta)-DP (LI Lemma 5.3). Given the items common to both neighbours' tops, at most max_items of
    the counts and bottom change, by cap each: if the boundary moves, one of the person's items is outside the common
    top. An item that enters or leaves the top has a count at most cap above the boundary.
    Assumes: each person adds at most cap to each of at most max_items counts.

    | edge case | result |
    |---|---|
    | fewer than rows + 1 items | boundary zero, if the histogram is complete; refused otherwise |
    | ties with the boundary | never shown, so ties need no order |

    Source: LI Algorithm 3 with discrete noise. Corrected: erratum 5's constants, the strict test `>` on integers (32),
    released order (6).
    """
    top = rank(histogram, plan.rows)
    above = top.above(plan.rows)
    items, counts = top.items[:above], top.counts[:above]
    rate = Fraction(plan.epsilon) / (plan.per_item_cap * plan.max_items)
    bottom = int(top.counts[plan.rows]) + plan.per_item_cap + plan.offset
    call = AddLaplace(
        purpose=plan.name,
        keys=noise.identify(items),
        values=np.append(counts, bottom),
        reach=Reach(each=plan.per_item_cap, rows=plan.max_items),
        rate=rate,
    )
    noisy = noise.perform(call)
    shown = np.flatnonzero(noisy[:-1] > noisy[-1])
    release = release_counts(
        plan,
        items[shown],
        noisy[shown],
        law=("discrete-laplace", float(1 / rate)),
        cutoff=float(noisy[-1]),
        noise=noise,
    )
    return past_threshold(release, int(noisy[-1]))


def _plan(budget: Budget, facts: Facts, *, least: int = UNKNOWN_ROWS) -> UnknownLaplacePlan:
    bound = facts.max_items or 0
    return plan_unknown_laplace(budget, bound, facts.per_item_cap, rows=max(least, bound))


def _expect(plan: UnknownLaplacePlan) -> Expectation:
    """As if the count at the boundary were zero, which is private."""
    scale = plan.per_item_cap * plan.max_items / float(plan.epsilon)
    return even_noise("discrete-laplace", scale, cutoff=plan.offset + plan.per_item_cap)


UNKNOWN_LAPLACE = Mechanism(
    name="unknown-laplace",
    question="count",
    wants="histogram",
    needs=frozenset({"max_items"}),
    takes=frozenset({"per_item_cap"}),
    calibrate=_plan,
    run=run_unknown_laplace,
    expect=_expect,
    small=lambda budget, facts: _plan(budget, facts, least=facts.per_item_cap),
    fetch=lambda plan: plan.rows + 1,
)
