"""Real logs, loaded once: who has what, as the in-memory engine holds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest

from hushcount.engines.memory import MemoryIncidence, encoded_incidence
from hushcount.model.inputs import Histogram


@dataclass(frozen=True)
class Log:
    """One data set: its name, who has what, and how many people have each item."""

    name: str
    incidence: MemoryIncidence
    histogram: Histogram

    def true_counts(self, items: np.ndarray) -> np.ndarray:
        """How many people really have each of these items."""
        known = dict(zip(self.histogram.items.tolist(), self.histogram.counts.tolist(), strict=True))
        return np.array([known[item] for item in items.tolist()], dtype=np.int64)


_ITEMS = "SELECT DISTINCT item FROM read_parquet($file) ORDER BY item"
_PAIRS = f"""
    WITH ids AS (SELECT item, row_number() OVER (ORDER BY item) - 1 AS id FROM ({_ITEMS}))
    SELECT user, id FROM read_parquet($file) JOIN ids USING (item) ORDER BY user
"""  # noqa: S608  no outside input


def load(file: Path) -> MemoryIncidence:
    """The pairs of a file. DuckDB turns items into numbers, since texts are slow to carry over."""
    with duckdb.connect() as connection:
        items = connection.execute(_ITEMS, {"file": str(file)}).fetchnumpy()["item"]
        pairs = connection.execute(_PAIRS, {"file": str(file)}).fetchnumpy()
    starts = np.flatnonzero(np.diff(pairs["user"], prepend=pairs["user"][0] - 1))
    return encoded_incidence(
        items=items,
        offsets=np.append(starts, len(pairs["id"])).astype(np.int64),
        ids=pairs["id"],
        users=pairs["user"][starts],
    )


@pytest.fixture(scope="session")
def log(request, data_dir) -> Log:
    """The data set that a test names as its parameter. Tests of one data set run together, so one is held at a time."""
    incidence = load(data_dir / f"{request.param}.parquet")
    return Log(name=request.param, incidence=incidence, histogram=incidence.histogram())
