"""The certificate: proof in doubles, rounded outwards, that no step of a ladder tells more than its share of rho.

Plain words: a step from chance q to chance p is what one person does to one item. It is within an allowance c if the
Renyi divergences between the two coins, both ways, are at most c times their order, for every order up to the cap.
There are infinitely many orders, steps and chances; three facts make the check finite.

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

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# The first order is 1 + this, and each order's distance from one is this much larger than the last one's.
_FIRST, _RATIO = 1e-3, 1.07
_TRUST = 2.0**-47
# What is taken off a bound for the few roundings of its own arithmetic.
OUTWARDS = 2.0**-48


def excess(q: Floats, p: Floats, allowance: float, *, cap: float) -> Floats:
    """At least the largest D_a / (allowance * a) of each step q -> p over 1 < a <= cap and both ways.

    At most one is proof that the step is within the allowance, whatever the order and the rounding.

    Args:
        q: where each step begins, above zero.
        p: where it ends, at least q and below one.
        allowance: what D_a / a may be.
        cap: the largest order; infinite if none is.
    """
    up, down = np.log1p((p - q) / q), np.log1p(-(p - q) / (1 - q))
    most = float(np.maximum(up, -down).max(initial=0))
    orders = _orders(min(cap, 2 + most / allowance))
    limits = _limits(orders)[:, None] * allowance
    rise, fall = orders[:, None] * up, orders[:, None] * down
    worst = np.zeros(len(q))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for start, right, wrong in ((q, rise, fall), (p, -rise, -fall)):
            grown, shrunk = np.expm1(right), np.expm1(wrong)
            mean = start * grown + (1 - start) * shrunk
            error = _TRUST * (start * _size(right, grown) + (1 - start) * _size(wrong, shrunk)) / (1 + mean)
            worst = np.maximum(worst, ((np.log1p(mean) + error) / limits).max(axis=0))
    # What overflowed is no proof of anything.
    found: Floats = np.where(np.isfinite(worst), worst, np.inf)
    return found


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
