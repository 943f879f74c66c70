"""Calls: every draw that meets private values, as data. Mechanisms make them, `source.perform` is the one hook.

A call holds the private values, whose they are, the law of the draw, and its reach: what one person can change in the
values at most. Nothing else in the product joins randomness and data, so whoever sees the calls of a run sees all that
its privacy rests on: the auditor records them, prices them, and gives them other outcomes.

Values come first for the items of `keys`, in their order; values beyond these belong to no item (a boundary, say).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.noise import coins as keep
from hushcount.noise.bernoulli import Bools
from hushcount.noise.chances import Ladders
from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.gumbel import Candidates, peel
from hushcount.noise.laplace import discrete_laplace
from hushcount.noise.source import Draws, ItemKeys, JoinedDraws, NoiseSource
from hushcount.noise.tsgd import truncated_geometric

T_co = TypeVar("T_co", covariant=True)


@frozen
class Reach:
    """What one person more or less can change in the values of a call, over the items that both runs have.

    The noise is calibrated to it and the cost charged for it, so it is a claim; the auditor checks it. None: no limit.

    Attributes:
        each: no value moves by more than this.
        rows: no more values move than this.
        l1: the sum of all moves.
        l2: the root of the sum of their squares.
        spread: the largest move less the smallest, both with their sign; zero counts as a move.
        by_length: for values that have several columns: who holds d items moves d rows at the most, each of them by
            the d-th of these numbers in every column.
    """

    each: int | None = None
    rows: int | None = None
    l1: int | None = None
    l2: int | None = None
    spread: int | None = None
    by_length: tuple[tuple[int, ...], ...] | None = None


class Call(Protocol[T_co]):
    """One draw. `draw` gives its outcome from a source; only `NoiseSource.perform` calls it."""

    @property
    def purpose(self) -> str:
        """What the draw is for: two calls of one run differ in it, or in their items."""
        ...

    @property
    def keys(self) -> ItemKeys | None:
        """The items that the first values belong to; None if none belongs to an item."""
        ...

    @property
    def values(self) -> Int64s:
        """The private values."""
        ...

    @property
    def reach(self) -> Reach:
        """What one person can change in the values."""
        ...

    def draw(self, source: NoiseSource) -> T_co:
        """The outcome."""
        ...


AnyCall: TypeAlias = Call[object]


@frozen
class AddLaplace:
    """Values plus discrete Laplace noise: P[noise = x] proportional to exp(-rate |x|).

    Guarantee: (rate * l1 of the reach)-DP.
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    rate: Fraction

    def draw(self, source: NoiseSource) -> Int64s:
        """The noisy values."""
        return self.values + discrete_laplace(_draws(self, source), self.rate)


@frozen
class AddGaussian:
    """Values plus discrete Gaussian noise: P[noise = x] proportional to exp(-x² / (2 variance)).

    Guarantee: (l2 of the reach)² / (2 variance)-zCDP (Canonne, Kamath and Steinke 2020).
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    variance: Fraction

    def draw(self, source: NoiseSource) -> Int64s:
        """The noisy values."""
        return self.values + discrete_gaussian(_draws(self, source), self.variance)


@frozen
class AddTruncated:
    """Values plus k-TSGD noise: discrete Laplace noise of this rate, given that it is within -bound..bound.

    Guarantee: for each value that moves by one, (rate, P[noise = bound])-DP (DVGM Theorem 4).
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    rate: Fraction
    bound: int

    def draw(self, source: NoiseSource) -> Int64s:
        """The noisy values."""
        return self.values + truncated_geometric(_draws(self, source), self.rate, self.bound)


@frozen
class KeepGaussian:
    """Whether weight + N(0, stddev²) exceeds the threshold; weights are values / unit.

    Guarantee: (l2 of the reach / unit)² / (2 stddev²)-zCDP, and Gaussian DP with its root.
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    unit: int
    stddev: float
    threshold: float

    def draw(self, source: NoiseSource) -> Bools:
        """One coin for each value."""
        law = keep.NormalTail(unit=self.unit, scale=self.stddev, threshold=self.threshold)
        return keep.toss(_draws(self, source), self.values, law)


@frozen
class KeepLaplace:
    """Whether weight + Laplace(scale) noise exceeds the threshold; weights are values / unit.

    Guarantee: (l1 of the reach / unit / scale)-DP.
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    unit: int
    scale: float
    threshold: float

    def draw(self, source: NoiseSource) -> Bools:
        """One coin for each value."""
        law = keep.Laplace(unit=self.unit, scale=self.scale, threshold=self.threshold)
        return keep.toss(_draws(self, source), self.values, law)


@frozen
class KeepKs:
    """Yes with the probability of the steepest keep curve (Kearns-Saul); weights are values / unit, stddev is sigma.

    At the threshold the odds are even. A value of zero has the curve's probability like any other, so the items that
    can be kept are those of `keys`, whatever they weigh.

    Guarantee: (l2 of the reach / unit)² / (2 stddev²)-zCDP. *Not* Gaussian DP: the curve is not that of any noise.
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    unit: int
    stddev: float
    threshold: float

    def draw(self, source: NoiseSource) -> Bools:
        """One coin for each value."""
        law = keep.KearnsSaul(unit=self.unit, scale=self.stddev, threshold=self.threshold)
        return keep.toss(_draws(self, source), self.values, law)


@frozen
class KeepByTable:
    """Yes with probability table[value] / 2^128, the last entry standing for all larger values.

    Guarantee: for each value that moves by one, what the table's neighbouring entries allow.
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    table: tuple[int, ...]

    def draw(self, source: NoiseSource) -> Bools:
        """One coin for each value."""
        return keep.toss_by_table(_draws(self, source), self.values, self.table)


@frozen
class KeepByLadders:
    """Yes with the largest chance that several tables and the steepest curve give a row of values, one column each.

    Guarantee: given the reach, with probability 1 - delta no row shows more than D_a <= rho a for all orders
    1 < a <= cap: what the tables are certified for, and the curve holds.
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    ladders: Ladders
    rho: Decimal
    delta: Decimal
    cap: float

    def draw(self, source: NoiseSource) -> Bools:
        """One coin for each row."""
        return self.ladders.toss(_draws(self, source), self.values)


@frozen
class Peel:
    """Rows by the exponential mechanism without replacement: next is row i in proportion to prior_i exp(rate value_i).

    The order ends after `most` rows, or with row `last` (bottom), whichever comes first.

    Guarantee: each place is (rate * spread of the reach)-bounded range.
    """

    purpose: str
    keys: ItemKeys | None
    values: Int64s
    reach: Reach
    rate: Fraction
    priors: Mapping[int, Fraction] = field(default_factory=dict)
    most: int | None = None
    last: int | None = None

    def draw(self, source: NoiseSource) -> Int64s:
        """The rows, in the order in which they are picked."""
        candidates = Candidates(scores=self.values, rate=self.rate, priors=self.priors)
        order = peel(_draws(self, source), candidates, self.most, last=self.last)
        ends = np.flatnonzero(order == self.last) if self.last is not None else order[:0]
        return order[: ends[0] + 1] if len(ends) else order


def items_of(call: AnyCall) -> list[str]:
    """The items that the first values of a call belong to."""
    return [] if call.keys is None else call.keys.items.tolist()


def _draws(call: AnyCall, source: NoiseSource) -> Draws:
    """Uniform words for each value: by item where it belongs to one."""
    if call.keys is None:
        return source.draws(call.purpose, len(call.values))
    own = source.item_draws(call.purpose, call.keys)
    others = len(call.values) - len(call.keys)
    return JoinedDraws(own, source.draws(call.purpose, others)) if others else own
