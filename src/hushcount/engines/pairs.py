"""Encoded pairs: every row as one integer, person times number of items plus item, so that sorting finds repeats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.engines.memory import MemoryIncidence
from hushcount.model.amounts import whole
from hushcount.model.inputs import Histogram, Int64s, Items


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The rows that count, encoded.

    Attributes:
        items: texts of the items, distinct, sorted, each of them in some row.
        people: the person of each code; or the integer that code 0 stands for, code 1 for the next, and so on.
        keys: one for each row: code of the person * len(items) + position of the item. Sorted.
    """

    items: Items
    people: Items | Int64s | int
    keys: Int64s

    def histogram(self, *, cap: int, top: int | None) -> Histogram:
        """People per item, or rows up to the cap, largest first, ties by item."""
        distinct, times = self._distinct()
        # Sums of float64 weights are exact: they stay below the number of rows, so far below 2^53.
        often = None if cap == 1 else np.minimum(times, cap)
        width = len(self.items)
        count = np.bincount(distinct % max(width, 1), weights=often, minlength=width).astype(np.int64, copy=False)
        rows = np.argsort(-count, kind="stable")
        if top is not None:
            rows = rows[: whole("top", top)]
        return Histogram(items=self.items[rows], counts=count[rows], complete=len(rows) == width)

    def incidence(self) -> MemoryIncidence:
        """Who has what, as compressed rows."""
        distinct, times = self._distinct()
        person, item = np.divmod(distinct, np.int64(max(len(self.items), 1)))
        starts = np.flatnonzero(_changes(person))
        codes = person[starts]
        return MemoryIncidence(
            users=codes + self.people if isinstance(self.people, int) else self.people[codes],
            items=self.items,
            offsets=np.append(starts, len(person)),
            ids=item.astype(np.int32),
            times=times,
        )

    def _distinct(self) -> tuple[Int64s, Int64s]:
        """Each key once, and how often it occurs."""
        first = _changes(self.keys)
        if first.all():
            return self.keys, np.ones(len(self.keys), dtype=np.int64)
        starts = np.flatnonzero(first)
        return self.keys[starts], np.diff(starts, append=len(self.keys))


def _changes(values: Int64s) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a sorted array holds another value than before."""
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first
