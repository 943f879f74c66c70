"""Discrete Laplace noise: P[X = x] proportional to exp(-rate |x|) on the integers, drawn exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidParameter
from hushcount.noise import enclosures, uniform
from hushcount.noise.source import Draws

Int64s: TypeAlias = npt.NDArray[np.int64]

# NumPy's log is within 4 units in the last place (2^-50); the rounding of the 53-bit uniform is 2^-53 in absolute
# terms.
_RELATIVE = 2.0**-46
_ABSOLUTE = 2.0**-51
LARGEST_SCALE = 2**32


def require_rate(rate: Fraction) -> None:
    """Refuse noise that cannot be drawn; planners ask, so that nothing is charged for it."""
    # In whole numbers: of each draw, fractions would take a good part of the time.
    if rate.numerator * LARGEST_SCALE < rate.denominator:
        raise InvalidParameter(
            "noise rate",
            float(rate),
            f"at least 1/{LARGEST_SCALE}",
            "So much noise would drown any count. Take a larger budget, or a smaller cap or bound.",
        )


def geometric(draws: Draws, rate: Fraction, number: int = 0) -> Int64s:
    """P[G >= k] = exp(-rate k), k = 0, 1, ..., by inverting a uniform number: G = floor(-ln(U) / rate).

    Every draw reads one word, so its running time does not depend on its value, but for the about one in 2^40 near an
    integer.
    """
    require_rate(rate)
    words = draws.words(number).astype(np.float64) + 0.5
    log = -np.log(words * 2.0**-64)
    value = log / float(rate)
    margin = (log * _RELATIVE + _ABSOLUTE + 1.0 / words) / float(rate)
    floor = np.floor(value)
    result = floor.astype(np.int64)
    fraction = value - floor
    # A first word of zero says nothing about how small the uniform number is.
    doubtful = (words < 1) | (fraction < margin) | (fraction > 1 - margin)
    for row in np.flatnonzero(doubtful).tolist():
        result[row] = _geometric_exactly(draws, row, rate, number)
    return result


def _geometric_exactly(draws: Draws, row: int, rate: Fraction, number: int) -> int:
    for depth in count(2):
        least, most = uniform.enclose(draws, row, number=number, depth=depth)
        if least == 0:
            continue
        digits = uniform.digits_for(depth)
        low = math.floor(max(Fraction(0), -enclosures.ln(most, digits)[1]) / rate)
        high = math.floor(-enclosures.ln(least, digits)[0] / rate)
        if low == high:
            return low
    raise AssertionError("unreachable: the loop above is endless")


def discrete_laplace(draws: Draws, rate: Fraction, number: int = 0) -> Int64s:
    """Exact discrete Laplace noise of scale 1/rate: the difference of two independent geometric numbers."""
    return geometric(draws, rate, number) - geometric(draws, rate, number + 1)
