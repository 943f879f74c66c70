"""Peers: what a user would pick instead, on the same log, at the same epsilon and delta, ours in the same run."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
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
from studies.tool import PROGRAMS, CannotAnswer, environment, in_short, lines_to_write, run

EPSILON, DELTA, BOUND = 1.7, 1e-5, 100
# Of each tool, of those that take half a minute and more, and of ours by fixed seeds.
RUNS, SLOW_RUNS, OUR_RUNS = 4, 2, 20
SLOW = ("smartnoise", "qrlew", "tumult")
LOG = "git_commit_words of 8000"
# What pip installs for each; Tumult's Spark still asks for distutils, which setuptools brings where Python has none.
TOOLS: dict[str, tuple[str, ...]] = {
    "opendp": ("opendp[polars]", "pyarrow"),
    "pydp": ("python-dp", "numpy", "pyarrow"),
    "diffprivlib": ("diffprivlib", "scikit-learn<1.9", "pyarrow"),
    "pipelinedp": ("pipeline-dp", "pyarrow"),
    "smartnoise": ("smartnoise-sql", "pyarrow"),
    "qrlew": ("pyqrlew", "pyarrow<19", "duckdb", "sqlalchemy", "pandas<3"),
    "tumult": ("tmlt.analytics==0.21.0", "setuptools"),
    "dpsynth": ("dpsynth",),
}
OURS, BOUNDED, PROCESS = "hushcount, nothing declared", "hushcount, at most 100 items", "hushcount, as a process"
# What each is asked beside, as studies/tools/asked.py calls it.
BEYOND = ("nothing declared", "top ten", "asked twice")


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
    beyond: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """How many of the shown counts are accurate."""
        if self.rows is None or self.accurate is None or not self.rows.mean:
            return 0.0
        return self.accurate.mean / self.rows.mean


def peers(scale: Scale) -> Findings:
    """Ours by two ways, and every tool that can be had."""
    log = scale.log(LOG)
    found = {
        OURS: _in_process(scale, log, "ntm", Facts()),
        BOUNDED: _in_process(scale, log, "gaussian-threshold", Facts(max_items=BOUND)),
    }
    if scale.peers is not None:
        found |= _others(log, Path(scale.peers))
    ours = found[OURS]
    ran = {name: one for name, one in found.items() if name in TOOLS and one.accurate is not None}
    best = max(ran, key=lambda name: _mean(ran[name].accurate)) if ran else "none"
    most = ran.get(best, Answered(accurate=Measured(0.0)))
    assert ours.accurate is not None and most.accurate is not None  # noqa: S101, PT018  for the type checker
    return Findings(
        sentence=(
            f"At epsilon = {EPSILON}, delta = {DELTA:g} on {log.people:,} people, with nothing declared, "
            f"hushcount has {ours.accurate.mean:.0f} ± {ours.accurate.error:.0f} counts within 10 % of the "
            f"truth, {ours.share:.0%} of what it shows; of {len(ran)} other tools that ran the best ({best}) "
            f"has {most.accurate.mean:.0f} ± {most.accurate.error:.0f}, {most.share:.0%} of what it shows, with a "
            f"bound of {BOUND} that its user had to choose."
        ),
        tables=_tables(found),
        charts=(_chart(found),),
        claims=_claims(ours, ran),
        remarks=(*REMARKS, *(f"{name}: not measured, since {one.why}." for name, one in found.items() if one.why)),
        settings={
            "question": f"people per item, {LOG}: {len(log.ids):,} pairs, {len(log.items):,} items",
            "budget": (
                f"epsilon = {EPSILON}, delta = {DELTA:g}; at most {BOUND} items of a person where one must be said"
            ),
            "runs": f"{RUNS} of each tool, {SLOW_RUNS} of {', '.join(SLOW)}, {len(scale.runs(OUR_RUNS))} of ours",
            "environments": "one for each tool, by pip, newest versions of the day, in .cache/peers",
        },
    )


def _in_process(scale: Scale, log: Log, name: str, facts: Facts) -> Answered:
    """Ours, by fixed seeds; how long it takes is asked of a whole process, as of the others."""
    plan = scale.plan(name, epsilon_budget(str(EPSILON), f"{DELTA:g}"), facts)
    runs = []
    for seed in scale.runs(OUR_RUNS):
        outcome = scale.run(name, log, plan, seed)
        ends, counts = intervals(outcome), outcome.counts
        assert ends is not None and counts is not None  # noqa: S101, PT018  for the type checker
        runs.append({"items": outcome.items.tolist(), "counts": counts, "low": ends[0], "high": ends[1]})
    return _judged(log, runs)


def _others(log: Log, cache: Path) -> dict[str, Answered]:
    """Every tool in its environment, and ours as a whole process for its time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log" / "part.parquet"
        file.parent.mkdir()
        users = np.repeat(np.arange(log.people), log.lengths)
        pq.write_table(pa.table({"user": users, "item": pa.array(log.items[log.ids].tolist())}), file)
        found = {PROCESS: _asked(log, Path(sys.executable), "ours", file)}
        for name, packages in TOOLS.items():
            try:
                found[name] = _asked(log, environment(cache / name, packages), name, file)
            except CannotAnswer as reason:
                found[name] = Answered(why=str(reason))
    return found


def _asked(log: Log, python: Path, name: str, file: Path) -> Answered:
    """Run the program of a tool so often, each in a fresh process; then the one that asks for more than it answers."""
    program, folder = PROGRAMS / f"ask_{name}.py", file.parent.parent
    times = SLOW_RUNS if name in SLOW else RUNS
    runs = [run(python, program, _question(file, number), folder) for number in range(times)]
    further = run(python, PROGRAMS / f"beyond_{name}.py", _question(file, RUNS), folder)
    return replace(
        _judged(log, [one.said for one in runs]),
        seconds=measured(one.seconds for one in runs),
        memory=max(one.memory for one in runs),
        lines=lines_to_write(program),
        beyond=tuple(in_short(str(further.said[question])) for question in BEYOND),
    )


def _question(file: Path, number: int) -> dict[str, Any]:
    rho = rho_for(str(EPSILON), total_delta=f"{DELTA:g}", delta0=f"{DELTA / 2:g}")
    ledger = str(file.parent.parent / f"ledger-{number}.db")
    return {"file": str(file), "epsilon": EPSILON, "delta": DELTA, "rho": rho, "bound": BOUND, "ledger": ledger}


def _judged(log: Log, runs: list[dict[str, Any]]) -> Answered:
    """What was shown, against the true counts."""
    rows, accurate, held = [], [], []
    for said in runs:
        counts = np.array(said["counts"], dtype=np.float64)
        true = log.true_counts(np.array(said["items"], dtype=object)) if said["items"] else np.zeros(0)
        rows.append(len(true))
        accurate.append(int(np.count_nonzero(np.abs(counts - true) <= 0.1 * true)))
        if "low" in said and said["items"]:
            held.append(float(np.mean((np.array(said["low"]) <= true) & (true <= np.array(said["high"])))))
    return Answered(rows=measured(rows), accurate=measured(accurate), held=measured(held) if held else None)


def _tables(found: dict[str, Answered]) -> tuple[Table, ...]:
    beyond = {name.replace(f"{PROCESS}", "hushcount"): one.beyond for name, one in found.items() if one.beyond}
    return (
        Table(
            title="The same question, the same epsilon and delta",
            words=(
                "How many people have each item, of a list that is not public. Accurate: within 10 % of the "
                "truth. Held: true counts within the 95 % interval, where a tool tells one or the deviation of its "
                "noise. Seconds and memory are of whole processes, imports included."
            ),
            columns=("tool", "rows", "accurate", "held", "seconds", "peak MB", "lines to write", "why not"),
            rows=tuple(_row(name, one) for name, one in found.items()),
        ),
        *(
            [
                Table(
                    title="What each refuses, asked in this run",
                    words=(
                        "Three questions beyond: the same one with nothing declared of how many items a person has; "
                        "the ten most held items, as one question; and the same one a second time on a budget object "
                        "that holds one. What a tool said is quoted, its first line. No tool but hushcount keeps what "
                        "was spent when a process ends: each was given its whole budget again in every run above."
                    ),
                    columns=("tool", "with nothing declared", "ten most held", "twice on one budget"),
                    rows=tuple((name, *said) for name, said in beyond.items()),
                )
            ]
            * bool(beyond)
        ),
    )


def _row(name: str, one: Answered) -> tuple[Cell, ...]:
    return name, one.rows, one.accurate, one.held, one.seconds, one.memory, one.lines, one.why


def _chart(found: dict[str, Answered]) -> Chart:
    shown = {name: one for name, one in found.items() if one.rows is not None}
    short = {OURS: "ours", BOUNDED: "ours, 100", PROCESS: "ours, proc."}
    return Chart(
        title="Rows shown, and those within 10 %",
        x="tool",
        y="rows",
        places=tuple(short.get(name, name) for name in shown),
        series=(
            _dots("rows shown", [one.rows for one in shown.values()]),
            _dots("within 10 % of the truth", [one.accurate for one in shown.values()]),
        ),
    )


def _dots(name: str, values: list[Measured | None]) -> Series:
    return Series(name=name, points=tuple((float(n), _mean(one)) for n, one in enumerate(values)), dots=True)


def _mean(one: Measured | None) -> float:
    return one.mean if one is not None else 0.0


def _claims(ours: Answered, ran: dict[str, Answered]) -> tuple[Claim, ...]:
    return (
        Claim(
            "no tool that ran has a quarter more accurate counts than ours with nothing declared, beyond two standard "
            "errors",
            all(_no_more(one.accurate, ours.accurate) for one in ran.values()),
            seen=True,
        ),
        Claim(
            "of what ours shows at least nine in ten are within 10 %, a larger share than of any tool that shows half "
            "as many rows",
            ours.share
            >= max(0.9, 0.0, *(one.share for one in ran.values() if 2 * _mean(one.rows) >= _mean(ours.rows))),
            seen=True,
        ),
        Claim(
            "our intervals hold at least 94 % of true counts where nothing is bounded",
            ours.held is not None and ours.held.mean >= 0.94,
            seen=True,
        ),
    )


def _no_more(one: Measured | None, ours: Measured | None) -> bool:
    """Whether one number is not clearly larger than the other and a quarter of it."""
    return one is None or ours is None or one.mean <= ours.mean or one.near(ours, errors=2, share=0.25)


REMARKS = (
    (
        "Budgets: OpenDP is given the rho that is worth (epsilon, delta) beside half of delta, its best way; PyDP, "
        "PipelineDP and Qrlew split halves for names and counts, Tumult epsilon alike; the others as they come."
    ),
    "Tools other than ours cannot be given a seed: their rows of this page differ from run to run.",
    (
        "A bound of 100 takes items from people who have more, so intervals around bounded counts miss the true count "
        "by design, in every tool."
    ),
)

PEERS = Study(
    name="peers",
    title="Peers: the same question to other tools",
    source="ours; OpenDP, PyDP, diffprivlib, PipelineDP, SmartNoise, Qrlew, Tumult Analytics, dpsynth",
    question=(
        "How many people have each item, of a list that is not public: what does each tool answer, what does it take, "
        "and what does it refuse?"
    ),
    run=peers,
    programs="tools",
)
