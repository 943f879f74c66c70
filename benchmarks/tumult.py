"""Partition selection by Tumult Analytics on the same log, in an environment of its own, which this file makes.

Tumult's packages hold no DP-SIPS (as of tmlt.analytics 0.21 and tmlt.core 0.19). What they offer for the same question
is `get_groups`: each person's rows are cut at 100, every item's count gets geometric noise, and items above a threshold
are named. That is the work of `count-laplace` here, so those two stand side by side.

This file is also the program that runs in that environment: it imports nothing of hushcount.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PACKAGE = "tmlt.analytics==0.21.0"
_PATIENCE = 1800


class CannotRun(Exception):
    """Tumult cannot be installed or run here; the text says why."""


def install(folder: Path) -> Path:
    """Make an environment with Tumult in it; its Python."""
    python = folder / "bin" / "python"
    for words in (
        [sys.executable, "-m", "venv", str(folder)],
        # Its Spark still asks for distutils, which setuptools brings where Python has none.
        [str(python), "-m", "pip", "--quiet", "install", PACKAGE, "setuptools"],
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  our own words
        if done.returncode:
            raise CannotRun(f"{' '.join(words[-3:])} failed: {_last_line(done.stderr)}")
    return python


def run(python: Path, log: Path, *, master: str, epsilon: float, delta: float) -> tuple[float, int]:
    """Seconds that it took, start-up not included, and how many items were named."""
    words = [str(python), str(Path(__file__)), json.dumps([str(log), master, epsilon, delta, str(python.parents[1])])]
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    environment = {**bare, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(python)}
    try:
        done = subprocess.run(  # noqa: S603  our own words
            words,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
            env=environment,
            cwd=python.parents[1],
        )
    except subprocess.TimeoutExpired:
        raise CannotRun(f"it did not end within {_PATIENCE // 60} minutes") from None
    if done.returncode:
        raise CannotRun(_last_line(done.stderr))
    taken, named = json.loads(done.stdout.splitlines()[-1])
    return float(taken), int(named)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"


def _main() -> None:
    from pyspark.sql import SparkSession  # of the other environment
    from tmlt.analytics import (
        AddRowsWithID,
        ApproxDPBudget,
        MaxRowsPerID,
        QueryBuilder,
        Session,
    )

    log, master, epsilon, delta, folder = json.loads(sys.argv[1])
    settings = {
        "spark.driver.memory": "6g",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()

    def ask(files: str) -> int:
        budget = ApproxDPBudget(epsilon, delta)
        rows = spark.read.parquet(files)
        session = Session.from_dataframe(
            privacy_budget=budget, source_id="log", dataframe=rows, protected_change=AddRowsWithID(id_column="user")
        )
        query = QueryBuilder("log").enforce(MaxRowsPerID(100)).get_groups(["item"])
        return int(session.evaluate(query, budget).count())

    # A question about the first part alone lets Java compile, as for hushcount: it is no part of the measurement.
    ask(str(min(Path(log).iterdir())))
    begun = time.perf_counter()
    named = ask(log)
    print(json.dumps([time.perf_counter() - begun, named]))


if __name__ == "__main__":
    _main()
