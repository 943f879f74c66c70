"""The generated log of the DP-SIPS paper (section 5.1), in Parquet, of any number of people, made by all cores.

The number of items of a person is drawn from a Pareto law of scale 10 and shape 1.16, each item from a zeta law of
parameter 1.1. Two departures: a list ends at `longest` items, since the Pareto law gives one of millions of people a
list that no single process can hold, and an item ends at 2^63, where the sampler ends. Rows of a part are in
no order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_PEOPLE_IN_PART = 50_000
_SCALE, _SHAPE, _ZETA = 10, 1.16, 1.1


@dataclass(frozen=True, kw_only=True)
class Log:
    """A generated log: its folder, and how large it is."""

    folder: Path
    people: int
    rows: int

    @property
    def bytes_on_disk(self) -> int:
        """All files together."""
        return sum(file.stat().st_size for file in self.folder.glob("*.parquet"))


def write_synthetic(folder: Path, *, people: int, longest: int) -> Log:
    """Write a log in parts, each by its own seed, so that a larger log begins as a smaller one does."""
    folder.mkdir(parents=True)
    parts = [
        (folder, first, min(people, first + _PEOPLE_IN_PART), longest) for first in range(0, people, _PEOPLE_IN_PART)
    ]
    with get_context("spawn").Pool(os.cpu_count()) as pool:
        rows = sum(pool.starmap(_write_part, parts, chunksize=1))
    return Log(folder=folder, people=people, rows=rows)


def _write_part(folder: Path, first: int, last: int, longest: int) -> int:
    chance = np.random.default_rng(first)
    lengths = np.minimum(np.floor(_SCALE * (1 + chance.pareto(_SHAPE, last - first))), longest).astype(np.int64)
    users = np.repeat(np.arange(first, last), lengths)
    chance.shuffle(users)
    items = pa.array(chance.zipf(_ZETA, len(users))).cast(pa.string())
    pq.write_table(pa.table({"user": users, "item": items}), folder / f"part-{first:09}.parquet", compression="zstd")
    return len(users)
