"""Peers: what a user would pick instead, on the same log, at the same epsilon and delta, ours in the same run."""

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

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hushcount.accounting.convert import rho_for
from hushcount.app.intervals import intervals
from hushcount.model.budgets import epsilon_budget
from hushcount.model.facts import Facts
from studies.findings import Cell, Chart, Claim, Findings, Measured, Series, Table, measured
from studies.logs import Log
from studies.study import Scale, Study

EPSILON, DELTA, BOUND, RUNS = 1.7, 1e-5, 100, 2
LOG = "git_commit_words of 8000"
PROGRAMS = Path(__file__).parent / "tools"
PATIENCE = 300


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool: what pip installs, and what it leaves to its user or refuses."""

    packages: tuple[str, ...]
    leaves: str


TOOLS = {
    "opendp": Tool(
        packages=("opendp[polars]", "pyarrow"),
        leaves="top lists of an unknown domain: refused; no budget is kept between processes",
    ),
    "pydp": Tool(packages=("python-dp", "numpy", "pyarrow"), leaves="bounding, adding up, composition; no interval"),
    "diffprivlib": Tool(
        packages=("diffprivlib", "scikit-learn<1.9", "pyarrow"),
        leaves="bounding, adding up, the threshold; no interval",
    ),
    "pipelinedp": Tool(packages=("pipeline-dp", "pyarrow"), leaves="no top list, no interval"),
    "smartnoise": Tool(
        packages=("smartnoise-sql", "pyarrow"), leaves="spends more delta than it was given; slow by items"
    ),
    "qrlew": Tool(
        packages=("pyqrlew", "pyarrow<19", "duckdb", "sqlalchemy", "pandas<3"), leaves="running the query; no interval"
    ),
    "dpsynth": Tool(packages=("dpsynth",), leaves="makes synthetic rows of a known domain: not asked this question"),
}


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What came of a tool: rows, accurate ones, the share of intervals that hold, and what it took; or why nothing."""

    rows: Measured | None = None
    accurate: Measured | None = None
    held: Measured | None = None
    seconds: Measured | None = None
    memory: float | None = None
    lines: int | None = None
    why: str = ""


def peers(scale: Scale) -> Findings:
    """Ours by two ways, the recipe that all others share in NumPy, and every tool that can be had."""
    log = scale.log(LOG)
    found = {
        "hushcount, nothing declared": _in_process(scale, log, "ntm", Facts()),
        "hushcount, at most 100 items": _in_process(scale, log, "gaussian-threshold", Facts(max_items=BOUND)),
    }
    if scale.peers is not None:
        found |= _others(log, Path(scale.peers))
    ours = found["hushcount, nothing declared"]
    ran = {name: one for name, one in found.items() if not name.startswith("hushcount") and one.accurate is not None}
    missing = {name: one.why for name, one in found.items() if one.why}
    best = max(ran, key=lambda name: ran[name].accurate.mean) if ran else "none"  # type: ignore[union-attr]
    most = ran[best].accurate if ran else Measured(0.0)
    assert ours.accurate is not None and most is not None  # noqa: S101, PT018  for the type checker
    return Findings(
        sentence=(
            f"At epsilon = {EPSILON}, delta = {DELTA:g} on {log.people:,} people, with nothing declared, "
            f"hushcount has {ours.accurate.mean:.0f} ± {ours.accurate.error:.0f} counts within 10 % of the "
            f"truth, {_share(ours):.0%} of what it shows; of {len(ran)} other tools that ran the best ({best}) "
            f"has {most.mean:.0f} ± {most.error:.0f}, {_share(ran.get(best)):.0%} of what it shows, with a bound "
            f"of {BOUND} that its user had to choose."
        ),
        tables=(
            Table(
                title="The same question, the same epsilon and delta",
                words=(
                    "How many people have each item, of a list that is not public. Accurate: within 10 % of the "
                    "truth. Held: true counts within the 95 % interval, where a tool tells one. Seconds and "
                    "memory are of a whole process, import included, on a machine that others used too."
                ),
                columns=(
                    "tool",
                    "rows",
                    "accurate",
                    "held",
                    "seconds",
                    "peak MB",
                    "lines to write",
                    "leaves to the user, or why not",
                ),
                rows=tuple(_row(name, one) for name, one in found.items()),
            ),
        ),
        charts=(
            Chart(
                title="Rows, and those within 10 %",
                x="tool",
                y="rows",
                places=tuple(_short(name) for name, one in found.items() if one.rows is not None),
                series=(
                    _dots("rows", [one.rows for one in found.values() if one.rows is not None]),
                    _dots(
                        "within 10 %",
                        [one.accurate for one in found.values() if one.accurate is not None or one.rows is not None],
                    ),
                ),
            ),
        ),
        claims=(
            Claim(
                "no tool that ran has more accurate counts than ours with nothing declared, beyond two standard errors",
                all(_no_more(one.accurate, ours.accurate) for one in ran.values()),
            ),
            Claim(
                "of what ours shows the largest share is within 10 %, and at least nine in ten",
                _share(ours) >= max(0.9, *(_share(one) for one in ran.values()), 0.0),
            ),
            Claim(
                "our intervals hold at least 94 % of true counts where nothing is bounded",
                ours.held is not None and ours.held.mean >= 0.94,
            ),
        ),
        remarks=(
            (
                "Budgets: OpenDP is given the rho that is worth (epsilon, delta) beside half of delta, its best "
                "way; PyDP, PipelineDP and Qrlew split halves for names and counts; the others as they come."
            ),
            (
                "Tumult Analytics takes minutes of Spark for so small a log; `make bench-spark` asks it beside "
                "ours: 235 s and 347 names, where count-laplace here takes 25 s and names 396 (docs/spark.md)."
            ),
            "Tools other than ours cannot be given a seed: their rows of this page differ from run to run.",
            (
                "A bound of 100 takes items from people who have more, so intervals around bounded counts miss "
                "the true count by design, in every tool."
            ),
            *(f"{name}: not measured, since {why}." for name, why in missing.items()),
        ),
        settings={
            "question": f"people per item, {LOG}: {len(log.ids):,} pairs, {len(log.items):,} items",
            "budget": (
                f"epsilon = {EPSILON}, delta = {DELTA:g}; at most {BOUND} items of a person where one must be said"
            ),
            "runs": f"{RUNS} of each tool, {len(scale.runs(5))} of ours",
            "environments": "one for each tool, by pip, newest versions of the day, in .cache/peers",
        },
    )


def _share(one: Answered | None) -> float:
    """How many of the shown counts are accurate."""
    if one is None or one.rows is None or one.accurate is None or not one.rows.mean:
        return 0.0
    return one.accurate.mean / one.rows.mean


def _no_more(one: Measured | None, ours: Measured | None) -> bool:
    """Whether one number is not clearly larger than the other."""
    if one is None or ours is None:
        return True
    return one.mean <= ours.mean or one.near(ours, errors=2)


def _in_process(scale: Scale, log: Log, name: str, facts: Facts) -> Answered:
    """Ours, by fixed seeds; how long it takes is asked of a whole process, as of the others."""
    plan = scale.plan(name, epsilon_budget(str(EPSILON), f"{DELTA:g}"), facts)
    rows, accurate, held = [], [], []
    for seed in scale.runs(5):
        outcome = scale.run(name, log, plan, seed)
        ends, counts = intervals(outcome), outcome.counts
        assert ends is not None and counts is not None  # noqa: S101, PT018  for the type checker
        true = log.true_counts(outcome.items)
        rows.append(len(true))
        accurate.append(int(np.count_nonzero(np.abs(counts - true) <= 0.1 * true)))
        held.append(float(np.mean((ends[0] <= true) & (true <= ends[1]))))
    return Answered(rows=measured(rows), accurate=measured(accurate), held=measured(held))


def _others(log: Log, cache: Path) -> dict[str, Answered]:
    """Every tool in its environment, and ours as a whole process for its time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log" / "part.parquet"
        file.parent.mkdir()
        users = np.repeat(np.arange(log.people), log.lengths)
        pq.write_table(pa.table({"user": users, "item": pa.array(log.items[log.ids].tolist())}), file)
        found = {"hushcount, as a process": _asked(log, Path(sys.executable), "ours", file)}
        for name, tool in TOOLS.items():
            python, why = _environment(cache / name, tool.packages)
            found[name] = _asked(log, python, name, file) if python else Answered(why=why)
    return found


def _environment(folder: Path, packages: tuple[str, ...]) -> tuple[Path | None, str]:
    """The Python of a tool's own environment, made if it is not there; or why it cannot be had."""
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists() and done.read_text(encoding="utf-8") == " ".join(packages):
        return python, ""
    for words in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *packages],
    ):
        ran = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  our own words
        if ran.returncode:
            return None, f"pip could not install it ({_last(ran.stderr)})"
    done.write_text(" ".join(packages), encoding="utf-8")
    return python, ""


def _asked(log: Log, python: Path, name: str, file: Path) -> Answered:
    """Run the program of a tool so often, each in a fresh process."""
    program = PROGRAMS / f"ask_{name}.py"
    if not program.exists():
        return Answered(why=TOOLS[name].leaves)
    rows, accurate, held, seconds, memory = [], [], [], [], 0.0
    for run in range(RUNS):
        given = _question(file, run)
        taken, peak, said = _process([str(python), str(program), json.dumps(given)], file.parent.parent)
        if said is None or isinstance(said, str):
            return Answered(why=said or f"it did not end within {PATIENCE} s", lines=_lines(program))
        counts = np.array(said["counts"], dtype=np.float64)
        true = log.true_counts(np.array(said["items"], dtype=object)) if said["items"] else np.zeros(0)
        rows.append(len(true))
        accurate.append(int(np.count_nonzero(np.abs(counts - true) <= 0.1 * true)))
        if "low" in said and said["items"]:
            held.append(float(np.mean((np.array(said["low"]) <= true) & (true <= np.array(said["high"])))))
        seconds.append(taken)
        memory = max(memory, peak)
    return Answered(
        rows=measured(rows),
        accurate=measured(accurate),
        held=measured(held) if held else None,
        seconds=measured(seconds),
        memory=memory,
        lines=_lines(program),
    )


def _question(file: Path, run: int) -> dict[str, Any]:
    rho = rho_for(str(EPSILON), total_delta=f"{DELTA:g}", delta0=f"{DELTA / 2:g}")
    ledger = str(file.parent.parent / f"ledger-{run}.db")
    return {"file": str(file), "epsilon": EPSILON, "delta": DELTA, "rho": rho, "bound": BOUND, "ledger": ledger}


def _process(words: list[str], folder: Path) -> tuple[float, float, Any]:
    """Seconds, megabytes at the most, and what was printed; a text if it failed, None if it took too long."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HUSHCOUNT_"))}
    out, err = folder / "out", folder / "err"
    begun, peak = time.perf_counter(), 0.0
    home = tempfile.mkdtemp(dir=folder)
    with out.open("wb") as printed, err.open("wb") as told:
        child = subprocess.Popen(  # noqa: S603  our own words
            words, stdout=printed, stderr=told, cwd=folder, env={**bare, "HUSHCOUNT_HOME": home}
        )
        while True:
            peak = max(peak, _memory(child.pid))
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() - begun > PATIENCE:
                child.send_signal(signal.SIGKILL)
                os.waitpid(child.pid, 0)
                return 0.0, 0.0, None
            time.sleep(0.02)
        child.returncode = status
    taken = time.perf_counter() - begun
    if status:
        return taken, 0.0, f"it failed: {_last(err.read_text(encoding='utf-8', errors='replace'))}"
    return taken, peak, json.loads(out.read_text(encoding="utf-8").splitlines()[-1])


def _memory(pid: int) -> float:
    """The most megabytes that a process has held so far, by the kernel's own account."""
    try:
        told = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", told)
    return int(found[1]) / 1024 if found else 0.0


def _lines(program: Path) -> int:
    """Lines between `ask` and `end` that hold something."""
    text = program.read_text(encoding="utf-8").split("# ask\n")[1].split("# end")[0]
    return sum(bool(line.strip()) for line in text.splitlines())


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else "it said nothing")[:160].replace("|", "/")


def _row(name: str, one: Answered) -> tuple[Cell, ...]:
    leaves = one.why or (TOOLS[name].leaves if name in TOOLS else "")
    return name, one.rows, one.accurate, one.held, one.seconds, one.memory, one.lines, leaves


def _short(name: str) -> str:
    return {"hushcount, nothing declared": "ours", "hushcount, at most 100 items": "ours, 100"}.get(
        name, name.replace("hushcount, as a process", "ours, proc.")
    )


def _dots(name: str, values: list[Measured | None]) -> Series:
    points = tuple((float(n), one.mean) for n, one in enumerate(values) if one is not None)
    return Series(name=name, points=points, dots=True)


PEERS = Study(
    name="peers",
    title="Peers: the same question to other tools",
    source="ours; OpenDP, PyDP, diffprivlib, PipelineDP, SmartNoise, Qrlew, dpsynth",
    question=(
        "How many people have each item, of a list that is not public: what does each tool answer, and what "
        "does it take?"
    ),
    run=peers,
)
