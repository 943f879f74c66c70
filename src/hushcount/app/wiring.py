"""Wiring: the one place that turns names into adapters."""

from __future__ import annotations

from hushcount.engines.engine import Engine
from hushcount.errors import InvalidParameter

ENGINES = ("duckdb",)


def open_engine(source: object, engine: str = "duckdb", *, table: str | None = None) -> Engine:
    """Open a source with an engine by name; `table` names one of several in a database."""
    if engine not in ENGINES:
        raise InvalidParameter("engine", engine, f"one of {', '.join(ENGINES)}")
    from hushcount.engines.duckdb import open_duckdb  # noqa: PLC0415  heavy

    return open_duckdb(source, table=table)
