"""k-TSGD, the k-truncated symmetric geometric distribution (DVGM Definition 6): discrete Laplace within [-k, k]."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidParameter
from hushcount.noise.laplace import Int64s, discrete_laplace, require_rate
from hushcount.noise.source import Draws

_UNIFORMS = 2
# At least so many draws must fall within the bound.
_LEAST_KEPT = 0.01


def require_truncation(rate: Fraction, bound: int) -> None:
    """Refuse noise whose draws nearly all fall outside the bound, and would be drawn again without end."""
    require_rate(rate)
    # P[|X| <= bound] of the law before it is cut is above 1 - e^(-rate (bound + 1)).
    if -math.expm1(-float(rate) * (bound + 1)) < _LEAST_KEPT:
        raise InvalidParameter(
            "delta",
            f"so large beside an epsilon of {float(rate):.3g} that noise ends at {bound}",
            "smaller, or epsilon larger",
            "Noise that is cut so early can hardly be drawn.",
        )


def truncated_geometric(draws: Draws, rate: Fraction, bound: int) -> Int64s:
    """P[X = x] proportional to exp(-rate |x|) on -bound..bound, exactly: draws outside are drawn again."""
    if bound < 0:
        raise InvalidParameter("noise bound", bound, "zero or more", "No number lies between -bound and bound.")
    result = np.empty(len(draws), dtype=np.int64)
    waiting = np.arange(len(draws))
    attempt = 0
    while len(waiting):
        candidate = discrete_laplace(draws, rate, attempt)
        kept = np.abs(candidate) <= bound
        result[waiting[kept]] = candidate[kept]
        again = np.flatnonzero(~kept)
        waiting, draws, attempt = waiting[again], draws.at(again), attempt + _UNIFORMS
    return result
