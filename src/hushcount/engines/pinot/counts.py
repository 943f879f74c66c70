"""Counts that Pinot makes: nothing is fetched before it is known whether all items are wanted, or those of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from hushcount.engines.columns import text_of
from hushcount.engines.pinot.complete import Row
from hushcount.engines.pinot.table import PeopleByItem, Table
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram, Int64s, Items, Shown

if TYPE_CHECKING:
    from hushcount.model.inputs import Counts


@frozen
class PinotCounts:
    """All items of a question; None where no row can pass its filter."""

    table: Table
    asked: PeopleByItem | None

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
            found = self.table.listed(self.asked, sorted(set(texts)))
        known = dict(_texts(self.asked, found))
        return np.array([known.get(text, 0) for text in texts], dtype=np.int64)


def largest(table: Table, asked: PeopleByItem | None, top: int | None) -> Histogram:
    """People per item, largest first, ties by the items' texts: all of them, or the first so many."""
    if asked is None:
        return _histogram([], complete=True)
    with table.held(later=True):
        found = table.groups(asked, top)
    # Twice, the second time leaving ties as they are: in half the time of once by both.
    ranked = sorted(_texts(asked, found.rows), key=itemgetter(0))
    ranked.sort(key=itemgetter(1), reverse=True)
    return _histogram(ranked[:top], complete=top is None or found.total <= top)


def _texts(asked: PeopleByItem, rows: list[Row]) -> list[Row]:
    """Items by their texts. Pinot writes those of a text column as they are."""
    return rows if asked.item.kind == "text" else [[str(text_of(item)), count] for item, count in rows]


def _histogram(rows: Sequence[Row], *, complete: bool) -> Histogram:
    items = np.empty(len(rows), dtype=object)
    items[:] = list(map(itemgetter(0), rows))
    counts = np.array(list(map(itemgetter(1), rows)), dtype=np.int64)
    return Histogram(items=items, counts=counts, complete=complete)


if TYPE_CHECKING:
    _are_counts: type[Counts] = PinotCounts
