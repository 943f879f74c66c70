"""How many runs it takes to see a given excess, from the binomial law alone.

The event that we plan for has probability 1/2 on one of the neighbours and (1/2 - delta) e^(-(1 + x) epsilon) on the
other, so that its epsilon at the claimed delta is (1 + x) times the claimed one. With delta = 0 this is Laplace noise
that is too narrow by 1/(1 + x), asked whether it is positive.
"""

from __future__ import annotations

import math

from hushcount.audit.blackbox.bounds import binomial_tail, proven
from hushcount.audit.claim import Claim
from hushcount.audit.finding import Point
from hushcount.errors import InvalidParameter

EXCESS = 0.3
POWER = 0.95
MOST_RUNS = 2**22
# Excess is told in steps of this size, up to this many times.
_STEP, _STEPS = 0.05, 180


def worst_event(epsilon: float, delta: float, excess: float = EXCESS) -> tuple[float, float]:
    """The probabilities, on either neighbour, of the event that we plan for."""
    return 0.5, (0.5 - delta) * math.exp(-(1 + excess) * epsilon)


def runs_needed(epsilon: float, delta: float, *, excess: float = EXCESS, alarm: float, power: float = POWER) -> int:
    """How many test runs on either neighbour find that a claim of (epsilon, delta) is exceeded so much.

    The least n, up to 2 %, with lower(k) - e^epsilon upper(k') > delta, where the likely event is seen at least k times
    with probability 1 - (1 - power)/2 and the rare one at most k' times with that probability. Both happen, and the
    excess is found, with probability at least `power`.

    Raises:
        InvalidParameter: no number of runs below four million suffices; such as for a delta of 1/2 and more.
    """
    high = 64
    while not is_found(epsilon, delta, excess=excess, runs=high, alarm=alarm, power=power):
        high *= 2
        if high > MOST_RUNS:
            raise InvalidParameter(
                "excess", excess, "one that can be seen", f"It would take more than {MOST_RUNS:,} runs."
            )
    low = high // 2
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        seen = is_found(epsilon, delta, excess=excess, runs=middle, alarm=alarm, power=power)
        low, high = (low, middle) if seen else (middle, high)
    return high


def found_excess(epsilon: float, delta: float, *, runs: int, alarm: float, power: float = POWER) -> float:
    """The least excess, in steps of 5 %, that so many test runs find; infinite if they find none below tenfold."""
    low, high = 0, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        seen = is_found(epsilon, delta, excess=middle * _STEP, runs=runs, alarm=alarm, power=power)
        low, high = (low, middle) if seen else (middle, high)
    return math.inf if high == _STEPS else high * _STEP


def best_level(claim: Claim, levels: tuple[float, ...]) -> float:
    """The epsilon at which about the fewest runs show that a claim is exceeded by 30 %.

    About: by the normal approximation, n ~ ((sd of the likely share + e^epsilon sd of the rare one) / margin)².
    """

    def deviations(point: Point) -> float:
        likely, rare = worst_event(point.epsilon, point.delta)
        growth = math.exp(point.epsilon)
        return (math.sqrt(likely * (1 - likely)) + growth * math.sqrt(rare)) / (likely - growth * rare - point.delta)

    return min((point for point in claim.curve(levels) if point.delta < 0.4), key=deviations).epsilon


def is_found(epsilon: float, delta: float, *, excess: float, runs: int, alarm: float, power: float = POWER) -> bool:
    """Whether so many test runs find the excess with probability at least `power`."""
    likely, rare = worst_event(epsilon, delta, excess)
    if likely - math.exp(epsilon) * rare <= delta:
        return False
    missed = (1 - power) / 2
    often, seldom = _quantile(runs, likely, missed), runs - _quantile(runs, 1 - rare, missed)
    return proven(likely=(often, runs), rare=(seldom, runs), alarm=alarm).delta(epsilon) > delta


def _quantile(runs: int, chance: float, missed: float) -> int:
    """The largest k with P[X < k] <= missed."""
    low, high = 0, runs
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if 1 - binomial_tail(middle, runs, chance) <= missed else (low, middle - 1)
    return low
