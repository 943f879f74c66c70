"""Encoding: the rows of a question become integers, mostly in one pass over the data.

Items, and people who are not integers close together, are numbered as they are met, by machine code that reads DuckDB's
own batches; then the items are sorted, and the rows of each person become a list of their items' places. Items that
look few are numbered in a pass before, as `items` says. If people are farther apart than the file states, or hashes of
items alike, it is begun anew in the way that always does. Without machine code SQL numbers in two passes, with the same
places for items.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from hushcount.compiled import passes
from hushcount.compiled.lists import CLOSE, ClosePeople
from hushcount.compiled.passes import Split
from hushcount.compiled.texts import Int32s, NumberedIntegers, NumberedTexts
from hushcount.engines.duckdb.arrow import TextColumn
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.items import ItemHashes, ItemTexts
from hushcount.engines.duckdb.keys import Keys, Room
from hushcount.engines.duckdb.selected import SelectedRows
from hushcount.engines.duckdb.sql import quoted
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
        numbers: all numbers that people may have.
        keys: the rows.
    """

    items: SortedTexts
    places: Int32s
    people: Users | int
    numbers: range
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
        for batches, numbers, own in self.keys.parts(self.numbers):
            codes, offsets, ids, times = split_rows(batches, self.places, numbers=numbers)
            self.keys.let_wait()
            codes *= own.step
            codes += own.start
            yield codes, offsets, ids, times


def encode(cursor: Cursor, rows: SelectedRows, room: Room) -> Encoded:
    """All rows as integers."""
    if passes.library() is None:
        return _joined(cursor, rows, Keys(room))
    found = _numbered(cursor, rows, room, items=ItemHashes(cursor, rows), close=rows.close) if rows.few else None
    found = found or _numbered(cursor, rows, room, items=ItemTexts(), close=rows.close)
    found = found or _numbered(cursor, rows, room, items=ItemTexts(), close=False)
    assert found is not None, "nobody is too far apart where nobody need be close"  # noqa: S101  for the type checker
    return found


def are_close(cursor: Cursor, table: str, column: str) -> bool:
    """Whether integers of a column are close together, as `ClosePeople` needs it: as far as the table says, for speed.

    Of all rows, filtered out or not: else how long a question takes would tell of one person whom its filter lets in.
    """
    ends = f"SELECT min({quoted(column)})::BIGINT, max({quoted(column)})::BIGINT FROM {table}"  # noqa: S608
    low, high = cursor.row(ends, [])
    return low is None or int(high) - int(low) < CLOSE


def _numbered(
    cursor: Cursor, rows: SelectedRows, room: Room, *, items: ItemTexts | ItemHashes, close: bool
) -> Encoded | None:
    """In one pass; None if people who are integers were to be close and are not, or if items are not told apart."""
    if not items.differ:
        return None
    with ExitStack() as undone:
        keys = Keys(room)
        # Of a reading that comes to nothing, by an interrupt too, nothing stays on the disk.
        undone.callback(keys.discard)
        people = _read(cursor, rows, keys, items=items, close=close)
        if people is None or not items.differ:
            return None
        ordered, places = items.in_order()
        undone.pop_all()
    return Encoded(items=ordered, places=places, people=people[0], numbers=people[1], keys=keys)


def _read(
    cursor: Cursor, rows: SelectedRows, keys: Keys, *, items: ItemTexts | ItemHashes, close: bool
) -> tuple[Users | int, range] | None:
    """Take all rows as keys. Who has which number, and all numbers, as `Encoded` has them; None as above."""
    near, integers, texts = ClosePeople(), NumberedIntegers(), NumberedTexts()
    wanted = f"SELECT {rows.person}, {items.sql} FROM ({rows.sql})"  # noqa: S608
    with closing(cursor.batches(wanted, rows.parameters, (rows.kind, items.kind))) as found:
        for person, item in found:
            numbers = items.numbers(item)
            if isinstance(person, TextColumn):
                keys.add(texts.numbers(person.buffer, person.edges), numbers)
            elif not close:
                keys.add(integers.numbers(person), numbers)
            elif not near.join(person, numbers, keys=keys.take(len(numbers))):
                return None
    if rows.kind is not str and close:
        return near.origin, near.numbers
    people = texts.all() if rows.kind is str else integers.all()
    return people, range(len(people))


def _joined(cursor: Cursor, rows: SelectedRows, keys: Keys) -> Encoded:
    """By SQL: items are numbered in the order of their texts, people in any; then all rows are joined with both."""
    items, texts = _listed(cursor, rows, "item", "ORDER BY item"), list[str]()
    code, joined = "person::BIGINT", ""
    if rows.kind is str:
        texts = _listed(cursor, rows, "person", "")
        code, joined = "people.number", "JOIN temp.people ON person = people.value"
    found = cursor.columns(
        f"SELECT {code} AS code, items.number AS number "  # noqa: S608
        f"FROM ({rows.sql}) {joined} JOIN temp.items ON item = items.value",
        rows.parameters,
    )
    codes = found["code"].astype(np.int64, copy=False)
    people, numbers, codes = _texts(texts, codes) if rows.kind is str else _integers(codes)
    keys.add(codes, found["number"].astype(np.int32, copy=False))
    places = np.arange(len(items), dtype=np.int32)
    return Encoded(items=in_order(items), places=places, people=people, numbers=numbers, keys=keys)


def _texts(people: list[str], codes: Int64s) -> tuple[Users, range, Int64s]:
    buffer, lengths = encoded(people)
    return Texts(buffer, edges_of(lengths)), range(len(people)), codes


def _integers(people: Int64s) -> tuple[Users | int, range, Int64s]:
    """By how far they are above the smallest; among themselves, if they are too far apart."""
    low, high = (int(people.min()), int(people.max())) if len(people) else (0, -1)
    if high - low < 1 << (NUMBER_BITS - 1):
        return low, range(high - low + 1), people - low
    distinct, codes = np.unique(people, return_inverse=True)
    return distinct, range(len(distinct)), codes


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
