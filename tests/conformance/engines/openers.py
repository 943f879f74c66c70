"""Every kind of source, made from the same columns and opened: one entry for each, and a new engine adds one here."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hushcount.engines.columns import text_of
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.duckdb.sql import quoted
from hushcount.engines.engine import Engine
from hushcount.engines.spark.engine import open_spark
from tests.conformance.engines.reference import ReferenceEngine
from tests.conftest import RUNNING
from tests.local_spark import local_spark

Columns: TypeAlias = Mapping[str, Sequence[object]]

_ARROW = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "date": pa.date32(),
    "moment": pa.timestamp("us"),
}
_PANDAS = {"boolean": "boolean", "integer": "Int64", "real": "float64", "moment": "datetime64[us]"}


_UTC = pa.timestamp("us", tz="UTC")
# Values whose texts programs like to write differently, a column of each type, for engines that read Parquet.
TEXTS_OF_ALL_KINDS = pa.table(
    {
        "user": ["a", "b", "c", "d", "e", "f", "g"],
        "double": pa.array([1e16, 1.0, -0.0, 0.1, 1e-5, float("nan"), float("inf")], pa.float64()),
        "hard double": pa.array(
            [2e-3, 2.0e-323, 1.7976931348623157e308, 2.2250738585072014e-308, 1e22, 123456.7, -5e-324]
        ),
        "float": pa.array([0.1, 1e16, 16777216.0, 1e-7, -0.0, 3.4028235e38, None], pa.float32()),
        "decimal": pa.array(["0.0000001", "1.5", "-2.25", "0", "1000", "7", None]).cast(pa.decimal128(20, 7)),
        "whole decimal": pa.array(["1", "-1", "0", "12345678901234567890", "5", "6", None]).cast(pa.decimal128(20, 0)),
        "integer": pa.array([2**63 - 1, -(2**63), 0, 7, -7, 1, None], pa.int64()),
        "small": pa.array([255, 0, 1, 2, 3, 4, None], pa.uint8()),
        "boolean": pa.array([True, False, True, None, True, False, True]),
        "date": pa.array([0, -719162, 2932896, 1, -1, 19000, None], pa.int32()).cast(pa.date32()),
        "moment": pa.array([0, 1, 500_000, -1, 253402300799999999, -62135596800000000, None]).cast(pa.timestamp("us")),
        "zoned": pa.array([0, 1730615400000000, 1730619000000000, -1, 1720000000123456, 10**15, None]).cast(_UTC),
    }
)


def typed(columns: Columns) -> dict[str, tuple[str, list[object]]]:
    """Each column with the kind that the reference engine gives it, its values of that kind."""
    kinds = {column.name: column.kind for column in ReferenceEngine(columns).describe().columns}
    return {
        name: (kinds[name], list(map(text_of, values)) if kinds[name] == "text" else list(values))
        for name, values in columns.items()
    }


def arrow_table(columns: Columns) -> pa.Table:
    """An Arrow table."""
    return pa.table({name: pa.array(values, _ARROW[kind]) for name, (kind, values) in typed(columns).items()})


def rows_of_text(columns: Columns) -> list[tuple[str | None, ...]]:
    """The rows as texts."""
    return list(zip(*(map(text_of, values) for values in columns.values()), strict=True))


def write_delimited(path: Path, columns: Columns, *, delimiter: str, rows: slice = slice(None)) -> None:
    """A file in which a missing value is empty and every other one is in quotes."""

    def field(text: str | None) -> str:
        return "" if text is None else '"' + text.replace('"', '""') + '"'

    lines = [tuple(columns), *rows_of_text(columns)[rows]]
    text = "".join(delimiter.join(map(field, line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8", newline="")


def write_json_lines(path: Path, columns: Columns) -> None:
    """One object in each line; a missing value is null or is left out."""
    lines = []
    for n, row in enumerate(zip(*columns.values(), strict=True)):
        plain = {
            name: value if isinstance(value, int | str) else text_of(value)
            for name, value in zip(columns, row, strict=True)
        }
        kept = {name: value for name, value in plain.items() if value is not None or n % 2 == 0}
        lines.append(json.dumps(kept) + "\n")
    # A file of no bytes is refused; one of an empty line holds nothing.
    path.write_text("".join(lines) or "\n", encoding="utf-8")


def write_json_array(path: Path, columns: Columns) -> None:
    """The same objects in one array."""
    write_json_lines(path, columns)
    objects = path.read_text(encoding="utf-8").strip().splitlines()
    path.write_text("[\n" + ",\n".join(objects) + "\n]\n", encoding="utf-8")


def _parquet(columns: Columns, folder: Path) -> Path:
    pq.write_table(arrow_table(columns), folder / "data.parquet")
    return folder / "data.parquet"


def _csv(columns: Columns, folder: Path) -> Path:
    write_delimited(folder / "data.csv", columns, delimiter=",")
    return folder / "data.csv"


def _tsv(columns: Columns, folder: Path) -> Path:
    write_delimited(folder / "data.tsv", columns, delimiter="\t")
    return folder / "data.tsv"


def _json_lines(columns: Columns, folder: Path) -> Path:
    write_json_lines(folder / "data.jsonl", columns)
    return folder / "data.jsonl"


def _json_array(columns: Columns, folder: Path) -> Path:
    write_json_array(folder / "data.json", columns)
    return folder / "data.json"


def _compressed(columns: Columns, folder: Path) -> Path:
    write_delimited(folder / "data.csv", columns, delimiter=";")
    (folder / "data.csv.gz").write_bytes(gzip.compress((folder / "data.csv").read_bytes()))
    return folder / "data.csv.gz"


def _pattern(columns: Columns, folder: Path) -> str:
    write_delimited(folder / "part-1.csv", columns, delimiter=",", rows=slice(None, None, 2))
    write_delimited(folder / "part-2.csv", columns, delimiter=",", rows=slice(1, None, 2))
    return str(folder / "part-*.csv")


def _directory(columns: Columns, folder: Path) -> Path:
    table = arrow_table(columns)
    (folder / "parts" / "deep").mkdir(parents=True, exist_ok=True)
    (folder / "parts" / "_SUCCESS").touch()
    pq.write_table(table.slice(0, len(table) // 2), folder / "parts" / "a.parquet")
    pq.write_table(table.slice(len(table) // 2), folder / "parts" / "deep" / "b.parquet")
    return folder / "parts"


def _arrow(columns: Columns, folder: Path) -> Engine:
    return open_duckdb(arrow_table(columns))


def _arrow_reader(columns: Columns, folder: Path) -> Engine:
    return open_duckdb(arrow_table(columns).to_reader(max_chunksize=3))


def _pandas(columns: Columns, folder: Path) -> Engine:
    series = {
        name: pd.Series(values, dtype=_PANDAS.get(kind, "object")) for name, (kind, values) in typed(columns).items()
    }
    return open_duckdb(pd.DataFrame(series))


def _polars(columns: Columns, folder: Path) -> Engine:
    return open_duckdb(pl.from_arrow(arrow_table(columns)))


def _polars_lazy(columns: Columns, folder: Path) -> Engine:
    return open_duckdb(pl.from_arrow(arrow_table(columns)).lazy())


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for the whole run: to make one takes longer than to ask a question. It keeps nothing of what is written."""
    # Let go of before Python ends, or its library complains.
    RUNNING[0].config.add_cleanup(_database.cache_clear)
    return duckdb.connect()


def _relation(columns: Columns, folder: Path) -> Engine:
    # What is registered is seen by this cursor alone.
    cursor = _database().cursor()
    cursor.register("frame", arrow_table(columns))
    return open_duckdb(cursor.sql("SELECT * FROM frame"))


def _connection(columns: Columns, folder: Path) -> Engine:
    connection = duckdb.connect()
    connection.register("frame", arrow_table(columns))
    connection.execute("CREATE TABLE events AS SELECT * FROM frame")
    return open_duckdb(connection, table="events")


def _duckdb_file(columns: Columns, folder: Path) -> Path:
    (folder / "data.duckdb").unlink(missing_ok=True)
    with _database().cursor() as cursor:
        cursor.register("frame", arrow_table(columns))
        cursor.execute(f"ATTACH '{folder / 'data.duckdb'}' AS written")
        try:
            cursor.execute("CREATE TABLE written.events AS SELECT * FROM frame")
        finally:
            cursor.execute("DETACH written")
    return folder / "data.duckdb"


def _sqlite(columns: Columns, folder: Path) -> Path:
    (folder / "data.sqlite").unlink(missing_ok=True)
    connection = sqlite3.connect(folder / "data.sqlite")
    names = ", ".join(map(quoted, columns))
    connection.execute(f"CREATE TABLE events ({names})")
    holes = ", ".join("?" * len(columns))
    rows = [
        tuple(value if isinstance(value, int | str) else text_of(value) for value in row)
        for row in zip(*columns.values(), strict=True)
    ]
    plain = [tuple(text_of(value) if isinstance(value, bool) else value for value in row) for row in rows]
    connection.executemany(f"INSERT INTO events VALUES ({holes})", plain)  # noqa: S608 (no values)
    connection.commit()
    connection.close()
    return folder / "data.sqlite"


def _opened(write: Callable[[Columns, Path], Path | str], *, copied: bool = False) -> Callable[[Columns, Path], Engine]:
    """A file that is written and opened; or read from a private copy, as by an engine that stays open."""
    return lambda columns, folder: open_duckdb(write(columns, folder), copied=copied)


def spark_frame(columns: Columns) -> Any:
    """The rows in a DataFrame; moments without a zone stay so, which Spark else takes for those of the session's."""
    spark = local_spark()
    from pyspark.sql.pandas.types import from_arrow_schema

    table = arrow_table(columns)
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def _spark_frame(columns: Columns, folder: Path) -> Engine:
    return open_spark(spark_frame(columns))


def _spark_parquet(columns: Columns, folder: Path) -> Engine:
    local_spark()
    pq.write_table(arrow_table(columns), folder / "data.parquet")
    return open_spark(folder / "data.parquet")


def _spark_csv(columns: Columns, folder: Path) -> Engine:
    local_spark()
    write_delimited(folder / "data.csv", columns, delimiter=",")
    return open_spark(folder / "data.csv")


def _spark_json_lines(columns: Columns, folder: Path) -> Engine:
    local_spark()
    write_json_lines(folder / "data.jsonl", columns)
    return open_spark(folder / "data.jsonl")


def _spark_json_array(columns: Columns, folder: Path) -> Engine:
    local_spark()
    write_json_array(folder / "data.json", columns)
    (folder / "data.json.gz").write_bytes(gzip.compress((folder / "data.json").read_bytes()))
    return open_spark(folder / "data.json.gz")


def _spark_view(columns: Columns, folder: Path) -> Engine:
    spark_frame(columns).createOrReplaceTempView("events")
    return open_spark(local_spark(), table="events")


def open_reference(columns: Columns, folder: Path) -> Engine:
    """What all others are held against."""
    return ReferenceEngine(columns)


OPENERS: dict[str, Callable[[Columns, Path], Engine]] = {
    "parquet": _opened(_parquet),
    "csv": _opened(_csv),
    "tsv": _opened(_tsv),
    "compressed": _opened(_compressed),
    "json lines": _opened(_json_lines),
    "json array": _opened(_json_array),
    "pattern": _opened(_pattern),
    "directory": _opened(_directory),
    "arrow": _arrow,
    "arrow reader": _arrow_reader,
    "pandas": _pandas,
    "polars": _polars,
    "polars lazy": _polars_lazy,
    "relation": _relation,
    "connection": _connection,
    "duckdb file": _opened(_duckdb_file),
    "sqlite": _opened(_sqlite),
    "copied parquet": _opened(_parquet, copied=True),
    "copied csv": _opened(_csv, copied=True),
    "copied compressed": _opened(_compressed, copied=True),
    "copied json lines": _opened(_json_lines, copied=True),
    "copied directory": _opened(_directory, copied=True),
    "copied duckdb file": _opened(_duckdb_file, copied=True),
}

# Each question to Spark takes a tenth of a second or more, so it has a search of its own, with fewer examples.
SPARK: dict[str, Callable[[Columns, Path], Engine]] = {
    "spark frame": _spark_frame,
    "spark parquet": _spark_parquet,
    "spark csv": _spark_csv,
    "spark json lines": _spark_json_lines,
    "spark json array": _spark_json_array,
    "spark view": _spark_view,
}
