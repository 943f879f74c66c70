"""Bisection over doubles: the last place at which a condition that goes from true to false still holds."""

from __future__ import annotations

import math
from collections.abc import Callable


def last_true(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest double in [low, high] at which `holds` is true, for a condition that turns false once and stays so.

    Returns `low` when the condition holds nowhere, so a caller whose `low` may fail must check the answer. The search
    halves the exponent while the ends are far apart, then the interval: some 70 evaluations for any range of positive
    doubles.

    Args:
        holds: true up to some point, false after it.
        low: a positive double.
        high: a double above `low`.
    """
    if holds(high):
        return high
    while True:
        middle = math.sqrt(low) * math.sqrt(high) if high > 2 * low else low + (high - low) / 2
        if not low < middle < high:
            return low
        if holds(middle):
            low = middle
        else:
            high = middle
