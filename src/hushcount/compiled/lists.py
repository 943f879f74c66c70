"""Calls into `passes.c` that make people's lists of rows in any order: counted, put in their places, sorted.

Of millions of rows a list is short, and sorting all lists takes a fraction of what sorting all rows takes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes
from hushcount.compiled.cores import MANY_ROWS, on_two_cores
from hushcount.compiled.passes import Split, call, needed, once
from hushcount.model.inputs import Int64s
from hushcount.model.texts import edges_of

Int32s: TypeAlias = npt.NDArray[np.int32]
_Batches: TypeAlias = list[Int64s]

# Whoever comes first has this number, in the middle of all that there may be: people so close together have one each.
CLOSE = 1 << 30


class ClosePeople:
    """People who are integers close together: each is numbered by how far they are above an origin.

    All modulo 2^64, as NumPy and C add integers: a person is the sum of their number and the origin, wherever that is.

    Attributes:
        origin: what has the number 0: far below whoever came first, so that others may be below them.
    """

    def __init__(self) -> None:
        self.origin = 0
        # The smallest and the largest number.
        self._ends = np.array([2**64 - 1, 0], dtype=np.uint64)

    def join(self, people: Int64s | Int32s, items: Int32s, *, keys: Int64s) -> bool:
        """Write the keys of rows, as `split_rows` takes them. Whether everybody so far has a number below 2^31."""
        if len(people) and self._ends[0] > self._ends[1]:
            self.origin = (int(people[0]) - CLOSE + 2**63) % 2**64 - 2**63
        wide = people.dtype != np.int32
        given = passes.read(people, np.int64 if wide else np.int32), ctypes.c_int64(wide)
        origin = ctypes.c_uint64(self.origin & (2**64 - 1))
        rows = ctypes.c_int64(len(items))
        call(
            *(needed().hush_join_keys, rows, *given, origin, passes.read(items, np.int32)),
            *(passes.written(keys), self._ends),
        )
        return not len(people) or bool(self._ends[1] < 2 * CLOSE)

    @property
    def numbers(self) -> range:
        """From the smallest number to the largest, if there are any."""
        least, most = self._ends.tolist()
        return range(least, most + 1) if least <= most else range(0)


def split_rows(batches: _Batches, places: Int32s, *, numbers: range) -> Split | None:
    """As `engines.pairs.split_rows`; batches go as soon as they are not needed."""
    if (found := passes.library()) is None:
        return None
    halves = _halves(batches)
    batches.clear()
    codes, offsets, ids = _placed(found, halves, places, numbers=numbers)
    held = np.empty(len(codes), dtype=np.int64)
    middle = int(np.searchsorted(offsets, len(ids) // 2)) if len(ids) >= MANY_ROWS else 0

    def sort(part: slice) -> None:
        given = ctypes.c_int64(part.stop - part.start), offsets[part.start : part.stop + 1]
        # A seed of this process, against lists that are made to be sorted slowly. Nothing depends on it.
        call(found.hush_sort_lists, *given, ctypes.c_uint64(hash("lists") & (2**64 - 1)), ids, held[part])

    parts = slice(0, middle), slice(middle, len(codes))
    _in_parts(sort, *parts)
    if int(held.sum()) == len(ids):
        return codes, offsets, ids, once(len(ids))
    ends = edges_of(held)
    distinct, times = np.empty(int(ends[-1]), dtype=np.int32), np.empty(int(ends[-1]), dtype=np.int64)

    def drop(part: slice) -> None:
        given = ctypes.c_int64(part.stop - part.start), offsets[part.start : part.stop + 1], ids
        call(found.hush_drop_repeats, *given, distinct[ends[part.start] :], times[ends[part.start] :])

    _in_parts(drop, *parts)
    return codes, ends, distinct, times


def _in_parts(work: Callable[[slice], None], one: slice, other: slice) -> None:
    if one.stop:
        on_two_cores(work, one, other)
    else:
        work(other)


def _in_halves(work: Callable[[int], None], halves: int) -> None:
    if halves > 1:
        on_two_cores(work, 0, 1)
    else:
        work(0)


def _halves(batches: _Batches) -> tuple[_Batches, ...]:
    """Two lists of as many rows, or one of few."""
    ends = np.cumsum([len(batch) for batch in batches])
    if not len(ends) or ends[-1] < MANY_ROWS:
        return (batches[:],)
    middle = int(np.searchsorted(ends, ends[-1] // 2))
    cut = len(batches[middle]) - int(ends[middle] - ends[-1] // 2)
    return [*batches[:middle], batches[middle][:cut]], [batches[middle][cut:], *batches[middle + 1 :]]


def _placed(
    found: Any,  # noqa: ANN401 (of ctypes)
    halves: tuple[_Batches, ...],
    places: Int32s,
    *,
    numbers: range,
) -> tuple[Int64s, Int64s, Int32s]:
    """Who has rows, where the list of each begins and the last ends, and all lists, not yet sorted."""
    people, first = len(numbers), ctypes.c_int64(numbers.start)
    # Where each half puts a person's next row: first its own number of their rows, then what is before.
    rows_of = np.zeros((len(halves), people), dtype=np.int64)
    codes, offsets, listed = np.empty(people, np.int64), np.empty(people + 1, np.int64), np.empty(1, np.int64)

    def count(number: int) -> None:
        for batch in halves[number]:
            call(found.hush_count_rows, ctypes.c_int64(len(batch)), batch, first, rows_of[number])

    def place(number: int) -> None:
        while halves[number]:
            batch = halves[number].pop()
            call(found.hush_place_rows, ctypes.c_int64(len(batch)), batch, first, places, rows_of[number], ids)

    _in_halves(count, len(halves))
    given = ctypes.c_int64(people), ctypes.c_int64(len(halves)), rows_of[0], rows_of[-1]
    call(found.hush_begin_lists, *given, codes, offsets, listed)
    codes, offsets = codes[: listed[0]], offsets[: listed[0] + 1]
    ids = np.empty(int(offsets[-1]), dtype=np.int32)
    _in_halves(place, len(halves))
    return codes, offsets, ids
