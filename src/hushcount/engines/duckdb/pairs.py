"""Encoded pairs: every row as one integer, person in the high bits, item in the low: sorting finds repeats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushcount.engines.incidence import MemoryIncidence
from hushcount.model.amounts import whole
from hushcount.model.inputs import Int64s, Items


def item_bits(n_items: int) -> int:
    """How many bits number so many items. Bits are shifted and masked ten times as fast as a number is divided."""
    return max(n_items - 1, 0).bit_length()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The rows that count, encoded.

    Attributes:
        width: how many items there are; each is in some row, and they are numbered in the order of their texts.
        people: the person of each code; or the integer that code 0 stands for, code 1 for the next, and so on.
        keys: one for each row: code of the person * 2^item_bits + number of the item. Sorted.
    """

    width: int
    people: Items | Int64s | int
    keys: Int64s

    def largest(self, *, cap: int, top: int | None) -> tuple[Int64s, Int64s]:
        """The numbers of items and their people, or rows up to the cap, largest first, ties by item."""
        distinct, times = self._distinct()
        # Sums of float64 weights are exact: they stay below the number of rows, so far below 2^53.
        often = None if cap == 1 else np.minimum(times, cap)
        count = np.bincount(self._items_of(distinct), weights=often, minlength=self.width).astype(np.int64, copy=False)
        rows = np.argsort(-count, kind="stable")
        if top is not None:
            rows = rows[: whole("top", top)]
        return rows, count[rows]

    def incidence(self, items: Items) -> MemoryIncidence:
        """Who has what, as compressed rows; `items` are the texts of all items in their order."""
        distinct, times = self._distinct()
        bits = item_bits(self.width)
        starts = np.flatnonzero(_changes(distinct >> bits))
        codes = distinct[starts] >> bits
        return MemoryIncidence(
            users=codes + self.people if isinstance(self.people, int) else self.people[codes],
            items=items,
            offsets=np.append(starts, len(distinct)),
            ids=self._items_of(distinct),
            times=times,
        )

    def _items_of(self, keys: Int64s) -> npt.NDArray[np.int32]:
        # Written as int32 at once: a further array of this length costs as much as the arithmetic.
        items = np.empty(len(keys), dtype=np.int32)
        return np.bitwise_and(keys, (1 << item_bits(self.width)) - 1, out=items, casting="unsafe")

    def _distinct(self) -> tuple[Int64s, Int64s]:
        """Each key once, and how often it occurs."""
        first = _changes(self.keys)
        if first.all():
            return self.keys, np.broadcast_to(np.int64(1), len(self.keys))
        starts = np.flatnonzero(first)
        return self.keys[starts], np.diff(starts, append=len(self.keys))


def _changes(values: Int64s) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a sorted array holds another value than before."""
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first
