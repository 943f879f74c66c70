"""A tool in an environment of its own: installed once, asked by a small program, its time and memory watched."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "tools"
PATIENCE = 400


class CannotAnswer(Exception):
    """A tool cannot be had, or gave no answer; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a program printed, and what its processes took: seconds by the clock, and megabytes at the most."""

    said: dict[str, Any]
    seconds: float
    memory: float


def environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """The Python of a tool's own environment, made if it is not there."""
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists() and done.read_text(encoding="utf-8") == " ".join(packages):
        return python
    for words in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *packages],
    ):
        ran = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  our own words
        if ran.returncode:
            raise CannotAnswer(f"pip could not install it ({_last(ran.stderr)})")
    done.write_text(" ".join(packages), encoding="utf-8")
    return python


def run(python: Path, program: Path, given: dict[str, Any], folder: Path) -> Ran:
    """Run a program to its end, in a process of its own that knows nothing of ours; its last line is JSON."""
    home = tempfile.mkdtemp(dir=folder)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HUSHCOUNT_", "SPARK"))}
    out, err, begun, peak = folder / "out", folder / "err", time.perf_counter(), 0.0
    with out.open("wb") as printed, err.open("wb") as told:
        child = subprocess.Popen(  # noqa: S603  our own words
            [str(python), str(program), json.dumps(given)],
            stdout=printed,
            stderr=told,
            cwd=folder,
            env={**bare, "HUSHCOUNT_HOME": home},
            start_new_session=True,
        )
        while child.poll() is None:
            peak = max(peak, _memory(child.pid))
            if time.perf_counter() - begun > PATIENCE:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                raise CannotAnswer(f"it did not end within {PATIENCE} s")
            time.sleep(0.02)
    if child.returncode:
        raise CannotAnswer(f"it failed: {_last(err.read_text(encoding='utf-8', errors='replace'))}")
    said = json.loads(out.read_text(encoding="utf-8").splitlines()[-1])
    return Ran(said=said, seconds=time.perf_counter() - begun, memory=peak)


def lines_to_write(program: Path) -> int:
    """Lines between `ask` and `end` that hold something."""
    text = program.read_text(encoding="utf-8").split("# ask\n")[1].split("# end")[0]
    return sum(bool(line.strip()) for line in text.splitlines())


def in_short(words: str, most: int = 150) -> str:
    """The first line of what a tool said, for a cell of a table."""
    line = re.split(r"\\n|\n", words)[0].replace("\\", "").replace("|", "/").replace('"', "").strip()
    return line if len(line) <= most else f"{line[: most - 4].rsplit(' ', 1)[0]} ..."


def _memory(pid: int) -> float:
    """The most megabytes that a process and those that it started have held so far, by the kernel's own account."""
    try:
        told = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        started = [
            int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()
        ]
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", told)
    return (int(found[1]) / 1024 if found else 0.0) + sum(_memory(one) for one in started)


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return in_short(lines[-1] if lines else "it said nothing")
