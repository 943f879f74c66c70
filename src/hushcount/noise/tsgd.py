"""k-TSGD, the k-truncated symmetric geometric distribution (DVGM Definition 6): discrete Laplace within [-k, k]."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidParameter
from hushcount.noise.laplace import Int64s, discrete_laplace
from hushcount.noise.source import Draws

_UNIFORMS = 2


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
