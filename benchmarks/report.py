"""Timing and printing: the best of a few runs, and tables of plain aligned text."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured: the best of `repeats` runs, on inputs `scale` times the full size."""

    repeats: int
    scale: float

    def size(self, full: int) -> int:
        """The size to measure at, where `full` is the size of a full run."""
        return max(1, round(full * self.scale))

    def best(self, work: Callable[[], object]) -> float:
        """Seconds that `work` takes at its best, after one run that is not timed.

        What takes long is not repeated as often: chance matters less there.
        """
        first = seconds(work)
        repeats = self.repeats if first < 1 else max(1, self.repeats - 1)
        return min(seconds(work) for _ in range(repeats))

    def best_by_turns(self, works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
        """As `best`, of several: all of them once, then all of them again, so that a slow minute is one for all.

        In another order each time, since memory is as whatever ran before left it: DuckDB, where it is closed, gives
        back to the system what the whole process had kept, and who comes next has to ask for it anew.
        """
        for work in works.values():
            work()
        order = random.Random(0)  # noqa: S311  nothing secret
        rounds = [
            {name: seconds(works[name]) for name in order.sample(list(works), len(works))} for _ in range(self.repeats)
        ]
        return {name: min(one[name] for one in rounds) for name in works}


def seconds(work: Callable[[], object]) -> float:
    """Seconds that `work` takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rate(value: float | None) -> str:
    """A number of things per second, in three digits and a letter; a dash for None."""
    if value is None:
        return "-"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"


def lasting(value: float) -> str:
    """A time in seconds or milliseconds."""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> None:
    """Print one table: the first column to the left, numbers to the right."""
    table = [columns, *rows]
    widths = [max(len(row[place]) for row in table) for place in range(len(columns))]
    print(f"\n{title}")
    for number, row in enumerate(table):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  " + "  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip(), flush=True)
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))
    if note:
        print(f"  {note}")
