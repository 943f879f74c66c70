"""Thresholds: how high the bar must be so that items of one person alone are named with probability at most delta.

If t of a person's items are held by nobody else, the release shows none of them with probability at least 1 - delta,
whatever t up to the bound. All roundings go up; a part in 10^12 is added for the arithmetic of doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from hushcount.accounting.convert import split_delta
from hushcount.accounting.normal import isf
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import float_below
from hushcount.noise import steepest
from hushcount.noise.steepest import Floats

_ROUNDING = 1 + 1e-12
_EXACT_UP_TO = 1000


def gaussian_threshold(stddev: float, delta: Decimal, max_items: int, *, novel_weight: Callable[[int], float]) -> float:
    """Max over t <= max_items of novel_weight(t) + stddev * z(t), P[Z > z(t)] = 1 - (1 - delta)^(1/t).

    DPSU Theorem 5.1 (with its eq. 5.1 corrected: the weight is subtracted before dividing by sigma, erratum 26) and
    SIPS Algorithm 2 line 9. The share of delta is computed to forty digits: as printed it is 0.0 in doubles at delta =
    1e-15 (erratum 29).
    """
    return _up(_worst(max_items, novel_weight, lambda t: stddev * isf(split_delta(delta, t))))


def ks_threshold(stddev: float, delta: Decimal, max_items: int, *, novel_weight: Callable[[Floats], Floats]) -> float:
    """Max over t <= max_items of novel_weight(t) + stddev * H(ln((1 - q)/q)), q = 1 - (1 - delta)^(1/t).

    H is the steepest keep curve as it is drawn: at such a threshold an item of that weight is kept with probability q
    at the most. Never below the largest novel weight, as where even odds would do. All t are looked at, at once.

    Args:
        stddev: sigma.
        delta: the probability with which a novel item may be shown.
        max_items: how many novel items one person can have.
        novel_weight: the most that each of t novel items can weigh.
    """
    novel = np.arange(1, max_items + 1, dtype=np.float64)
    # As `split_delta`, which takes off the same part for the last bits of log1p and expm1.
    shown = -np.expm1(math.log1p(-float_below(delta)) / novel) * (1 - 3e-15)
    log_odds = np.maximum(0.0, np.log1p(-shown) - np.log(shown))
    if log_odds[-1] >= steepest.END - 1:
        raise InvalidParameter("delta", delta, f"above 1e-50 for lists of {max_items} items")
    return _up(float(np.max(novel_weight(novel) + stddev * steepest.curve().height(log_odds))))


def laplace_threshold(scale: float, delta: Decimal, max_items: int, *, novel_weight: Callable[[int], float]) -> float:
    """Max over t <= max_items of novel_weight(t) + scale * ln(1 / (2 (1 - (1 - delta)^(1/t)))); DPSU Theorem 4.1.

    Never below the largest novel weight: for delta above a half the logarithm would turn negative and the tail formula
    change.
    """
    worst = _worst(max_items, novel_weight, lambda t: scale * max(0.0, -math.log(2 * float(split_delta(delta, t)))))
    return _up(worst)


def greedy_threshold(scale: float, delta: Decimal, max_items: int) -> float:
    """The bar for the greedy weighting: novel weights add up to at most one, in any split over at most max_items items.

    -ln(1 - e^(-(rho - w)/scale)/2) is convex in w for rho >= w, so the worst split is one item of weight one and the
    rest of weight zero (erratum 36, repaired): solve 1 - (1 - e^(-(rho-1)/scale)/2) (1 -
    e^(-rho/scale)/2)^(max_items-1) <= delta by bisection.
    """

    def shown(level: float) -> float:
        one = math.log1p(-math.exp(-(level - 1) / scale) / 2)
        rest = math.log1p(-math.exp(-level / scale) / 2)
        return -math.expm1(one + (max_items - 1) * rest)

    allowed = float_below(delta) / _ROUNDING
    low, high = 1.0, 2.0
    while shown(high) > allowed:
        high *= 2
    if shown(low) <= allowed:
        return low
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if shown(middle) > allowed else (low, middle)
    return _up(high)


def _up(level: float) -> float:
    return level + abs(level) * (_ROUNDING - 1)


def _worst(max_items: int, novel_weight: Callable[[int], float], quantile: Callable[[int], float]) -> float:
    exact = max(novel_weight(t) + quantile(t) for t in range(1, min(max_items, _EXACT_UP_TO) + 1))
    if max_items <= _EXACT_UP_TO:
        return exact
    # Beyond: the weight falls and the quantile rises with t, so the two ends bound every t between them from above.
    return max(exact, novel_weight(_EXACT_UP_TO) + quantile(max_items))
