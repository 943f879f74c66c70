"""Keys: the rows of a question as integers, in memory or, where there are too many, in files by person."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from hushcount.compiled.cores import beside
from hushcount.compiled.texts import Int32s
from hushcount.engines.pairs import NUMBER_BITS
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.model.texts import edges_of

# People are spread over so many files; each must fit into memory.
_FILES = 64
# Behind the first batch memory is taken for so many keys at a time: the system hands out large blocks by large pages,
# which takes a fifth of the time, and nothing of them before it is written to.
_BLOCK = 1 << 22
# So many keys of eight bytes are in a small page.
_PAGE = 512
# One block waits for the next question of this process: its memory need not be asked for again.
WAITING = list[Int64s]()


@frozen
class Room:
    """What may be held at a time.

    Attributes:
        rows: so many rows in memory.
        folder: a private folder for more.
    """

    rows: int
    folder: Path


def _written_block() -> Int64s:
    """A block that the system has handed out all of: where keys are written, nobody waits for it to be cleared."""
    block = np.empty(_BLOCK, dtype=np.int64)
    block[::_PAGE] = 0
    return block


class Keys:
    """Rows that are added batch by batch, then handed out in parts: all rows of a person are in one of them.

    A row as a key: the number of a person * 2^NUMBER_BITS + the number of an item.

    Attributes:
        spilled: the folder of rows that did not fit into memory, if there are any.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        # Blocks of keys, and how many the last one holds; how many all hold.
        self._blocks, self._filled, self._held = list[Int64s](), 0, 0
        # The last block of full size, which may wait for others when this is done.
        self._last: Int64s | None = None
        # The block after the last one, while another core makes it.
        self._next: Future[Int64s] | None = None
        self.spilled: Path | None = None

    def add(self, people: Int64s | Int32s, items: Int32s) -> None:
        """Rows of people and items by their numbers, none below zero."""
        keys = self.take(len(items))
        keys[:] = people
        keys <<= NUMBER_BITS
        keys |= items

    def take(self, rows: int) -> Int64s:
        """Room for the keys of so many rows, all of which are to be written."""
        if self._held and self._held + rows > self._room.rows:
            self._spill()
        if not self._blocks or self._filled + rows > len(self._blocks[-1]):
            self._end_block()
            self._blocks.append(self._new_block(rows))
        keys = self._blocks[-1][self._filled : self._filled + rows]
        self._filled += rows
        self._held += rows
        if self._next is None and self._last is self._blocks[-1] and 4 * self._filled > 3 * _BLOCK:
            self._next = beside(_written_block)
        return keys

    def _new_block(self, rows: int) -> Int64s:
        size = max(rows, _BLOCK if self._held else 0)
        if size != _BLOCK:
            return np.empty(size, dtype=np.int64)
        if self._next is not None:
            block, self._next = self._next.result(), None
        else:
            try:
                block = WAITING.pop()
            except IndexError:
                block = np.empty(size, dtype=np.int64)
        self._last = block
        return block

    def _end_block(self) -> None:
        """Let the last block hold nothing but keys."""
        if self._blocks:
            self._blocks[-1] = self._blocks[-1][: self._filled]
        self._filled = 0

    def let_wait(self) -> None:
        """Let a block wait for the next question: something else was made of all keys, and nobody reads them now.

        Not where that was given up: another core may be reading still.
        """
        last, self._blocks, self._last, self._next = self._last, [], None, None
        if last is not None and not WAITING:
            WAITING.append(last)

    def discard(self) -> None:
        """Let go of all rows, also of those on the disk."""
        self._blocks, self._filled, self._held, self._next = [], 0, 0, None
        if self.spilled is not None:
            # What cannot be removed goes with the folder that it is in.
            shutil.rmtree(self.spilled, ignore_errors=True)

    def parts(self, numbers: range) -> Iterator[tuple[list[Int64s], range, range]]:
        """Batches of keys in any order, once; in one part if they are in memory.

        Args:
            numbers: all numbers that people may have.

        Returns:
            For each part its keys, all numbers that people may have in them, and which of `numbers` each of these
            stands for: the first for the first, and so on.
        """
        if self.spilled is None:
            self._end_block()
            yield self._blocks, numbers, numbers
            return
        self._spill()
        for number, file in enumerate(self._files()):
            keys = np.fromfile(file, dtype=np.int64)
            file.unlink()
            items = keys & ((1 << NUMBER_BITS) - 1)
            own = numbers[(number - numbers.start) % _FILES :: _FILES]
            keys >>= NUMBER_BITS
            keys //= _FILES
            keys <<= NUMBER_BITS
            keys |= items
            yield [keys], range(own.start // _FILES, own.start // _FILES + len(own)), own

    def _spill(self) -> None:
        """Append all keys that are in memory to the files of their people."""
        if self.spilled is None:
            self.spilled = Path(tempfile.mkdtemp(dir=self._room.folder))
        with ExitStack() as stack:
            files = [stack.enter_context(file.open("ab")) for file in self._files()]
            self._end_block()
            for keys in self._blocks:
                of_file = ((keys >> NUMBER_BITS) % _FILES).astype(np.uint8)
                by_file = keys[np.argsort(of_file, kind="stable")]
                edges = edges_of(np.bincount(of_file, minlength=_FILES)).tolist()
                for file, start, end in zip(files, edges, edges[1:], strict=False):
                    by_file[start:end].tofile(file)
        self._blocks, self._held = [], 0

    def _files(self) -> list[Path]:
        """One for each share of the people, in a folder of its own."""
        return [] if self.spilled is None else [self.spilled / f"keys-{number}" for number in range(_FILES)]
