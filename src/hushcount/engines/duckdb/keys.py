"""Keys: the rows of a question as integers, in memory or, where there are too many, in files by person."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from hushcount.compiled.texts import Int32s
from hushcount.engines.pairs import NUMBER_BITS
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.model.texts import edges_of

# People are spread over so many files; each must fit into memory.
_FILES = 64


@frozen
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
        self._batches, self._held = list[Int64s](), 0
        self.spilled: Path | None = None

    def add(self, people: Int64s | Int32s, items: Int32s) -> None:
        """Rows of people and items by their numbers, none below zero."""
        keys = people.astype(np.int64)
        keys <<= NUMBER_BITS
        keys |= items
        self.add_joined(keys)

    def add_joined(self, keys: Int64s) -> None:
        """Rows as keys: the number of a person * 2^NUMBER_BITS + the number of an item."""
        if self._held and self._held + len(keys) > self._room.rows:
            self._spill()
        self._batches.append(keys)
        self._held += len(keys)

    def parts(self, people: int) -> Iterator[tuple[list[Int64s], range]]:
        """Batches of keys in any order, once; in one part if they are in memory.

        Args:
            people: how many numbers people may have.

        Returns:
            For each part its keys, whose people are numbered anew, and who has these numbers: number n is that of the
            n-th of the range.
        """
        if self.spilled is None:
            yield self._batches, range(people)
            return
        self._spill()
        for number, file in enumerate(self._files()):
            keys = np.fromfile(file, dtype=np.int64)
            file.unlink()
            items = keys & ((1 << NUMBER_BITS) - 1)
            keys >>= NUMBER_BITS
            keys //= _FILES
            keys <<= NUMBER_BITS
            keys |= items
            yield [keys], range(number, people, _FILES)

    def _spill(self) -> None:
        """Append all keys that are in memory to the files of their people."""
        if self.spilled is None:
            self.spilled = Path(tempfile.mkdtemp(dir=self._room.folder))
        with ExitStack() as stack:
            files = [stack.enter_context(file.open("ab")) for file in self._files()]
            for keys in self._batches:
                of_file = ((keys >> NUMBER_BITS) % _FILES).astype(np.uint8)
                by_file = keys[np.argsort(of_file, kind="stable")]
                edges = edges_of(np.bincount(of_file, minlength=_FILES)).tolist()
                for file, start, end in zip(files, edges, edges[1:], strict=False):
                    by_file[start:end].tofile(file)
        self._batches, self._held = [], 0

    def _files(self) -> list[Path]:
        """One for each share of the people, in a folder of its own."""
        return [] if self.spilled is None else [self.spilled / f"keys-{number}" for number in range(_FILES)]
