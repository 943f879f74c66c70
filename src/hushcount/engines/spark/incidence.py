"""Who has what on Spark: one kept shuffle by person, which every round and every sum goes on from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hushcount.engines import clipping
from hushcount.engines.engine import refuse_sequential
from hushcount.engines.hashing import role_keys
from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.spark.blocks import SparkCounts, SparkSums, SparkWeights
from hushcount.engines.spark.packed import arrow_texts, unpack
from hushcount.engines.spark.session import attempt, mapped
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.inputs import (
    LARGEST,
    Bound,
    Clip,
    Histogram,
    Int64s,
    Items,
    LengthWeights,
    Ranked,
    UniformWeights,
    UserLists,
)
from hushcount.model.texts import SortedTexts

if TYPE_CHECKING:
    from hushcount.model.inputs import Incidence

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
_Batch: TypeAlias = Any  # pyarrow.RecordBatch
_Summed: TypeAlias = tuple[Items | SortedTexts, Int64s]

# Workers check what their own part comes to; on a grid no finer than this, so many parts stay within 64 bits.
_FINEST = 30
# So many sums of parts are added up here; of more, Spark adds those of all parts, by a shuffle of its own.
_FEW_SUMS = 1 << 22


@dataclass(frozen=True, kw_only=True)
class SparkIncidence:
    """Who has what, as a kept DataFrame of packed lists, in so many parts; each person is in one of its rows."""

    name: str
    packed: _Frame
    parts: int

    def weights(self, rule: UniformWeights) -> SparkWeights:
        """Sum of everyone's uniform weights after bounding: one shuffle."""
        unit = 1 << _checked(rule)

        def weigh(held: MemoryIncidence) -> _Summed:
            found = held.weights(rule)
            return found.items, found.weights[:, None]

        return SparkWeights(name=self.name, frame=self._by_item(weigh, ["value"]), unit=unit)

    def sums(self, rule: LengthWeights) -> SparkSums:
        """Sums of what everyone adds after bounding: one shuffle."""
        _check_bound(rule.bound)

        def add(held: MemoryIncidence) -> _Summed:
            found = held.sums(rule)
            return found.items, found.sums

        names = [f"sum{column}" for column in range(len(rule.columns))]
        return SparkSums(name=self.name, frame=self._by_item(add, names))

    def counts(self, bound: Bound) -> SparkCounts:
        """How many people hold each item after bounding: one shuffle."""
        _check_bound(bound)
        return self._counted(lambda held: held.counts(bound))

    def largest(self, top: int) -> Histogram:
        """People per item, nobody bounded: the `top` largest counts, ties by item."""
        return self._counted(MemoryIncidence.histogram).largest(whole("top", top))

    def everyone(self, rule: UniformWeights) -> int:
        """What an item would weigh that everybody had: one sum over people."""
        _checked(rule)
        whole("bits", rule.bits, most=_FINEST)
        return int(self._added(lambda held: np.array([held.everyone(rule)]), length=1)[0])

    def held(self, listed: Items) -> int:
        """How many pairs of a person and a listed item there are."""
        return int(self._added(lambda held: np.array([held.held(listed)]), length=1)[0])

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """What each clip takes away, in units of one person."""
        for clip in clips:
            clipping.check_clip(ranked, clip)
        if whole("unit", unit, most=2**_FINEST) and not len(ranked.items):
            raise InvalidInput("nothing is ranked, so nothing can be clipped")
        return self._added(lambda held: held.losses(ranked, clips, unit=unit), length=len(clips))

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """For each of the first ranked items, the sum of what people add to it under a clip."""
        clipping.check_clip(ranked, clip)
        return self._added(lambda held: held.clipped(ranked, clip), length=clip.first)

    def lists(self, bound: Bound, order: Literal["key", "frequency"]) -> UserLists:
        """Refused: people cannot be visited one after another here."""
        del bound, order
        refuse_sequential("policy")

    def _counted(self, count: Callable[[MemoryIncidence], Histogram]) -> SparkCounts:
        def counted(held: MemoryIncidence) -> _Summed:
            found = count(held)
            return found.items, found.counts[:, None]

        return SparkCounts(name=self.name, frame=self._by_item(counted, ["value"]))

    def _by_item(self, add: Callable[[MemoryIncidence], _Summed], names: list[str]) -> _Frame:
        """Sums for each item of what a function makes of the lists of a row, a column for each."""
        from pyspark.sql import functions as F

        def run(batches: Iterator[_Batch]) -> Iterator[_Batch]:
            import pyarrow as pa

            for held in unpack(batches):
                items, sums = add(held)
                columns = [pa.array(sums[:, column]) for column in range(len(names))]
                yield pa.RecordBatch.from_arrays([arrow_texts(items), *columns], ["item", *names])

        schema = ", ".join(["item string", *(f"{name} bigint" for name in names)])
        return mapped(self.packed, run, schema).groupBy("item").agg(*(F.sum(name).alias(name) for name in names))

    def _added(self, add: Callable[[MemoryIncidence], Int64s], *, length: int) -> Int64s:
        """The sum over all rows of what a function makes of the lists of one; only sums leave a worker, one a part."""
        from pyspark.sql import functions as F

        def run(batches: Iterator[_Batch]) -> Iterator[_Batch]:
            import pyarrow as pa

            total = np.zeros(length, dtype=np.int64)
            for held in unpack(batches):
                total += add(held)
            places = np.flatnonzero(total)
            columns = [pa.array(places, pa.int32()), pa.array(total[places], pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, ["place", "value"])

        sums = mapped(self.packed, run, "place int, value bigint")
        if length * self.parts > _FEW_SUMS:
            sums = sums.groupBy("place").agg(F.sum("value").alias("value"))
        table = attempt(self.name, sums.toArrow)
        total = np.zeros(length, dtype=np.int64)
        np.add.at(total, table.column(0).to_numpy(), table.column(1).to_numpy())
        return total


def _checked(rule: UniformWeights) -> int:
    """The bits of a rule that workers can follow; one that they cannot is refused here, in words."""
    if rule.norm not in {1, 2}:
        raise InvalidParameter("norm", rule.norm, "1 or 2")
    if rule.share not in {"held", "bound"}:
        raise InvalidParameter("share", rule.share, '"held" or "bound"')
    _check_bound(rule.bound)
    return whole("bits", rule.bits, most=_FINEST if rule.norm == 2 else 61)


def _check_bound(bound: Bound) -> None:
    whole("max_items", bound.max_items, most=LARGEST)
    role_keys(bound.salt, b"person")


if TYPE_CHECKING:
    _is_incidence: type[Incidence] = SparkIncidence
