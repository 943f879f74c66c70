"""Sources for Spark: a DataFrame, files that Spark can see, or a table or view of its catalog.

Files are read by the workers, by their names. They are held open and stamped by this process, and the stamps compared
before and after: what `engines.files` says of files that are read by name holds here.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from hushcount.engines.delimited import csv_header
from hushcount.engines.files import HeldFiles
from hushcount.engines.sources import Files, is_spark, recognise
from hushcount.engines.spark.objects import Objects, find_objects, read_columns
from hushcount.engines.spark.selected import SparkColumn, columns_of, numbered
from hushcount.engines.spark.session import Session, attempt, literal_path, open_session
from hushcount.errors import InvalidInput, InvalidParameter, UnreadableSource
from hushcount.model.frozen import frozen
from hushcount.model.queries import Description

Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used

# What Spark is told to read as missing, where nothing stands between two delimiters: no text file holds this.
_NOTHING = "\x00\x01missing\x00"
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@frozen
class SparkSource:
    """Data that Spark can read.

    Attributes:
        name: how it is called in messages.
        session: the session that reads it.
        frame: all rows and columns; reading it anew may give something else. None for JSON.
        objects: where JSON is; its columns are not listed.
        files: the files behind it, if this machine can see them too.
        table: the whole name of a table of the session's catalog.
        far: the addresses of files that only Spark can see.
    """

    name: str
    session: Session
    frame: Frame = None
    objects: Objects | None = None
    files: HeldFiles | None = None
    table: str | None = None
    far: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len({column.name for column in self.columns}) < len(self.columns):
            raise InvalidInput(f"{self.name} has two columns of the same name; rename one of them")

    @property
    def columns(self) -> tuple[SparkColumn, ...]:
        """The columns, if they are listed."""
        return () if self.frame is None else columns_of(self.frame)

    def describe(self) -> Description:
        """The columns as everybody else knows them."""
        told = self.files is None or self.files.format not in {"csv", "tsv"}
        return Description(
            columns=tuple(column.plain for column in self.columns), listed=self.objects is None, told=told
        )

    def read(self, names: tuple[str, ...]) -> tuple[Frame, dict[str, SparkColumn]]:
        """A frame with at least the named columns, called by their places; and its columns by name."""
        if self.objects is None:
            return numbered(self.frame), {column.name: column for column in self.columns}
        columns = {name: SparkColumn(name=name, type_name="string", place=f"c{n}") for n, name in enumerate(names)}
        return read_columns(self.session, self.objects, names), columns


def open_source(source: object, *, table: str | None = None, master: str | None = None) -> SparkSource:
    """Open a source for Spark.

    Args:
        source: a DataFrame, a session (with `table`), the name of a file, a directory, a pattern or a table.
        table: a table or view of the session, or of the database that `source` names.
        master: where Spark runs, as in `open_session`.

    Raises:
        InvalidParameter: nothing that Spark can open.
        UnreadableSource: it is missing, broken or not permitted.
    """
    if is_spark(source):
        return _from_object(source, table)
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameter(
            "source", type(source).__name__, "a Spark DataFrame, a file name or a table for the engine 'spark'"
        )
    session, given = open_session(master), os.fspath(source).removeprefix("file://")
    if table is not None:
        return _from_table(session, f"{given}.{table}")
    if "://" in given:
        return _from_afar(session, given)
    try:
        found = recognise(given)
    except UnreadableSource:
        if "/" not in given and attempt(repr(given), lambda: session.catalog.tableExists(given)):
            return _from_table(session, given)
        raise
    if not isinstance(found, Files):
        raise InvalidParameter("source", given, "a file of CSV, JSON or Parquet for the engine 'spark'")
    return _from_files(session, HeldFiles(found))


def _from_object(source: Any, table: str | None) -> SparkSource:  # noqa: ANN401  a DataFrame or a session
    if ".connect." in type(source).__module__:
        raise InvalidParameter(
            "source",
            "Spark Connect",
            "of a session with a cluster or local master of its own",
            "Items are counted by jobs that Spark Connect cannot watch; use SparkSession.builder.master(...).",
        )
    if type(source).__name__ == "SparkSession":
        if table is None:
            raise InvalidParameter("table", table, "named for a Spark session", "Write for example: table='events'.")
        return _from_table(source, table)
    if table is not None:
        raise InvalidParameter("table", table, "left out", "A DataFrame is one table.")
    if source.isStreaming:
        raise InvalidParameter("source", "a stream", "a table that has an end", "Write the stream to a table first.")
    return SparkSource(name="the DataFrame", session=source.sparkSession, frame=source)


def _from_table(session: Session, name: str) -> SparkSource:
    called = f"the table {name!r}"
    frame = attempt(called, lambda: session.table(name), hint="check its name and its rights")
    found = attempt(called, lambda: session.catalog.getTable(name))
    # A temporary view has neither catalog nor namespace: it is known by its name alone.
    whole = ".".join(part for part in (found.catalog, *(found.namespace or ()), found.name) if part)
    return SparkSource(name=called, session=session, frame=frame, table=found.name if found.isTemporary else whole)


def _from_afar(session: Session, given: str) -> SparkSource:
    """Files that only Spark can see. Typed by the end of the name; what says nothing is Parquet."""
    scheme = given.partition("://")[0]
    if scheme.startswith(("postgres", "jdbc")):
        raise InvalidParameter(
            "source", f"{scheme}://...", "files or a table for the engine 'spark'", "Leave out --engine, or engine=."
        )
    bare = given.rstrip("/").removesuffix(".gz")
    found = next((name for suffix, name in _SUFFIXES.items() if bare.endswith(suffix)), "parquet")
    if found != "parquet":
        raise InvalidParameter(
            "source",
            f"{scheme}://...",
            "Parquet, if it is not on this machine",
            "Read it with spark.read, and hand over the DataFrame.",
        )
    # Keys may stand before the host.
    name = repr(f"{scheme}://{bare_address(given)}")
    frame = attempt(name, lambda: session.read.option("mergeSchema", "true").parquet(given), hint=_SCHEMA)
    first = attempt(name, lambda: session.read.option("mergeSchema", "false").parquet(given))
    if set(frame.columns) != set(first.columns):
        raise UnreadableSource(f"{name} cannot be read as one table: {_SCHEMA}")
    far = attempt(name, frame.inputFiles)
    addresses = tuple(sorted(f"{file.partition('://')[0]}://{bare_address(file)}" for file in far))
    return SparkSource(name=name, session=session, frame=frame, far=addresses)


def bare_address(address: str) -> str:
    """Host and path of an address, without user, password and options."""
    parts = urlsplit(address)
    return parts.netloc.rpartition("@")[2].lower() + parts.path


_SCHEMA = "it is not whole Parquet, or its files do not have the same columns; write it anew"


def _from_files(session: Session, files: HeldFiles) -> SparkSource:
    try:
        if files.format in {"json", "jsonl"}:
            return SparkSource(name=files.name, session=session, objects=find_objects(files), files=files)
        return SparkSource(name=files.name, session=session, frame=_read(session, files), files=files)
    except BaseException:
        files.close()
        raise


def _read(session: Session, files: HeldFiles) -> Frame:
    paths = [literal_path(str(path)) for path in files.paths]
    if files.format != "parquet":
        return _read_csv(session, files, paths)
    _check_same_columns(files)
    # One file is its own base: columns from the names of directories would not be covered by the version.
    reader = session.read.option("mergeSchema", "false")
    return attempt(files.name, lambda: reader.parquet(*paths), hint=_SCHEMA)


def _read_csv(session: Session, files: HeldFiles, paths: list[str]) -> Frame:
    """Columns of text. A quoted field may hold a line break, so each file is read by one task."""
    from pyspark.sql.types import StringType, StructField, StructType

    delimiter, names = csv_header(files)
    options = {
        "header": "true",
        "enforceSchema": "true",
        "sep": delimiter,
        "quote": '"',
        "escape": '"',
        "multiLine": "true",
        "nullValue": _NOTHING,
        "emptyValue": "",
        "mode": "FAILFAST",
        "encoding": "UTF-8",
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        "unescapedQuoteHandling": "RAISE_ERROR",
    }
    schema = StructType([StructField(name, StringType()) for name in names])
    return attempt(files.name, lambda: session.read.options(**options).schema(schema).csv(paths))


def _check_same_columns(files: HeldFiles) -> None:
    """Refuse Parquet files that differ in their columns: Spark would fill up what is missing, and say nothing."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schemas = [parquet.read_schema(path) for path in files.paths]
    except (pa.ArrowException, OSError):
        schemas = []
    if not schemas or any(not schema.equals(schemas[0]) for schema in schemas):
        raise UnreadableSource(f"{files.name} cannot be read: {_SCHEMA}")
