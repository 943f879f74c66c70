"""The certificate: proof in doubles, rounded outwards, that no step of a ladder tells more than its share of rho.

Plain words: a step from chance q to chance p is what one person does to one item. It is within an allowance c if the
Renyi divergences between the two coins, both ways, are at most c times their order, for every order up to the cap.
There are infinitely many orders, steps and chances; four facts make the check finite, and short.

* Ways. Let L = log(p/q) and M = log((1-q)/(1-p)) be the two steepnesses of a step. With X = L where the coin of q falls
  and -M where it does not, f of one way is log E exp(aX), that of the other log E exp((1-a)X). With t = a - 1/2 and
  E exp(X) = 1 the difference of the two means has the sign of sinh(tL)/sinh(L/2) - sinh(tM)/sinh(M/2), and
  sinh(tx)/sinh(x/2) grows with x, since z coth z does. So the way in which the steeper of the two is the gain tells at
  least as much at every order, and only that one is worked out.
* Orders. f(a) = (a - 1) D_a is convex in a, as the logarithm of a moment generating function. Where f stays below
  c a (a - 1) by c w²/4 at two orders that are w apart, its chord, and so f, stays below c a (a - 1) between them.
  Below the first order D grows with a; from an order on that is at least D_infinity / c there is nothing to show.
* Chances. D_a is jointly quasi-convex (van Erven and Harremoes 2014, theorem 13): steps within an allowance are a
  convex set in the plane of (q, p). So what holds at two steps holds at all points of the line between them.
* Lists. A person with d items has rho/d and 1 - (1 - delta)^(1/d) for each; of all lists that have one weight the
  longest has the least (`Profile.rungs`).

Rounding: each function of a double is trusted to 2^-47 of its size, many times what it is known to err by.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# The first order is 1 + this, and each order's distance from one is this much larger than the last one's.
_FIRST, _RATIO = 1e-3, 1.07
# Of so many orders one is always tried; the others where it is in doubt.
_STRIDE = 10
_TRUST = 2.0**-47
# What is taken off a bound for the few roundings of its own arithmetic.
OUTWARDS = 2.0**-48
_SLACK = 1 + 16 * OUTWARDS


def excess(q: Floats, p: Floats, allowance: float, *, cap: float) -> Floats:
    """At least the largest D_a / (allowance * a) of each step q -> p over 1 < a <= cap and both ways.

    At most one is proof that the step is within the allowance, whatever the order and the rounding.

    Args:
        q: where each step begins, above zero.
        p: where it ends, at least q and below one.
        allowance: what D_a / a may be.
        cap: the largest order; infinite if none is.
    """
    up, down = np.log1p((p - q) / q), -np.log1p(-(p - q) / (1 - q))
    steep, gentle, start = np.maximum(up, down), np.minimum(up, down), np.where(up >= down, q, 1 - p)
    orders = _orders(min(cap, 2 + float(steep.max(initial=0)) / allowance))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        worst = _worst(_Steps(steep, gentle, start), orders, _limits(orders) * allowance)
    # What overflowed is no proof of anything.
    found: Floats = np.where(np.isfinite(worst), worst, np.inf)
    return found


class _Steps(NamedTuple):
    """Steps, each in the way that tells more: gain and loss in the logarithm of the chance, and the chance of gain."""

    steep: Floats
    gentle: Floats
    start: Floats

    def told(self, orders: Floats) -> Floats:
        """At least f(a) of each step, at one order for each or at each of a column of orders."""
        right, wrong = orders * self.steep, -(orders * self.gentle)
        grown, shrunk = np.expm1(right), np.expm1(wrong)
        mean = self.start * grown + (1 - self.start) * shrunk
        error = _TRUST * (self.start * _size(right, grown) + (1 - self.start) * _size(wrong, shrunk)) / (1 + mean)
        told: Floats = np.log1p(mean) + error
        return told


def _worst(steps: _Steps, orders: Floats, limits: Floats) -> Floats:
    """The largest f(a) / limit(a) over all orders, worked out only where nothing shows that it is smaller.

    Between two orders that are worked out D_a is at most what it is at the second; and f, which is convex, is at most
    its chord. What is not a number shows nothing.
    """
    few = np.append(np.arange(0, len(orders) - 1, _STRIDE), len(orders) - 1)
    known = steps.told(orders[few, None])
    worst: Floats = (known / limits[few, None]).max(axis=0)
    least = np.minimum.reduceat(limits / (orders - 1), few[:-1]) * (orders[few[1:]] - 1)
    piece, step = (found[:, None] for found in np.nonzero(~(known[1:] * _SLACK <= worst * least[:, None])))
    order = np.minimum(few[piece] + np.arange(1, _STRIDE), few[piece + 1])
    begin, end = orders[few[piece]], orders[few[piece + 1]]
    left, right = known[piece, step], known[piece + 1, step]
    chord = left + (right - left) * ((orders[order] - begin) / (end - begin))
    doubtful = ~(chord * _SLACK <= worst[step] * limits[order])
    order, step = order[doubtful], np.broadcast_to(step, order.shape)[doubtful]
    told = _Steps(steps.steep[step], steps.gentle[step], steps.start[step]).told(orders[order])
    np.maximum.at(worst, step, told / limits[order])
    return worst


def _orders(last: float) -> Floats:
    """Orders from just above one to the last, their distances from one in equal ratios."""
    last = max(last, 1 + 2 * _FIRST)
    steps = math.ceil(math.log((last - 1) / _FIRST) / math.log(_RATIO))
    orders: Floats = 1 + _FIRST * np.exp(np.linspace(0.0, math.log((last - 1) / _FIRST), steps + 1))
    orders[-1] = last
    return orders


def _size(exponent: Floats, grown: Floats) -> Floats:
    """|x| max(1, e^x), with e^x - 1 given: at least |e^x - 1|, and what an error relative to x makes of e^x."""
    size: Floats = np.abs(exponent) * (np.maximum(grown, 0) + 1)
    return size


def _limits(orders: Floats) -> Floats:
    """What (a - 1) D_a may be at each order, for an allowance of one: a (a - 1), less the sag of its chords."""
    gaps = np.diff(orders)
    widest = np.maximum(np.append(gaps, 0.0), np.append(0.0, gaps))
    limits: Floats = (orders * (orders - 1) - widest * widest / 4) * (1 - 2 * _TRUST)
    # From order one to the first of the grid D is at most what it is there, and the allowance at least that of order 1.
    limits[0] = min(limits[0], (orders[0] - 1) * (1 - 2 * _TRUST))
    return limits
