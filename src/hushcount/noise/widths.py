"""Give or take: how far from a noisy count the true one is with 95 % probability, from the law of the noise alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.model.outcomes import Law
from hushcount.noise.tails import EXACT_UP_TO, log_tail

CONFIDENCE = 0.95
# What may be missed at either end.
MISS = (1 - CONFIDENCE) / 2
# Tails in doubles, and of wide noise by an integral: so much nearer to an end counts as inside.
_INSIDE = 1 - 1e-3
# So many scales below a count nothing but the threshold itself speaks for it.
_DEEP = 45
# So many scales above its threshold a count was not helped over it by anything that anybody can see.
_FAR = {"none": 0.0, "discrete-gaussian": 9.0, "discrete-laplace": 40.0, "truncated-geometric": 40.0}

Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]


@lru_cache(maxsize=1024)
def half_width(law: Law, scale: float) -> int:
    """The least whole number w with P[|noise| <= w] >= 0.95."""
    match law:
        case "none":
            return 0
        case "discrete-gaussian":
            return _gaussian_width(scale)
        case "discrete-laplace" | "truncated-geometric":
            # P[|X| > w] = 2 q^(w+1) / (1 + q), q = e^(-1/scale); truncation only makes it smaller.
            share = (1 - CONFIDENCE) * (1 + math.exp(-1 / scale)) / 2
            return max(0, math.ceil(-scale * math.log(share) - 1 - 1e-9))


def _gaussian_width(stddev: float) -> int:
    if stddev > EXACT_UP_TO:
        # 1.96 standard deviations; the whole numbers from -w to w cover w + 1/2 on the continuous scale.
        return math.ceil(1.959964 * stddev - 0.5)
    reach = math.ceil(12 * stddev) + 2
    mass = np.exp(-0.5 * (np.arange(reach) / stddev) ** 2)
    inside = (2 * np.cumsum(mass) - mass[0]) / (2 * mass.sum() - mass[0])
    return int(np.argmax(inside >= CONFIDENCE))


@frozen
class ShownCounts:
    """Counts with noise of one law and scale that are shown only where they exceed a threshold.

    A true count n that is shown as y, `gap` above the threshold t, has the law of y *given that* y > t, and an end of
    its interval is where that law gives what was seen, or more, a probability of at most `miss`. So each end leaves out
    the true count with probability at most `miss` whatever it is, exactly so on whole numbers: just above the
    threshold, too, where items were helped over it by their noise.

    Attributes:
        law: that of the noise, symmetric and log-concave, so that these probabilities fall from the count outwards.
        scale: its scale.
        gaps: by how much each count exceeds its threshold, 1 or more.
        bound: where a truncated law ends.
    """

    law: Law
    scale: float
    gaps: Int64s
    bound: int | None = None

    def down(self, counts: Int64s, *, miss: float = MISS) -> Int64s:
        """How far below each count the true one may be, at most to zero.

        n = y - d is left out if P[X >= d] / P[X >= d - gap + 1] is at most `miss`. Just above the threshold nearly any
        smaller count could have been lifted there, and nothing but zero bounds it from below.
        """
        tail, least, near = log_tail(self.law, self.scale, self.bound), math.log(miss * _INSIDE), self._near()

        def inside(down: Floats) -> Bools:
            with np.errstate(invalid="ignore"):
                # Where a law has ended, both tails are nothing and their quotient is none.
                found: Bools = tail(down) - tail(down - near + 1) > least
            return found

        deep = self._deep()
        found = np.where(inside(deep.astype(np.float64)), counts, _last(inside, deep))
        return np.minimum(found if self.bound is None else np.minimum(found, self.bound), counts)

    def up(self, *, miss: float = MISS) -> Int64s:
        """How far above each count the true one may be; none is below its count, which is the estimate.

        n = y + e is left out if (P[X >= e] - P[X >= e + gap]) / P[X < e + gap] is at most `miss`.
        """
        tail, near = log_tail(self.law, self.scale, self.bound), self._near()

        def inside(up: Floats) -> Bools:
            low, high = np.exp(tail(up)), np.exp(tail(up + near))
            found: Bools = low - high > miss * _INSIDE * (1 - high)
            return found

        return _last(inside, self._deep())

    def far(self) -> Bools:
        """Which counts have noise as if there were no threshold, as far as anybody can see."""
        found: Bools = self.gaps >= self._far()
        return found

    def _far(self) -> int:
        return half_width(self.law, self.scale) + math.ceil(_FAR[self.law] * self.scale) + 1

    def _near(self) -> Floats:
        return np.minimum(self.gaps, self._far()).astype(np.float64)

    def _deep(self) -> Int64s:
        return np.minimum(self.gaps, self._far()) + math.ceil(_DEEP * self.scale)


def _last(inside: Callable[[Floats], Bools], most: Int64s) -> Int64s:
    """For each row the last whole number from 0 to `most` that is inside, 0 if none; what is inside comes first."""
    low, high = np.zeros(len(most), dtype=np.int64), most + 1
    while np.any(high - low > 1):
        middle = low + (high - low) // 2
        held = inside(middle.astype(np.float64))
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    return low
