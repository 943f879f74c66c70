"""Gathering who has what from pages of rows: of each page only numbers stay, and of each text one copy.

A million rows as lists of Python are half a gigabyte, and are looked through again and again by its garbage collector.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from hushcount.engines.columns import text_of
from hushcount.engines.incidence import MemoryIncidence, encoded_incidence
from hushcount.engines.parts import dressed, text_of_part
from hushcount.engines.pinot.complete import Row
from hushcount.engines.pinot.schema import PinotColumn
from hushcount.engines.text import grams
from hushcount.model.inputs import Int64s
from hushcount.model.queries import Part, TextItems, TupleItems
from hushcount.model.tuples import join


class Gathered:
    """The rows that were met so far.

    Args:
        columns: the person's column, then those that items are made of.
        item: what an item is.
    """

    def __init__(self, columns: Sequence[PinotColumn], item: str | TextItems | TupleItems) -> None:
        self._columns, self._item = columns, item
        self._people, self._things = _Numbered(), _Numbered()
        self._pairs: list[tuple[Int64s, Int64s]] = []

    def add(self, page: Sequence[Row]) -> None:
        """One more page."""
        people = _texts(self._columns[0], [row[0] for row in page])
        if isinstance(self._item, str):
            things: Sequence[str] = _texts(self._columns[1], [row[1] for row in page])
        else:
            names = [column.name for column in self._columns[1:]]
            made = [_items(self._item, dict(zip(names, row[1:], strict=True))) for row in page]
            people = [person for person, items in zip(people, made, strict=True) for _ in items]
            things = [one for items in made for one in items]
        self._pairs.append((self._people.of(people), self._things.of(things)))

    def incidence(self) -> MemoryIncidence:
        """Who has what, as `engines.incidence` says."""
        none = np.zeros(0, dtype=np.int64)
        people, things = self._people.texts, self._things.texts
        person = np.concatenate([none, *(person for person, _ in self._pairs)])
        item = np.concatenate([none, *(item for _, item in self._pairs)])
        items = np.empty(len(things), dtype=object)
        items[:] = things
        offsets = np.zeros(len(people) + 1, dtype=np.int64)
        np.cumsum(np.bincount(person, minlength=len(people)), out=offsets[1:])
        return encoded_incidence(
            items=items, offsets=offsets, ids=item[np.argsort(person, kind="stable")], users=people
        )


class _Numbered:
    """Texts, each with the number that it was met as."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)

    def of(self, texts: Sequence[str]) -> Int64s:
        """Their numbers."""
        return np.fromiter(map(self._numbers.__getitem__, texts), dtype=np.int64, count=len(texts))

    @property
    def texts(self) -> list[str]:
        """All that were met, in that order."""
        return list(self._numbers)


def _texts(column: PinotColumn, values: list[object]) -> list[str]:
    """The texts of plain values. Pinot writes those of a text column as they are."""
    return values if column.kind == "text" else [str(text_of(value)) for value in values]  # type: ignore[return-value]


def _items(item: TextItems | TupleItems, cells: Mapping[str, object]) -> Sequence[str]:
    """The items of one row: its words, or what its parts make."""
    if isinstance(item, TextItems):
        return grams(item, str(text_of(cells[item.column])))
    parts = [_part(cells[part.column], part, item) for part in item.parts]
    texts = [text for text in parts if text is not None]
    return (join(texts),) if len(texts) == len(parts) else ()


def _part(value: object, part: Part, items: TupleItems) -> str | None:
    return dressed(str(text_of(value)), items) if part.unit is None else text_of_part(value, part, items)
