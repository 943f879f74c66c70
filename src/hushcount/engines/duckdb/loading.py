"""Loading: a source becomes the table or view `data` of a DuckDB connection that belongs to the engine alone.

Files are read where they are. Everything else is copied once, so that all answers are about one state of the data,
the one that the version id names. CSV and JSON give text columns: guessing types from the first rows would make a file
fail, or mean something else, by what its later rows hold. In CSV an empty field is missing and "" is the empty text.

Only local files are read, and no extension of DuckDB is installed or loaded: SQLite is read by Python's own module and
PostgreSQL by psycopg, both as text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from hushcount.engines.delimited import csv_header
from hushcount.engines.duckdb.sql import quoted, spelled
from hushcount.engines.sources import Database, Files, Frame, Server, Source, choose_table
from hushcount.errors import MissingExtra, UnreadableSource

_Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used
_T = TypeVar("_T")

# Rows of a SQLite or PostgreSQL table that are held in Python at a time.
_CHUNK = 20_000
# A row of CSV and an object of JSON may be so long, in bytes.
_LONGEST_ROW = 2**26
_NO_ROOM = "there was not enough memory or disk space; free some, or ask about fewer rows"
_POSTGRES_TABLES = """SELECT table_name FROM information_schema.tables
    WHERE table_schema = ANY (current_schemas(false))"""


def load(connection: _Connection, source: Source) -> None:
    """Make `data` of a source."""
    match source:
        case Files():
            reader = _reader_sql(connection, source)
            attempt(source, lambda: connection.execute(f"CREATE VIEW data AS SELECT * FROM {reader}"))  # noqa: S608
        case Frame():
            _copy_frame(connection, source)
        case Database(program="duckdb"):
            _attach(connection, source)
        case Database():
            _copy_sqlite(connection, source)
        case Server():
            _copy_postgres(connection, source)


def attempt(source: Source, action: Callable[[], _T]) -> _T:
    """Do something with a database; if it fails, say so without its own words, which may quote values."""
    import duckdb  # noqa: PLC0415  heavy

    try:
        return action()
    except duckdb.Error as error:
        kind = type(error).__name__
    # Raised outside the handler, so that the database's exception is not attached to it either. What it says depends
    # on the kind of failure and of source alone: even to choose between texts by what a value holds would tell of it.
    reason = _NO_ROOM if kind == "OutOfMemoryException" else _broken(source)
    raise UnreadableSource(f"{source.name} cannot be read: {reason} ({kind}; no values are shown: they are private)")


def _broken(source: Source) -> str:
    match source:
        case Files(format="csv" | "tsv"):
            return (
                "a row does not have the columns of the first line, a quote is left open, or it is not in UTF-8; "
                "in the last case convert it with: iconv -f latin1 -t utf-8"
            )
        case Files(format="json" | "jsonl"):
            return "it is not JSON with one object in each line, or it is not written in UTF-8"
        case Files():
            return "it is not a whole Parquet file, or its files do not have the same columns; write it anew"
        case Frame():
            return "a column holds values that cannot be stored as one type; convert the column to text first"
        case _:
            return "the database is not whole, locked by another program, or of a later version; try its own tools"


def _reader_sql(connection: _Connection, files: Files) -> str:
    paths = "[" + ", ".join(spelled(_literal_path(str(path))) for path in files.paths) + "]"
    match files.format:
        case "parquet":
            # Columns from the names of directories would not be covered by the version id.
            return f"read_parquet({paths}, hive_partitioning=false)"
        case "csv" | "tsv":
            return _csv_sql(files, paths)
        case "json" | "jsonl":
            return _json_sql(connection, files, paths)


def _literal_path(path: str) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def _csv_sql(files: Files, paths: str) -> str:
    delimiter, names = csv_header(files)
    columns = ", ".join(f"{spelled(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({paths}, auto_detect=false, header=true, columns={{{columns}}}, delim={spelled(delimiter)}, "
        f"quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, null_padding=false, ignore_errors=false, "
        f"strict_mode=true, max_line_size={_LONGEST_ROW}, buffer_size={2 * _LONGEST_ROW}, hive_partitioning=false)"
    )


def _json_sql(connection: _Connection, files: Files, paths: str) -> str:
    layout = "newline_delimited" if files.format == "jsonl" else "auto"
    options = f"format='{layout}', maximum_object_size={_LONGEST_ROW}, hive_partitioning=false"
    look = f"DESCRIBE SELECT * FROM read_json({paths}, {options}, sample_size=-1, union_by_name=true)"  # noqa: S608
    found = attempt(files, lambda: connection.execute(look).fetchall())
    nested = ("STRUCT", "MAP")
    types = {
        name: "JSON" if type_name.endswith("]") or type_name.startswith(nested) else "VARCHAR"
        for name, type_name, *_ in found
    }
    columns = ", ".join(f"{spelled(name)}: '{type_name}'" for name, type_name in types.items())
    return f"read_json({paths}, {options}, columns={{{columns}}})"


class _Stream:
    """Arrow data and nothing else of an object, so that DuckDB needs no package to read it."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401  whatever exports Arrow data
        self._value = value

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._value.__arrow_c_stream__(requested_schema)


def _copy_frame(connection: _Connection, frame: Frame) -> None:
    value = frame.value if type(frame.value).__module__.startswith("pandas") else _Stream(frame.value)

    def copy() -> None:
        # A pandas column of Python objects is read as text, whatever its first values are.
        connection.execute("SET pandas_analyze_sample = 0")
        connection.register("incoming", value)
        connection.execute("CREATE TABLE data AS SELECT * FROM incoming")
        connection.unregister("incoming")

    attempt(frame, copy)


def _attach(connection: _Connection, database: Database) -> None:
    attempt(database, lambda: connection.execute(f"ATTACH {spelled(str(database.path))} AS attached (READ_ONLY)"))
    find = "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'attached' AND table_schema = 'main'"
    names = [name for (name,) in attempt(database, lambda: connection.execute(find).fetchall())]
    table = f"attached.main.{quoted(choose_table(database.table, names))}"
    described = attempt(database, lambda: connection.execute(f"DESCRIBE {table}").fetchall())
    # Texts that differ are different, even in a column for which the database says otherwise.
    plain = [
        f'{quoted(name)} COLLATE "binary" AS {quoted(name)}' if type_name == "VARCHAR" else quoted(name)
        for name, type_name, *_ in described
    ]
    view = f"CREATE VIEW data AS SELECT {', '.join(plain)} FROM {table}"  # noqa: S608
    attempt(database, lambda: connection.execute(view))


def _copy_sqlite(connection: _Connection, database: Database) -> None:
    try:
        with closing(sqlite3.connect(f"{database.path.resolve().as_uri()}?mode=ro", uri=True)) as sqlite:
            listed = sqlite.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
            table = quoted(choose_table(database.table, [name for (name,) in listed]))
            names = [name for _, name, *_ in sqlite.execute(f"PRAGMA table_info({table})")]
            texts = ", ".join(f"CAST({quoted(name)} AS TEXT)" for name in names)
            rows = sqlite.execute(f"SELECT {texts} FROM {table}")  # noqa: S608  quoted names
            return _copy_rows(connection, database, names, _chunks(rows))
    except sqlite3.Error as error:
        kind = type(error).__name__
    raise UnreadableSource(f"{database.name} cannot be read: SQLite refused it ({kind}); check that the file is whole")


def _copy_postgres(connection: _Connection, server: Server) -> None:
    try:
        import psycopg  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingExtra("psycopg", "pip install 'hushcount[postgres]'") from None

    try:
        with psycopg.connect(server.address) as postgres:
            postgres.read_only = True
            table = choose_table(server.table, [name for (name,) in postgres.execute(_POSTGRES_TABLES)])
            described = postgres.execute(f"SELECT * FROM {quoted(table)} LIMIT 0").description or []  # noqa: S608
            names = [column.name for column in described]
            texts = ", ".join(f"{quoted(name)}::text" for name in names)
            with postgres.cursor("rows") as rows:
                rows.execute(f"SELECT {texts} FROM {quoted(table)}")  # noqa: S608  quoted names
                return _copy_rows(connection, server, names, _chunks(rows))
    except psycopg.Error as error:
        kind = type(error).__name__
    raise UnreadableSource(
        f"{server.name} cannot be read: the server refused it ({kind}); check the address and rights"
    )


def _chunks(rows: Any) -> Iterator[Sequence[Sequence[str | None]]]:  # noqa: ANN401  a database cursor
    while chunk := rows.fetchmany(_CHUNK):
        yield chunk


def _copy_rows(
    connection: _Connection, source: Source, names: list[str], chunks: Iterable[Sequence[Sequence[str | None]]]
) -> None:
    """Rows of texts into the table `data`."""
    columns = ", ".join(f"{quoted(name)} VARCHAR" for name in names)
    attempt(source, lambda: connection.execute(f"CREATE TABLE data ({columns})"))
    for chunk in chunks:
        attempt(source, partial(_insert, connection, chunk))


def _insert(connection: _Connection, chunk: Sequence[Sequence[str | None]]) -> None:
    arrays = {f"c{n}": np.array(values, dtype=object) for n, values in enumerate(zip(*chunk, strict=True))}
    connection.register("incoming", arrays)
    connection.execute("INSERT INTO data SELECT * FROM incoming")
    connection.unregister("incoming")
