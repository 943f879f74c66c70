"""The Spark engine: the same integers as every other engine, from data of any size, on many machines.

All work on rows is done inside the JVM by keyed functions of values: no row is numbered, nothing depends on the order
of rows, on partitions or on which attempt of a task succeeded. One shuffle brings each person's rows together; it
serves deduplication and every round of bounding, and its result is kept for all rounds, sorted by person. Each sum by
item takes one shuffle more. Only released rows come to the driver: noise is drawn where the sums are.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hushcount.engines.checking import check_selection
from hushcount.engines.engine import refuse_sequential
from hushcount.engines.hashing import Role, role_keys
from hushcount.engines.identities import rows_identity
from hushcount.engines.spark import clipped
from hushcount.engines.spark.recognising import add_cells, fingerprint, see
from hushcount.engines.spark.selected import select_rows
from hushcount.engines.spark.session import Session, attempt, mapped, ship_package, watched
from hushcount.engines.spark.source import SparkSource, open_source
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.amounts import whole
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import (
    LARGEST,
    Bound,
    Clip,
    Histogram,
    Int64s,
    Items,
    LengthWeights,
    Ranked,
    Shown,
    SummedItems,
    UniformWeights,
    UserLists,
    WeightedHistogram,
)
from hushcount.model.queries import Description, Selection

if TYPE_CHECKING:
    from hushcount.engines.engine import Engine
    from hushcount.model.inputs import Counts, Incidence, Sums, Weights

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
_Batch: TypeAlias = Any  # pyarrow.RecordBatch

# So many named items are sent to every worker; more are brought together with their pairs by a shuffle.
FEW_ITEMS = 1_000_000
# Squares of finer weights would not fit into 64 bits.
_FINEST = 30


def open_spark(source: object, *, table: str | None = None, master: str | None = None) -> SparkEngine:
    """Open a source, as `engines.spark.source.open_source` says."""
    return SparkEngine(open_source(source, table=table, master=master))


class SparkEngine:
    """One source, opened by `open_spark`."""

    def __init__(self, source: SparkSource) -> None:
        self._source = source
        self._finalizer = weakref.finalize(self, _close, source)
        self._fingerprints: dict[bytes, str] = {}
        # What the question of each thread keeps in Spark's memory; a thread that has read anything is here.
        self._kept: dict[int, list[_Frame]] = {}
        # What ends the question of each thread.
        self._ends: dict[int, Callable[[], None]] = {}

    def describe(self) -> Description:
        """The columns."""
        return self._source.describe()

    def validate(self, selection: Selection) -> None:
        """Refuse what these columns cannot answer."""
        check_selection(selection, self.describe())

    def fingerprint(self, key: bytes) -> str:
        """A digest of the bytes of files, or a keyed one of the rows of anything else."""
        self._begin()
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(self._source, key)
            _check_stamp(self._source)
        return self._fingerprints[key]

    def sighting(self, key: bytes) -> Sighting:
        """The identities of files, or of the table."""
        self._begin()
        return see(self._source, key)

    def rows_identity(self, key: bytes) -> Identity:
        """The identity of all rows; reads everything."""
        self._begin()
        rows, total = add_cells(self._source)
        _check_stamp(self._source)
        return rows_identity(key, rows=rows, total=total, version=lambda: self.fingerprint(key))

    def close(self) -> None:
        """Let go of the files and of what is kept in Spark's memory; the session is not ours to stop."""
        for thread in list(self._kept):
            self._forget_all(thread)
        self._finalizer()

    def histogram(
        self, selection: Selection, *, bound: Bound | None = None, top: int | None = None
    ) -> Histogram | SparkCounts:
        """People per item, or rows up to the cap, after bounding if so bound. Spread out unless cut to `top`."""
        from pyspark.sql import functions as F

        rows = self._rows(selection)
        if bound is not None:
            rows = rows.repartition("person")
        pairs = rows.groupBy("person", "item").agg(F.count(F.lit(1)).alias("times"))
        if bound is not None:
            pairs = _ranked(_allowed(self._source.session, pairs, bound), bound)
        often = F.least(F.col("times"), F.lit(selection.per_item_cap)).cast("bigint")
        counts = SparkCounts(name=self._source.name, frame=pairs.groupBy("item").agg(F.sum(often).alias("value")))
        return counts if top is None else counts.largest(whole("top", top))

    def incidence(self, selection: Selection) -> SparkIncidence:
        """Who has what: each pair once, each person's pairs in one place, kept for all rounds."""
        if selection.per_item_cap != 1:
            raise InvalidParameter("per_item_cap", selection.per_item_cap, "1 where people's lists are weighed")
        from pyspark import StorageLevel

        pairs = self._rows(selection).repartition("person").distinct()
        # Counting sorts them by person. To say so again costs nothing, and makes Spark remember it of what is kept; but
        # only once it is there, so it is made at once.
        pairs = pairs.withColumn("held", _people_hold()).sortWithinPartitions("person")
        self._kept[threading.get_ident()].append(pairs.persist(StorageLevel.MEMORY_AND_DISK))
        attempt(self._source.name, pairs.count)
        found = SparkIncidence(name=self._source.name, session=self._source.session, pairs=pairs)
        weakref.finalize(found, _forget, pairs).atexit = False
        return found

    @contextmanager
    def asking(self, say: Callable[[str], None]) -> Iterator[None]:
        """All that one question does: watched, and refused if the data changed meanwhile; nothing is kept after it."""
        with watched(self._source.session, say) as end:
            self._ends[threading.get_ident()] = end
            try:
                yield
                if threading.get_ident() in self._kept:
                    self._check_unchanged()
            finally:
                self._ends.pop(threading.get_ident(), None)
                self._forget_all(threading.get_ident())

    def interrupt(self, thread: int) -> None:
        """Stop the question that a thread asks; its call fails."""
        end = self._ends.get(thread)
        if end is not None:
            end()

    def _begin(self) -> None:
        if not self._finalizer.alive:
            raise UnreadableSource(f"{self._source.name} was closed; open it again")
        _check_stamp(self._source)
        ship_package(self._source.session)

    def _rows(self, selection: Selection) -> _Frame:
        self.validate(selection)
        self._kept.setdefault(threading.get_ident(), [])
        self._begin()
        frame, columns = attempt(self._source.name, lambda: self._source.read(selection.columns))
        return attempt(self._source.name, lambda: select_rows(frame, selection, columns))

    def _forget_all(self, thread: int) -> None:
        for frame in self._kept.pop(thread, ()):
            _forget(frame)

    def _check_unchanged(self) -> None:
        """Files by their stamps; the rows of all else by reading them once more."""
        _check_stamp(self._source)
        for key, before in self._fingerprints.items() if self._source.files is None else ():
            if fingerprint(self._source, key) != before:
                raise UnreadableSource(
                    f"{self._source.name} changed since it was opened; open it again and ask once more"
                )


def _check_stamp(source: SparkSource) -> None:
    if source.files is not None:
        source.files.check()


def _close(source: SparkSource) -> None:
    if source.files is not None:
        source.files.close()


def _forget(frame: _Frame) -> None:
    with suppress(Exception):  # the session may be gone, and its memory with it
        frame.unpersist()


@dataclass(frozen=True, slots=True, kw_only=True)
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
        wanted = self.frame.join(_listed(self.frame.sparkSession, listed), "item", "left_semi")
        items, counts = _collected(self.name, wanted)
        return Histogram(items=items, counts=counts, complete=True).of(listed)

    def largest(self, top: int) -> Histogram:
        """The largest counts, ties by item. One row more is fetched, to know whether there are more."""
        from pyspark.sql import functions as F

        ranked = self.frame.orderBy(F.col("value").desc(), F.col("item").asc()).limit(top + 1)
        items, counts = _collected(self.name, ranked)
        return Histogram(items=items[:top], counts=counts[:top], complete=len(items) <= top)


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class SparkIncidence:
    """Who has what, as a kept DataFrame of distinct texts person and item, and how many items the person holds.

    Each person's pairs are in one partition, and partitions are sorted by person.
    """

    name: str
    session: Session
    pairs: _Frame

    def weights(self, rule: UniformWeights) -> SparkWeights:
        """Sum of everyone's uniform weights after bounding: one shuffle."""
        from pyspark.sql import functions as F

        if rule.norm not in {1, 2}:
            raise InvalidParameter("norm", rule.norm, "1 or 2")
        if rule.share not in {"held", "bound"}:
            raise InvalidParameter("share", rule.share, '"held" or "bound"')
        unit = 1 << whole("bits", rule.bits, most=_FINEST if rule.norm == 2 else 61)
        share = _people_hold() if rule.share == "held" else F.lit(rule.bound.max_items).cast("bigint")
        kept = _together([part.select("item", share.alias("share")) for part in self._bounded(rule.bound)])
        weighed = kept.select("item", _step(unit, rule.norm).alias("step"))
        frame = weighed.groupBy("item").agg(F.sum("step").alias("value"))
        return SparkWeights(name=self.name, frame=frame, unit=unit)

    def sums(self, rule: LengthWeights) -> SparkSums:
        """Sums of what everyone adds after bounding: one shuffle. Each worker has a copy of the weights by length."""
        from pyspark.sql import functions as F

        names = [f"sum{column}" for column in range(len(rule.columns))]
        kept = _together([part.select("item", _people_hold().alias("length")) for part in self._bounded(rule.bound)])
        weighed = kept.join(F.broadcast(_by_length(self.session, rule, names)), "length")
        frame = weighed.groupBy("item").agg(*(F.sum(name).alias(name) for name in names))
        return SparkSums(name=self.name, frame=frame)

    def counts(self, bound: Bound) -> SparkCounts:
        """How many people hold each item after bounding: one shuffle."""
        from pyspark.sql import functions as F

        kept = _together([part.select("item") for part in self._bounded(bound)])
        return SparkCounts(name=self.name, frame=kept.groupBy("item").agg(F.count(F.lit(1)).alias("value")))

    def _bounded(self, bound: Bound) -> list[_Frame]:
        """The allowed pairs up to the bound, in parts; all pairs of a person are in one part.

        Who holds no more than the bound allows keeps all, whatever else is left out: no ranks, and nothing to sort.
        """
        from pyspark.sql import functions as F

        allowed = _allowed(self.session, self.pairs, bound)
        if any(named is not None and len(named) > FEW_ITEMS for named in (bound.only, bound.without)):
            # All pairs were moved to find the named items: of two parts each would have to be moved back.
            return [_ranked(allowed, bound)]
        over = F.col("held") > F.lit(whole("max_items", bound.max_items, most=LARGEST)).cast("bigint")
        return [allowed.where(~over), _ranked(allowed.where(over), bound)]

    def everyone(self, rule: UniformWeights) -> int:
        """What an item would weigh that everybody had: one sum over people."""
        from pyspark.sql import functions as F

        most = F.lit(rule.bound.max_items).cast("bigint")
        lengths = self.pairs.groupBy("person").agg(F.least(F.first("held"), most).alias("length"))
        people = lengths.select((F.col("length") if rule.share == "held" else most).alias("share"))
        steps = people.select(_step(1 << whole("bits", rule.bits, most=_FINEST), rule.norm).alias("step"))
        return int(attempt(self.name, lambda: steps.agg(F.sum("step")).collect())[0][0] or 0)

    def held(self, listed: Items) -> int:
        """How many pairs of a person and a listed item there are."""
        known = _matched(self.session, self.pairs, listed.tolist(), keep=True)
        return int(attempt(self.name, known.count))

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """What each clip takes away, in units of one person."""
        return clipped.losses(self.name, self._ranked(ranked), ranked, clips, unit=unit)

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """For each of the first ranked items, the sum of what people add to it under a clip."""
        return clipped.clipped(self.name, self._ranked(ranked), ranked, clip)

    def largest(self, top: int) -> Histogram:
        """People per item, nobody bounded: the `top` largest counts, ties by item."""
        from pyspark.sql import functions as F

        counts = self.pairs.groupBy("item").agg(F.count(F.lit(1)).alias("value"))
        return SparkCounts(name=self.name, frame=counts).largest(whole("top", top))

    def _ranked(self, ranked: Ranked) -> _Frame:
        return clipped.ranked_lists(self.session, self.pairs, ranked)

    def lists(self, bound: Bound, order: Literal["key", "frequency"]) -> UserLists:
        """Refused: people cannot be visited one after another here."""
        del bound, order
        refuse_sequential("policy")


def _ranked(allowed: _Frame, bound: Bound) -> _Frame:
    """Each person's pairs with the `max_items` smallest hashes, as `engines.hashing` has them, ties by text."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    whole("max_items", bound.max_items, most=LARGEST)
    mixed = F.xxhash64(_hashed("person", bound.salt, b"person"), _hashed("item", bound.salt, b"item"))
    ranks = F.row_number().over(Window.partitionBy("person").orderBy("mixed", "item"))
    hashed = allowed.withColumn("mixed", mixed).withColumn("rank", ranks)
    return hashed.where(F.col("rank") <= bound.max_items).drop("mixed", "rank")


def _together(parts: list[_Frame]) -> _Frame:
    return functools.reduce(lambda one, two: one.unionAll(two), parts)


def _people_hold() -> Any:  # noqa: ANN401  a column
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    return F.count(F.lit(1)).over(Window.partitionBy("person"))


def _hashed(column: str, salt: bytes, role: Role) -> Any:  # noqa: ANN401  a column
    from pyspark.sql import functions as F

    return F.xxhash64(*(F.lit(key).cast("bigint") for key in role_keys(salt, role)), F.col(column))


def _allowed(session: Session, pairs: _Frame, bound: Bound) -> _Frame:
    """The pairs without the items that are left out before the bound."""
    if bound.only is not None:
        excluded = set() if bound.without is None else set(bound.without.tolist())
        return _matched(session, pairs, [item for item in bound.only.tolist() if item not in excluded], keep=True)
    if bound.without is not None and len(bound.without):
        return _matched(session, pairs, bound.without.tolist(), keep=False)
    return pairs


def _matched(session: Session, pairs: _Frame, items: list[str], *, keep: bool) -> _Frame:
    """The pairs whose item is listed (or is not): by a copy of a short list on every worker, or by one shuffle."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    listed = _listed(session, items)
    if len(items) <= FEW_ITEMS:
        return pairs.join(F.broadcast(listed), "item", "left_semi" if keep else "left_anti")
    # Pairs and list in one frame, so that one shuffle brings both together; the mark stands before the pairs.
    marks = listed.withColumn("mark", F.lit(1))
    both = pairs.withColumn("mark", F.lit(0)).unionByName(marks, allowMissingColumns=True)
    before = Window.partitionBy("item").orderBy(F.col("mark").desc()).rowsBetween(Window.unboundedPreceding, 0)
    found = both.withColumn("listed", F.max("mark").over(before))
    return found.where((F.col("mark") == 0) & (F.col("listed") == int(keep))).drop("mark", "listed")


def _listed(session: Session, items: Items | list[str]) -> _Frame:
    """A public or released list as a DataFrame of distinct items. What is no Unicode text is in no Spark table."""
    import pyarrow as pa

    texts = [text for text in dict.fromkeys(items) if text.isascii() or clipped.encodes(text)]
    return session.createDataFrame(pa.table({"item": pa.array(texts, pa.string())}))


def _by_length(session: Session, rule: LengthWeights, names: list[str]) -> _Frame:
    """What a person adds to each item, by how many they hold, as a DataFrame."""
    import pyarrow as pa

    columns = {name: pa.array(weights, pa.int64()) for name, weights in zip(names, rule.columns, strict=True)}
    lengths = pa.array(range(1, rule.bound.max_items + 1), pa.int64())
    return session.createDataFrame(pa.table({"length": lengths, **columns}))


def _step(unit: int, norm: Literal[1, 2]) -> Any:  # noqa: ANN401  a column
    """floor(unit / share^(1/norm)) of the column share, exactly: the root that Java finds is set right by squaring."""
    from pyspark.sql import functions as F

    if norm == 1:
        return F.expr(f"{unit}L div share")
    square = F.expr(f"{unit * unit}L div share")
    root = F.floor(F.sqrt(square.cast("double"))).cast("bigint")
    return F.when(root * root > square, root - 1).when((root + 1) * (root + 1) <= square, root + 1).otherwise(root)


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
    _is_engine: type[Engine] = SparkEngine
    _is_incidence: type[Incidence] = SparkIncidence
    _is_counts: type[Counts] = SparkCounts
    _is_weights: type[Weights] = SparkWeights
    _is_sums: type[Sums] = SparkSums
