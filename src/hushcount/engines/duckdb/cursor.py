"""A cursor: what one question reads with."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import numpy as np

from hushcount.compiled.cores import kept_thread
from hushcount.engines.duckdb.arrow import Column, batches
from hushcount.engines.duckdb.attempts import attempt
from hushcount.engines.sources import Source
from hushcount.model.frozen import frozen

_Cursor: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used


@frozen
class Cursor:
    """A connection of one question alone: its temporary tables are seen by nobody else, and go with it."""

    source: Source
    own: _Cursor

    def run(self, sql: str, parameters: list[object]) -> None:
        """Do something."""
        attempt(self.source, lambda: self.own.execute(sql, parameters))

    def row(self, sql: str, parameters: list[object]) -> tuple[Any, ...]:
        """The only row of an answer."""
        # All of it, since a result that is not fetched to its end holds the connection.
        found: list[tuple[Any, ...]] = attempt(self.source, lambda: self.own.execute(sql, parameters).fetchall())
        return found[0]

    def columns(self, sql: str, parameters: list[object]) -> dict[str, Any]:
        """An answer as arrays by name."""
        arrays = attempt(self.source, lambda: self.own.execute(sql, parameters).fetchnumpy())
        return {name: np.asarray(values) for name, values in arrays.items()}

    def batches(self, sql: str, parameters: list[object], kinds: tuple[type, ...]) -> Generator[tuple[Column, ...]]:
        """The columns of an answer, some rows after the other, as `arrow.batches` says; it has no missing values.

        While one batch is worked on, the next is made by another core. Its columns are gone when the next is asked for.
        """
        stream = attempt(self.source, lambda: self.own.sql(sql, params=parameters).__arrow_c_stream__())
        found = batches(stream, kinds)
        with kept_thread() as ahead:
            waiting = ahead.submit(next, found, None)
            try:
                while (batch := attempt(self.source, waiting.result)) is not None:
                    with batch as columns:
                        waiting = ahead.submit(next, found, None)
                        yield columns
            finally:
                # If nobody wants the rest.
                if waiting.exception() is None and (batch := waiting.result()) is not None:
                    batch.release()
