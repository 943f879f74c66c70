"""Sources for Spark: a DataFrame, files that Spark can see, or a table or view of its catalog."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, TypeAlias

from hushcount.engines.delimited import csv_header
from hushcount.engines.sources import Files, is_spark, recognise
from hushcount.engines.spark.session import Session, attempt, open_session
from hushcount.errors import InvalidParameter, UnreadableSource

Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used

# What Spark is told to read as missing, where nothing stands between two delimiters: no text file holds this.
_NOTHING = "\x00\x01missing\x00"
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSource:
    """Data that Spark can read.

    Attributes:
        name: how it is called in messages.
        session: the session that reads it.
        frame: all rows and columns; reading it anew may give something else.
        files: the files behind it, if this machine can see them too.
    """

    name: str
    session: Session
    frame: Frame
    files: Files | None = None


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
        raise InvalidParameter("source", given, "a file of CSV, JSON lines or Parquet for the engine 'spark'")
    return SparkSource(name=found.name, session=session, frame=_read(session, found), files=found)


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
    frame = attempt(f"the table {name!r}", lambda: session.table(name), hint="check its name and its rights")
    return SparkSource(name=f"the table {name!r}", session=session, frame=frame)


def _from_afar(session: Session, given: str) -> SparkSource:
    """Files that only Spark can see. Typed by the end of the name; what says nothing is Parquet."""
    bare = given.rstrip("/").removesuffix(".gz")
    found = next((name for suffix, name in _SUFFIXES.items() if bare.endswith(suffix)), "parquet")
    if found != "parquet":
        raise InvalidParameter(
            "source",
            given.partition("://")[0] + "://...",
            "Parquet, if it is not on this machine",
            "Read it with spark.read, and hand over the DataFrame.",
        )
    name = repr(given)
    frame = attempt(name, lambda: session.read.option("mergeSchema", "true").parquet(given), hint=_SCHEMA)
    first = attempt(name, lambda: session.read.option("mergeSchema", "false").parquet(given))
    if set(frame.columns) != set(first.columns):
        raise UnreadableSource(f"{name} cannot be read as one table: {_SCHEMA}")
    return SparkSource(name=name, session=session, frame=frame)


_SCHEMA = "it is not whole Parquet, or its files do not have the same columns; write it anew"


def _read(session: Session, files: Files) -> Frame:
    paths = [_literal_path(os.path.abspath(path)) for path in files.paths]  # noqa: PTH100  links stay as they are
    reader = session.read
    match files.format:
        case "parquet":
            _check_same_columns(files)
            # One file is its own base: columns from the names of directories would not be covered by the version id.
            return attempt(files.name, lambda: reader.option("mergeSchema", "false").parquet(*paths), hint=_SCHEMA)
        case "csv" | "tsv":
            return _read_csv(session, files, paths)
        case "jsonl":
            options = {"mode": "FAILFAST", "primitivesAsString": "true", "encoding": "UTF-8"}
            return attempt(files.name, lambda: reader.options(**options).json(paths))
        case _:
            raise InvalidParameter(
                "source", files.name, "JSON lines for the engine 'spark'", "Name it .jsonl if each line is one object."
            )


def _read_csv(session: Session, files: Files, paths: list[str]) -> Frame:
    """Columns of text. A quoted field may hold a line break, so each file is read by one task."""
    from pyspark.sql.types import StringType, StructField, StructType  # noqa: PLC0415  heavy

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


def _check_same_columns(files: Files) -> None:
    """Refuse Parquet files that differ in their columns: Spark would fill up what is missing, and say nothing."""
    import pyarrow as pa  # noqa: PLC0415  comes with Spark
    from pyarrow import parquet  # noqa: PLC0415  as above

    try:
        schemas = [parquet.read_schema(path) for path in files.paths]
    except (pa.ArrowException, OSError):
        schemas = []
    if not schemas or any(not schema.equals(schemas[0]) for schema in schemas):
        raise UnreadableSource(f"{files.name} cannot be read: {_SCHEMA}")


def _literal_path(path: str) -> str:
    """A path in which Spark sees no pattern."""
    return "".join(f"\\{sign}" if sign in "*?[]{}\\" else sign for sign in path)
