"""Discrete Gaussian noise: P[X = x] proportional to exp(-x² / (2 sigma²)) on the integers, drawn exactly."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidParameter
from hushcount.noise import enclosures
from hushcount.noise.bernoulli import Bools, accept
from hushcount.noise.laplace import LARGEST_SCALE, Int64s, discrete_laplace
from hushcount.noise.source import Draws

_UNIFORMS = 3  # two for a discrete Laplace candidate, one to accept it
# Below about 2^-1074 a double is zero, and no candidate would ever be accepted.
_LEAST_VARIANCE = Fraction(1, 2**1000)


def require_variance(variance: Fraction) -> None:
    """Refuse noise that cannot be drawn; planners ask, so that nothing is charged for it."""
    if not _LEAST_VARIANCE <= variance < LARGEST_SCALE**2:
        raise InvalidParameter(
            "noise variance",
            # A double would overflow on the way to the message.
            f"{Decimal(variance.numerator) / variance.denominator:.3g}",
            "at least 2^-1000 and below 2^64",
            "Less is no noise at all, more would drown any count. Take another budget, or a smaller cap or bound.",
        )


def discrete_gaussian(draws: Draws, variance: Fraction) -> Int64s:
    """Canonne, Kamath and Steinke (2020), Algorithm 3: rejection from discrete Laplace, exact for rational sigma².

    Whether a candidate is accepted is decided for the whole batch at once, round after round, and the number of rounds
    does not depend on the values that are kept, so the running time of a batch does not tell a large draw.
    """
    require_variance(variance)
    scale = math.isqrt(math.floor(variance)) + 1
    result = np.empty(len(draws), dtype=np.int64)
    waiting = np.arange(len(draws))
    attempt = 0
    while len(waiting):
        candidate = discrete_laplace(draws, Fraction(1, scale), attempt)
        kept = _accept(draws, np.abs(candidate), variance, scale, attempt + 2)
        result[waiting[kept]] = candidate[kept]
        again = np.flatnonzero(~kept)
        waiting, draws, attempt = waiting[again], draws.at(again), attempt + _UNIFORMS
    return result


def _accept(draws: Draws, sizes: Int64s, variance: Fraction, scale: int, number: int) -> Bools:
    shift, double = variance / scale, 2 * variance

    def judge(row: int, digits: int) -> enclosures.Interval:
        return enclosures.exp(-((int(sizes[row]) - shift) ** 2) / double, digits)

    return accept(draws, np.exp(-((sizes - float(shift)) ** 2) / float(double)), judge, number=number)
