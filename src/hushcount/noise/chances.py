"""Chances: keep probabilities by an item's weight in several tables at once, and the coin of the largest of them.

A probability in a table is a double, and every double is an exact number: what was proven of the table is true of the
coin.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidInput
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.noise.bernoulli import Bools, Floats, accept, accept_likely
from hushcount.noise.ceilings import listed
from hushcount.noise.coins import FEW, KearnsSaul, ceiling_of
from hushcount.noise.enclosures import Interval
from hushcount.noise.siphash import Words
from hushcount.noise.source import Draws


@dataclass(frozen=True, slots=True)
class Chances:
    """The keep probability of each weight 0, 1, 2, ... as packed doubles; the last stands for all larger weights."""

    packed: bytes = field(repr=False)

    @property
    def table(self) -> Floats:
        """The probabilities."""
        return np.frombuffer(self.packed, dtype=np.float64)

    @property
    def even_odds(self) -> float:
        """The weight at which an item is kept as often as not, between two entries if need be."""
        table = self.table
        place = int(np.searchsorted(table, 0.5))
        low, high = float(table[place - 1]), float(table[place])
        return place - 1 + (0.5 - low) / (high - low)

    def of(self, weights: Int64s) -> Floats:
        """The probability of each weight."""
        table = self.table
        return table[np.clip(weights, 0, len(table) - 1)]


@frozen
class Ladders:
    """Several tables and the steepest curve: the chance of an item is the largest that any of them gives it.

    An item has a row of weights: one column for each table, and a last one for the curve, in units of `unit`.

    Attributes:
        tables: a table for each column but the last.
        unit: a weight of one on the curve.
        stddev: sigma of the curve.
        threshold: where the odds of the curve are even.
    """

    tables: tuple[Chances, ...]
    unit: int
    stddev: float
    threshold: float

    def toss(self, draws: Draws, weights: Int64s) -> Bools:
        """For each row of weights, exactly Bernoulli(the largest of its chances)."""
        self._check(weights)
        if len(draws) <= FEW:
            return self._closely(draws, weights)
        ceilings = *(listed(table.table) for table in self.tables), ceiling_of(self._curve)

        def highest(weights: Int64s) -> Words:
            each = (ceiling.of(weights[:, column]) for column, ceiling in enumerate(ceilings))
            return functools.reduce(np.maximum, each)

        return accept_likely(draws, weights, ceiling=highest, closely=self._closely)

    def _closely(self, draws: Draws, weights: Int64s) -> Bools:
        by_table, curve = self.by_table(weights), self._curve
        gap = (curve.threshold - weights[:, -1] / curve.unit) / curve.scale
        cut, scale = Fraction(self.threshold), Fraction(self.stddev)

        def judge(row: int, digits: int) -> Interval:
            exact = Fraction(float(by_table[row]))
            low, high = curve.judge((cut - Fraction(int(weights[row, -1]), self.unit)) / scale, digits)
            return max(exact, low), max(exact, high)

        return accept(draws, np.maximum(by_table, curve.probability(gap)), judge)

    def by_table(self, weights: Int64s) -> Floats:
        """The largest chance that the tables alone give each row; zero where there is no table."""
        self._check(weights)
        chances = np.zeros(len(weights))
        for column, table in enumerate(self.tables):
            np.maximum(chances, table.of(weights[:, column]), out=chances)
        return chances

    def _check(self, weights: Int64s) -> None:
        if weights.ndim != 2 or weights.shape[1] != len(self.tables) + 1:
            raise InvalidInput(f"weights of shape {weights.shape} for {len(self.tables)} tables and a curve")

    @property
    def _curve(self) -> KearnsSaul:
        return KearnsSaul(unit=self.unit, scale=self.stddev, threshold=self.threshold)
