"""What the tests of this folder share: made-up logs, a submitted program that answers, and a look into a ledger."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark import QUICK_JAVA, kill_session, spark_environment

# What every program of these tests sets.
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.log.level": "ERROR",
    # One for each executor: every question shuffles between the two, and no task is there for its own sake.
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}
# Programs that ask one question and end. One executor each: that two share the work is shown by the session.
ALONE = {**SETTINGS, "spark.cores.max": "1", "spark.executor.memory": "500m", "spark.ui.enabled": "false"}
# The session that all tests share, on both workers, with its page, on which its stages are seen.
SHARED = {
    **SETTINGS,
    "spark.cores.max": "2",
    # Small enough that a list of all items of a log, sent to the driver, breaks the query.
    "spark.driver.maxResultSize": "1m",
    # A worker has no room for two of these: one that is lost takes one of two executors with it, never both.
    "spark.executor.memory": "700m",
    # What a lost worker held is asked for again twice; Spark would wait five seconds before each time.
    "spark.shuffle.io.maxRetries": "2",
    "spark.shuffle.io.retryWait": "200ms",
    "spark.ui.port": "0",
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
    """A program that holds a session. `begin` sends a question, `answer` waits for what came of it."""

    def __init__(self, lines: IO[str]) -> None:
        self._lines = lines
        page = self.answer()["page"]
        self._page = f"{page}/api/v1/applications/{_fetched(f'{page}/api/v1/applications')[0]['id']}"

    def begin(self, question: str, file: Path, home: Path, **more: Any) -> None:
        """Send a question about a file, with its options.

        With `frame=True` the program reads the file itself, and asks about its frame; with `until` too, the parts of
        the frame are read slowly from the charge on, until there is a file of that name.
        """
        frame, until = more.pop("frame", False), more.pop("until", "")
        about = {"file": str(file), "home": str(home), "frame": frame, "until": str(until)}
        self._lines.write(json.dumps({"question": question, **about, "options": more}) + "\n")
        self._lines.flush()

    def answer(self) -> dict[str, Any]:
        """The release, as `Release.to_bytes` gives it, or {"error": ...}."""
        line = self._lines.readline()
        if not line:
            raise RuntimeError("the program ended")
        told: dict[str, Any] = json.loads(line)
        return told

    def ask(self, question: str, file: Path, home: Path, **more: Any) -> dict[str, Any]:
        """Send a question and wait for its answer."""
        self.begin(question, file, home, **more)
        return self.answer()

    def stages(self, **wanted: str) -> list[dict[str, Any]]:
        """The stages of the session, all or those of a status, as its own page tells them."""
        told: list[dict[str, Any]] = _fetched(f"{self._page}/stages?{urlencode(wanted)}")
        return told


def _fetched(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  our own page
        return json.load(answer)


@contextmanager
def running_driver(master: str, folder: Path) -> Iterator[Driver]:
    """A program on a cluster, started by spark-submit and ended afterwards."""
    submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    if submit is None:
        raise FileNotFoundError("spark-submit, which comes with the package pyspark")
    settings = write_settings(SHARED, folder)
    program = Path(__file__).with_name("driver.py")
    with socket.create_server(("127.0.0.1", 0)) as server, (folder / "driver.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(  # noqa: S603 (our own words)
            [submit, "--master", master, str(program), str(server.getsockname()[1])],
            env=spark_environment(SPARK_CONF_DIR=str(settings)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            with _called(server, process) as connection, connection.makefile("rw") as lines:
                yield Driver(lines)
        finally:
            kill_session(process)


def _called(server: socket.socket, process: subprocess.Popen[bytes]) -> socket.socket:
    """The connection that a program makes, unless it ends before."""
    server.settimeout(1.0)
    while process.poll() is None:
        with suppress(TimeoutError):
            return server.accept()[0]
    raise RuntimeError("the program ended before it called")


def write_settings(settings: Mapping[str, str], folder: Path) -> Path:
    """A folder for SPARK_CONF_DIR with these settings, and with a place for what the program writes."""
    place, scratch = folder / "conf", folder / "scratch"
    place.mkdir()
    scratch.mkdir()
    # A program that is killed does not clear away.
    places = {"spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Djava.io.tmpdir={scratch}", "spark.local.dir": scratch}
    lines = [f"{name} {value}\n" for name, value in {**settings, **places}.items()]
    (place / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    return place
