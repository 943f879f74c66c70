"""A made-up reading log for the demo and the tests: realistic in shape, about nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hushcount.noise.source import SeededSource

_PLACES = ("harbour", "station", "market", "school", "hospital", "stadium", "airport", "library", "bridge", "museum")
_EVENTS = (
    "opens",
    "closes",
    "strike",
    "fire",
    "record",
    "budget",
    "vote",
    "festival",
    "flood",
    "delay",
    "award",
    "tour",
)
_TIMES = ("today", "tonight", "this week", "this year", "again")
_SHAPE, _FEWEST = 1.16, 3.0
_ARTICLES = len(_PLACES) * len(_EVENTS) * len(_TIMES)


def write_log(path: Path, readers: int, seed: int = 1) -> None:
    """Write a Parquet log: reader, article, search. Rows per reader are Pareto, readers per article Zipf."""
    import duckdb

    table = make_log(readers, seed)
    with duckdb.connect() as connection:
        connection.register("log", table)
        target = str(path).replace("'", "''")
        connection.execute(f"COPY log TO '{target}' (FORMAT parquet)")


def make_log(readers: int, seed: int = 1) -> dict[str, npt.NDArray[Any]]:
    """The log as columns. The seed makes the data, not the noise of any release."""
    source = SeededSource(seed)
    opened = np.minimum(_FEWEST * _uniform(source, "rows", readers) ** (-1 / _SHAPE), 300).astype(np.int64)
    reader = np.repeat(np.arange(readers), opened)
    weights = 1 / np.arange(1, _ARTICLES + 1) ** 1.1
    edges = np.cumsum(weights) / weights.sum()
    article = np.searchsorted(edges, _uniform(source, "articles", len(reader)))
    asked = np.searchsorted(edges, _uniform(source, "searches", len(reader)))
    titles = np.array(
        [f"{place} {event} {time}" for place in _PLACES for event in _EVENTS for time in _TIMES], dtype=object
    )
    titles = titles[np.argsort(source.draws("titles", _ARTICLES).words(0))]
    names = np.array([f"reader-{number:06d}" for number in range(readers)], dtype=object)
    return {"reader": names[reader], "article": titles[article], "search": titles[asked]}


def true_counts(path: Path) -> dict[str, int]:
    """The true number of readers of each article. Only for made-up data."""
    import duckdb

    with duckdb.connect() as connection:
        query = "SELECT article, count(DISTINCT reader) FROM read_parquet(?) GROUP BY article"
        return dict(connection.execute(query, [str(path)]).fetchall())


def _uniform(source: SeededSource, purpose: str, rows: int) -> npt.NDArray[np.float64]:
    return (source.draws(purpose, rows).words(0).astype(np.float64) + 0.5) * 2.0**-64
