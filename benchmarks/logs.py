"""Logs to measure on: generated ones of any size, and real ones where there are any."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import duckdb
import numpy as np

from hushcount.engines.incidence import MemoryIncidence, encoded_incidence
from hushcount.model.inputs import Histogram, Items

_ITEMS = "SELECT DISTINCT item FROM read_parquet($file) ORDER BY item"
_PAIRS = f"""
    WITH ids AS (SELECT item, row_number() OVER (ORDER BY item) - 1 AS id FROM ({_ITEMS}))
    SELECT user, id FROM read_parquet($file) JOIN ids USING (item) ORDER BY user
"""  # noqa: S608  no outside input


def generated(pairs: int) -> MemoryIncidence:
    """About so many pairs: items by Zipf's law, exponent 1.1; lengths of lists by Pareto's, from 10 up, shape 1.16.

    Pairs that are drawn twice count once, so more are drawn.
    """
    chance = np.random.default_rng(7)
    drawn = round(1.6 * pairs)
    lengths = np.minimum(10 * (1 + chance.pareto(1.16, 1 + drawn // 20)), 10_000).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    offsets = offsets[: np.searchsorted(offsets, drawn) + 1]
    kinds = max(1000, pairs // 5)
    weights = np.cumsum(np.arange(1, kinds + 1) ** -1.1)
    ids = np.searchsorted(weights, chance.random(int(offsets[-1])) * weights[-1])
    return encoded_incidence(items=_names(kinds), offsets=offsets, ids=ids)


def generated_histogram(items: int) -> Histogram:
    """So many items with counts that fall as their rank to the power 1.1, the rarest held by one person."""
    counts = np.maximum(1, 2_000_000 * np.arange(1, items + 1) ** -1.1).astype(np.int64)
    return Histogram(items=_names(items), counts=counts, complete=True)


def data_folder() -> Path | None:
    """The folder of real data that HUSHCOUNT_DATA names, or None."""
    said = os.environ.get("HUSHCOUNT_DATA")
    return Path(said) if said and any(Path(said).glob("*.parquet")) else None


@lru_cache(maxsize=2)
def load(file: Path) -> MemoryIncidence:
    """The pairs of a file with the columns user and item, kept for the next section."""
    with duckdb.connect() as connection:
        items = connection.execute(_ITEMS, {"file": str(file)}).fetchnumpy()["item"]
        pairs = connection.execute(_PAIRS, {"file": str(file)}).fetchnumpy()
    starts = np.flatnonzero(np.diff(pairs["user"], prepend=pairs["user"][0] - 1))
    return encoded_incidence(items=items, offsets=np.append(starts, len(pairs["id"])), ids=pairs["id"])


def write_log(folder: Path, pairs: int, *, items: int) -> Path:
    """A Parquet log of so many distinct pairs: items by Zipf's law, lists of up to 29 on average by Pareto's, 1.5."""
    chance = np.random.default_rng(7)
    file = folder / f"log-{pairs}-{items}.parquet"
    weights = np.cumsum(np.arange(1, items + 1) ** -1.0)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE log (user INTEGER, item VARCHAR)")
        done, first = 0, 0
        while done < pairs:
            people = min(200_000, 1 + (pairs - done) // 30)
            lengths = np.minimum(12 * (1 + chance.pareto(1.5, people)), 10_000).astype(np.int64)
            user = np.repeat(np.arange(first, first + people, dtype=np.int32), lengths)
            rank = np.searchsorted(weights, chance.random(len(user)) * weights[-1])
            connection.register("part", {"user": user, "rank": rank})
            connection.execute("INSERT INTO log SELECT DISTINCT user, 'item ' || rank FROM part")
            connection.unregister("part")
            first += people
            done = int(connection.execute("SELECT count(*) FROM log").fetchall()[0][0])
        connection.execute(f"COPY (FROM log LIMIT {pairs}) TO '{file}' (FORMAT parquet)")
    return file


def _names(count: int) -> Items:
    names = np.empty(count, dtype=object)
    names[:] = [f"item {number:07}" for number in range(count)]
    return names
