"""The steepest keep curve once more, by its integral, so that no table of the product is read."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

# Beyond these log-odds the product's curve is flat.
_FLAT_FROM = 128.0
_PLACES, _SHARES = np.polynomial.legendre.leggauss(30)


@lru_cache(maxsize=4096)
def steepest_keep(height: float) -> float:
    """The probability at a height, in units of sigma above even odds: sigmoid(l) with height = integral of G to l.

    G(x) = sqrt(tanh(x/2) / (2x)). The integral by Gauss and Legendre, l by Newton: the slope falls, so that from the
    left of the root no step goes past it.
    """
    odds = 0.0
    if abs(height) >= _integral(_FLAT_FROM):
        odds = _FLAT_FROM
    else:
        for _ in range(60):
            step = (abs(height) - _integral(odds)) / _slope(odds)
            odds += step
            if abs(step) <= 1e-15 * (1 + odds):
                break
    return 1 / (1 + math.exp(-odds)) if height >= 0 else math.exp(-odds) / (1 + math.exp(-odds))


def _slope(odds: float) -> float:
    return 0.5 if odds == 0 else math.sqrt(math.tanh(odds / 2) / (2 * odds))


@lru_cache(maxsize=4096)
def _integral(odds: float) -> float:
    parts = max(1, math.ceil(odds / 2))
    width = odds / parts
    starts = np.arange(parts)[:, None] * width
    points = starts + (_PLACES + 1) * width / 2
    return 0.0 if odds == 0 else float((np.sqrt(np.tanh(points / 2) / (2 * points)) * _SHARES).sum() * width / 2)
