"""Counts that Pinot makes: nothing is fetched before it is known whether all items are wanted, or those of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hushcount.engines.columns import text_of
from hushcount.engines.pinot.table import Asked, Row, Table
from hushcount.model.inputs import Histogram, Int64s, Items, Shown

if TYPE_CHECKING:
    from hushcount.model.inputs import Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class PinotCounts:
    """All items of a question; None where no row can pass its filter."""

    table: Table
    asked: Asked | None

    @property
    def complete(self) -> bool:
        """All items are here."""
        return True

    def each(self, step: Callable[[Histogram], Shown]) -> Shown:
        """See `Counts`; in one block."""
        return step(largest(self.table, self.asked, None))

    def of(self, listed: Items) -> Int64s:
        """See `Counts`; the list is named to Pinot, in parts."""
        texts = [str(text) for text in listed.tolist()]
        if self.asked is None:
            return np.zeros(len(texts), dtype=np.int64)
        with self.table.held():
            known = dict(_texts(self.table.listed(self.asked, sorted(set(texts)))))
        return np.array([known.get(text, 0) for text in texts], dtype=np.int64)


def largest(table: Table, asked: Asked | None, top: int | None) -> Histogram:
    """People per item, largest first, ties by the items' texts: all of them, or the first so many."""
    if asked is None:
        return _histogram([], complete=True)
    with table.held():
        found = table.groups(asked, top)
    ranked = sorted(_texts(found.rows), key=lambda row: (-row[1], row[0]))
    return _histogram(ranked[:top], complete=top is None or found.total <= top)


def _texts(rows: Iterable[Row]) -> list[tuple[str, int]]:
    return [(str(text_of(item)), int(count)) for item, count in rows]


def _histogram(rows: list[tuple[str, int]], *, complete: bool) -> Histogram:
    items = np.empty(len(rows), dtype=object)
    items[:] = [item for item, _ in rows]
    counts = np.array([count for _, count in rows], dtype=np.int64)
    return Histogram(items=items, counts=counts, complete=complete)


if TYPE_CHECKING:
    _are_counts: type[Counts] = PinotCounts
