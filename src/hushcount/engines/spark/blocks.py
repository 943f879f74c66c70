"""Blocks of items on Spark: counts, weights and sums stay where they are; only what is released comes here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hushcount.engines.spark.lists import listed_items
from hushcount.engines.spark.session import attempt, mapped
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram, Int64s, Items, Shown, SummedItems, WeightedHistogram

if TYPE_CHECKING:
    from hushcount.model.inputs import Counts, Sums, Weights

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
_Batch: TypeAlias = Any  # pyarrow.RecordBatch


@frozen
class SparkCounts:
    """Items and counts in a DataFrame of the columns item and value, each item once. Always complete."""

    name: str
    frame: _Frame
    complete: bool = field(default=True, init=False)

    def each(self, step: Callable[[Histogram], Shown]) -> Shown:
        """Apply a step to all items where they are, block by block; only what it shows comes here."""

        def apply(items: Items, counts: Int64s) -> Shown:
            return step(Histogram(items=items, counts=counts, complete=True))

        return _collected(self.name, mapped(self.frame, _by_block(apply), "item string, value bigint"))

    def of(self, listed: Items) -> Int64s:
        """The count of each listed item; only these come here."""
        wanted = self.frame.join(listed_items(self.frame.sparkSession, listed), "item", "left_semi")
        items, counts = _collected(self.name, wanted)
        return Histogram(items=items, counts=counts, complete=True).of(listed)

    def largest(self, top: int) -> Histogram:
        """The largest counts, ties by item. One row more is fetched, to know whether there are more."""
        from pyspark.sql import functions as F

        ranked = self.frame.orderBy(F.col("value").desc(), F.col("item").asc()).limit(top + 1)
        items, counts = _collected(self.name, ranked)
        return Histogram(items=items[:top], counts=counts[:top], complete=len(items) <= top)


@frozen
class SparkWeights:
    """Items and weights in a DataFrame of the columns item and value, each item once."""

    name: str
    frame: _Frame
    unit: int

    def each(self, step: Callable[[WeightedHistogram], Items]) -> Items:
        """Apply a step to all items where they are, block by block; only what it names comes here."""
        unit = self.unit

        def apply(items: Items, weights: Int64s) -> Shown:
            named = step(WeightedHistogram(items=items, weights=weights, unit=unit))
            return named, np.zeros(len(named), dtype=np.int64)

        return _collected(self.name, mapped(self.frame, _by_block(apply), "item string, value bigint"))[0]


@frozen
class SparkSums:
    """Items and sums in a DataFrame of the column item and one column for each sum, each item once."""

    name: str
    frame: _Frame

    def each(self, step: Callable[[SummedItems], Items]) -> Items:
        """Apply a step to all items where they are, block by block; only what it names comes here."""

        def run(batches: Iterator[_Batch]) -> Iterator[_Batch]:
            import pyarrow as pa

            for batch in batches:
                if batch.num_rows:
                    sums = [_integers(batch, column) for column in range(1, batch.num_columns)]
                    named = step(SummedItems(items=_texts(batch), sums=np.stack(sums, axis=1)))
                    yield pa.RecordBatch.from_arrays([pa.array(named, batch.column(0).type)], ["item"])

        return _texts(attempt(self.name, mapped(self.frame, run, "item string").toArrow))


def _by_block(apply: Callable[[Items, Int64s], Shown]) -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    """What a worker does with the items of a partition."""

    def run(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                items, values = apply(*_arrays(batch))
                columns = [pa.array(items, batch.column(0).type), pa.array(values, pa.int64())]
                yield pa.RecordBatch.from_arrays(columns, ["item", "value"])

    return run


def _collected(name: str, frame: _Frame) -> Shown:
    return _arrays(attempt(name, frame.toArrow))


def _arrays(table: Any) -> Shown:  # noqa: ANN401  a pyarrow table or batch of items and values
    return _texts(table), _integers(table, 1)


def _texts(table: Any) -> Items:  # noqa: ANN401  as above
    items = np.empty(table.num_rows, dtype=object)
    items[:] = table.column(0).to_pylist()
    return items


def _integers(table: Any, column: int) -> Int64s:  # noqa: ANN401  as above
    return np.asarray(table.column(column).to_numpy(zero_copy_only=False), dtype=np.int64)


if TYPE_CHECKING:
    _is_counts: type[Counts] = SparkCounts
    _is_weights: type[Weights] = SparkWeights
    _is_sums: type[Sums] = SparkSums
