"""The steepest keep curve: how fast the probability of naming an item may rise with its weight under rho-zCDP.

In plain words. Each person more makes an item a little likelier to be named. How much likelier it may become is what
rho limits; this curve uses all of the limit everywhere, so no other curve on the same weights names items sooner.

In full. Let l be the log-odds of naming, and h the distance of the weight from the weight of even odds, in units of
sigma = (2 rho)^-½. The curve is h = H(l) with H' = G,

    G(x) = 1 / sqrt(2 x coth(x/2)) = sqrt(tanh(x/2) / (2 x)),  G(0) = 1/2,

and a weight that moves by w costs Renyi divergence of at most rho a w² at every order a, in both directions (docs,
mechanisms/steepest.md: Theorems 1 and 2, by the inequality of Kearns and Saul 1998). The theorem needs a slope of
*at least* G, nothing else, so what is drawn here is not G in floating point but an exact curve above it: its slope is
linear between knots, where it is a whole number of 2^-44, so the curve is a quadratic between knots, at which it is a
whole number of 2^-55. Beyond the last knot the log-odds stay as they are, which costs nothing. The curve needs 3e-8
sigma more weight than H at the most.

Why the slope is at least G. At a knot it is G, rounded up. Between two knots, step s apart, the chord of G is below G
by s²/8 sup(-G'') at the most, so that much is added. From sinh and cosh as products, G'/G = -x q(x) with
q = sum 1/(a_k + x²) - 1/(b_k + x²), a_k = ((2k-1) pi)², b_k = (2k pi)²: positive, falling in x. So
-G'' = q G + x q' G - x² q² G <= q G, which falls, is at most q(0) G(0) = 1/24, and, since q = (1/x - 1/sinh x) / (2x),
at most G / (2 x²).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.noise import enclosures

Floats: TypeAlias = npt.NDArray[np.float64]

# Log-odds at the last knot: odds of 1 to 10^55, below any share of delta that can be asked for.
END = 128
_KNOTS_PER_UNIT = 1024
_SLOPE_BITS = 44
# A height is the sum of two slopes, times half a step.
_HEIGHT_BITS = _SLOPE_BITS + 11
# From here on tanh(x/2) is taken to be one, from above: it is off by less than 2^-56.
_TANH_IS_ONE_FROM = 40
_WORD = 1 << 64


@frozen
class Curve:
    """The knots, 1/1024 apart in log-odds from zero up; the curve is odd.

    Attributes:
        slopes: slope at each knot, in units of 2^-44.
        heights: height at each knot, in units of 2^-55.
        levels: the same as doubles, in units of one, for the filter.
    """

    slopes: Int64s
    heights: Int64s
    levels: Floats

    def height(self, log_odds: Floats) -> Floats:
        """How far above the weight of even odds, in units of sigma, the log-odds are reached; within 1e-14."""
        size = np.minimum(np.abs(log_odds), END)
        knot = np.minimum((size * _KNOTS_PER_UNIT).astype(np.int64), len(self.slopes) - 2)
        rest = size - knot / _KNOTS_PER_UNIT
        first, bend = self._piece(knot)
        return np.copysign(self.levels[knot] + rest * (first + rest * bend / 2), log_odds)

    def log_odds(self, height: Floats) -> Floats:
        """The inverse of `height`, within 2^-42."""
        size = np.minimum(np.abs(height), self.levels[-1])
        knot = np.minimum(np.searchsorted(self.levels, size, side="right") - 1, len(self.slopes) - 2)
        rest = size - self.levels[knot]
        first, bend = self._piece(knot)
        # The root of rest = first t + bend t²/2 in the form in which nothing cancels.
        root = np.sqrt(first**2 + 2 * bend * rest)
        found: Floats = np.copysign(knot / _KNOTS_PER_UNIT + 2 * rest / (first + root), height)
        return found

    def enclose(self, height: Fraction, digits: int) -> enclosures.Interval:
        """The log-odds of the size of a height, enclosed to 10^-digits."""
        whole = abs(height) * (1 << _HEIGHT_BITS)
        knot = int(np.searchsorted(self.heights, min(whole // 1, int(self.heights[-1])), side="right")) - 1
        if knot == len(self.slopes) - 1:
            return Fraction(END), Fraction(END)
        rest = abs(height) - Fraction(int(self.heights[knot]), 1 << _HEIGHT_BITS)
        first = Fraction(int(self.slopes[knot]), 1 << _SLOPE_BITS)
        bend = Fraction(int(self.slopes[knot + 1] - self.slopes[knot]) * _KNOTS_PER_UNIT, 1 << _SLOPE_BITS)
        low, high = enclosures.sqrt(first**2 + 2 * bend * rest, digits)
        start = Fraction(knot, _KNOTS_PER_UNIT)
        return start + 2 * rest / (first + high), start + 2 * rest / (first + low)

    def _piece(self, knot: Int64s) -> tuple[Floats, Floats]:
        """The slope at a knot, and by how much it changes for each unit of log-odds up to the next."""
        # Below 2^53, so exact.
        first, second = (self.slopes[place].astype(np.float64) for place in (knot, knot + 1))
        return first * 2.0**-_SLOPE_BITS, (second - first) * (_KNOTS_PER_UNIT * 2.0**-_SLOPE_BITS)


@lru_cache(maxsize=1)
def curve() -> Curve:
    """The curve, built at first use in some milliseconds.

    By whole numbers, and by the operations of doubles that IEEE 754 fixes to the last bit: the same on every machine.
    """
    knots = np.arange(END * _KNOTS_PER_UNIT + 1) / _KNOTS_PER_UNIT
    tanh = np.ones(len(knots))
    tanh[: _TANH_IS_ONE_FROM * _KNOTS_PER_UNIT] = tangents(_TANH_IS_ONE_FROM * _KNOTS_PER_UNIT)
    slope = np.full(len(knots), 0.5)
    slope[1:] = np.sqrt(tanh[1:] / (2 * knots[1:]))
    # What the chord of G may lack up to the next knot; it falls, so a knot must add what the piece before it needs.
    lack = np.full(len(knots), 1 / 24)
    lack[2:] = np.minimum(lack[2:], slope[1:-1] / (2 * knots[1:-1] ** 2))
    # The few roundings above are below a part in 2^49; one step is added for those of this line.
    raised = slope * (1 + 2.0**-49) + lack / (8 * _KNOTS_PER_UNIT**2)
    slopes = np.ceil(raised * 2.0**_SLOPE_BITS).astype(np.int64) + 1
    heights = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(slopes[1:] + slopes[:-1])])
    return Curve(slopes=slopes, heights=heights, levels=heights * 2.0**-_HEIGHT_BITS)


def tangents(number: int) -> Floats:
    """tanh(x/2) at the first knots: (1 - e) / (1 + e), where e is exp(-x) rounded down, so that tanh is rounded up.

    The powers e are in units of 2^-64, of which 2^-12 is lost in all; the quotient is rounded to nearest.
    """
    guard = 32
    factor = int(enclosures.exp(Fraction(-1, _KNOTS_PER_UNIT), 40)[0] * (_WORD << guard))
    if (made := passes.tangents(factor, number)) is not None:
        return made
    found, value = np.empty(number), _WORD << guard
    for place in range(number):
        small = value >> guard
        found[place] = (_WORD - small) / (_WORD + small)
        value = value * factor >> (64 + guard)
    return found
