"""Counting: people per item, from rows as integers, or by SQL where the package has no machine code."""

from __future__ import annotations

import numpy as np

from hushcount.compiled import passes
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.encoding import encode
from hushcount.engines.duckdb.keys import Room
from hushcount.engines.duckdb.selected import SelectedRows
from hushcount.model.amounts import whole
from hushcount.model.inputs import Histogram


def counted(cursor: Cursor, rows: SelectedRows, room: Room, *, cap: int, top: int | None) -> Histogram:
    """People per item, or rows up to the cap, largest first, ties by item."""
    if passes.library() is None:
        return _counted_in_sql(cursor, rows, cap, top)
    rows_as_integers = encode(cursor, rows, room)
    counts = rows_as_integers.counts(cap)
    places = np.argsort(-counts, kind="stable")
    if top is not None:
        places = places[: whole("top", top)]
    return Histogram(items=rows_as_integers.items[places], counts=counts[places], complete=len(places) == len(counts))


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
