"""Rows of draws for samples, of both kinds: one for each item, and a stream."""

from __future__ import annotations

from functools import cache

import numpy as np

from hushcount.noise.gumbel import Candidates, peel
from hushcount.noise.source import Draws, ItemKeys, SeededSource
from tests.statistical.constants import ORDERS, SEED
from tests.unit.noise.scripted import Scripted

KINDS = ("items", "stream")
SOURCE = SeededSource(SEED)


@cache
def _keys(rows: int) -> ItemKeys:
    return SOURCE.identify(np.array([f"item {row}" for row in range(rows)], dtype=object))


def rows_of(kind: str, rows: int, purpose: str) -> Draws:
    """`rows` rows of draws of one kind."""
    return SOURCE.item_draws(purpose, _keys(rows)) if kind == "items" else SOURCE.draws(purpose, rows)


def uniforms(kind: str, shape: tuple[int, int], purpose: str) -> np.ndarray:
    """A table of doubles strictly between 0 and 1, for twins that are made of floats."""
    words = rows_of(kind, shape[0] * shape[1], purpose).words(0)
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5).reshape(shape) * 2.0**-52


def orders_of(kind: str, candidates: Candidates, purpose: str) -> np.ndarray:
    """Many runs of the selection over a few candidates: one row for each run, the candidates in the order picked."""
    size = len(candidates.scores)
    first, second = (
        rows_of(kind, ORDERS * size, purpose).words(level << 32).reshape(ORDERS, size).tolist() for level in (0, 1)
    )
    runs = (Scripted({0: one, 1 << 32: two}) for one, two in zip(first, second, strict=True))
    return np.array([peel(run, candidates) for run in runs])
