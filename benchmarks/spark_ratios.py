"""Our questions beside Spark's own plain query, in one session and one run, as ratios; with what each took of Spark.

Asked twice: in a session as somebody else makes it, with Spark's 200 partitions, and in the session that hushcount
starts by itself. This file is also the program that runs in a process of its own, once for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logs import data_folder
from report import lasting, seconds, show
from watch import core_seconds

from tests.spark import kill_session, spark_environment

# Question, options, and the most that it may take, as a multiple of the plain query.
ASKED: tuple[tuple[str, str, dict[str, object], float], ...] = (
    ("count", "count", {}, 1.5),
    ("count, pcr", "count", {"method": "pcr"}, 1.0),
    ("top", "top", {"k": 10}, 1.0),
    ("vocab", "vocab", {}, 2.0),
    ("vocab, sips", "vocab", {"method": "sips"}, 2.0),
)
SESSIONS = {"user": "a user's own session, 200 partitions", "ours": "the session that hushcount starts"}
_PLAIN = "plain query"


def measure_ratios(file: Path, folder: Path, *, repeats: int) -> None:
    """Print one table for each session."""
    for kind, title in SESSIONS.items():
        told = _asked(file, folder, kind=kind, repeats=repeats)
        plain = told[_PLAIN]
        goals = {_PLAIN: "", **{name: f"{goal:.1f}" for name, _, _, goal in ASKED}}
        rows = [
            [
                name,
                lasting(one["clock"]),
                f"{one['clock'] / plain['clock']:.2f}",
                lasting(one["cores"]),
                f"{one['cores'] / plain['cores']:.2f}",
                goals[name],
                str(one["jobs"]),
                str(one["tasks"]),
            ]
            for name, one in told.items()
        ]
        names = ["", "clock", "ratio", "cores", "ratio", "goal", "jobs", "tasks"]
        note = (
            f"Best of {repeats}, asked in turns, after one turn that is not measured. Cores: what the operating system "
            "charged to all processes of the session, Java's own threads included; on a busy machine it is the fairer."
        )
        show(f"Beside the plain Spark query: {file.stem}, {title}", names, rows, note)


def real_log() -> Path | None:
    """The reviews that the ratios are told of, if they are there."""
    folder = data_folder()
    return None if folder is None else folder / "imdb.parquet"


def _asked(file: Path, folder: Path, *, kind: str, repeats: int) -> dict[str, dict[str, Any]]:
    """What the process of one session told, by question."""
    log = folder / f"{kind}.log"
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603  our own words
            [sys.executable, __file__, json.dumps([str(file), str(folder), kind, repeats])],
            env=spark_environment(HUSHCOUNT_HOME=str(folder / "home")),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate()
        finally:
            kill_session(process)
    if process.returncode:
        raise RuntimeError(log.read_text(encoding="utf-8")[-3000:])
    told: dict[str, dict[str, Any]] = json.loads(said.splitlines()[-1])
    return told


def _session(kind: str, folder: str) -> Any:  # noqa: ANN401  a SparkSession
    if kind == "ours":
        from hushcount.engines.spark.session import open_session

        return open_session()
    from pyspark.sql import SparkSession

    settings = {
        "spark.sql.shuffle.partitions": "200",
        "spark.driver.memory": "4g",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }
    builder = SparkSession.builder.master("local[*]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _jobs(context: Any) -> tuple[int, int]:  # noqa: ANN401  a SparkContext
    """How many jobs and tasks the session has run so far, by its own store."""
    store = context._jsc.sc().statusStore()  # noqa: SLF001 (its page may be off)
    jobs = store.jobsList(None)
    done = [jobs.apply(n) for n in range(jobs.size())]
    return len(done), sum(job.numCompletedTasks() for job in done)


def _main() -> None:
    file, folder, kind, repeats = json.loads(sys.argv[1])
    import hushcount

    spark = _session(kind, folder)

    def plain() -> int:
        query = f"SELECT item, COUNT(DISTINCT user) FROM parquet.`{file}` GROUP BY item"  # noqa: S608  our own words
        return int(spark.sql(query).toArrow().num_rows)

    def asker(question: str, options: dict[str, object]) -> Callable[[], int]:
        ask: Any = getattr(hushcount, question)
        return lambda: len(ask(file, user="user", item="item", engine="spark", fresh=True, ledger=False, **options))

    asked = {_PLAIN: plain, **{name: asker(question, options) for name, question, options, _ in ASKED}}
    best: dict[str, dict[str, float]] = {}
    for turn in range(repeats + 1):
        for name, ask in asked.items():
            jobs, tasks = _jobs(spark.sparkContext)
            cores = core_seconds([os.getpid()])
            clock = seconds(ask)
            cores = core_seconds([os.getpid()]) - cores
            jobs, tasks = (b - a for a, b in zip((jobs, tasks), _jobs(spark.sparkContext), strict=True))
            print(f"{turn} {name}: {clock:.2f} s, {cores:.2f} s of cores", file=sys.stderr, flush=True)
            if turn:
                before = best.get(name, {"clock": clock, "cores": cores})
                least = {"clock": min(clock, before["clock"]), "cores": min(cores, before["cores"])}
                best[name] = {**least, "jobs": jobs, "tasks": tasks}
    spark.stop()
    print(json.dumps(best), flush=True)


if __name__ == "__main__":
    _main()
