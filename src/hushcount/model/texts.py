"""Many texts in one buffer: of millions of items, only those that are asked for become texts of Python's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidInput

Items: TypeAlias = npt.NDArray[Any]  # one-dimensional, dtype object, every element a str
Bytes: TypeAlias = npt.NDArray[np.uint8]
Places: TypeAlias = npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_] | slice
_Int64s: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in UTF-8, one behind the other.

    Attributes:
        buffer: all bytes.
        edges: text n lies in buffer[edges[n]:edges[n + 1]].
    """

    buffer: Bytes
    edges: _Int64s

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    @property
    def lengths(self) -> _Int64s:
        """How many bytes each text has."""
        return np.diff(self.edges)

    def taken(self, places: Places) -> Texts:
        """Those at some places, in the order of the places, in a buffer of their own."""
        starts, lengths = self.edges[:-1][places], self.lengths[places]
        edges = edges_of(lengths)
        where = np.repeat(starts - edges[:-1], lengths)
        where += np.arange(len(where))
        return Texts(self.buffer[where], edges)

    def __getitem__(self, places: Places) -> Items:
        """As `taken`, as texts of Python's."""
        return objects(self.taken(places).tolist())

    def tolist(self) -> list[str]:
        """All of them, as texts of Python's."""
        return _decoded(self.buffer.tobytes(), self.edges)


class SortedTexts(Texts):
    """Distinct texts in the order of their code points.

    Whoever makes one establishes that order: `in_order` checks it, and an engine that numbers texts by itself sorts
    them. So no item is there twice, in a choice of them neither.
    """

    __slots__ = ()

    def those(self, wanted: npt.NDArray[np.bool_]) -> SortedTexts:
        """A choice of them, still in one buffer."""
        if bool(wanted.all()):
            return self
        lengths = self.lengths
        return SortedTexts(self.buffer[np.repeat(wanted, lengths)], edges_of(lengths[wanted]))


def in_order(texts: Sequence[str]) -> SortedTexts:
    """Texts of Python's, which must be sorted.

    Raises:
        InvalidInput: they are not in the order of their code points, or one is there twice.
    """
    if any(before >= after for before, after in pairwise(texts)):
        raise InvalidInput("texts must be distinct and in the order of their code points")
    buffer, lengths = encoded(texts)
    return SortedTexts(buffer, edges_of(lengths))


def edges_of(lengths: _Int64s) -> _Int64s:
    """Where texts of these lengths begin if they stand one behind the other, and where the last one ends."""
    edges = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=edges[1:])
    return edges


def encoded(texts: Sequence[str]) -> tuple[Bytes, _Int64s]:
    """Texts in UTF-8, one behind the other, and the length of each in bytes."""
    try:
        joined = "".join(texts)
    except TypeError:
        raise InvalidInput("items must be text; cast the item column to text before counting") from None
    if joined.isascii():
        # One byte for each character: nothing has to be encoded text by text.
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        return np.frombuffer(joined.encode("ascii"), dtype=np.uint8), lengths
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    return np.frombuffer(b"".join(parts), dtype=np.uint8), lengths


def objects(texts: Sequence[str]) -> Items:
    """Texts of Python's as an array."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def _decoded(joined: bytes, edges: _Int64s) -> list[str]:
    places = pairwise(edges.tolist())
    if joined.isascii():
        text = joined.decode("ascii")
        return [text[start:end] for start, end in places]
    return [joined[start:end].decode("utf-8", "surrogatepass") for start, end in places]
