"""Loading: a source becomes something that a DuckDB connection of the engine's own can read, and stays as it is.

Files are read where they are, as `engines.files` holds them; so is a table of a DuckDB file, which no other program can
write while it is attached. Everything else is copied once: frames, relations, views, SQLite and PostgreSQL tables. All
answers are then about one state of the data, the one that the version names. For an engine that stays open, files and
tables of DuckDB are copied as well.

CSV gives text columns: guessing types from the first rows would make a file fail, or mean something else, by what its
later rows hold. In CSV an empty field is missing and "" is the empty text. Of JSON exactly the columns are read that a
question names, as text: neither which keys there are nor what they hold is looked at before.

Only local files are read, and no extension of DuckDB is installed or loaded: SQLite is read by Python's own module and
PostgreSQL by psycopg, both as text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from hushcount.engines.copies import copy_files, kept_copies
from hushcount.engines.delimited import csv_header
from hushcount.engines.digests import Digests
from hushcount.engines.duckdb.attempts import attempt
from hushcount.engines.duckdb.copying import copy_frame, copy_sqlite
from hushcount.engines.duckdb.servers import copy_postgres
from hushcount.engines.duckdb.sql import DuckDBColumn, Typed, quoted, spelled
from hushcount.engines.files import Copies, HeldFiles, StampedFiles
from hushcount.engines.sources import DatabaseTable, Files, Frame, ServerTable, Source, choose_table, table_place
from hushcount.model.frozen import frozen
from hushcount.model.queries import Description

_Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used

# A row of CSV and an object of JSON may be so long, in bytes.
_LONGEST_ROW = 2**26


@frozen
class Copying:
    """Where copies go.

    Attributes:
        folder: a private folder that is removed with the engine.
        kept: a folder in which copies of files are kept for others and for the next time; None to keep none.
    """

    folder: Path
    kept: Path | None = None

    def copies(self, files: Files) -> Copies:
        """Copies of files."""
        return copy_files(files, self.folder) if self.kept is None else kept_copies(files, self.kept)


@frozen
class Loaded:
    """A source that can be read.

    Attributes:
        source: what it was.
        columns: the columns by name; None if they are not listed.
        files: the files, held, if it is files.
        watched: what must not change, if it is read where it is.
        table: the name of the table, if it is one.
        places: where that table is, in all ways by which it may be recognised.
        is_parsed: whether reading it means to parse texts, each time again.
    """

    source: Source
    columns: Typed | None
    files: HeldFiles | None = None
    watched: StampedFiles | None = None
    table: str | None = None
    places: tuple[str, ...] = ()
    is_parsed: bool = False

    def describe(self) -> Description:
        """The columns as everybody else knows them."""
        if self.columns is None:
            return Description(columns=(), listed=False)
        named = isinstance(self.source, Files) and self.source.format in {"csv", "tsv"}
        return Description(columns=tuple(column.plain for column in self.columns.values()), told=not named)

    def typed(self, names: tuple[str, ...]) -> Typed:
        """The columns that a question may name."""
        return self.columns or {name: DuckDBColumn(name=name, type_name="VARCHAR") for name in names}

    def rows_sql(self, names: tuple[str, ...]) -> str:
        """SQL for what to select from, so that it has the named columns."""
        if self.columns is not None or self.files is None:
            return "data"
        columns = ", ".join(f"{spelled(name)}: 'VARCHAR'" for name in names)
        return _union(self.files, "read_json", f"{_json_options(self.files)}, records=true, columns={{{columns}}}")

    def objects_sql(self) -> str:
        """SQL for a SELECT of the column `json`, with all that there is, where columns are not listed."""
        return _union(self.files, "read_json_objects", _json_options(self.files)) if self.files else "data"


def load(
    connection: _Connection, source: Source, copying: Copying | None = None, *, known: Digests | None = None
) -> Loaded:
    """Make a source readable; mostly as the table or view `data`.

    Args:
        connection: what reads it.
        source: what it is.
        copying: if everything is to be copied, so that nothing outside is read or locked later.
        known: digests of files that were made before.
    """
    match source:
        case Files():
            return _load_files(connection, source, copying, known=known)
        case Frame():
            copy_frame(connection, source)
            lies = () if source.place is None else (source.place,)
            return Loaded(source=source, columns=_columns(connection, source), table=source.table, places=lies)
        case DatabaseTable(program="duckdb"):
            return _attach(connection, source, copied=copying is not None)
        case DatabaseTable():
            table = copy_sqlite(connection, source)
            lies = (table_place(source.path, table),)
            return Loaded(source=source, columns=_columns(connection, source), table=table, places=lies)
        case ServerTable():
            table, places = copy_postgres(connection, source)
            return Loaded(source=source, columns=_columns(connection, source), table=table, places=places)


def _columns(connection: _Connection, source: Source) -> Typed:
    described = attempt(source, lambda: connection.execute("DESCRIBE data").fetchall())
    return {name: DuckDBColumn(name=name, type_name=type_name) for name, type_name, *_ in described}


def _load_files(connection: _Connection, files: Files, copying: Copying | None, *, known: Digests | None) -> Loaded:
    held = HeldFiles(files, None if copying is None else copying.copies(files), known)
    try:
        if files.format in {"json", "jsonl"}:
            return Loaded(source=files, columns=None, files=held, watched=held, is_parsed=True)
        # Columns from the names of directories would not be covered by the version.
        reader, options = "read_parquet", "hive_partitioning=false"
        if files.format != "parquet":
            reader, options = "read_csv", _csv_options(held)
        rows = _union(held, reader, options)
        parsed = reader == "read_csv"
        if parsed and copying is not None:
            rows, parsed = _parsed_once(connection, files, rows, copying.folder), False
        attempt(files, lambda: connection.execute(f"CREATE VIEW data AS SELECT * FROM {rows}"))  # noqa: S608
        return Loaded(source=files, columns=_columns(connection, files), files=held, watched=held, is_parsed=parsed)
    except BaseException:
        held.close()
        raise


def _parsed_once(connection: _Connection, files: Files, rows: str, folder: Path) -> str:
    """The texts of CSV as a Parquet file of our own: they are parsed once and not for each question."""
    own = spelled(str(folder / "parsed.parquet"))
    attempt(files, lambda: connection.execute(f"COPY (SELECT * FROM {rows}) TO {own} (FORMAT parquet)"))  # noqa: S608
    return f"read_parquet({own}, hive_partitioning=false)"


def _union(files: HeldFiles, reader: str, options: str) -> str:
    """SQL for all files together; compressed ones on their own, since their names are not seen."""
    parts = []
    for compressed in (False, True):
        places = [files.place(n) for n in range(len(files.paths)) if files.is_compressed(n) == compressed]
        if places:
            listed = ", ".join(spelled(literal_path(place)) for place in places)
            more = "" if reader == "read_parquet" else f", compression='{'gzip' if compressed else 'none'}'"
            parts.append(f"SELECT * FROM {reader}([{listed}], {options}{more})")  # noqa: S608
    return f"({' UNION ALL '.join(parts)})"


def literal_path(path: str) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def _csv_options(files: HeldFiles) -> str:
    delimiter, names = csv_header(files)
    columns = ", ".join(f"{spelled(name)}: 'VARCHAR'" for name in names)
    return (
        f"auto_detect=false, header=true, columns={{{columns}}}, delim={spelled(delimiter)}, "
        "quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, null_padding=false, ignore_errors=false, "
        f"strict_mode=true, max_line_size={_LONGEST_ROW}, buffer_size={2 * _LONGEST_ROW}, hive_partitioning=false"
    )


def _json_options(files: HeldFiles) -> str:
    layout = "newline_delimited" if files.format == "jsonl" else "auto"
    return f"format='{layout}', maximum_object_size={_LONGEST_ROW}, hive_partitioning=false"


def _attach(connection: _Connection, database: DatabaseTable, *, copied: bool) -> Loaded:
    """A table is read where it is. A view is copied: it may give something else each time, or read other files.

    An engine that stays open copies tables too: while a file is attached, no other program can write into it.
    """
    watched = StampedFiles(database.name, (database.path,))
    attempt(database, lambda: connection.execute(f"ATTACH {spelled(str(database.path))} AS attached (READ_ONLY)"))
    find = (
        "SELECT table_name, table_type FROM information_schema.tables "
        "WHERE table_catalog = 'attached' AND table_schema = 'main'"
    )
    types = dict(attempt(database, lambda: connection.execute(find).fetchall()))
    name = choose_table(database.table, types)
    table = f"attached.main.{quoted(name)}"
    described = attempt(database, lambda: connection.execute(f"DESCRIBE {table}").fetchall())
    # Texts that differ are different, even in a column for which the database says otherwise.
    plain = [
        f'{quoted(name)} COLLATE "binary" AS {quoted(name)}' if type_name == "VARCHAR" else quoted(name)
        for name, type_name, *_ in described
    ]
    # What is computed anew at each reading, as a view or a generated column is, is copied: one state for all answers.
    written = (
        "SELECT sql FROM duckdb_tables() WHERE database_name = 'attached' AND schema_name = 'main' AND table_name = ?"
    )
    told = attempt(database, lambda: connection.execute(written, [name]).fetchone())
    in_place = (
        not copied and types[name] == "BASE TABLE" and told is not None and "GENERATED" not in str(told[0]).upper()
    )
    made = f"CREATE {'VIEW' if in_place else 'TABLE'} data AS SELECT {', '.join(plain)} FROM {table}"  # noqa: S608
    attempt(database, lambda: connection.execute(made))
    if not in_place:
        attempt(database, lambda: connection.execute("DETACH attached"))
    watched.check()
    return Loaded(
        source=database,
        columns=_columns(connection, database),
        watched=watched if in_place else None,
        table=name,
        places=(table_place(database.path, name),),
    )
