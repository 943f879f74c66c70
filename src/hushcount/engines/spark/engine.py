"""The Spark engine: the same integers as every other engine, from data of any size, on many machines.

All that is done to rows are keyed functions of values: no row is numbered by its place, nothing depends on the order of
rows, on partitions or on which attempt of a task succeeded. Rows are read, filtered and moved inside the JVM. One
shuffle brings each person's rows together; workers pack them into lists, once, and every round of bounding goes on
from these. Each sum by item takes one shuffle more. No rows come to the driver, but sums do: names are drawn where the
sums are, and only they leave; of what was named, and of the items with the largest counts, exact sums over people come
here for their noise.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from hushcount.engines.checking import check_selection
from hushcount.engines.identities import rows_identity
from hushcount.engines.spark.blocks import SparkCounts
from hushcount.engines.spark.incidence import SparkIncidence
from hushcount.engines.spark.lists import allowed_pairs, smallest_hashes
from hushcount.engines.spark.packed import packed_lists
from hushcount.engines.spark.parts import require_zone
from hushcount.engines.spark.recognising import add_cells, fingerprint, see
from hushcount.engines.spark.selected import select_rows
from hushcount.engines.spark.session import attempt, ship_package, watched
from hushcount.engines.spark.source import SparkSource, open_source
from hushcount.engines.spark.workers import check_workers
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.amounts import whole
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Histogram
from hushcount.model.queries import Description, Selection, TupleItems

if TYPE_CHECKING:
    from hushcount.engines.engine import Engine

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used


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
        if isinstance(selection.item, TupleItems) and selection.item.zone != "UTC":
            require_zone(self._source.session, selection.item.zone)

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

        rows = self._rows(selection, spelled=bound is not None)
        if bound is not None:
            rows = rows.repartition("person")
        if bound is None and selection.per_item_cap == 1:
            pairs, value = rows.distinct(), F.count(F.lit(1))
        else:
            pairs = rows.groupBy("person", "item").agg(F.count(F.lit(1)).alias("times"))
            value = F.sum(F.least(F.col("times"), F.lit(selection.per_item_cap)).cast("bigint"))
        if bound is not None:
            pairs = smallest_hashes(allowed_pairs(self._source.session, pairs, bound), bound)
        counts = SparkCounts(name=self._source.name, frame=pairs.groupBy("item").agg(value.alias("value")))
        return counts if top is None else counts.largest(whole("top", top))

    def incidence(self, selection: Selection) -> SparkIncidence:
        """Who has what: each pair once, each person's pairs in one place, kept for all rounds."""
        if selection.per_item_cap != 1:
            raise InvalidParameter("per_item_cap", selection.per_item_cap, "1 where people's lists are weighed")
        from pyspark import StorageLevel

        cores = self._source.session.sparkContext.defaultParallelism
        packed = packed_lists(self._rows(selection), cores=cores)
        packed.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept[threading.get_ident()].append(packed)
        found = SparkIncidence(name=self._source.name, packed=packed, parts=cores)
        weakref.finalize(found, _forget, packed).atexit = False
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
        check_workers(self._source.session)

    def _rows(self, selection: Selection, *, spelled: bool = True) -> _Frame:
        self.validate(selection)
        self._kept.setdefault(threading.get_ident(), [])
        self._begin()
        frame, columns = attempt(self._source.name, lambda: self._source.read(selection.columns))
        return attempt(self._source.name, lambda: select_rows(frame, selection, columns, spelled=spelled))

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


if TYPE_CHECKING:
    _is_engine: type[Engine] = SparkEngine
