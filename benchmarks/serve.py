"""The service's speed, as ratios in one run: `make bench-serve` prints the table of API part 7.5.

A real server on loopback, a ledger in SQLite and then in PostgreSQL, a Parquet file of a million rows. The raw query is
the same GROUP BY on a DuckDB connection that stays open, in this process, without HTTP and without privacy. The store
that takes 200 ms is a small file whose engine sleeps: this file is then the server's own module, run by each worker.
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
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import numpy as np

from hushcount.app.serving.callers.tokens import WantedToken, make_token
from hushcount.app.serving.data.loans import LentEngine
from hushcount.app.serving.opening import open_setting
from hushcount.app.serving.setup.config_file import read_config
from hushcount.cli import serve
from hushcount.ledger.ledger import EVERY, Account
from hushcount.ledger.limits import rho_limit
from tests.postgres import running_cluster

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
        # As where it is installed: modules are compiled once, whatever is said here.
        env={**os.environ, "HUSHCOUNT_HOME": str(home), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": ""},
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
    log = folder / "events.parquet"
    write_log(log)
    on_a_file(folder, log)
    with running_cluster(durable=True) as cluster:
        address = f"postgresql://postgres@/postgres?host={cluster.folder}"
        with _served(folder, log, address, home="pg") as server:
            releases(_allowed(server), log, factor=1.05, more=25)
    one, four = (scaling(folder, workers) for workers in (1, 4))
    show("four workers over one, on a store of 200 ms", four / one, goal=">= 3.5")


def _served(folder: Path, log: Path, ledger: str, *, home: str) -> AbstractContextManager[Server]:
    words = ("hushcount.cli", "serve", str(log), "--user", "person", "--port", "0", "--ledger", ledger)
    return serving(words, home=folder / home)


def _allowed(server: Server) -> Caller:
    """A caller who may ask a lot."""
    caller = Caller(server.base)
    _must(caller.call("PUT", "/v1/limits", {"dataset": "events", "releases": "100000", "mode": "enforce"}))
    return caller


def releases(caller: Caller, log: Path, *, factor: float, more: float) -> None:
    """Fresh releases and the raw query, in turns."""
    raw, query, plain, fresh = duckdb.connect(), RAW.format(log), list[float](), list[float]()
    raw.execute(query).fetchall()
    caller.release(_top(3), "warm")
    for place in range(25):
        plain.append(median(lambda _: raw.execute(query).fetchall(), 1))
        fresh.append(median(lambda _, k=place: _must(caller.release(_top(10 + k), f"f{k}")), 1))  # type: ignore[misc]
    raw.close()
    show("raw query, ms", statistics.median(plain))
    show("fresh release, ms", statistics.median(fresh))
    allowed = factor * statistics.median(plain) + more
    show(f"fresh release over ({factor:.2f} raw + {more:.0f} ms)", statistics.median(fresh) / allowed, goal="<= 1")


def refusals(caller: Caller) -> float:
    """How long it takes to say that a question does not fit; the limit is taken back afterwards."""
    mine = {"dataset": "events", "analyst": caller.call("GET", "/v1/me")[1]["name"]}
    _must(caller.call("PUT", "/v1/limits", {**mine, "releases": "0.01"}))

    def refused(place: int) -> None:
        status, body = caller.release(_top(900 + place), f"x{place}")
        if (status, body.get("code")) != (403, "budget-exhausted"):
            raise RuntimeError(body)

    taken = median(refused, 30)
    _must(caller.call("PUT", "/v1/limits", {**mine, "none": True}))
    return taken


def on_a_file(folder: Path, log: Path) -> None:
    """Everything that is told of one worker with a ledger in a file."""
    with _served(folder, log, str(folder / "l.db"), home="home") as server:
        idle = memory(server.process.pid)
        caller = _allowed(server)
        releases(caller, log, factor=1.10, more=15)
        repeat = median(lambda place: _must(caller.release(_top(10), f"r{place}")), 50)
        show("repeat, ms", repeat, goal="<= 10")
        show("estimate, ms", median(lambda _: _must(caller.call("POST", "/v1/queries", _top(10))), 50), goal="<= 5")
        show("refusal, ms", refusals(caller), goal="<= 10")
        status, body = caller.release(_top(10), "f0")
        _must((status, body))
        path = f"/v1/releases/{body['release']['id']}"
        stored = rate(server.base, path, None)
        balance = statistics.median(_look(caller) for _ in range(50))
        with ThreadPoolExecutor(50) as pool:
            running = [pool.submit(Caller(server.base).release, _top(100 + n), f"b{n}") for n in range(50)]
            taken = []
            while not all(one.done() for one in running):
                taken.append(_look(caller))
            busy = statistics.median(taken)
            for one in running:
                _must(one.result())
        show("balance while 50 questions run, over idle", busy / balance, goal="<= 2")
        show("idle worker, MB", idle, goal="<= 150")
        show("ready, s", server.ready, goal="<= 2")
    module = folder / "empty_app.py"
    module.write_text(EMPTY, encoding="utf-8")
    with _empty(folder) as base:
        show("stored reads over an empty route", stored / rate(base, "/", None), goal=">= 0.5")


SLOW = """
[server]
listen = "127.0.0.1:0"
workers = {workers}
[keys]
noise = "noise-key"
tokens = "token-key"
[ledger]
address = "ledger.sqlite"
[stores.files]
kind = "files"
place = "."
max_running = 1
max_waiting = 1000
[datasets.events]
store = "files"
table = "small.csv"
person = "person"
"""


def scaling(folder: Path, workers: int, *, seconds: float = 8.0) -> float:
    """Releases a second from a store that takes 200 ms and answers one question at a time for each worker."""
    home = folder / f"slow-{workers}"
    home.mkdir()
    (home / "hushcount.toml").write_text(SLOW.format(workers=workers), encoding="utf-8")
    (home / "small.csv").write_text("person,item\n" + "\n".join(f"{n},{n % 9}" for n in range(900)), encoding="utf-8")
    for name in ("noise-key", "token-key"):
        (home / name).write_bytes(os.urandom(32))
        (home / name).chmod(0o600)
    config = read_config(home / "hushcount.toml", {})
    setting = open_setting(config)
    setting.ledger.grant("ann", "owner", by=setting.analyst)  # type: ignore[union-attr]
    limit = rho_limit(10**5, "0.1")
    setting.ledger.set_limit(Account(kind="dataset", name=EVERY, entity=EVERY), limit, by=setting.analyst)  # type: ignore[union-attr]
    token = make_token(
        setting, (home / "token-key").read_bytes(), owner="ann", wanted=WantedToken(label="bench")
    ).text.text
    setting.close()

    def one(number: int) -> int:
        count, end = 0, time.monotonic() + seconds
        while True:
            # A connection for each, so that all workers have their part.
            _must(Caller(server.base, token).release({**_top(3), "fresh": True}, f"{number}-{count}"))
            if time.monotonic() > end:
                # What was under way at the end is not counted.
                return count
            count += 1

    words = ("benchmarks.serve", "--config", str(home / "hushcount.toml"), "--port", "0")
    with serving(words, home=home / "home") as server, ThreadPoolExecutor(16) as pool:
        return sum(pool.map(one, range(16))) / seconds


def slow_worker() -> Any:  # noqa: ANN401 (what the server makes of it)
    """The application of one worker whose store takes 200 ms."""
    read = LentEngine.histogram

    def slow(*given: Any, **named: Any) -> Any:  # noqa: ANN401 (as it was)
        time.sleep(0.2)
        return read(*given, **named)

    LentEngine.histogram = slow  # type: ignore[method-assign]
    return worker()


worker, serve.worker = serve.worker, slow_worker


def _look(caller: Caller) -> float:
    """How long a look at the balance takes; after a pause, since one after the other would be load of its own."""
    time.sleep(0.02)
    return median(lambda _: _must(caller.call("GET", "/v1/datasets/events/budget")), 1)


def _top(k: int) -> dict[str, Any]:
    return {"dataset": "events", "question": "top", "item": "item", "k": k}


def _must(reply: tuple[int, Any]) -> None:
    if reply[0] >= 300 or reply[0] == 202:
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


if __name__ == "__main__" and len(sys.argv) > 1:
    serve.serve()
elif __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="hushcount-bench-"))
    try:
        bench(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
