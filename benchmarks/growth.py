"""How time and memory grow with the log: each question at three sizes, with few items and with many.

Plain queries of DuckDB, Polars and pandas stand beside. Each is run in a process of its own, by turns, three times; the
shortest counts, and the most memory. NumPy, DuckDB and most of this package are loaded before the time begins, Polars
and pandas within it. What needs more memory than this machine has, or more than two minutes, is left out, with a dash.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import duckdb
from logs import write_log
from plain import PLAIN
from product import ASKED, ask
from report import Effort, show

SIZES = (1_000_000, 10_000_000, 100_000_000)
# Few items, and many: so many of the rows for each item.
_FEW, _MANY = 1_000, 8
_QUESTIONS = ("count", "count, pcr", "top", "vocab")
# pandas holds every text as an object of Python's, about a hundred bytes for a row.
_PANDAS_BYTES = 150
_PATIENCE = 120


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One thing at one size: seconds, and gigabytes at most."""

    seconds: float
    memory: float


Found: TypeAlias = dict[int, dict[str, Measured | None]]


def measure(effort: Effort) -> None:
    """Print a table for few items and one for many, and draw them where the documentation shows them."""
    drawn = {}
    with tempfile.TemporaryDirectory() as made:
        for title, items_of in (("few items", lambda _: _FEW), ("many items", lambda rows: rows // _MANY)):
            drawn[title] = found = Found()
            for full in SIZES:
                rows = effort.size(full)
                file = write_log(Path(made), rows, items=max(_FEW, items_of(rows)))
                found[rows] = best_by_turns(file, (*PLAIN, *_QUESTIONS), effort.repeats)
                file.unlink()
            _show(title, found)
    if effort.scale == 1:
        draw(drawn, Path(__file__).parents[1] / "docs" / "speed.svg")


def draw(drawn: dict[str, Found], path: Path) -> None:
    """Time and memory by rows, one line for each thing."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    # The same bytes for the same numbers.
    mpl.rcParams["svg.hashsalt"] = "growth"
    figure = Figure(figsize=(10, 7), layout="constrained")
    for row, (unit, of) in enumerate((("seconds", "seconds"), ("gigabytes, at most", "memory"))):
        for column, (title, found) in enumerate(drawn.items()):
            axes = figure.add_subplot(2, 2, 2 * row + column + 1)
            for name in next(iter(found.values())):
                known = {size: one[name] for size, one in found.items()}
                points = [(size, getattr(one, of)) for size, one in known.items() if one is not None]
                axes.plot(*zip(*points, strict=True), marker="o", label=name, linestyle="--" if name in PLAIN else "-")
            axes.set(xscale="log", yscale="log", xlabel="rows", ylabel=unit, title=title)
            axes.set_xticks(list(found), [f"{size / 1e6:g} M" for size in found], minor=False)
            # Numbers as people write them, at 1, 2 and 5 of each power.
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_minor_locator(NullLocator())
            axes.grid(visible=True, alpha=0.3)
            if not row and not column:
                axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def _show(title: str, found: Found) -> None:
    rows = []
    for size, measured in found.items():
        known = {name: one for name, one in measured.items() if one is not None}
        best = min(known[name].seconds for name in PLAIN if name in known)
        rows.append([f"{size / 1e6:g} M rows", *(_told(measured[name], best) for name in measured)])
    names = next(iter(found.values()))
    show(f"Growth, {title}: seconds, ratio to the fastest plain query, memory", ["", *names], rows)


def _told(one: Measured | None, best: float) -> str:
    return "-" if one is None else f"{one.seconds:.2f} s, {one.seconds / best:.2f}, {one.memory:.2f} GB"


def best_by_turns(file: Path, names: Iterable[str], repeats: int) -> dict[str, Measured | None]:
    """Each in a process of its own: all of them, then all of them again, so that a slow minute is one for all."""
    runs: dict[str, list[Measured]] = {name: [] for name in names}
    left = [name for name in runs if name != "pandas" or _rows(file) * _PANDAS_BYTES < _free_memory()]
    for _ in range(repeats):
        for name in left[:]:
            try:
                runs[name].append(_alone(file, name))
            except subprocess.TimeoutExpired:
                left.remove(name)
    return {
        name: Measured(seconds=min(run.seconds for run in all_runs), memory=max(run.memory for run in all_runs))
        if all_runs
        else None
        for name, all_runs in runs.items()
    }


def _alone(file: Path, name: str) -> Measured:
    words = [sys.executable, str(Path(__file__)), str(file), name]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=_PATIENCE)  # noqa: S603  our own words
    seconds, memory = map(float, done.stdout.split())
    return Measured(seconds=seconds, memory=memory)


def _rows(file: Path) -> int:
    with duckdb.connect() as connection:
        return int(connection.execute("SELECT count(*) FROM read_parquet(?)", [str(file)]).fetchall()[0][0])


def _free_memory() -> int:
    told = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in told if line.startswith("MemAvailable"))


def _main() -> None:
    """Run one thing once, and tell its seconds and the most memory of this process in gigabytes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("name")
    said = parser.parse_args()
    begun = time.perf_counter()
    if said.name in PLAIN:
        PLAIN[said.name](said.file)
    else:
        _, question, options, _ = next(asked for asked in ASKED if asked[0] == said.name)
        ask(said.file, question, options)
    spent = time.perf_counter() - begun
    # Of this program alone: getrusage also counts what its parent held when it started it.
    peak = next(line for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines() if "VmHWM" in line)
    print(spent, int(peak.split()[1]) / 2**20)


if __name__ == "__main__":
    _main()
