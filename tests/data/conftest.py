"""Real logs, loaded once: who has what, as the in-memory engine holds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.incidence import MemoryIncidence
from hushcount.model.inputs import Histogram
from hushcount.model.queries import Selection


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


def load(file: Path) -> MemoryIncidence:
    """The pairs of a file, as the product reads them."""
    return open_duckdb(file).incidence(Selection(user="user", item="item"))


@pytest.fixture(scope="session")
def log(request, data_dir) -> Log:
    """The data set that a test names as its parameter. Tests of one data set run together, so one is held at a time."""
    incidence = load(data_dir / f"{request.param}.parquet")
    return Log(name=request.param, incidence=incidence, histogram=incidence.histogram())
