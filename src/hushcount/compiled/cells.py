"""Calls into `cells.c`, loaded as `passes` says: the sum of cells' hashes, as `engines.identities` defines it."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from hushcount.compiled.passes import call, needed, read
from hushcount.model.inputs import Int64s
from hushcount.model.texts import Bytes


class CellSum:
    """Of the MD5 of each cell's text the first 64 bits, the first byte highest, are added up.

    For whoever has looked before whether there is machine code.
    """

    def __init__(self) -> None:
        # As C has it: the lower 64 bits and the upper ones, which do for 2^64 cells.
        self._words = np.zeros(2, dtype=np.uint64)

    def add_texts(self, buffer: Bytes, edges: Int64s) -> None:
        """Texts: text n is buffer[edges[n]:edges[n + 1]]."""
        given = ctypes.c_int64(len(edges) - 1), read(buffer, np.uint8), read(edges, np.int64)
        call(needed().hush_add_texts, *given, self._words)

    def add_integers(self, values: Int64s | npt.NDArray[np.int32]) -> None:
        """Integers, by their decimal digits."""
        call(needed().hush_add_integers, ctypes.c_int64(len(values)), read(values, np.int64), self._words)

    def total(self) -> int:
        """What they add up to."""
        low, high = self._words.tolist()
        return int(low) + (int(high) << 64)
