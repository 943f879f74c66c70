"""What mechanisms may look at of a histogram: all of it, or its top and the boundary below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidInput
from hushcount.model.amounts import allow
from hushcount.model.inputs import Counts, Histogram, Int64s, Items
from hushcount.noise.calls import Peel, Reach
from hushcount.noise.source import ItemKeys


@dataclass(frozen=True, slots=True)
class Ranking:
    """Items by count, largest first, and the `rows + 1` largest counts, padded with zeros where the data ends."""

    items: Items
    counts: Int64s

    def above(self, place: int) -> int:
        """How many items have a count strictly above the count at 0-based `place`.

        Strictly: which of several items with equal counts stand before the boundary then does not matter, so no tie has
        to be broken (erratum 12).
        """
        return int(np.searchsorted(-self.counts, -self.counts[place], side="left"))


def rank(histogram: Histogram, rows: int) -> Ranking:
    """The `rows` largest counts and the one after them. Refuses a histogram that may lack one of these.

    A missing boundary count must never be read as zero: an item that one person moves over the boundary would then be
    shown (erratum 12).
    """
    if not histogram.complete and len(histogram.items) <= rows:
        raise InvalidInput(
            f"the {rows + 1} largest counts are needed and the engine gave fewer without saying that these are all"
        )
    order = np.argsort(-histogram.counts, kind="stable")[: rows + 1]
    counts = np.zeros(rows + 1, dtype=np.int64)
    counts[: len(order)] = histogram.counts[order]
    return Ranking(histogram.items[order], counts)


def require_complete(histogram: Counts) -> None:
    """Refuse a histogram that lacks items: mechanisms that look at every item need every item."""
    if not histogram.complete:
        raise InvalidInput("this mechanism needs the complete histogram; a truncated one is refused, never used")


def bottom_odds(rows: int, delta: Fraction) -> Fraction:
    """The prior of bottom: at the boundary count plus the cap it beats each of `rows` items with odds rows/delta.

    This is the threshold boundary + cap (1 + ln(rows/delta)/epsilon) of DR19 and LI Algorithm 4 as a weight of the
    exponential mechanism. The union bound runs over all items that one person can move into or out of the top `rows`:
    up to `rows` of them when the domain is unknown. LI prints min(rows, fetched - rows), which is unsafe by a factor of
    up to `rows` (erratum 1).
    """
    return rows / delta


def most_delta(epsilon: Decimal, cap: int) -> Decimal:
    """The largest delta for which bottom moves by at most epsilon with the items, rounded down.

    Given that no swapped item beats bottom, bottom stands for itself and for them, so that its log-odds may move by a
    little more or less than its score: by ln(e^(epsilon x / cap) + delta) at the most if the boundary moves by
    x <= cap - 1, and by nothing less than zero, both where delta <= e^epsilon - e^(epsilon (1 - 1/cap)) (docs,
    mechanisms/top.md).
    """
    # It grows with epsilon, so a smaller one is safe where doubles end.
    size = min(float(epsilon), 50.0)
    return min(allow(math.exp(size) * -math.expm1(-size / cap) * (1 - 1e-12)), Decimal(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """Items that compete with bottom: at most `most` places are given, and none after bottom's.

    Attributes:
        keys: the items.
        counts: their counts.
        bottom: the score and the prior of bottom.
        epsilon: what a place costs, in bounded range.
        cap: by how much one person moves a count.
        most: how many places are given.
    """

    keys: ItemKeys
    counts: Int64s
    bottom: tuple[int, Fraction]
    epsilon: Fraction
    cap: int
    most: int

    def call(self, purpose: str) -> Peel:
        """The selection: rows of items, and, as the last row, bottom, with which the order ends."""
        score, prior = self.bottom
        return Peel(
            purpose=purpose,
            keys=self.keys,
            values=np.append(self.counts, score),
            reach=Reach(spread=self.cap),
            rate=self.epsilon / self.cap,
            priors={len(self.counts): prior},
            most=self.most,
            last=len(self.counts),
        )
