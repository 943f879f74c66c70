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


def join_keys(people: Int64s, close: range, items: Int32s) -> Int64s | None:
    """Keys of rows, as `split_rows` takes them; people are numbered by a range; None if one is outside."""
    keys, outside = np.empty(len(items), dtype=np.int64), np.empty(1, dtype=np.int64)
    span = ctypes.c_uint64(close.start & (2**64 - 1)), ctypes.c_uint64(len(close))
    given = ctypes.c_int64(len(items)), passes.read(people, np.int64), *span, passes.read(items, np.int32)
    call(needed().hush_join_keys, *given, keys, outside)
    return None if outside[0] else keys


def split_rows(batches: _Batches, places: Int32s, *, people: int) -> Split | None:
    """As `engines.pairs.split_rows`; batches go as soon as they are not needed."""
    if (found := passes.library()) is None:
        return None
    halves = _halves(batches)
    batches.clear()
    starts, ids = _placed(found, halves, places, people=people)
    codes = np.flatnonzero(np.diff(starts))
    offsets = np.append(starts[codes], starts[-1:])
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
    """Two lists of about as many rows, or one of few."""
    ends = np.cumsum([len(batch) for batch in batches])
    if not len(ends) or ends[-1] < MANY_ROWS:
        return (batches[:],)
    middle = int(np.searchsorted(ends, ends[-1] // 2)) + 1
    return batches[:middle], batches[middle:]


def _placed(found: Any, halves: tuple[_Batches, ...], places: Int32s, *, people: int) -> tuple[Int64s, Int32s]:  # noqa: ANN401
    """Where the list of each person begins and the last ends, and all lists, not yet sorted."""
    # Where each half puts a person's next row: first its own number of their rows, then what is before.
    rows_of = np.zeros((len(halves), people), dtype=np.int64)

    def count(number: int) -> None:
        for batch in halves[number]:
            call(found.hush_count_rows, ctypes.c_int64(len(batch)), batch, rows_of[number])

    def place(number: int) -> None:
        while halves[number]:
            batch = halves[number].pop()
            call(found.hush_place_rows, ctypes.c_int64(len(batch)), batch, places, rows_of[number], ids)

    _in_halves(count, len(halves))
    starts = edges_of(rows_of.sum(axis=0))
    ids = np.empty(int(starts[-1]), dtype=np.int32)
    if len(halves) > 1:
        np.add(starts[:-1], rows_of[0], out=rows_of[1])
    rows_of[0] = starts[:-1]
    _in_halves(place, len(halves))
    return starts, ids
