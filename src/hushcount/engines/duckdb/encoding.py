"""Encoding: the rows of a question become integers, in one pass over the data.

Items, and people who are not integers close together, are numbered as they are met, by machine code that reads DuckDB's
own batches; then the items are sorted, and every row becomes one integer of its person and its item's place. Without
machine code SQL numbers in two passes, with the same places for items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushcount.compiled import passes
from hushcount.compiled.texts import Int32s, NumberedIntegers, NumberedTexts
from hushcount.engines.duckdb.arrow import TextColumn
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.keys import NUMBER_BITS, Keys, Room
from hushcount.engines.duckdb.selected import SelectedRows
from hushcount.engines.duckdb.sql import spelled
from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.pairs import count_keys, item_bits, split_keys
from hushcount.engines.portions import Portion, Users
from hushcount.engines.stored import StoredPortions
from hushcount.model.inputs import Int64s
from hushcount.model.texts import SortedTexts, Texts, edges_of, encoded, in_order

# So many rows are looked at together: they stay in a core's cache.
_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """Rows as integers, to be read once: by `counts` or by `incidence`.

    Attributes:
        items: the items; each is in some row.
        places: of each item by its number, where it stands among them.
        people: of each number the person; or the integer that number 0 stands for, number 1 for the next, and so on.
        keys: the rows.
    """

    items: SortedTexts
    places: Int32s
    people: Users | int
    keys: Keys

    def counts(self, cap: int) -> Int64s:
        """For each item the people who have it, or their rows with it, at most `cap` of each."""
        total = np.zeros(len(self.items), dtype=np.int64)
        for keys in self._sorted():
            total += count_keys(keys, cap=cap, width=len(self.items))
        return total

    def incidence(self) -> MemoryIncidence:
        """Who has what; on the disk if the rows were there."""
        found = (self._portion(keys) for keys in self._sorted())
        if self.keys.spilled is None:
            only = next(found)
            return MemoryIncidence(items=self.items, portions=(only,), people=len(only.users))
        stored = StoredPortions(self.keys.spilled / "portions", found)
        return MemoryIncidence(items=self.items, portions=stored, people=stored.people)

    def _portion(self, keys: Int64s) -> Portion:
        codes, offsets, ids, times = split_keys(keys, width=len(self.items))
        users: Users
        if isinstance(self.people, int):
            users = codes + self.people
        else:
            users = self.people.taken(codes) if isinstance(self.people, Texts) else self.people[codes]
        return Portion(users=users, offsets=offsets, ids=ids, times=times)

    def _sorted(self) -> Iterator[Int64s]:
        """Parts of the rows: number of the person * 2^item_bits + place of the item, ascending."""
        bits = item_bits(len(self.items))
        for keys in self.keys.parts():
            for first in range(0, len(keys), _ROWS):
                part = keys[first : first + _ROWS]
                places = self.places[part & ((1 << NUMBER_BITS) - 1)]
                part >>= NUMBER_BITS
                part <<= bits
                part |= places
            keys.sort()
            yield keys


def encode(cursor: Cursor, rows: SelectedRows, room: Room) -> Encoded:
    """All rows as integers."""
    low = _lowest(cursor, rows)
    return (
        _numbered(cursor, rows, Keys(room), low)
        if passes.library() is not None
        else _joined(cursor, rows, Keys(room), low)
    )


def _lowest(cursor: Cursor, rows: SelectedRows) -> int | None:
    """The smallest person, if people are integers so close together that they need no other number; else None."""
    if not rows.integer:
        return None
    # Of all rows, filtered out or not: a file may know it without being read.
    ends = f"SELECT min({rows.integer})::BIGINT, max({rows.integer})::BIGINT FROM {rows.table}"  # noqa: S608
    found = cursor.row(ends, [])
    low, high = found if found[0] is not None else (0, 0)
    return int(low) if high - low < 1 << (NUMBER_BITS - 1) else None


def _numbered(cursor: Cursor, rows: SelectedRows, keys: Keys, low: int | None) -> Encoded:
    things, integers, texts = NumberedTexts(), NumberedIntegers(), NumberedTexts()
    who, kind = ("person::BIGINT", int) if rows.integer else ("person", str)
    found = cursor.batches(f"SELECT {who}, item FROM ({rows.sql})", rows.parameters, (kind, str))  # noqa: S608
    for person, item in found:
        assert isinstance(item, TextColumn), "as it was asked for"  # noqa: S101  for the type checker
        numbers = things.numbers(item.buffer, item.edges)
        if isinstance(person, TextColumn):
            keys.add(texts.numbers(person.buffer, person.edges), numbers)
        else:
            keys.add(integers.numbers(person) if low is None else person - low, numbers)
    items, places = things.in_order()
    people: Users | int = low if low is not None else integers.all() if rows.integer else texts.all()
    return Encoded(items=items, places=places, people=people, keys=keys)


def _joined(cursor: Cursor, rows: SelectedRows, keys: Keys, low: int | None) -> Encoded:
    """By SQL: items are numbered in the order of their texts, people in any; then all rows are joined with both."""
    items = _listed(cursor, rows, "item", "ORDER BY item")
    people: Users | int = _people(cursor, rows) if low is None else low
    code = f"(person::BIGINT - {spelled(str(low))}::BIGINT)" if low is not None else "people.number"
    joined = "" if low is not None else "JOIN temp.people ON person = people.value"
    found = cursor.columns(
        f"SELECT {code} AS code, items.number AS number "  # noqa: S608
        f"FROM ({rows.sql}) {joined} JOIN temp.items ON item = items.value",
        rows.parameters,
    )
    keys.add(found["code"].astype(np.int64, copy=False), found["number"].astype(np.int32, copy=False))
    return Encoded(items=in_order(items), places=np.arange(len(items), dtype=np.int32), people=people, keys=keys)


def _people(cursor: Cursor, rows: SelectedRows) -> Users:
    people = _listed(cursor, rows, "person", "")
    if rows.integer:
        return np.array(people, dtype=np.int64)
    buffer, lengths = encoded(people)
    return Texts(buffer, edges_of(lengths))


def _listed(cursor: Cursor, rows: SelectedRows, column: str, order: str) -> list[Any]:
    """The different values of a column, numbered in a temporary table."""
    table = "items" if column == "item" else "people"
    cursor.run(
        f"CREATE TEMP TABLE {table} AS SELECT {column} AS value, row_number() OVER ({order}) - 1 AS number "  # noqa: S608
        f"FROM (SELECT DISTINCT {column} FROM ({rows.sql}))",
        rows.parameters,
    )
    listed: list[Any] = cursor.columns(f"SELECT value FROM temp.{table} ORDER BY number", [])["value"].tolist()  # noqa: S608
    return listed
