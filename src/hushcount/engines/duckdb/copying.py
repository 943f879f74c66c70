"""Copying: frames, relations and SQLite tables into the table `data`, each read once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hushcount.engines.duckdb.attempts import attempt
from hushcount.engines.duckdb.sql import DuckDBColumn, quoted
from hushcount.engines.sources import DatabaseTable, Frame, Source, choose_table
from hushcount.errors import UnreadableSource

_Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used
_Rows: TypeAlias = Iterable[Sequence[Sequence[str | None]]]

# Rows of a SQLite or PostgreSQL table that are held in Python at a time.
_CHUNK = 20_000
# Types that Arrow does not have: DuckDB would hand over the largest numbers with another sign, and drop zones.
_AS_TEXT = {"HUGEINT", "UHUGEINT", "BIT", "TIME WITH TIME ZONE"}


class _Stream:
    """Arrow data and nothing else of an object, so that DuckDB needs no package to read it."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401  whatever exports Arrow data
        self._value = value

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._value.__arrow_c_stream__(requested_schema)


def copy_frame(connection: _Connection, frame: Frame) -> None:
    """A frame, whatever program made it."""
    value, columns = frame.value, "*"
    if type(value).__name__ == "DuckDBPyRelation":
        value, columns = attempt(frame, lambda: _handed_over(value))
    stream = value if type(value).__module__.startswith("pandas") else _Stream(value)

    def copy() -> None:
        # A pandas column of Python objects is read as text, whatever its first values are.
        connection.execute("SET pandas_analyze_sample = 0")
        connection.register("incoming", stream)
        connection.execute(f"CREATE TABLE data AS SELECT {columns} FROM incoming")  # noqa: S608  quoted names
        connection.unregister("incoming")

    attempt(frame, copy)


def _handed_over(relation: Any) -> tuple[Any, str]:  # noqa: ANN401  a relation of another connection
    """The relation with columns as texts that Arrow cannot carry, and SQL that makes of them what they were."""
    there, here = list[str](), list[str]()
    for name, held in zip(relation.columns, relation.types, strict=True):
        column, own = DuckDBColumn(name=name, type_name=str(held)), quoted(name)
        if column.kind == "nested":
            there.append(f"CASE WHEN {own} IS NOT NULL THEN to_json({own})::VARCHAR END AS {own}")
            here.append(f"{own}::JSON AS {own}")
        elif column.type_name in _AS_TEXT:
            there.append(f"{own}::VARCHAR AS {own}")
            here.append(f"{own}::{column.type_name} AS {own}")
        else:
            there.append(own)
            here.append(own)
    return relation.project(", ".join(there)), ", ".join(here)


def copy_sqlite(connection: _Connection, database: DatabaseTable) -> str:
    """A table or view of a SQLite file, as texts, in one transaction; its name."""
    try:
        address = f"{database.path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as sqlite:
            sqlite.execute("BEGIN")
            listed = sqlite.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
            name = choose_table(database.table, [name for (name,) in listed])
            names = [name for _, name, *_ in sqlite.execute(f"PRAGMA table_info({quoted(name)})")]
            texts = ", ".join(f"CAST({quoted(column)} AS TEXT)" for column in names)
            rows = sqlite.execute(f"SELECT {texts} FROM {quoted(name)}")  # noqa: S608  quoted names
            copy_rows(connection, database, names=names, rows=chunks(rows))
            return name
    except sqlite3.Error as error:
        kind = type(error).__name__
    raise UnreadableSource(f"{database.name} cannot be read: SQLite refused it ({kind}); check that the file is whole")


def chunks(rows: Any) -> Iterator[Sequence[Sequence[str | None]]]:  # noqa: ANN401  a database cursor
    """The rows of a cursor, many at a time."""
    while chunk := rows.fetchmany(_CHUNK):
        yield chunk


def copy_rows(connection: _Connection, source: Source, *, names: list[str], rows: _Rows) -> None:
    """Rows of texts into the table `data`."""
    columns = ", ".join(f"{quoted(name)} VARCHAR" for name in names)
    attempt(source, lambda: connection.execute(f"CREATE TABLE data ({columns})"))
    for chunk in rows:
        attempt(source, partial(_insert, connection, chunk))


def _insert(connection: _Connection, chunk: Sequence[Sequence[str | None]]) -> None:
    arrays = {f"c{n}": np.array(values, dtype=object) for n, values in enumerate(zip(*chunk, strict=True))}
    connection.register("incoming", arrays)
    connection.execute("INSERT INTO data SELECT * FROM incoming")
    connection.unregister("incoming")
