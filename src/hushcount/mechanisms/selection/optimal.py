"""The optimal primitive pi_opt (DVGM Theorem 1): the largest probability of naming that (epsilon, delta)-DP allows."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import pure_epsilon
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import require_complete
from hushcount.mechanisms.released import release_names
from hushcount.model.amounts import share, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import Approximate, Cost
from hushcount.model.expectations import Expectation
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Histogram, Shown
from hushcount.model.outcomes import Outcome
from hushcount.noise import enclosures
from hushcount.noise.calls import KeepByTable, Reach
from hushcount.noise.coins import TABLE_BITS
from hushcount.noise.source import NoiseSource

MOST_ITEMS = 3
_LONGEST = 1 << 22


@frozen
class OptimalPlan:
    """(epsilon, delta) for each of a person's items, and the table of keep probabilities in units of 2^-128."""

    name: str
    max_items: int
    epsilon: Decimal
    delta: Decimal
    least: int
    table: tuple[int, ...]
    cost: Cost


def plan_optimal(budget: Budget, max_items: int, *, least: int = 1) -> OptimalPlan:
    """Split the budget over at most three items for each person (DVGM section 5; erratum 20).

    Args:
        budget: what may be spent.
        max_items: 1, 2 or 3; from four items on the weighted Gaussian is better and this is refused.
        least: never name an item of fewer people than this (erratum 21: pi(n - least + 1), still private).
    """
    if whole("max_items", max_items) > MOST_ITEMS:
        raise InvalidParameter(
            "max_items", max_items, "at most 3 for 'optimal'", "Use method 'sips' or 'weighted-gaussian'."
        )
    whole("least", least, most=2**31)
    # delta/kappa rather than 1 - (1 - delta)^(1/kappa): charges add up, and the difference is below delta²/2.
    epsilon, delta = pure_epsilon(budget, max_items), share(budget.delta, max_items)
    return OptimalPlan(
        name="optimal",
        max_items=max_items,
        epsilon=epsilon,
        delta=delta,
        least=least,
        table=keep_table(epsilon, delta),
        cost=Cost.of((Approximate(epsilon=epsilon, delta=delta), max_items)),
    )


def run_optimal(histogram: Counts, plan: OptimalPlan, noise: NoiseSource) -> Outcome:
    """Name each item with probability pi_opt(number of people).

    Guarantee: (epsilon, delta)-DP for each item, and each person is in at most max_items of them: together at most
    (max_items epsilon, max_items delta). The four inequalities of DVGM section 2.1 hold exactly on the 2^-128 grid of
    the table, and the coin is exact.
    Assumes: each person is counted in at most max_items items, once in each; the histogram is complete.

    | edge case | result |
    |---|---|
    | empty histogram | empty release, full cost |
    | an item of one person | named with probability delta |
    | counts beyond the table | named for certain |

    Source: DVGM Theorem 1 and Lemma 1. Corrected: errata 19, 20, 21 (no float comparison, no n1 that is one too large).
    """
    require_complete(histogram)

    def named(block: Histogram) -> Shown:
        call = KeepByTable(
            purpose=plan.name,
            keys=noise.identify(block.items),
            values=block.counts - (plan.least - 1),
            reach=Reach(each=1, rows=plan.max_items),
            table=plan.table,
        )
        kept = noise.perform(call)
        # Names only: their counts stay behind.
        return block.items[kept], np.zeros(np.count_nonzero(kept), dtype=np.int64)

    items, _ = histogram.each(named)
    return release_names(plan, items, cutoff=float(midpoint(plan)), noise=noise)


def midpoint(plan: OptimalPlan) -> int:
    """The number of people from which an item is more likely named than not."""
    half = 1 << (TABLE_BITS - 1)
    return next(n for n, entry in enumerate(plan.table) if entry >= half) + plan.least - 1


@lru_cache(maxsize=32)
def keep_table(epsilon: Decimal, delta: Decimal) -> tuple[int, ...]:
    """pi(0), pi(1), ... up to the first 1, by DVGM Lemma 1 in integers, rounded so that all inequalities hold.

    With E a lower bound of e^epsilon and D = floor(delta S) on the grid S = 2^128, the next entry is the least of E p +
    D, S - (S - p - D)/E and S, rounded down: each is at most the real bound, and the table grows, so (1)-(4) of DVGM
    section 2.1 hold as exact inequalities.
    """
    if expected_length(float(epsilon), float(delta)) > _LONGEST:
        raise InvalidParameter(
            "epsilon", epsilon, "large enough", "No item of fewer than two million people could be named."
        )
    one, shift = 1 << TABLE_BITS, 192
    growth = math.floor(enclosures.exp(Fraction(epsilon), 60)[0] * (1 << shift))
    step = math.floor(Fraction(delta) * one)
    table = [0]
    while table[-1] < one:
        now = table[-1]
        rest = one - now - step
        by_keeping = ((growth * now) >> shift) + step
        by_dropping = one - -(-(rest << shift) // growth) if rest > 0 else one
        table.append(min(by_keeping, by_dropping, one))
        if table[-1] <= now:
            raise InvalidParameter("delta", delta, "above 1e-36")
    return tuple(table)


def keep_probability(epsilon: float, delta: float, people: int) -> float:
    """The closed form of DVGM Theorem 1 in doubles, for planning and for tests; releases use the table.

    The crossover n1 is computed as 1 + floor(log1p(tanh(epsilon/2) (1/delta - 1)) / epsilon): the printed form loses
    all digits for small delta (erratum 21).
    """
    first = _crossover(epsilon, delta)
    growth = math.expm1(epsilon)
    at_first = min(1.0, math.expm1(first * epsilon) / growth * delta)
    if people <= first:
        return min(1.0, math.expm1(people * epsilon) / growth * delta)
    decay = math.exp(-(people - first) * epsilon)
    return min(1.0, (1 - decay) * (1 + delta / growth) + decay * at_first)


def expected_length(epsilon: float, delta: float) -> float:
    """About how many people make an item certain to be named: twice the crossover."""
    return 2.0 * _crossover(epsilon, delta)


def _crossover(epsilon: float, delta: float) -> int:
    return 1 + math.floor(math.log1p(math.tanh(epsilon / 2) * (1 / delta - 1)) / epsilon)


OPTIMAL = Mechanism(
    name="optimal",
    question="vocab",
    wants="histogram",
    needs=frozenset({"max_items"}),
    calibrate=lambda budget, facts: plan_optimal(budget, facts.max_items or 0),
    run=run_optimal,
    expect=lambda plan: Expectation(cutoff=float(midpoint(plan))),
)
