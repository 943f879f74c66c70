"""Answers as Arrow record batches, read where DuckDB put them: columns of millions of rows that never become objects.

By the Arrow C stream interface (arrow.apache.org/docs/format/CStreamInterface.html) and the standard library alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.model.inputs import Int64s
from hushcount.model.texts import Bytes

_Capsule: TypeAlias = object


class _Array(ctypes.Structure):
    """struct ArrowArray."""


_Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    *((name, ctypes.c_void_p) for name in ("dictionary", "release", "private_data")),
]
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Stream(ctypes.Structure):
    """struct ArrowArrayStream."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Texts of some rows: row n lies in buffer[edges[n]:edges[n + 1]]."""

    buffer: Bytes
    edges: Int64s


Column: TypeAlias = Int64s | npt.NDArray[np.int32] | TextColumn


class Batch:
    """Some rows: `with batch as columns:`, without missing values, which are gone when that ends."""

    def __init__(self, array: _Array, kinds: tuple[type, ...]) -> None:
        self._array, self._kinds = array, kinds

    def __enter__(self) -> tuple[Column, ...]:
        return tuple(_column(self._array.children[n].contents, kind) for n, kind in enumerate(self._kinds))

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let go of the rows; once more does nothing."""
        if self._array.release:
            _RELEASE(self._array.release)(ctypes.addressof(self._array))


def batches(capsule: _Capsule, kinds: tuple[type, ...]) -> Iterator[Batch]:
    """The batches of a stream.

    Args:
        capsule: what `__arrow_c_stream__` gave.
        kinds: of each column, `np.int64` for BIGINT, `np.int32` for INTEGER, `str` for VARCHAR with large offsets.
    """
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    place = get_pointer(capsule, b"arrow_array_stream")
    stream = _Stream.from_address(place)
    while True:
        array = _Array()
        # Other threads run meanwhile.
        if stream.get_next(place, ctypes.addressof(array)):
            raise _failure(stream.get_last_error(place))
        if not array.release:
            return
        yield Batch(array, kinds)


def _column(array: _Array, kind: type) -> Column:
    rows, first = array.length, array.offset
    if kind is not str:
        return _values(array.buffers[1], first + rows, kind)[first:]
    edges = _values(array.buffers[1], first + rows + 1, np.int64)[first:]
    return TextColumn(_values(array.buffers[2], int(edges[-1]), np.uint8), edges)


def _values(place: int | None, count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    if not place or not count:
        return np.zeros(count, dtype=kind)
    size = count * np.dtype(kind).itemsize
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(place)), dtype=kind)


def _failure(words: bytes | None) -> Exception:
    """DuckDB's own exception for what went wrong, by the kind that its words begin with; they are not kept."""
    import duckdb

    kind = (words or b"").decode("utf-8", "replace").split(" Error", 1)[0]
    known = {"Out of Memory": duckdb.OutOfMemoryException, "INTERRUPT": duckdb.InterruptException}
    with suppress(AttributeError):
        known.setdefault(kind, getattr(duckdb, f"{kind.replace(' ', '')}Exception"))
    found: Exception = known.get(kind, duckdb.Error)("reading failed")
    return found
