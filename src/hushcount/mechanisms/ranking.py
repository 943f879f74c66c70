"""What mechanisms may look at of a histogram: all of it, or its top and the boundary below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidInput, InvalidParameter
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
    """The largest delta that epsilon covers, rounded down: e^epsilon (1 - e^(-epsilon/cap)).

    Given that bottom comes before every swapped item, bottom takes over their weight: it and they are like one
    candidate of their sum. In units of bottom's weight without the person, let the boundary rise by j of cap.

    Items that only the larger data can select rise by more than j, to at most cap above the old boundary: they weigh w
    <= delta, and nothing if j = cap. Those that only the smaller data can select end at most at the new boundary: they
    weigh v <= delta e^(epsilon (j/cap - 1)), and nothing if j = 0. The weights of other items move by a factor from 1
    to e^epsilon. So does that sum, from 1 + v to e^(epsilon j/cap) + w, exactly if delta is at most e^epsilon -
    e^(epsilon (cap - 1)/cap) (docs, mechanisms/top.md). DR19 and PCR leave the condition out.
    """
    # It grows with epsilon, so a smaller one is safe where doubles end.
    size = min(float(epsilon), 50.0)
    return min(allow(math.exp(size) * -math.expm1(-size / cap) * (1 - 1e-12)), Decimal(1))


def require_covered(delta: Decimal, epsilon: Decimal, cap: int) -> None:
    """Refuse a delta that epsilon does not cover: a step would cost more than epsilon."""
    most = most_delta(epsilon, cap)
    if delta > most:
        raise InvalidParameter(
            "delta",
            float(delta),
            f"at most {float(most):.3g} for each choice, which its epsilon can cover",
            "Use 1e-6.",
        )


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
