"""The shape of NTM's noise: from predicted counts to how much room each item takes up, on a grid of integers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.model.frozen import frozen
from hushcount.model.inputs import Clip, Int64s, Items, Ranked

Floats: TypeAlias = npt.NDArray[np.float64]

# Noise in proportion to this power of a count: the wanted share of the rarest item, and less of those above.
_POWER = 0.75
# Sums of squares stay below 2^61, and the variance of the noise below 2^62.
_BITS_OF_SQUARES, _BITS_OF_VARIANCE = 61, 62


@frozen
class Shape:
    """Released items by predicted count, largest first, and the integers A that stand for them.

    For the first k, item i is to have noise in proportion to P_i^(3/4): a_i² = P_i^-1.5 P_k^-0.5. These differ from
    one k to another by a factor only, so one set of integers A_i = floor(2^bits (P_i/P_last)^-0.75) serves all k.

    Attributes:
        ranked: the items and their integers.
        predictions: P, largest first; public or released.
        bits: how fine the grid is.
    """

    ranked: Ranked
    predictions: Floats
    bits: int

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def squares(self) -> Int64s:
        """S(k) on the grid: for each k the sum of the first k squares."""
        return np.cumsum(self.ranked.amplitudes**2)

    def amplitude(self, first: int) -> float:
        """What an a of one is on the grid, for the first so many items."""
        last = self.predictions[-1]
        return math.pow(2.0, self.bits) * math.pow(last, _POWER) * math.pow(self.predictions[first - 1], 1 - _POWER)

    def radius(self, first: int, room: float) -> int:
        """The square root of B on the grid, B = room."""
        return max(1, math.floor(math.sqrt(room) * self.amplitude(first)))

    def unclipped(self, first: int) -> Clip:
        """The clip for the first so many items under which nobody is clipped, and hardly more."""
        return Clip(first=first, radius=math.isqrt(int(self.squares[first - 1]) - 1) + 1)

    def stddev(self, clip: Clip, rho: Decimal) -> float:
        """The deviation of the last item's count under a clip, at this rho, in people."""
        return clip.radius / math.sqrt(2 * rho) / int(self.ranked.amplitudes[clip.first - 1])

    def clips_somebody(self, clip: Clip) -> bool:
        """Whether a person who held all of the first items would be clipped."""
        return int(self.squares[clip.first - 1]) > clip.radius**2


def shape_of(items: Items, predictions: Floats, *, rho: Fraction, finest: int) -> Shape:
    """Items by predicted count, largest first, equal ones by item.

    Args:
        items: released items, each once.
        predictions: above zero, one for each.
        rho: what measuring them may cost at least.
        finest: no grid has more bits.
    """
    by_item = np.argsort(items, kind="stable")
    order = by_item[np.argsort(-predictions[by_item], kind="stable")]
    sorted_predictions = predictions[order]
    # Neither the sum of squares nor the variance that it may lead to leaves its bits.
    most = min(_BITS_OF_SQUARES, _BITS_OF_VARIANCE + math.floor(math.log2(2 * rho)))
    bits = max(0, min(finest, (most - len(items).bit_length()) // 2))
    steps = np.floor(2.0**bits * (sorted_predictions / sorted_predictions[-1]) ** -_POWER)
    amplitudes = np.maximum(steps, 1).astype(np.int64)
    return Shape(ranked=Ranked(items=items[order], amplitudes=amplitudes), predictions=sorted_predictions, bits=bits)
