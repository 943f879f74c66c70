"""Encoding: the rows of a question become integers, in one pass over the data.

Items, and people who are not integers close together, are numbered as they are met, by machine code that reads DuckDB's
own batches; then the items are sorted, and the rows of each person become a list of their items' places. Without
machine code SQL numbers in two passes, with the same places for items.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from hushcount.compiled import passes
from hushcount.compiled.lists import join_keys
from hushcount.compiled.passes import Split
from hushcount.compiled.texts import Int32s, NumberedIntegers, NumberedTexts
from hushcount.engines.duckdb.arrow import TextColumn
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.keys import Keys, Room
from hushcount.engines.duckdb.selected import SelectedRows
from hushcount.engines.duckdb.sql import spelled
from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.pairs import NUMBER_BITS, count_pairs, split_rows
from hushcount.engines.portions import Portion, Users
from hushcount.engines.stored import StoredPortions
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.model.texts import SortedTexts, Texts, edges_of, encoded, in_order


@frozen
class Encoded:
    """Rows as integers, to be read once: by `counts` or by `incidence`.

    Attributes:
        items: the items; each is in some row.
        places: of each item by its number, where it stands among them.
        people: of each number the person; or the integer that number 0 stands for, number 1 for the next, and so on.
        span: how many numbers people may have.
        keys: the rows.
    """

    items: SortedTexts
    places: Int32s
    people: Users | int
    span: int
    keys: Keys

    def counts(self, cap: int) -> Int64s:
        """For each item the people who have it, or their rows with it, at most `cap` of each."""
        total = np.zeros(len(self.items), dtype=np.int64)
        for _, _, ids, times in self._lists():
            total += count_pairs(ids, times, cap=cap, width=len(self.items))
        return total

    def incidence(self) -> MemoryIncidence:
        """Who has what; on the disk if the rows were there."""
        found = (self._portion(*split) for split in self._lists())
        if self.keys.spilled is None:
            only = next(found)
            return MemoryIncidence(items=self.items, portions=(only,), people=len(only.users))
        stored = StoredPortions(self.keys.spilled / "portions", found)
        return MemoryIncidence(items=self.items, portions=stored, people=stored.people)

    def _portion(self, codes: Int64s, offsets: Int64s, ids: Int32s, times: Int64s) -> Portion:
        users: Users
        if isinstance(self.people, int):
            users = codes + self.people
        else:
            users = self.people.taken(codes) if isinstance(self.people, Texts) else self.people[codes]
        return Portion(users=users, offsets=offsets, ids=ids, times=times)

    def _lists(self) -> Iterator[Split]:
        """People's lists, of all rows in memory or of a part of the people after the other."""
        for batches, numbers in self.keys.parts(self.span):
            codes, offsets, ids, times = split_rows(batches, self.places, people=len(numbers))
            codes *= numbers.step
            codes += numbers.start
            yield codes, offsets, ids, times


def encode(cursor: Cursor, rows: SelectedRows, room: Room) -> Encoded:
    """All rows as integers."""
    read = _joined if passes.library() is None else _numbered
    # Once more, if somebody is outside: nothing but time tells of it.
    found = read(cursor, rows, Keys(room), _close(cursor, rows)) or read(cursor, rows, Keys(room), None)
    assert found is not None, "nobody is outside of nothing"  # noqa: S101  for the type checker
    return found


def _close(cursor: Cursor, rows: SelectedRows) -> range | None:
    """From the smallest person to the largest, if they are integers so close that they need no other number.

    As far as the data says: what a file states of its columns may be wrong, so everybody is held against it.
    """
    if not rows.integer:
        return None
    # Of all rows, filtered out or not: a file may know it without being read.
    ends = f"SELECT min({rows.integer})::BIGINT, max({rows.integer})::BIGINT FROM {rows.table}"  # noqa: S608
    found = cursor.row(ends, [])
    low, high = map(int, found if found[0] is not None else (0, 0))
    return range(low, high + 1) if high - low < 1 << (NUMBER_BITS - 1) else None


def _numbered(cursor: Cursor, rows: SelectedRows, keys: Keys, close: range | None) -> Encoded | None:
    """In one pass; None if a person is outside of those that are close."""
    things, integers, texts = NumberedTexts(), NumberedIntegers(), NumberedTexts()
    who, kind = ("person::BIGINT", int) if rows.integer else ("person", str)
    found = cursor.batches(f"SELECT {who}, item FROM ({rows.sql})", rows.parameters, (kind, str))  # noqa: S608
    with closing(found):
        for person, item in found:
            assert isinstance(item, TextColumn), "as it was asked for"  # noqa: S101  for the type checker
            numbers = things.numbers(item.buffer, item.edges)
            if isinstance(person, TextColumn):
                keys.add(texts.numbers(person.buffer, person.edges), numbers)
            elif close is None:
                keys.add(integers.numbers(person), numbers)
            else:
                joined = join_keys(person, close, numbers)
                if joined is None:
                    return None
                keys.add_joined(joined)
    items, places = things.in_order()
    return _encoded(items, places, close or (integers.all() if rows.integer else texts.all()), keys)


def _encoded(items: SortedTexts, places: Int32s, people: Users | range, keys: Keys) -> Encoded:
    first = people.start if isinstance(people, range) else people
    return Encoded(items=items, places=places, people=first, span=len(people), keys=keys)


def _joined(cursor: Cursor, rows: SelectedRows, keys: Keys, close: range | None) -> Encoded | None:
    """By SQL: items are numbered in the order of their texts, people in any; then all rows are joined with both.

    None if a person is outside of those that are close.
    """
    items = _listed(cursor, rows, "item", "ORDER BY item")
    people: Users | range = close or _people(cursor, rows)
    code = f"(person::BIGINT - {spelled(str(close.start))}::BIGINT)" if close else "people.number"
    joined = "" if close else "JOIN temp.people ON person = people.value"
    found = cursor.columns(
        f"SELECT {code} AS code, items.number AS number "  # noqa: S608
        f"FROM ({rows.sql}) {joined} JOIN temp.items ON item = items.value",
        rows.parameters,
    )
    codes = found["code"].astype(np.int64, copy=False)
    if close and len(codes) and not (codes.min() >= 0 and codes.max() < len(close)):
        return None
    keys.add(codes, found["number"].astype(np.int32, copy=False))
    return _encoded(in_order(items), np.arange(len(items), dtype=np.int32), people, keys)


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
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {column} AS value, row_number() OVER ({order}) - 1 AS number "  # noqa: S608
        f"FROM (SELECT DISTINCT {column} FROM ({rows.sql}))",
        rows.parameters,
    )
    listed: list[Any] = cursor.columns(f"SELECT value FROM temp.{table} ORDER BY number", [])["value"].tolist()  # noqa: S608
    return listed
