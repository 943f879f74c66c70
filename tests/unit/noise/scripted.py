"""Draws for tests: words that the test chooses, and a wrapper that counts what is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hushcount.noise.siphash import Words
from hushcount.noise.source import Draws, RowNumbers

LAST = 2**64 - 1
SECOND = 1 << 32  # the counter of the second word of uniform number 0
THIRD = 2 << 32


class Scripted:
    """Words by counter, one for each row. A counter that the test did not foresee is a KeyError."""

    def __init__(self, script: Mapping[int, Sequence[int]]) -> None:
        self._script = {counter: np.array(words, dtype=np.uint64) for counter, words in script.items()}

    def __len__(self) -> int:
        return len(self._script[0])

    def words(self, counter: int) -> Words:
        """Word number `counter` of every row."""
        return self._script[counter]

    def word(self, row: int, counter: int) -> int:
        """Word number `counter` of one row."""
        return int(self._script[counter][row])

    def at(self, rows: RowNumbers | slice) -> Draws:
        """The script of some of the rows."""
        return Scripted({counter: words[rows].tolist() for counter, words in self._script.items()})


def pairs(*rows: tuple[int, int]) -> Scripted:
    """For each row the first and the second word of uniform number 0, and nothing after them."""
    first, second = zip(*rows, strict=True)
    return Scripted({0: first, SECOND: second})


class Counting:
    """Any draws, and how many words each of the original rows was asked for: in whole columns, and one by one."""

    def __init__(self, inner: Draws) -> None:
        self._inner, self._rows = inner, np.arange(len(inner))
        self.columns = np.zeros(len(inner), dtype=np.int64)
        self.singles = np.zeros(len(inner), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def words(self, counter: int) -> Words:
        """Word number `counter` of every row; one word of each is counted."""
        self.columns[self._rows] += 1
        return self._inner.words(counter)

    def word(self, row: int, counter: int) -> int:
        """Word number `counter` of one row; it is counted apart."""
        self.singles[self._rows[row]] += 1
        return self._inner.word(row, counter)

    def at(self, rows: RowNumbers | slice) -> Draws:
        """Some of the rows, counted in the same place."""
        part = Counting(self._inner.at(rows))
        part._rows = self._rows[rows]
        part.columns, part.singles = self.columns, self.singles
        return part
