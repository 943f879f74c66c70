"""Calls into `texts.c`, loaded as `passes` says. Whoever calls these has another way where the library is missing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes
from hushcount.compiled.cores import on_two_cores
from hushcount.compiled.passes import Uint64s, call, needed, read
from hushcount.model.inputs import Int64s
from hushcount.model.texts import Bytes, SortedTexts, Texts

Int32s: TypeAlias = npt.NDArray[np.int32]
_Number = TypeVar("_Number", np.uint8, np.int64, np.uint64)
_Make: TypeAlias = Callable[[int, npt.DTypeLike], npt.NDArray[Any]]

# So many values at the most: the number of each, and one more, fits into half of a slot.
_MOST = 2**31 - 2
_FEW, _FEW_BYTES = 1 << 15, 1 << 20
# From so many texts on they are sorted by two cores, and from so many on they are sought.
_MANY, _MANY_SOUGHT = 1 << 15, 1 << 12
# From so many bytes on an array gets room for so many times what it needs, to grow where it is: the system hands out
# memory where it is written to, and not before.
_LARGE, _AHEAD = 1 << 23, 32


class _Numbered:
    """A table of values, each with the number in whose turn it was met; it grows as long as there is memory.

    `_sizes` are those of C: rows that were numbered by the last call, values known, values and bytes that may be known.
    """

    def __init__(self) -> None:
        # Python seeds its own hash in each process, against texts that are made to collide. No number depends on it.
        self._seed = ctypes.c_uint64(hash("a seed of this process") & (2**64 - 1))
        self._sizes = np.array([0, 0, _FEW, _FEW_BYTES], dtype=np.int64)
        # The first so many of the slots are used.
        self._used, self._slots = 2 * _FEW, np.zeros(2 * _FEW, dtype=np.uint64)

    def __len__(self) -> int:
        return int(self._sizes[1])

    def _table(self) -> tuple[ctypes.c_uint64, ctypes.c_uint64, Uint64s]:
        return self._seed, ctypes.c_uint64(self._used - 1), self._slots

    def _is_full(self) -> bool:
        return bool(self._sizes[1] == self._sizes[2])

    def _widen(self) -> None:
        """Twice as many slots, still empty."""
        if self._sizes[2] >= _MOST // 2:
            raise MemoryError("more than two thousand million different values")
        self._sizes[2] *= 2
        self._slots[: self._used] = 0
        self._used *= 2
        if self._used > len(self._slots):
            self._slots = _roomy(np.zeros, self._used, self._slots.dtype)


def _grown(values: npt.NDArray[_Number], size: int) -> npt.NDArray[_Number]:
    """An array of at least this size that begins with these: the same one, if it has the room.

    Else a new one, since NumPy asks for large pages where it makes an array, and not where it resizes one.
    """
    if size <= len(values):
        return values
    grown = _roomy(np.empty, size, values.dtype)
    grown[: len(values)] = values
    return grown


def _roomy(make: _Make, size: int, kind: np.dtype[_Number]) -> npt.NDArray[_Number]:
    """A new array of at least this size."""
    if size * kind.itemsize >= _LARGE:
        # Where a process may not have more addresses than memory, it has to do with what it needs.
        with suppress(MemoryError):
            return make(_AHEAD * size, kind)
    return make(size, kind)


class NumberedTexts(_Numbered):
    """Texts, each with the number in whose turn it was met."""

    def __init__(self) -> None:
        super().__init__()
        # Of a short text all that it is, for one look at the memory: as C has it, two words.
        self._cells = np.empty(2 * _FEW, dtype=np.uint64)
        self._edges = np.zeros(_FEW + 1, dtype=np.int64)
        self._buffer = np.empty(_FEW_BYTES, dtype=np.uint8)

    def numbers(self, buffer: Bytes, edges: Int64s) -> Int32s:
        """The number of each of some texts in a buffer."""
        rows, done = len(edges) - 1, 0
        found = np.empty(rows, dtype=np.int32)
        while True:
            call(
                *(
                    needed().hush_number_texts,
                    ctypes.c_int64(rows - done),
                    read(buffer, np.uint8),
                    read(edges[done:]),
                ),
                *(*self._table(), self._sizes, self._cells, self._edges, self._buffer, found[done:]),
            )
            done += int(self._sizes[0])
            if done == rows:
                return found
            self._grow(int(edges[done + 1] - edges[done]))

    def _grow(self, length: int) -> None:
        """Make room for a text of this length."""
        if self._is_full():
            self._widen()
            self._edges = _grown(self._edges, int(self._sizes[2]) + 1)
            self._cells = _grown(self._cells, 2 * int(self._sizes[2]))
            given = ctypes.c_int64(len(self)), self._cells, self._buffer, self._edges
            call(needed().hush_place_texts, *given, *self._table())
        else:
            self._sizes[3] = 2 * (self._sizes[3] + length)
            self._buffer = _grown(self._buffer, int(self._sizes[3]))

    def all(self) -> Texts:
        """The texts, in the order of their numbers."""
        edges = self._edges[: len(self) + 1].copy()
        return Texts(self._buffer[: edges[-1]].copy(), edges)

    def in_order(self) -> tuple[SortedTexts, Int32s]:
        """All texts in their order, and where each number stands in it."""
        order, places = np.empty((2, len(self)), dtype=np.int32)
        edges, words = np.zeros(len(self) + 1, dtype=np.int64), np.empty(len(self), dtype=np.uint64)
        given, found = (self._buffer, self._edges), np.empty(3, dtype=np.int64)
        call(needed().hush_part_texts, ctypes.c_int64(len(self)), *given, order, words, found)
        middle = int(found[0])

        def sort(part: slice) -> None:
            ends = ctypes.c_int64(part.start), ctypes.c_int64(part.stop)
            call(needed().hush_sort_texts, *ends, *given, self._seed, order, words, found, edges[1:], places)

        def lay(part: slice) -> None:
            ends = ctypes.c_int64(part.start), ctypes.c_int64(part.stop)
            call(needed().hush_lay_texts, *ends, *given, order, edges, laid)

        _in_two(sort, middle, len(self), many=_MANY)
        np.cumsum(edges, out=edges)
        laid = np.empty(int(edges[-1]), dtype=np.uint8)
        _in_two(lay, middle, len(self), many=_MANY)
        return SortedTexts(laid, edges), places


def _in_two(work: Callable[[slice], None], middle: int, texts: int, *, many: int) -> None:
    """Do something with the texts up to a middle and with those behind it, on two cores where they are many."""
    parts = slice(0, middle), slice(middle, texts)
    if texts < many:
        for part in parts:
            work(part)
    else:
        on_two_cores(work, *parts)


class NumberedIntegers(_Numbered):
    """Integers, each with the number in whose turn it was met."""

    def __init__(self) -> None:
        super().__init__()
        self._known = np.empty(_FEW, dtype=np.int64)

    def numbers(self, values: Int64s | Int32s) -> Int32s:
        """The number of each of some integers."""
        done, found = 0, np.empty(len(values), dtype=np.int32)
        while True:
            call(
                *(needed().hush_number_integers, ctypes.c_int64(len(values) - done), read(values[done:], np.int64)),
                *(*self._table(), self._sizes, self._known, found[done:]),
            )
            done += int(self._sizes[0])
            if done == len(values):
                return found
            self._widen()
            self._known = _grown(self._known, int(self._sizes[2]))
            call(needed().hush_place_integers, ctypes.c_int64(len(self)), self._known, *self._table())

    def all(self) -> Int64s:
        """The integers, in the order of their numbers."""
        return self._known[: len(self)].copy()


def places_of(buffer: Bytes, edges: Int64s, among: SortedTexts) -> Int64s | None:
    """As `engines.incidence.places_of`."""
    if (found := passes.library()) is None:
        return None
    places = np.empty(len(edges) - 1, dtype=np.int64)
    given = ctypes.c_int64(len(among)), read(among.buffer), read(among.edges)

    def find(part: slice) -> None:
        sought = ctypes.c_int64(part.stop - part.start), read(buffer, np.uint8), read(edges[part.start : part.stop + 1])
        call(found.hush_find_texts, *sought, *given, places[part])

    _in_two(find, len(places) // 2, len(places), many=_MANY_SOUGHT)
    return places


def those(texts: SortedTexts, wanted: npt.NDArray[np.bool_]) -> SortedTexts:
    """A choice of them, still in one buffer: as `SortedTexts.those`, by machine code where there is some."""
    if (found := passes.library()) is None or bool(wanted.all()):
        return texts.those(wanted)
    edges = np.zeros(int(np.count_nonzero(wanted)) + 1, dtype=np.int64)
    kept = np.empty(len(texts.buffer), dtype=np.uint8)
    given = ctypes.c_int64(len(texts)), read(wanted), read(texts.buffer), read(texts.edges)
    call(found.hush_keep_texts, *given, kept, edges)
    return SortedTexts(kept[: edges[-1]], edges)
