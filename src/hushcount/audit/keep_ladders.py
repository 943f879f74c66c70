"""Ladders once more: the chance of a row, and the step that tells most, by Renyi's formula in plain doubles.

Nothing of the product's certificate is used: every step of every table is held against the divergences themselves, at
some orders, for every length of a list.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hushcount.audit.keep_curve import steepest_keep
from hushcount.model.frozen import frozen
from hushcount.noise.calls import KeepByLadders
from hushcount.noise.chances import Ladders

_Floats = npt.NDArray[np.float64]

_ORDERS = tuple(1 + 1.35**power for power in range(-24, 32))


@frozen
class Step:
    """The step that tells most, as a share of what it may tell, and where it is."""

    share: float
    where: str


def ladder_keep(call: KeepByLadders, values: Sequence[int]) -> float:
    """The largest chance that any column of a row gives it."""
    ladders = call.ladders
    tables = [table.table for table in ladders.tables]
    chances = [
        float(table[min(max(value, 0), len(table) - 1)]) for table, value in zip(tables, values[:-1], strict=True)
    ]
    return max([steepest_keep((values[-1] / ladders.unit - ladders.threshold) / ladders.stddev), *chances])


def steepest_step(call: KeepByLadders) -> Step:
    """Of all steps that one person can make in one column, the one that tells most of what the call says it may."""
    weights = call.reach.by_length or ()
    return _steepest_step(call.ladders, weights, float(call.rho), float(call.delta), call.cap)


@lru_cache(maxsize=64)
def _steepest_step(
    ladders: Ladders, weights: tuple[tuple[int, ...], ...], rho: float, delta: float, cap: float
) -> Step:
    steps = [*_on_tables(ladders, weights, rho, delta, cap), *_on_the_curve(ladders, weights, rho)]
    return max(steps, key=lambda step: step.share)


def _on_the_curve(ladders: Ladders, weights: tuple[tuple[int, ...], ...], rho: float) -> Iterator[Step]:
    """A person of d items moves the curve by 1/sqrt(d) of a unit and no more: it then tells 1 / (2 d stddev²)."""
    for length, weight in enumerate(weights[-1], 1):
        share = length * (weight / ladders.unit / ladders.stddev) ** 2 / (2 * rho)
        yield Step(share=share, where=f"on the steepest curve, of people with {length} items")


def _on_tables(
    ladders: Ladders, weights: tuple[tuple[int, ...], ...], rho: float, delta: float, cap: float
) -> Iterator[Step]:
    for column, (table, by_length) in enumerate(zip(ladders.tables, weights[:-1], strict=True)):
        for length, weight in enumerate(by_length, 1):
            failing = -math.expm1(math.log1p(-delta) / length)
            sums = np.arange(len(table.table))
            told = _told(table.of(sums), table.of(sums + weight), failing, cap) * length / rho
            worst = int(np.argmax(told))
            where = f"in table {column + 1}, of people with {length} items at a sum of {worst}"
            yield Step(share=float(told[worst]), where=where)


def _told(before: _Floats, after: _Floats, failing: float, cap: float) -> _Floats:
    """The largest D_a / a, both ways, of coins of which a part of weight `failing` may differ at will."""
    q = np.minimum(before / (1 - failing), 1.0)
    p = np.maximum(q, (after - failing) / (1 - failing))
    # A last digit of a double is no telling.
    even = (p <= q * (1 + 1e-12)) | (p >= 1 - 1e-15) & (q >= 1 - 1e-15)
    worst = np.where(even, 0.0, np.inf)
    proper = ~even & (q > 0) & (p < 1)
    one, two = p[proper], q[proper]
    up, down = np.log(one / two), np.log1p(-one) - np.log1p(-two)
    found = np.zeros(len(one))
    for order in [*(order for order in _ORDERS if order < cap), *([cap] if cap < math.inf else [])]:
        forth = np.logaddexp(np.log(two) + order * up, np.log1p(-two) + order * down)
        back = np.logaddexp(np.log(one) - order * up, np.log1p(-one) - order * down)
        found = np.maximum(found, np.maximum(forth, back) / (order * (order - 1)))
    worst[proper] = found
    return worst
