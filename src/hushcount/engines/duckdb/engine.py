"""The DuckDB engine: one process, any file, frame or table; spills to disk beyond memory.

It counts by encoding: the distinct items are numbered in the order of their texts, every row becomes one integer, and
sorting integers finds what is repeated. That is faster than counting distinct values in SQL, and the same integers
give histograms and incidences. SelectedRows that would not fit into memory as integers are counted in SQL.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hushcount.engines.columns import spelled
from hushcount.engines.duckdb.loading import attempt, load
from hushcount.engines.duckdb.pairs import Pairs, item_bits
from hushcount.engines.duckdb.selected import SelectedRows, fingerprint_sql, select_rows
from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.sources import Files, Source, recognise
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.amounts import whole
from hushcount.model.inputs import Bound, Histogram, Int64s
from hushcount.model.queries import Description, Selection, TextItems

if TYPE_CHECKING:
    from hushcount.engines.engine import Engine

_Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used

# More rows than this are counted in SQL, which can spill: as integers they would take 16 bytes each.
_MOST_ROWS = 200_000_000
_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # no Python variable is ever read by its name
    "preserve_insertion_order": "false",
    "default_collation": "",
}


def open_duckdb(source: object, *, table: str | None = None, memory_limit: str | None = None) -> DuckdbEngine:
    """Open a source.

    Args:
        source: see `engines.sources`.
        table: the table of a database that holds several.
        memory_limit: how much memory DuckDB may use before it spills to disk, as in "2GB"; its default is 80 %.

    Raises:
        InvalidParameter: nothing that can be opened.
        UnreadableSource: it is missing, empty, broken or not permitted.
        MissingExtra: a PostgreSQL table, and psycopg is not installed.
    """
    import duckdb  # noqa: PLC0415  heavy

    recognised = recognise(source, table)
    # Spilled rows are private: nobody else can read the folder.
    folder = tempfile.mkdtemp(prefix="hushcount-")
    settings: dict[str, Any] = {**_SETTINGS, "temp_directory": folder}
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    connection = duckdb.connect(config=settings)
    engine = DuckdbEngine(connection, recognised)
    weakref.finalize(engine, _close, connection, folder)
    load(connection, recognised)
    return engine


def _close(connection: _Connection, folder: str) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


class DuckdbEngine:
    """One source, opened by `open_duckdb`. Answers one question at a time; threads wait for each other."""

    def __init__(self, connection: _Connection, source: Source) -> None:
        self._connection, self._source = connection, source
        self._lock = threading.Lock()
        self._stamp = source.stamp() if isinstance(source, Files) else None
        self._description: Description | None = None

    def describe(self) -> Description:
        """Columns and version id: a digest of the bytes of files, or a fingerprint of the rows of anything else."""
        with self._asking():
            if self._description is None:
                columns = self._columns()
                if isinstance(self._source, Files):
                    version = self._source.version()
                else:
                    version = str(self._fetch(fingerprint_sql(columns), [])["version"][0])
                self._description = Description(columns=columns, version=version)
            return self._description

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Histogram:
        """People per item, or rows up to the cap, largest first, ties by item; after bounding, if there is a bound."""
        if top is not None:
            whole("top", top)
        with self._asking():
            rows = self._rows(selection)
            n_rows = self._number_items(rows)
            if bound is None and n_rows > _MOST_ROWS:
                return self._counted(rows, selection.per_item_cap, top)
            pairs = self._encoded(rows)
        if bound is None:
            return pairs.histogram(cap=selection.per_item_cap, top=top)
        return pairs.incidence().histogram(top, bound=bound, cap=selection.per_item_cap)

    def incidence(self, selection: Selection) -> MemoryIncidence:
        """Who has what, in memory."""
        if selection.per_item_cap != 1:
            raise InvalidParameter("per_item_cap", selection.per_item_cap, "1 where people's lists are weighed")
        with self._asking():
            rows = self._rows(selection)
            self._number_items(rows)
            pairs = self._encoded(rows)
        return pairs.incidence()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """One question: alone, on unchanged files, and without leftovers."""
        with self._lock:
            self._check_unchanged()
            try:
                yield
            finally:
                for table in ("chosen", "things", "people"):
                    self._run(f"DROP TABLE IF EXISTS temp.{table}", [])
            self._check_unchanged()

    def _check_unchanged(self) -> None:
        if isinstance(self._source, Files) and self._source.stamp() != self._stamp:
            raise UnreadableSource(f"{self._source.name} changed since it was opened; open it again and ask once more")

    def _columns(self) -> tuple[tuple[str, str], ...]:
        described = attempt(self._source, lambda: self._connection.execute("DESCRIBE data").fetchall())
        return tuple((name, type_name) for name, type_name, *_ in described)

    def _rows(self, selection: Selection) -> SelectedRows:
        rows = select_rows(selection, self._columns())
        parses = isinstance(self._source, Files) and self._source.format != "parquet"
        if parses or isinstance(selection.item, TextItems):
            # Texts are parsed once for each question; columns that are there already are read where they are.
            self._run(f"CREATE TEMP TABLE chosen AS {rows.sql}", rows.parameters)
            rows = replace(rows, sql="SELECT person, item FROM temp.chosen", parameters=[])
        return rows

    def _number_items(self, rows: SelectedRows) -> int:
        """Number the items in the order of their texts; how many rows there are."""
        self._run(
            "CREATE TEMP TABLE things AS SELECT item, times, (row_number() OVER (ORDER BY item) - 1)::INTEGER AS id "  # noqa: S608
            f"FROM (SELECT item, count(*) AS times FROM ({rows.sql}) GROUP BY item)",
            rows.parameters,
        )
        return int(self._fetch("SELECT coalesce(sum(times), 0)::BIGINT AS n FROM temp.things", [])["n"][0])

    def _encoded(self, rows: SelectedRows) -> Pairs:
        """All rows as integers."""
        items = self._fetch("SELECT item FROM temp.things ORDER BY id", [])["item"]
        low = self._lowest(rows, len(items))
        people = low if low is not None else self._numbered_people(rows)
        code, joined = "code", "JOIN temp.people USING (person)"
        if low is not None:
            code, joined = f"(person::BIGINT - {spelled(str(low))}::BIGINT)", ""
        keys = self._fetch(
            f"SELECT {code} * {1 << item_bits(len(items))} + id AS key "  # noqa: S608
            f"FROM ({rows.sql}) {joined} JOIN temp.things USING (item)",
            rows.parameters,
        )["key"]
        keys = np.require(keys, np.int64, ["OWNDATA", "WRITEABLE"])
        keys.sort()
        return Pairs(items=items, people=people, keys=keys)

    def _lowest(self, rows: SelectedRows, n_items: int) -> int | None:
        """The smallest person, if people are integers so close together that they need no other number; else None."""
        if not rows.integer:
            return None
        # Of all rows, filtered out or not: a file may know it without being read.
        ends = f"SELECT min({rows.integer})::BIGINT, max({rows.integer})::BIGINT FROM data"  # noqa: S608
        found = attempt(self._source, lambda: self._connection.execute(ends).fetchone())
        low, high = found if found[0] is not None else (0, 0)
        return int(low) if (high - low + 1) << item_bits(n_items) < 2**63 else None

    def _numbered_people(self, rows: SelectedRows) -> Int64s:
        self._run(
            "CREATE TEMP TABLE people AS SELECT person, row_number() OVER () - 1 AS code "  # noqa: S608
            f"FROM (SELECT DISTINCT person FROM ({rows.sql}))",
            rows.parameters,
        )
        people: Int64s = self._fetch("SELECT person FROM temp.people ORDER BY code", [])["person"]
        return people

    def _counted(self, rows: SelectedRows, cap: int, top: int | None) -> Histogram:
        """Counted by DuckDB alone, for rows that do not fit into memory."""
        limit = "" if top is None else f"LIMIT {top + 1}"
        found = self._fetch(
            f"SELECT item, sum(least(times, {cap}))::BIGINT AS people FROM "  # noqa: S608
            f"(SELECT person, item, count(*) AS times FROM ({rows.sql}) GROUP BY person, item) "
            f"GROUP BY item ORDER BY people DESC, item {limit}",
            rows.parameters,
        )
        items, counts = found["item"][:top], found["people"][:top].astype(np.int64, copy=False)
        return Histogram(items=items, counts=counts, complete=len(items) == len(found["item"]))

    def _run(self, sql: str, parameters: list[object]) -> None:
        attempt(self._source, lambda: self._connection.execute(sql, parameters))

    def _fetch(self, sql: str, parameters: list[object]) -> dict[str, Any]:
        arrays = attempt(self._source, lambda: self._connection.execute(sql, parameters).fetchnumpy())
        return {name: np.asarray(values) for name, values in arrays.items()}


if TYPE_CHECKING:
    _is_engine: type[Engine] = DuckdbEngine
