"""Clipped sums on Spark: each person's ranked items become one list, and workers add up whole lists.

The sums over people are those of `engines.clipping`, by the same code; only sums leave a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from hushcount.engines import clipping
from hushcount.engines.rows import Ids
from hushcount.engines.spark.session import Session, attempt, mapped
from hushcount.model.inputs import Clip, Int64s, Ranked

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
_Batch: TypeAlias = Any  # pyarrow.RecordBatch


def ranked_lists(session: Session, pairs: _Frame, ranked: Ranked) -> _Frame:
    """The ranks of the ranked items that each person holds, as one list each; others have none.

    The ranked items are sent to every worker, so no pair is moved: each person's pairs are in one place already.
    """
    import pyarrow as pa
    from pyspark.sql import functions as F

    ranks = {item: rank for rank, item in enumerate(ranked.items.tolist()) if encodes(item)}
    table = pa.table({"item": pa.array(ranks, pa.string()), "rank": pa.array(ranks.values(), pa.int32())})
    known = pairs.join(F.broadcast(session.createDataFrame(table)), "item")
    return known.groupBy("person").agg(F.collect_list("rank").alias("ranks")).select("ranks")


def losses(name: str, lists: _Frame, ranked: Ranked, *, clips: Sequence[Clip], unit: int) -> Int64s:
    """What each clip takes away, in units of one person."""
    tables = clipping.segments(ranked, clips, np.arange(len(ranked.items)), unit=unit)
    return _added(name, lists, lambda offsets, ranks: clipping.losses(offsets, ranks, tables), length=len(clips))


def clipped(name: str, lists: _Frame, ranked: Ranked, *, clip: Clip) -> Int64s:
    """For each of the first ranked items, the sum of what people add to it under a clip."""
    clipping.check_clip(ranked, clip)
    amplitudes = ranked.amplitudes.copy()
    amplitudes[clip.first :] = 0
    radius = clip.radius

    def add(offsets: Int64s, ranks: Ids) -> Int64s:
        return clipping.clipped(offsets, ranks, amplitudes, radius=radius)

    return _added(name, lists, add, length=len(amplitudes))[: clip.first]


def _added(name: str, lists: _Frame, add: Callable[[Int64s, Ids], Int64s], *, length: int) -> Int64s:
    """The sum over all lists of what a function makes of the lists of a block; only sums come here."""
    from pyspark.sql import functions as F

    sums = mapped(lists, _by_partition(add, length), "place int, value bigint")
    table = attempt(name, sums.groupBy("place").agg(F.sum("value").alias("value")).toArrow)
    total = np.zeros(length, dtype=np.int64)
    total[table.column(0).to_numpy()] = table.column(1).to_numpy()
    return total


def _by_partition(add: Callable[[Int64s, Ids], Int64s], length: int) -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    """What a worker does with the lists of a partition."""

    def run(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        import pyarrow as pa

        total = np.zeros(length, dtype=np.int64)
        for batch in batches:
            if batch.num_rows:
                lists = batch.column(0)
                ends = lists.offsets.to_numpy().astype(np.int64)
                total += add(ends - ends[0], lists.values.to_numpy()[ends[0] : ends[-1]])
        places = np.flatnonzero(total)
        columns = [pa.array(places, pa.int32()), pa.array(total[places], pa.int64())]
        yield pa.RecordBatch.from_arrays(columns, ["place", "value"])

    return run


def encodes(text: str) -> bool:
    """Whether a text is Unicode; what is not is in no Spark table."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)
