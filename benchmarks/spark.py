"""Measure Spark: beside its own plain query, and on the DP-SIPS paper's log: time, bytes, memory, growth, cores.

`make bench-spark` runs this. First the ratios, as `spark_ratios` says. Then logs of millions of people: each is written
once, and each measurement is a session on a private standalone cluster of workers with one core each, so that driver
and executors are processes of their own and can be weighed apart. These times are of one run; start-up of the session
is not in them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tumult
from report import lasting, rate, show
from spark_ratios import measure_ratios, real_log
from synthetic import Log, write_synthetic
from watch import Watch, core_seconds

from tests.spark import Cluster, find_java, kill_session, running_cluster, spark_environment

# The paper's parameters: rho 0.1, delta 1e-5, at most 100 items of each person, three rounds.
_BUDGET = {"rho": "0.1", "delta": "1e-5", "max_items_per_user": 100}
_PURE = {"epsilon": "2", "delta": "1e-5", "max_items_per_user": 100}
ASKED: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("vocab, sips", "vocab", {"method": "sips", **_BUDGET}),
    ("vocab, weighted", "vocab", {"method": "weighted-gaussian", **_BUDGET}),
    ("count", "count", {}),
)
BESIDE_TUMULT = ("vocab, count-laplace", "vocab", {"method": "count-laplace", **_PURE})
_EXECUTOR_MEMORY = "3g"
_WORKER_MEMORY = "4g"
_PARTITIONS = 64
# Tumult takes minutes for a log of this size.
_PEOPLE_BESIDE_TUMULT = 200_000


@dataclass(frozen=True, kw_only=True)
class Run:
    """One session's measurements: a row for each question, and the most memory of each kind of process."""

    log: Log
    cores: int
    rows: list[dict[str, Any]]
    watch: Watch


def say(text: str) -> None:
    """Progress, on the error stream: the table alone goes to the other."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def measure(log: Log, *, cores: int, asked: tuple[tuple[str, str, dict[str, object]], ...]) -> Run:
    """Ask a log all questions in one session, on so many workers of one core."""
    with running_cluster(workers=cores, memory=_WORKER_MEMORY) as cluster:
        settings = {
            "spark.master": cluster.url,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.executor.memory": _EXECUTOR_MEMORY,
            "spark.local.dir": str(cluster.folder / "local"),
            "spark.sql.shuffle.partitions": str(_PARTITIONS),
            "spark.sql.warehouse.dir": str(cluster.folder / "warehouse"),
            "spark.ui.port": "0",
            "spark.ui.retainedStages": "100000",
            "spark.ui.showConsoleProgress": "false",
        }
        words = [sys.executable, str(Path(__file__).with_name("spark_ask.py"))]
        process = subprocess.Popen(  # noqa: S603  our own words
            [*words, json.dumps([str(log.folder), settings, asked])],
            env=spark_environment(HUSHCOUNT_HOME=str(cluster.folder / "home")),
            stdout=subprocess.PIPE,
            stderr=(cluster.folder / "driver.log").open("w", encoding="utf-8"),
            text=True,
            start_new_session=True,
        )
        try:
            with Watch(lambda: _leaders(cluster, process)) as watch:
                rows = list(_told(process, cluster))
            if process.wait() or len(rows) < len(asked):
                raise RuntimeError((cluster.folder / "driver.log").read_text(encoding="utf-8")[-3000:])
        finally:
            kill_session(process)
    return Run(log=log, cores=cores, rows=rows, watch=watch)


def _leaders(cluster: Cluster, process: subprocess.Popen[str]) -> dict[str, list[int]]:
    return {"driver": [process.pid], "executors": [worker.process.pid for worker in cluster.workers]}


def _told(process: subprocess.Popen[str], cluster: Cluster) -> Iterator[dict[str, Any]]:
    """The rows that the process tells, each with what all processes of Spark took for it."""
    leaders = [number for numbers in _leaders(cluster, process).values() for number in numbers]
    before = 0.0
    for line in process.stdout or ():
        row, spent = json.loads(line), core_seconds(leaders)
        if "name" in row:
            row["cores"] = spent - before
            took = f"{lasting(row['seconds'])}, {lasting(row['cores'])} of cores"
            say(f"  {len(cluster.workers)} x 1 core: {row['name']} took {took}, named {row['named']:,}")
            yield row
        before = spent


def show_runs(runs: list[Run]) -> None:
    """Print one table of times and bytes, and one of memory."""
    table = []
    for run in runs:
        for row in run.rows:
            rows = run.log.rows
            table.append(
                [
                    f"{run.log.people / 1e6:g} M people, {rows / 1e6:.1f} M rows",
                    row["name"],
                    str(run.cores),
                    lasting(row["seconds"]),
                    rate(rows / row["seconds"]),
                    f"{1e6 * row['cores'] / rows:.2f} us",
                    f"{row['shuffled'] / rows:.1f}",
                    f"{row['spilled'] / rows:.1f}",
                    f"{row['named']:,}",
                ]
            )
    names = ["log", "question", "cores", "time", "rows/s", "core time/row", "shuffle B/row", "spill B/row", "named"]
    note = (
        "Core time is what the operating system charged to all processes of Spark: other programs do not add to it. "
        "Each session first asks about a small part of the log, unmeasured, so that Java has compiled."
    )
    show("Questions", names, table, note)
    kinds = ("driver Java", "driver Python", "executors Java", "executors Python")
    show(
        "The most memory held at any moment, all processes of a kind together",
        ["log", "cores", *kinds],
        [[f"{r.log.people / 1e6:g} M people", str(r.cores), *map(r.watch.shown, kinds)] for r in runs],
        f"Executors may use a heap of {_EXECUTOR_MEMORY} each.",
    )


def beside_tumult(folder: Path, *, longest: int) -> None:
    """Print the nearest question that Tumult Analytics answers, on both, in one run."""
    log = write(folder, people=_PEOPLE_BESIDE_TUMULT, longest=longest)
    try:
        say(f"installing {tumult.PACKAGE} in an environment of its own")
        python = tumult.install(folder / "tumult")
        ours = measure(log, cores=2, asked=(BESIDE_TUMULT,)).rows[0]
        say(f"Tumult on {log.rows / 1e6:.1f} M rows")
        taken, named = tumult.run(python, log.folder, master="local[2]", epsilon=2.0, delta=1e-5)
    except tumult.CannotRun as reason:
        print(f"\nTumult Analytics could not be measured: {reason}")
        return
    finally:
        shutil.rmtree(log.folder)
    show(
        f"Beside Tumult Analytics: names by noisy counts and a threshold, {log.rows / 1e6:.1f} M rows",
        ["", "time", "ratio", "named"],
        [
            ["hushcount count-laplace", lasting(ours["seconds"]), "1.00", f"{ours['named']:,}"],
            [tumult.PACKAGE, lasting(taken), f"{taken / ours['seconds']:.2f}", f"{named:,}"],
        ],
        "Epsilon 2, delta 1e-5, 100 rows of each person, two cores each, both after a question about a small part of "
        "the log. Tumult's packages hold no DP-SIPS.",
    )


def write(folder: Path, *, people: int, longest: int) -> Log:
    """Write a log, and say how long that took."""
    begun = time.perf_counter()
    log = write_synthetic(folder / f"log-{people}", people=people, longest=longest)
    taken, size = lasting(time.perf_counter() - begun), log.bytes_on_disk / log.rows
    say(f"{people:,} people, {log.rows:,} rows, written in {taken}, {size:.1f} B/row")
    return log


def main() -> None:
    """Write the logs, measure, print."""
    parser = argparse.ArgumentParser(description="Measure Spark on generated logs of millions of people.")
    parser.add_argument("--people", type=float, nargs="*", default=[1, 3, 10], help="millions of people of each log")
    parser.add_argument("--longest", type=int, default=100, help="the most rows of one person")
    parser.add_argument("--only", metavar="WORD", default="", help="questions whose name holds this word")
    parser.add_argument("--folder", type=Path, help="where logs are written, 6 MB for each million rows")
    parser.add_argument("--repeats", type=int, default=3, help="turns beside the plain query; 0 leaves it out")
    parser.add_argument("--no-tumult", action="store_true", help="leave Tumult Analytics out")
    options = parser.parse_args()
    if find_java() is None:
        parser.error("Spark needs Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)")
    # Ended from outside, as by `timeout`: the cluster must not outlive us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"{os.cpu_count()} cores. Lists of Pareto(10, 1.16) items, at most {options.longest:,}; items of zeta(1.1).")
    runs: list[Run] = []
    asked = tuple(one for one in ASKED if options.only in one[0])
    try:
        with tempfile.TemporaryDirectory(prefix="hushcount-", dir=options.folder) as made:
            if options.repeats:
                file = (
                    real_log()
                    or write(Path(made) / "beside", people=_PEOPLE_BESIDE_TUMULT, longest=options.longest).folder
                )
                say(f"{file.stem} beside the plain query")
                measure_ratios(file, Path(made), repeats=options.repeats)
            if not options.no_tumult:
                beside_tumult(Path(made), longest=options.longest)
            for place, millions in enumerate(sorted(options.people)):
                log = write(Path(made), people=round(1e6 * millions), longest=options.longest)
                # One core against two is shown where it is cheapest to show: on the smallest of several.
                if place == 0 and len(options.people) > 1:
                    runs.append(measure(log, cores=1, asked=asked))
                runs.append(measure(log, cores=2, asked=asked))
                shutil.rmtree(log.folder)
    finally:
        # What was measured is shown, also if somebody stopped it.
        if runs:
            show_runs(runs)


if __name__ == "__main__":
    main()
