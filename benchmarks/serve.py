"""The service's speed, as ratios in one run: `make bench-serve` prints the table of API part 7.5.

A real server on loopback, a SQLite ledger, a Parquet file of a million rows. The raw query is the same GROUP BY on a
DuckDB connection that stays open, in this process, without HTTP and without privacy.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import numpy as np

ROWS, PEOPLE, ITEMS = 1_000_000, 100_000, 50_000
RAW = "SELECT item, count(DISTINCT person) AS n FROM '{}' GROUP BY item ORDER BY n DESC, item LIMIT 1001"
EMPTY = """
from fastapi import FastAPI
app = FastAPI()
@app.get("/")
def empty() -> dict[str, str]:
    return {}
"""


def write_log(path: Path) -> None:
    """A million rows, items by Zipf's law."""
    chance = np.random.default_rng(1)
    people = chance.integers(0, PEOPLE, ROWS)
    items = np.minimum(chance.zipf(1.3, ROWS), ITEMS)
    connection = duckdb.connect()
    connection.register("rows", {"person": people, "item": items})
    connection.execute(f"COPY (SELECT person, 'thing ' || item AS item FROM rows) TO '{path}' (FORMAT parquet)")  # noqa: S608
    connection.close()


class Caller:
    """A connection that stays open."""

    def __init__(self, base: str, token: str | None = None) -> None:
        parts = urlsplit(base)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """One request; the status and the body."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, path, sent, {**self._headers, **more})
        reply = self._connection.getresponse()
        content = reply.read()
        return reply.status, json.loads(content) if content else None

    def release(self, body: dict[str, Any], key: str) -> tuple[int, Any]:
        """A release, waited for."""
        return self.call("POST", "/v1/queries", {**body, "mode": "release"}, Idempotency_Key=key, Prefer="wait=60")


@dataclass(frozen=True)
class Server:
    """A server process and where it listens."""

    base: str
    process: subprocess.Popen[str]
    ready: float


@contextmanager
def serving(words: Sequence[str], *, home: Path) -> Iterator[Server]:
    """A server, stopped by its id afterwards."""
    begun = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 (our own words)
        [sys.executable, "-m", *words],
        env={**os.environ, "HUSHCOUNT_HOME": str(home), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        base = _address(process)
        while not _answers(base):
            time.sleep(0.01)
        ready = time.monotonic() - begun
        threading.Thread(target=lambda: [None for _ in process.stdout or ()], daemon=True).start()
        yield Server(base=base, process=process, ready=ready)
    finally:
        process.terminate()
        process.wait(60)


def _address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        found = re.search(r"http://[\d.]+:\d+", line)
        if found:
            return found.group(0)
    raise RuntimeError("the server ended before it said where it listens")


def _answers(base: str) -> bool:
    try:
        return Caller(base).call("GET", "/healthz")[0] == 200
    except OSError:
        return False


def median(action: Callable[[int], object], times: int) -> float:
    """The median time of an action, in milliseconds."""
    taken = []
    for place in range(times):
        begun = time.perf_counter()
        action(place)
        taken.append(1000 * (time.perf_counter() - begun))
    return statistics.median(taken)


def rate(base: str, path: str, token: str | None, *, seconds: float = 3.0, clients: int = 4) -> float:
    """Requests a second."""

    def one(_: int) -> int:
        caller, count, end = Caller(base, token), 0, time.monotonic() + seconds
        while time.monotonic() < end:
            status, _ = caller.call("GET", path)
            if status != 200:
                raise RuntimeError(f"{path}: {status}")
            count += 1
        return count

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(one, range(clients))) / seconds


def memory(process: int) -> float:
    """What a process holds of its own, in megabytes."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    return sum(int(found) for found in re.findall(r"Private_\w+:\s+(\d+) kB", text)) / 1000


def bench(folder: Path) -> None:
    """All of it."""
    log, home = folder / "events.parquet", folder / "home"
    write_log(log)
    raw = duckdb.connect()
    query = RAW.format(log)
    raw.execute(query).fetchall()
    words = ("hushcount.cli", "serve", str(log), "--user", "person", "--port", "0", "--ledger", str(folder / "l.db"))
    with serving(words, home=home) as server:
        caller = Caller(server.base)
        allowed, told = caller.call("PUT", "/v1/limits", {"dataset": "events", "releases": "100000", "mode": "enforce"})
        if allowed >= 300:
            raise RuntimeError(told)
        idle = memory(server.process.pid)
        caller.release(_top(3), "warm")
        plain, fresh = [], []
        for place in range(15):
            plain.append(median(lambda _: raw.execute(query).fetchall(), 1))
            fresh.append(median(lambda _, k=place: _must(caller.release(_top(10 + k), f"f{k}")), 1))  # type: ignore[misc]
        show("raw query, ms", statistics.median(plain))
        show("fresh release, ms", statistics.median(fresh))
        allowed_ms = 1.10 * statistics.median(plain) + 15
        show("fresh release over (1.10 raw + 15 ms)", statistics.median(fresh) / allowed_ms, goal="<= 1")
        repeat = median(lambda place: _must(caller.release(_top(10), f"r{place}")), 50)
        show("repeat, ms", repeat, goal="<= 10")
        show("estimate, ms", median(lambda _: _must(caller.call("POST", "/v1/queries", _top(10))), 50), goal="<= 5")
        status, body = caller.release(_top(10), "f0")
        _must((status, body))
        path = f"/v1/releases/{body['release']['id']}"
        stored = rate(server.base, path, None)
        balance = median(lambda _: _must(caller.call("GET", "/v1/datasets/events/budget")), 50)
        with ThreadPoolExecutor(50) as pool:
            running = [pool.submit(Caller(server.base).release, _top(100 + n), f"b{n}") for n in range(50)]
            busy = median(lambda _: _must(caller.call("GET", "/v1/datasets/events/budget")), 30)
            for one in running:
                _must(one.result())
        show("balance while 50 questions run, over idle", busy / balance, goal="<= 2")
        show("idle worker, MB", idle, goal="<= 150")
        show("ready, s", server.ready, goal="<= 2")
    module = folder / "empty_app.py"
    module.write_text(EMPTY, encoding="utf-8")
    with _empty(folder) as base:
        show("stored reads over an empty route", stored / rate(base, "/", None), goal=">= 0.5")


def _top(k: int) -> dict[str, Any]:
    return {"dataset": "events", "question": "top", "item": "item", "k": k}


def _must(reply: tuple[int, Any]) -> None:
    if reply[0] != 200:
        raise RuntimeError(reply)


@contextmanager
def _empty(folder: Path) -> Iterator[str]:
    """The framework alone, with one route that does nothing."""
    words = ("uvicorn", "--app-dir", str(folder), "--port", "18761", "--no-access-log", "empty_app:app")
    process = subprocess.Popen(  # noqa: S603 (our own words)
        [sys.executable, "-m", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        base = "http://127.0.0.1:18761"
        while True:
            try:
                Caller(base).call("GET", "/")
                break
            except OSError:
                time.sleep(0.02)
        yield base
    finally:
        process.terminate()
        process.wait(60)


def show(what: str, value: float, *, goal: str = "") -> None:
    """One line of the table."""
    print(f"{what:<45}{value:10.3g}   {goal}")


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="hushcount-bench-"))
    try:
        bench(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
