"""What the tests of this folder share: made-up logs, a process with a session, and a look into a ledger."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.conftest import ROOT
from tests.spark import kill_session, spark_environment

# Small enough that a list of all items of a log, sent to the driver, breaks the query.
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.maxResultSize": "1m",
    "spark.executor.memory": "600m",
    "spark.sql.shuffle.partitions": "6",
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
}


def write_log(file: Path, *, people: int, rare: int = 0) -> Path:
    """A log in which an item of rank r is held by one in r people, with repeats, gaps and many items held by one."""
    chance = np.random.default_rng(people)
    ranks = np.arange(1, 301)
    held = chance.random((people, 300)) < 1 / ranks
    user, rank = np.nonzero(held)
    items = np.concatenate((np.char.add("thing é ", ranks[rank].astype(str)), _rare_names(chance, rare)))
    users = np.concatenate((user, np.arange(rare) % people)).astype(np.int64)
    again = np.concatenate((np.arange(len(users)), chance.integers(0, len(users), len(users) // 10)))
    order = chance.permutation(again)
    missing = chance.random(len(order)) < 0.01
    table = pa.table({"user": users[order], "item": pa.array(items[order].astype(object), pa.string(), mask=missing)})
    pq.write_table(table, file, row_group_size=50_000)
    return file


def _rare_names(chance: np.random.Generator, number: int) -> np.ndarray:
    return np.array([f"{value:016x}" for value in chance.integers(0, 2**63, number)], dtype="<U20")


def asks(ledger: Path) -> list[tuple[str, bool]]:
    """The asks of a ledger: the state of each, and whether data was read for it. None if there is no ledger yet."""
    if not ledger.exists():
        return []
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=30)) as connection:
        return [(state, bool(touched)) for state, touched in connection.execute("SELECT state, touched FROM asks")]


def wait_until(holds: Callable[[], object], *, seconds: float = 240) -> None:
    """Wait until something holds; it is an error if it never does."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"it did not happen within {seconds} s")
        time.sleep(0.05)


class Driver:
    """A process that holds a session. `begin` sends a question, `answer` waits for what came of it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._page = self.answer()["page"]

    def begin(self, question: str, file: Path, home: Path, *, seconds: float | None = None, **options: Any) -> None:
        """Send a question about a file; with `seconds`, about a frame whose parts take so long to read each."""
        asked = {"question": question, "file": str(file), "home": str(home), "seconds": seconds, "options": options}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The release, as `Release.to_bytes` gives it, or {"error": ...}."""
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the driver ended")
        told: dict[str, Any] = json.loads(line)
        return told

    def ask(self, question: str, file: Path, home: Path, **options: Any) -> dict[str, Any]:
        """Send a question and wait for its answer."""
        self.begin(question, file, home, **options)
        return self.answer()

    def stages(self, **wanted: str) -> list[dict[str, Any]]:
        """The stages of the session, all or those of a status, as its own page tells them."""
        with urllib.request.urlopen(f"{self._page}/api/v1/applications", timeout=60) as answer:  # noqa: S310  our own
            application = json.load(answer)[0]["id"]
        page = f"{self._page}/api/v1/applications/{application}/stages?{urlencode(wanted)}"
        with urllib.request.urlopen(page, timeout=60) as answer:  # noqa: S310  our own
            told: list[dict[str, Any]] = json.load(answer)
        return told


@contextmanager
def running_driver(master: str, folder: Path) -> Iterator[Driver]:
    """A process with a session on a cluster, ended afterwards."""
    words = [
        sys.executable,
        str(Path(__file__).with_name("driver.py")),
        json.dumps({**SETTINGS, "spark.master": master}),
    ]
    with (folder / "driver.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(  # noqa: S603 (our own words)
            words,
            env=spark_environment(PYTHONPATH=str(ROOT)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        try:
            yield Driver(process)
        finally:
            kill_session(process)
            process.stdin.close()
            process.stdout.close()
