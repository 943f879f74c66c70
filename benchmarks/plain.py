"""The plain query, people per item, as users of DuckDB, Polars and pandas write it: the fastest way that each has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path


def duckdb_query(file: Path) -> None:
    """In SQL, as DESIGN writes it."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(
            "SELECT item, count(DISTINCT user) AS people FROM read_parquet(?) GROUP BY item ORDER BY people DESC",
            [str(file)],
        ).fetchnumpy()


def polars_query(file: Path) -> None:
    """In Polars, which is faster by counting distinct people than by making pairs distinct."""
    import polars as pl

    people = pl.col("user").n_unique().alias("people")
    pl.scan_parquet(file).group_by("item").agg(people).sort("people", descending=True).collect()


def pandas_query(file: Path) -> None:
    """In pandas, all rows in memory."""
    import pandas as pd

    rows = pd.read_parquet(file, columns=["user", "item"])
    rows.drop_duplicates().groupby("item").size().sort_values(ascending=False)


PLAIN: dict[str, Callable[[Path], None]] = {"duckdb": duckdb_query, "polars": polars_query, "pandas": pandas_query}

if __name__ == "__main__":
    PLAIN[sys.argv[2]](Path(sys.argv[1]))
