"""Chances: keep probabilities by an item's weight in several tables at once, and the coin of the largest of them.

A probability in a table is a double, and every double is an exact number: what was proven of the table is true of the
coin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidInput
from hushcount.model.inputs import Int64s
from hushcount.noise.bernoulli import Bools, Floats, accept
from hushcount.noise.enclosures import Interval
from hushcount.noise.source import Draws


@dataclass(frozen=True, slots=True)
class Chances:
    """The keep probability of each weight 0, 1, 2, ... as packed doubles; the last stands for all larger weights."""

    packed: bytes = field(repr=False)

    @property
    def table(self) -> Floats:
        """The probabilities."""
        return np.frombuffer(self.packed, dtype=np.float64)

    def of(self, weights: Int64s) -> Floats:
        """The probability of each weight."""
        table = self.table
        return table[np.clip(weights, 0, len(table) - 1)]


def largest(weights: Int64s, tables: tuple[Chances, ...]) -> Floats:
    """For each row of weights, one column for each table, the largest of its probabilities."""
    if weights.ndim != 2 or weights.shape[1] != len(tables):
        raise InvalidInput(f"weights of shape {weights.shape} for {len(tables)} tables: one column each is needed")
    chances = np.zeros(len(weights))
    for column, table in enumerate(tables):
        np.maximum(chances, table.of(weights[:, column]), out=chances)
    return chances


def toss_by_tables(draws: Draws, weights: Int64s, tables: tuple[Chances, ...]) -> Bools:
    """For each row of weights, exactly Bernoulli(the largest of its probabilities)."""
    chances = largest(weights, tables)

    def judge(row: int, _: int) -> Interval:
        exact = Fraction(float(chances[row]))
        return exact, exact

    return accept(draws, chances, judge)
