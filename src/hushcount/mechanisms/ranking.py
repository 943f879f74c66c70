"""The top of a histogram and its boundary: what the limited-domain mechanisms may look at."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidInput
from hushcount.model.inputs import Histogram, Int64s, Items
from hushcount.noise.gumbel import Candidates
from hushcount.noise.source import Draws, ItemKeys, Joined, NoiseSource


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


def bottom_odds(rows: int, delta: Fraction) -> Fraction:
    """The prior of bottom: at the boundary count plus the cap it beats each of `rows` items with odds rows/delta.

    This is the threshold boundary + cap (1 + ln(rows/delta)/epsilon) of DR19 and LI Algorithm 4 as a weight of the
    exponential mechanism. The union bound runs over all items that one person can move into or out of the top `rows`:
    up to `rows` of them when the domain is unknown. LI prints min(rows, fetched - rows), which is unsafe by a factor of
    up to `rows` (erratum 1).
    """
    return rows / delta


def with_bottom(
    source: NoiseSource, purpose: str, *, keys: ItemKeys, counts: Int64s, bottom: tuple[int, Fraction, Fraction]
) -> tuple[Draws, Candidates]:
    """Draws and candidates for items and, in the last row, bottom. `bottom` is its score, its prior and the rate."""
    score, prior, rate = bottom
    draws = Joined(source.item_draws(f"{purpose}/items", keys), source.draws(f"{purpose}/bottom", 1))
    return draws, Candidates(scores=np.append(counts, score), rate=rate, priors={len(counts): prior})
