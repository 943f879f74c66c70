"""What mechanisms may look at of a histogram: all of it, or its top and the boundary below."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushcount.errors import InvalidInput
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Histogram, Int64s, Items
from hushcount.noise.calls import Peel, Reach
from hushcount.noise.gumbel import Priors
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


def place_call(top: Ranking, k: int, *, epsilon: Fraction, cap: int, purpose: str) -> Peel:
    """The choice of the threshold's place i in k..rows, with weight exp(-epsilon threshold_i / cap); row 0 is place k.

    threshold_i = h_(i+1) + cap (1 + ln(i/delta)/epsilon).

    That weight is (1/i) exp(-epsilon h_(i+1) / cap) times a constant. Sorted counts move in one direction by at most
    cap, so this is epsilon-bounded range.
    """
    return Peel(
        purpose=purpose,
        keys=None,
        values=-top.counts[k:],
        reach=Reach(spread=cap),
        rate=epsilon / cap,
        priors=_priors(range(k, len(top.counts))),
        most=1,
    )


@lru_cache(maxsize=64)
def _priors(places: range) -> Priors:
    """The prior of each place, by row; kept, since a thousand fractions take as long as all noise of a top list."""
    return Priors({row: _prior(place) for row, place in enumerate(places)})


@lru_cache(maxsize=2**14)
def _prior(place: int) -> Fraction:
    """Kept by themselves, too: a list of another length has nearly the same places."""
    return Fraction(1, place)


def bottom_odds(rows: int, delta: Fraction) -> Fraction:
    """The prior of bottom: at the boundary count plus the cap it beats each of `rows` items with odds rows/delta.

    This is the threshold boundary + cap (1 + ln(rows/delta)/epsilon) of DR19 and LI Algorithm 4 as a weight of the
    exponential mechanism. The union bound runs over all items that one person can move into or out of the top `rows`:
    up to `rows` of them when the domain is unknown. LI prints min(rows, fetched - rows), which is unsafe by a factor of
    up to `rows` (erratum 1).
    """
    return rows / delta


@frozen
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
