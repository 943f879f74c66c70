"""Steps: how far one person may lift an item's keep probability, for every probability to lift it from.

A person with d items may spend rho/d and delta_d = 1 - (1 - delta)^(1/d) on each of them. U(q) is the largest p for
which the coins p and q are within rho/d (`certificate`), and

    step(q) = delta_d + (1 - delta_d) U(q / (1 - delta_d)),     step(0) = delta_d,

is the largest probability with the person where it is q without: both coins are then mixtures of parts of weight
1 - delta_d that are within the allowance and of parts that may differ. U is concave, since what is within an allowance
is convex, so that straight lines between points under it stay under it; and symmetric: with q -> p also
1 - p -> 1 - q is within.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hushcount.mechanisms.ladders.certificate import OUTWARDS, Floats, excess
from hushcount.model.frozen import frozen

# Points under U are so far apart, in the logarithm of the odds, around a half and further out: lines between them lose
# about half a thousandth of a step.
_NEAR, _APART, _FAR_APART = 4.0, 0.05, 0.3
# A step that uses this share of its allowance is not searched for any longer; a search aims a little below the whole.
_ENOUGH, _AIM, _SEARCHES = 0.9995, 0.9998, 12


@frozen
class Allowance:
    """What a person may spend on one item: D_a <= rho a for orders up to `cap`, and delta. Rounded down."""

    rho: float
    delta: float
    cap: float


def grid(least: float) -> Floats:
    """Where steps are tabulated: zero, from below `least` to almost one, closer together around a half, and one."""
    below = _probability(_lower_odds(least))
    return np.concatenate(([0.0], below, [0.5], 1 - below[::-1], [1.0]))


def staircase(allowances: Sequence[Allowance], places: Floats) -> Floats:
    """For each allowance, a proven lower bound of step(q) at each of the places; lines between them are one too.

    Args:
        allowances: falling, with one cap: each search begins where the one before ended.
        places: a `grid`.
    """
    odds = _lower_odds(float(places[1]))
    # The slope of the KS curve (Theorem 2), sqrt(2 rho) sqrt(2 l coth(l/2)): what is looked for is not far from it.
    search = _Search(odds=odds, rise=np.sqrt(4 * allowances[0].rho * odds / np.tanh(odds / 2)))
    last, rows = allowances[0].rho, []
    for allowance in allowances:
        search.rise *= math.sqrt(allowance.rho / last)
        last = allowance.rho
        rows.append(_tabulated(*_mirrored(*search.find(allowance)), allowance, places))
    return np.array(rows)


class _Search:
    """The search for points under U; it remembers where the last one ended."""

    def __init__(self, *, odds: Floats, rise: Floats) -> None:
        self.odds, self.rise = odds, rise
        # The use of an allowance grows like this power of the rise: two for small ones, more where the cap binds.
        self._power = np.full_like(odds, 2.0)

    def find(self, allowance: Allowance) -> tuple[Floats, Floats]:
        """Points (q, p) that are proven to be under U, and hardly so; p is at most 1 - q, the rest is their mirror."""
        q, most = _probability(self.odds), -2 * self.odds
        best, rise = np.zeros_like(q), np.minimum(self.rise, most)
        before: tuple[Floats, Floats] | None = None
        for _ in range(_SEARCHES):
            used = np.maximum(excess(q, _probability(self.odds + rise), allowance.rho, cap=allowance.cap), 1e-30)
            best = np.where(used <= 1, np.maximum(rise, best), best)
            done = (used <= 1) & ((used > _ENOUGH) | (rise >= most))
            if done.all():
                break
            if before is not None:
                self._learn(before, (rise, used))
            before = rise, used
            factor = np.exp(np.clip(np.log(_AIM / np.minimum(used, 1e30)) / self._power, -1.0, 1.0))
            rise = np.where(done, rise, np.minimum(rise * factor, most))
        self.rise = rise
        return q, np.maximum(_probability(self.odds + best), q)

    def _learn(self, before: tuple[Floats, Floats], now: tuple[Floats, Floats]) -> None:
        moved, grown = np.log(now[0] / before[0]), np.log(now[1] / before[1])
        told = (np.abs(moved) > 1e-6) & np.isfinite(grown)
        self._power[told] = np.clip(grown[told] / moved[told], 1.0, 60.0)


def _mirrored(q: Floats, p: Floats) -> tuple[Floats, Floats]:
    """The points and their mirrors, from the smallest q to the largest, p never falling.

    A point on the diagonal p = 1 - q is its own mirror; of several the first says most.
    """
    crossing = np.flatnonzero(p >= 1 - q)
    below = slice(0, int(crossing[0]) + 1 if len(crossing) else len(q))
    q, p = q[below], p[below]
    starts, ends = np.concatenate((q, 1 - p[::-1])), np.concatenate((p, 1 - q[::-1]))
    order = np.argsort(starts, kind="stable")
    return starts[order], np.maximum.accumulate(ends[order])


def _tabulated(q: Floats, p: Floats, allowance: Allowance, places: Floats) -> Floats:
    """The points under U as points under step, read off at the places, rounded down."""
    keep = 1 - allowance.delta
    starts = np.concatenate(([0.0], keep * q, [keep]))
    ends = np.concatenate(([allowance.delta], allowance.delta + keep * p, [1.0]))
    lowered = np.interp(places, starts, ends) * (1 - OUTWARDS)
    # From 1 - delta on everything is allowed, also for certain.
    return np.where(places >= keep * (1 + OUTWARDS), 1.0, lowered)


def _lower_odds(least: float) -> Floats:
    """Logarithms of odds below a half, from a little below `least`."""
    far = math.log(least) - _FAR_APART
    near = np.linspace(max(far, -_NEAR), 0.0, math.ceil(min(-far, _NEAR) / _APART) + 1)[:-1]
    if far >= -_NEAR:
        return near
    return np.concatenate((np.linspace(far, -_NEAR, math.ceil((-_NEAR - far) / _FAR_APART) + 1)[:-1], near))


def _probability(odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-odds))
