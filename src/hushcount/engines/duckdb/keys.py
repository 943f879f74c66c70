"""Keys: the rows of a question as integers, in memory or, where there are too many, in files by person."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hushcount.compiled.texts import Int32s
from hushcount.model.inputs import Int64s

# A key is the number of a person and, in so many lower bits, that of an item.
NUMBER_BITS = 32
# Rows that are looked at together.
_ROWS = 1 << 20
# People are spread over so many files; each must fit into memory.
_FILES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What may be held at a time.

    Attributes:
        rows: so many rows in memory.
        folder: a private folder for more.
    """

    rows: int
    folder: Path


class Keys:
    """Rows that are added batch by batch, then handed out in parts: all rows of a person are in one of them.

    Attributes:
        spilled: the folder of rows that did not fit into memory, if there are any.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._keys, self._used = np.empty(_ROWS, dtype=np.int64), 0
        # A folder of its own, and the files in it, once there are any.
        self.spilled: Path | None = None
        self._files: list[Path] = []

    def add(self, people: Int64s | Int32s, items: Int32s) -> None:
        """Rows of people and items by their numbers, none below zero."""
        if self._used and self._used + len(items) > self._room.rows:
            self._spill()
        if self._used + len(items) > len(self._keys):
            self._keys.resize(2 * (self._used + len(items)), refcheck=False)
        added = self._keys[self._used : self._used + len(items)]
        added[:] = people
        added <<= NUMBER_BITS
        added |= items
        self._used += len(items)

    def parts(self) -> Iterator[Int64s]:
        """The keys, once, in any order; in one part if they are in memory."""
        if self._files:
            self._spill()
        keys, self._keys = self._keys, np.empty(0, dtype=np.int64)
        if not self._files:
            keys.resize(self._used, refcheck=False)
            yield keys
        del keys
        for file in self._files:
            part = np.fromfile(file, dtype=np.int64)
            file.unlink()
            yield part

    def _spill(self) -> None:
        """Write all keys that are in memory to the files of their people."""
        if not self._files:
            self.spilled = Path(tempfile.mkdtemp(dir=self._room.folder))
            self._files = [self.spilled / f"keys-{number}" for number in range(_FILES)]
        with ExitStack() as stack:
            files = [stack.enter_context(file.open("ab")) for file in self._files]
            for first in range(0, self._used, _ROWS):
                keys = self._keys[first : min(first + _ROWS, self._used)]
                file = ((keys >> NUMBER_BITS) % _FILES).astype(np.uint8)
                keys = keys[np.argsort(file, kind="stable")]
                ends = np.cumsum(np.bincount(file, minlength=_FILES)).tolist()
                for number, end in enumerate(ends):
                    keys[ends[number - 1] if number else 0 : end].tofile(files[number])
        self._used = 0
