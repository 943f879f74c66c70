"""Counting: people per item, from rows as integers, or by SQL where the package has no machine code."""

from __future__ import annotations

import numpy as np

from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.encoding import Encoded
from hushcount.engines.duckdb.selected import SelectedRows
from hushcount.model.amounts import whole
from hushcount.model.inputs import Histogram


def counted(read: Encoded, *, cap: int, top: int | None) -> Histogram:
    """People per item, or rows up to the cap, largest first, ties by item."""
    counts = read.counts(cap)
    places = np.argsort(-counts, kind="stable")
    if top is not None:
        places = places[: whole("top", top)]
    return Histogram(items=read.items[places], counts=counts[places], complete=len(places) == len(counts))


def counted_in_sql(cursor: Cursor, rows: SelectedRows, *, cap: int, top: int | None) -> Histogram:
    """The same, by DuckDB alone, which spills what does not fit into memory."""
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
