"""Keep coins: from an integer weight to the exact probability of naming its item, and the coin that decides it.

A mechanism that adds noise to a weight only to compare it with a threshold needs no noise: it names the item with
probability P[weight + noise > threshold]. That coin is tossed exactly, for continuous noise on integer weights, so
there is no floating-point noise to leak, no tail of a discrete law to bound, and the guarantee is that of the
continuous mechanism by post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from hushcount.model.inputs import Int64s
from hushcount.noise import enclosures, steepest
from hushcount.noise.bernoulli import Bools, Floats, accept, accept_likely
from hushcount.noise.ceilings import Ceiling, rising
from hushcount.noise.source import Draws

_erfc = np.frompyfunc(math.erfc, 1, 1)
# Tables of keep probabilities are in units of 2^-128.
TABLE_BITS = 128
# Of more values than this, those that are most unlikely are told by a table.
FEW = 1 << 12
# So many scales above the threshold an item is common.
_COMMON = 8.0


class Threshold(Protocol):
    """Noise of some law, and the threshold that a noisy weight must exceed, both in units of weight one."""

    unit: int
    scale: float
    threshold: float

    def probability(self, gap: Floats) -> Floats:
        """P[noise > gap] in doubles, gap in units of the scale."""
        ...

    def judge(self, gap: Fraction, digits: int) -> enclosures.Interval:
        """P[noise > gap], enclosed."""
        ...


@dataclass(slots=True)
class NormalTail:
    """Normal noise of standard deviation `scale`."""

    unit: int
    scale: float
    threshold: float

    def probability(self, gap: Floats) -> Floats:
        """The normal tail. Beyond nine deviations it is below 2^-62, where the coin's judge takes over anyway."""
        tail = np.zeros(len(gap))
        near = gap < 9
        tail[near] = np.asarray(_erfc(gap[near] / math.sqrt(2)), dtype=np.float64) / 2
        return tail

    def judge(self, gap: Fraction, digits: int) -> enclosures.Interval:
        """The normal tail, enclosed; where it is less than can be told apart from nothing, as that."""
        if gap > 0 and enclosures.beyond(gap, digits):
            return Fraction(0), Fraction(1, 10**digits)
        return enclosures.normal_tail(gap, digits)


@dataclass(slots=True)
class Laplace:
    """Laplace noise of this scale."""

    unit: int
    scale: float
    threshold: float

    def probability(self, gap: Floats) -> Floats:
        """The Laplace tail."""
        half = np.exp(-np.abs(gap)) / 2
        return np.where(gap >= 0, half, 1 - half)

    def judge(self, gap: Fraction, digits: int) -> enclosures.Interval:
        """The Laplace tail, enclosed."""
        low, high = enclosures.exp(-abs(gap), digits)
        return (low / 2, high / 2) if gap >= 0 else (1 - high / 2, 1 - low / 2)


@dataclass(slots=True)
class KearnsSaul:
    """The steepest keep curve, `scale` standing for sigma; the threshold is the weight of even odds."""

    unit: int
    scale: float
    threshold: float

    def probability(self, gap: Floats) -> Floats:
        """The curve's probability; it is e^-128 at the least and falls short of one by as much."""
        return 1 / (1 + np.exp(-steepest.curve().log_odds(-gap)))

    def judge(self, gap: Fraction, digits: int) -> enclosures.Interval:
        """The curve's probability, enclosed."""
        low, high = steepest.curve().enclose(gap, digits + 2)
        return enclosures.sigmoid(*((low, high) if gap <= 0 else (-high, -low)), digits)


def toss(draws: Draws, values: Int64s, law: Threshold) -> Bools:
    """For each integer value, exactly Bernoulli(P[value / unit + noise > threshold])."""
    scale, cut = Fraction(law.scale), Fraction(law.threshold)

    def closely(draws: Draws, values: Int64s) -> Bools:
        def judge(row: int, digits: int) -> enclosures.Interval:
            return law.judge((cut - Fraction(int(values[row]), law.unit)) / scale, digits)

        return accept(draws, _probability(law, values), judge)

    if len(draws) <= FEW:
        return closely(draws, values)
    return accept_likely(draws, values, ceiling=ceiling_of(law).of, closely=closely)


def ceiling_of(law: Threshold) -> Ceiling:
    """What a law says of its values up to those of common items."""
    common = law.unit * (law.threshold + _COMMON * law.scale)
    return rising(lambda values: _probability(law, values), common=common)


def _probability(law: Threshold, values: Int64s) -> Floats:
    return law.probability((law.threshold - values / law.unit) / law.scale)


def toss_by_table(draws: Draws, values: Int64s, table: tuple[int, ...]) -> Bools:
    """For each value, exactly Bernoulli(table[value] / 2^128); the last entry stands for all larger values."""
    place = np.clip(values, 0, len(table) - 1)
    floats = np.array([entry / 2**TABLE_BITS for entry in table])

    def judge(row: int, _: int) -> enclosures.Interval:
        exact = Fraction(table[int(place[row])], 1 << TABLE_BITS)
        return exact, exact

    return accept(draws, floats[place], judge)
