"""Counting: the rows of one question as integers, or as counts made by SQL.

As integers: the distinct items are numbered in the order of their texts, every row becomes one integer, and sorting
integers finds what is repeated. The same integers give histograms and incidences. By SQL: one statement.

Both give the same histogram; which one makes it depends on the kind of the people's column, never on values. Processor
time on a million made-up rows in Parquet, as a multiple of the plain COUNT(DISTINCT ...) query, on a busy machine:

    people     items            as integers   by SQL
    integers   50               0.5           0.9 to 1.0
    integers   42,000           0.9           0.9 to 1.1
    integers   137,000          1.5           0.9
    texts      50 to 137,000    1.6 to 2.1    0.8 to 0.9

On real logs with integers (time of count and top, one run each on an idle machine): reddit_titles 0.81 and 0.77 as
integers, 1.00 and 1.00 by SQL; imdb 0.76 and 0.56, by SQL 1.32 and 1.07. So integers stay integers, and people who are
not integers, who would have to be numbered too, are counted by SQL. Rows that would not fit into memory as integers are
always counted by SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hushcount.engines.duckdb.attempts import attempt
from hushcount.engines.duckdb.pairs import Pairs, item_bits
from hushcount.engines.duckdb.selected import SelectedRows
from hushcount.engines.duckdb.sql import spelled
from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.sources import Source
from hushcount.model.inputs import Histogram, Int64s, Items

_Cursor: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used

# More rows than this are counted in SQL, which can spill: as integers they would take 16 bytes each.
_MOST_ROWS = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A connection of one question alone: its temporary tables are seen by nobody else, and go with it."""

    source: Source
    own: _Cursor

    def run(self, sql: str, parameters: list[object]) -> None:
        """Do something."""
        attempt(self.source, lambda: self.own.execute(sql, parameters))

    def row(self, sql: str, parameters: list[object]) -> tuple[Any, ...]:
        """The only row of an answer."""
        # All of it, since a result that is not fetched to its end holds the connection.
        found: list[tuple[Any, ...]] = attempt(self.source, lambda: self.own.execute(sql, parameters).fetchall())
        return found[0]

    def columns(self, sql: str, parameters: list[object]) -> dict[str, Any]:
        """An answer as arrays by name."""
        arrays = attempt(self.source, lambda: self.own.execute(sql, parameters).fetchnumpy())
        return {name: np.asarray(values) for name, values in arrays.items()}


def counted(cursor: Cursor, rows: SelectedRows, *, cap: int, top: int | None) -> Histogram:
    """People per item, or rows up to the cap, largest first, ties by item."""
    if _pushes_down(rows) or _number_items(cursor, rows) > _MOST_ROWS:
        return _counted_in_sql(cursor, rows, cap, top)
    pairs = _encoded(cursor, rows)
    numbers, counts = pairs.largest(cap=cap, top=top)
    complete = len(numbers) == pairs.width
    items = _all_items(cursor)[numbers] if complete else _items(cursor, numbers)
    return Histogram(items=items, counts=counts, complete=complete)


def incidence(cursor: Cursor, rows: SelectedRows) -> MemoryIncidence:
    """Who has what, by way of all rows as integers."""
    _number_items(cursor, rows)
    return _encoded(cursor, rows).incidence(_all_items(cursor))


def _pushes_down(rows: SelectedRows) -> bool:
    """Whether SQL is the faster way, as far as kinds of columns tell; see the top of this file."""
    return rows.integer is None


def _number_items(cursor: Cursor, rows: SelectedRows) -> int:
    """Number the items in the order of their texts; how many rows there are."""
    cursor.run(
        "CREATE TEMP TABLE things AS SELECT item, times, (row_number() OVER (ORDER BY item) - 1)::INTEGER AS id "  # noqa: S608
        f"FROM (SELECT item, count(*) AS times FROM ({rows.sql}) GROUP BY item)",
        rows.parameters,
    )
    return int(cursor.row("SELECT coalesce(sum(times), 0)::BIGINT FROM temp.things", [])[0])


def _all_items(cursor: Cursor) -> Items:
    """The texts of all items, in their order."""
    items: Items = cursor.columns("SELECT item FROM temp.things ORDER BY id", [])["item"]
    return items


def _items(cursor: Cursor, numbers: Int64s) -> Items:
    """The texts of some items by their numbers: each becomes an object of Python's, so only those that are wanted."""
    wanted = "SELECT id, item FROM temp.things WHERE id IN (SELECT unnest(?::INTEGER[])) ORDER BY id"
    found = cursor.columns(wanted, [numbers.tolist()])
    items: Items = found["item"][np.searchsorted(found["id"], numbers)]
    return items


def _encoded(cursor: Cursor, rows: SelectedRows) -> Pairs:
    width = int(cursor.row("SELECT count(*) FROM temp.things", [])[0])
    low = _lowest(cursor, rows, width)
    people = low if low is not None else _numbered_people(cursor, rows)
    code, joined = "code", "JOIN temp.people USING (person)"
    if low is not None:
        code, joined = f"(person::BIGINT - {spelled(str(low))}::BIGINT)", ""
    keys = cursor.columns(
        f"SELECT {code} * {1 << item_bits(width)} + id AS key "  # noqa: S608
        f"FROM ({rows.sql}) {joined} JOIN temp.things USING (item)",
        rows.parameters,
    )["key"]
    keys = np.require(keys, np.int64, ["OWNDATA", "WRITEABLE"])
    keys.sort()
    return Pairs(width=width, people=people, keys=keys)


def _lowest(cursor: Cursor, rows: SelectedRows, n_items: int) -> int | None:
    """The smallest person, if people are integers so close together that they need no other number; else None."""
    if not rows.integer:
        return None
    # Of all rows, filtered out or not: a file may know it without being read.
    ends = f"SELECT min({rows.integer})::BIGINT, max({rows.integer})::BIGINT FROM {rows.table}"  # noqa: S608
    found = cursor.row(ends, [])
    low, high = found if found[0] is not None else (0, 0)
    return int(low) if (high - low + 1) << item_bits(n_items) < 2**63 else None


def _numbered_people(cursor: Cursor, rows: SelectedRows) -> Int64s:
    cursor.run(
        "CREATE TEMP TABLE people AS SELECT person, row_number() OVER () - 1 AS code "  # noqa: S608
        f"FROM (SELECT DISTINCT person FROM ({rows.sql}))",
        rows.parameters,
    )
    people: Int64s = cursor.columns("SELECT person FROM temp.people ORDER BY code", [])["person"]
    return people


def _counted_in_sql(cursor: Cursor, rows: SelectedRows, cap: int, top: int | None) -> Histogram:
    """Counted by DuckDB alone, which spills what does not fit into memory."""
    # One row more is fetched, to know whether there are more.
    limit = "" if top is None else f"LIMIT {top + 1}"
    pairs, people = rows.sql, "count(DISTINCT person)"
    if cap != 1:
        pairs = f"SELECT person, item, count(*) AS times FROM ({rows.sql}) GROUP BY person, item"  # noqa: S608
        people = f"sum(least(times, {cap}))::BIGINT"
    found = cursor.columns(
        f"SELECT item, {people} AS people FROM ({pairs}) GROUP BY item ORDER BY people DESC, item {limit}",  # noqa: S608
        rows.parameters,
    )
    items, counts = found["item"][:top], found["people"][:top].astype(np.int64, copy=False)
    return Histogram(items=items, counts=counts, complete=len(items) == len(found["item"]))
