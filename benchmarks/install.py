"""The first minute: a clean clone to the first table, the size of the base install, and its first question for a list.

Needs the network, as a newcomer does; pip's cache is not used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from report import Effort, lasting, seconds, show

ROOT = Path(__file__).resolve().parents[1]
# What `make` and an environment of Python hand down to what they start: a newcomer has none of it.
_INHERITED = ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "PYTHONPATH", "VIRTUAL_ENV")
_NOT_OURS = ("pip", "setuptools", "wheel", "_distutils_hack")


def measure(effort: Effort) -> None:
    """Clone the last commit and run its demo; install it by itself, weigh it, and ask it twice."""
    del effort  # once: it is minutes, and mostly the network's
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        first, whole = _demo(folder)
        size, largest = _base(folder)
        log = folder / "clone" / "reading-log.parquet"
        asked = [seconds(partial(_vocab, folder, log, fresh=fresh)) for fresh in (False, True, True)]
    second = min(asked[1:])
    rows = [
        ["clean clone to the demo's first table", lasting(first), "60 s"],
        ["clean clone to the end of the demo", lasting(whole), ""],
        ["base install", f"{size:.0f} MB", "200 MB"],
        ["second vocab in a fresh install", lasting(second), ""],
        ["first vocab, against the second", f"{asked[0] - second:+.2f} s", "+1 s"],
    ]
    show("The first minute", ["", "measured", "target"], rows, f"Of the base install: {largest}.")


def _demo(folder: Path) -> tuple[float, float]:
    """Seconds from the start of a clone to the first table, and to the end."""
    begun = time.perf_counter()
    _run(["git", "clone", "--quiet", str(ROOT), str(folder / "clone")])
    words = ["make", "--no-print-directory", "demo", f"PYTHON={_python()}"]
    with subprocess.Popen(  # noqa: S603  our own words
        words, cwd=folder / "clone", env=_environment(folder), stdout=subprocess.PIPE, text=True
    ) as demo:
        lines = ((time.perf_counter() - begun, line) for line in demo.stdout or ())
        first = next((spent for spent, line in lines if line.rstrip().endswith("truly")), None)
        for _ in lines:
            pass
    if demo.returncode or first is None:
        raise SystemExit(f"make demo ended with {demo.returncode}, in {folder / 'clone'}")
    return first, time.perf_counter() - begun


def _base(folder: Path) -> tuple[float, str]:
    """Megabytes of what `pip install hushcount` brings, and the largest of them."""
    _run([_python(), "-m", "venv", str(folder / "base")])
    program = str(folder / "base" / "bin" / "python")
    _run([program, "-m", "pip", "install", "--quiet", str(folder / "clone")], env=_environment(folder))
    (packages,) = (folder / "base" / "lib").glob("python*/site-packages")
    sizes = {place.name: _megabytes(place) for place in packages.iterdir() if not place.name.startswith(_NOT_OURS)}
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:4]
    return sum(sizes.values()), ", ".join(f"{name} {sizes[name]:.0f} MB" for name in largest)


def _megabytes(place: Path) -> float:
    files = place.rglob("*") if place.is_dir() else [place]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def _vocab(folder: Path, log: Path, *, fresh: bool) -> None:
    words = [str(folder / "base" / "bin" / "hushcount"), "vocab", str(log), "--user", "reader", "--text", "search"]
    _run([*words, "--quiet", *(["--fresh"] if fresh else [])], env=_environment(folder))


def _python() -> str:
    """The interpreter behind this environment."""
    return getattr(sys, "_base_executable", sys.executable)


def _environment(folder: Path) -> dict[str, str]:
    own = {"HUSHCOUNT_HOME": str(folder / "home"), "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {name: value for name, value in os.environ.items() if name not in _INHERITED} | own


def _run(words: list[str], env: dict[str, str] | None = None) -> None:
    subprocess.run(words, check=True, env=env, stdout=subprocess.DEVNULL)  # noqa: S603  our own words
