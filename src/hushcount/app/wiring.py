"""Wiring: the one place that turns names into adapters."""

from __future__ import annotations

from typing import cast

from hushcount.engines.engine import Engine
from hushcount.engines.sources import is_spark
from hushcount.errors import InvalidParameter

ENGINES = ("duckdb", "spark")


def open_engine(
    source: object, engine: str | None = None, *, table: str | None = None, master: str | None = None
) -> Engine:
    """Open a source with an engine by name; an engine stays as it is.

    Args:
        source: the data.
        engine: a name; None takes Spark for what Spark holds and DuckDB for all else.
        table: one of several tables in a database.
        master: where Spark runs.
    """
    if is_spark(source):
        return _open_spark(source, engine or "spark", table, master)
    if callable(getattr(source, "histogram", None)) and callable(getattr(source, "incidence", None)):
        return cast("Engine", source)
    engine = engine or "duckdb"
    if engine not in ENGINES:
        raise InvalidParameter("engine", engine, f"one of {', '.join(ENGINES)}")
    if engine == "spark":
        return _open_spark(source, engine, table, master)
    if master is not None:
        raise InvalidParameter("master", master, "left out unless Spark reads the data", "Write --engine spark.")
    from hushcount.engines.duckdb.engine import open_duckdb  # noqa: PLC0415  heavy

    return open_duckdb(source, table=table)


def _open_spark(source: object, engine: str, table: str | None, master: str | None) -> Engine:
    if engine != "spark":
        raise InvalidParameter("engine", engine, "'spark' for data that Spark holds")
    from hushcount.engines.spark.engine import open_spark  # noqa: PLC0415  heavy

    return open_spark(source, table=table, master=master)
