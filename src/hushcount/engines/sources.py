"""Sources: what can be opened, told apart by looking at it. Nothing here needs a database.

* Files: CSV, TSV, JSON lines and Parquet, by the end of the name; several of one format by a pattern (`logs/*.csv`) or
  a directory. CSV and JSON may be compressed (.gz).
* A table of a DuckDB or SQLite database file, or of a PostgreSQL server (`postgresql://...`).
* A pandas or Polars frame, or anything else that exports Arrow data: tables, readers, DuckDB relations.
* A table of an open DuckDB connection.

Spark's own sources and addresses of Pinot are told apart here too, and opened by their engines.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.frozen import frozen

Format: TypeAlias = Literal["csv", "tsv", "json", "jsonl", "parquet"]

_FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_SQLITE_MAGIC, _DUCKDB_MAGIC = b"SQLite format 3\0", b"DUCK"
_POSTGRES = ("postgresql://", "postgres://")
# The other way of writing a PostgreSQL address; it may hold a password, so it must not be taken for the name of a file.
_WORDS_OF_ADDRESS = re.compile(r"\b(?:password|passfile|sslpassword|host|hostaddr|dbname|user)\s*=", re.IGNORECASE)
# Tables and the files that they lie in, in the order in which DuckDB looks for a name.
_TABLES_OF_CONNECTION = """SELECT table_name, table_catalog, table_schema, path
    FROM information_schema.tables JOIN duckdb_databases() ON database_name = table_catalog
    ORDER BY table_catalog = 'temp' DESC, table_catalog = current_database() DESC, table_schema = current_schema() DESC,
        table_catalog, table_schema"""
_ENDS = "the name must end in .csv, .tsv, .json, .jsonl or .parquet"


@frozen
class Files:
    """Files of one format, read together as one table."""

    name: str
    format: Format
    paths: tuple[Path, ...]


@frozen
class DatabaseTable:
    """A table of a database file. No table: the only one that there is."""

    name: str
    program: Literal["duckdb", "sqlite"]
    path: Path
    table: str | None


@frozen
class ServerTable:
    """A table of a PostgreSQL server. The address may hold a password: it is in no text, not even in this one's own."""

    name: str
    address: str = field(repr=False)
    table: str | None


@frozen
class Frame:
    """A frame or a stream in memory, or a table of an open DuckDB connection.

    Attributes:
        name: how it is called in messages.
        value: the object.
        table: the name of the table, if it is one.
        place: the database file and the table in it, if it lies in one.
    """

    name: str
    value: Any = field(repr=False)
    table: str | None = None
    place: str | None = None


Source: TypeAlias = Files | DatabaseTable | ServerTable | Frame


def recognise(source: object, table: str | None = None) -> Source:
    """What a source is.

    Raises:
        InvalidParameter: nothing that can be opened, or a table is named where there are none.
        UnreadableSource: a file is missing, empty or not permitted.
    """
    if isinstance(source, str) and source.startswith(_POSTGRES):
        return ServerTable(name="the PostgreSQL table", address=source, table=table)
    if isinstance(source, str | os.PathLike):
        return _on_disk(os.fspath(source), table)
    if type(source).__name__ == "DuckDBPyConnection":
        return _from_connection(source, table)
    if table is not None:
        raise InvalidParameter("table", table, "left out", "A frame or a relation is one table.")
    if _is_pandas(source) or hasattr(source, "__arrow_c_stream__"):
        return Frame(name="the data frame", value=source)
    if type(source).__name__ == "LazyFrame":
        return Frame(name="the data frame", value=source.collect())  # type: ignore[attr-defined]
    raise InvalidParameter(
        "source",
        type(source).__name__,
        "a file name, a frame (pandas, Polars, Arrow), a DuckDB relation, or a DuckDB connection and a table",
    )


def is_address(text: str) -> bool:
    """Whether a text is an address of a database in words, such as "host=... password=..."."""
    return _WORDS_OF_ADDRESS.search(text) is not None


def is_spark(source: object) -> bool:
    """Whether a source is a DataFrame or a session of Spark, told without importing it."""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ in {"DataFrame", "SparkSession"}
        for kind in type(source).__mro__
    )


def is_pinot(source: object) -> bool:
    """Whether a source is the address of a table of Pinot."""
    return isinstance(source, str) and source.startswith(("pinot://", "pinots://"))


def choose_table(table: str | None, tables: Iterable[str]) -> str:
    """The table asked for, or the only one."""
    names = sorted(tables)
    if table is None and len(names) == 1:
        return names[0]
    if table in names:
        return str(table)
    near = get_close_matches(table or "", names, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(map(repr, names)) or "none"
    raise InvalidParameter("table", table, "a table of the database", f"{hint}There are: {listed}.")


def _is_pandas(source: object) -> bool:
    return type(source).__name__ == "DataFrame" and type(source).__module__.partition(".")[0] == "pandas"


def _from_connection(connection: Any, table: str | None) -> Frame:  # noqa: ANN401  a duckdb connection, not imported here
    if table is None:
        raise InvalidParameter("table", table, "named for a DuckDB connection", "Write for example: table='events'.")
    found = connection.execute(_TABLES_OF_CONNECTION).fetchall()
    name = choose_table(table, {row[0] for row in found})
    _, catalog, schema, path = next(row for row in found if row[0] == name)
    whole = ".".join('"' + part.replace('"', '""') + '"' for part in (catalog, schema, name))
    inside = name if schema == "main" else f"{schema}.{name}"
    # A table in memory lies nowhere, and is the same data to whoever calls it the same the next time.
    place = f"a DuckDB connection#{inside}" if path is None else table_place(Path(path), inside)
    value = connection.sql(f"SELECT * FROM {whole}")  # noqa: S608  quoted names
    return Frame(name=f"the table {table!r}", value=value, table=name, place=place)


def table_place(path: Path, table: str) -> str:
    """A table of a database file, as it is recognised."""
    return f"{path.resolve()}#{table}"


def _on_disk(given: str, table: str | None) -> Source:
    if "://" in given:
        raise InvalidParameter(
            "source",
            given.partition("://")[0] + "://...",
            "a local file: nothing is read over the network but databases",
            "Copy it here first, as with `aws s3 cp` or `curl -O`.",
        )
    path = Path(given)
    if is_address(given) and not path.exists():
        raise InvalidParameter("source", "an address in words", "a file, or an address such as postgresql://host/name")
    if path.is_file():
        program = _program(path)
        if program is not None:
            return DatabaseTable(name=repr(given), program=program, path=path, table=table)
        paths = [path]
    elif path.is_dir():
        paths = sorted(file for file in path.rglob("*") if file.is_file() and _format(file) and _is_data(file, path))
    else:
        # Not Path.glob, which takes no absolute patterns.
        found = glob.glob(given, recursive=True)  # noqa: PTH207
        paths = sorted(Path(file) for file in found if Path(file).is_file())
    if table is not None:
        raise InvalidParameter("table", table, "left out for files", "Only databases have several tables.")
    return _files(given, paths)


def _files(given: str, paths: list[Path]) -> Files:
    if not paths:
        raise UnreadableSource(_missing(given))
    formats = {_format(path) for path in paths}
    if len(formats) > 1:
        raise UnreadableSource(
            f"{given!r} cannot be read as one table: it holds files of several formats; name one of them"
        )
    found = formats.pop()
    if found is None:
        raise UnreadableSource(f"{given!r} cannot be read: its format is not known; {_ENDS}")
    for path in paths:
        _check(path)
    return Files(name=repr(given), format=found, paths=tuple(paths))


def _check(path: Path) -> None:
    name = repr(os.fspath(path))
    if path.stat().st_size == 0:
        raise UnreadableSource(f"{name} cannot be read: the file is empty (0 bytes); check what should have written it")
    if not os.access(path, os.R_OK):
        raise UnreadableSource(f"{name} cannot be read: permission denied; ask for it with: chmod +r {path}")


def _missing(given: str) -> str:
    path = Path(given)
    if path.is_dir():
        return f"{given!r} cannot be read: the directory holds no data files; {_ENDS}"
    if glob.has_magic(given):
        return f"{given!r} cannot be read: no file matches the pattern; try: ls {given}"
    if path.exists():
        return (
            f"{given!r} cannot be read: it is a pipe or a device, which can be read only once; write it to a file first"
        )
    siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, siblings, n=1)
    hint = f"did you mean {os.fspath(path.with_name(near[0]))!r}?" if near else "check the name and the directory"
    return f"{given!r} cannot be read: there is no such file; {hint}"


def _format(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] == ".gz" and suffixes[-2] in _FORMATS:
        found = _FORMATS[suffixes[-2]]
        return None if found == "parquet" else found
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _is_data(path: Path, folder: Path) -> bool:
    """Programs that write directories of files leave notes beside them, hidden or with an underscore."""
    return not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _program(path: Path) -> Literal["duckdb", "sqlite"] | None:
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return None
    if start == _SQLITE_MAGIC:
        return "sqlite"
    return "duckdb" if start[8:12] == _DUCKDB_MAGIC else None
