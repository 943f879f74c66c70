"""The ledger's speed: queries per second on both stores, beside PostgreSQL's own, and latency against history.

One query is reserve and settle: two durable transactions on one data set, the worst case for both stores, because all
clients want the same row. Beside it runs pgbench on the same server, whose script also updates one row that all clients
want (scale 1): one durable transaction. Run it with: python -m benchmarks.ledger
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

from hushcount.ledger.ledger import EVERY, Account, Ask, Ledger, Reservation
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.postgres import PostgresDatabase, open_postgres
from hushcount.ledger.sqlite import SqliteDatabase, open_sqlite
from hushcount.ledger.store import Database
from hushcount.model.costs import Cost, Failure, Gaussian
from tests.postgres import Cluster, find_programs, running_cluster

WORST = Cost.of(Gaussian(rho=Decimal("0.0001")), Failure(delta=Decimal("1e-12")))
USED = Cost.of(Gaussian(rho=Decimal("0.00005")))
CLIENTS = (1, 4, 16)
HISTORIES = (10, 1_000, 100_000, 1_000_000)
_PAYLOAD = bytes(500)


@dataclass(frozen=True)
class Place:
    """Where a ledger lies; can be handed to another process."""

    kind: str
    address: str

    def open(self) -> Ledger:
        """The ledger there."""
        return open_sqlite(self.address) if self.kind == "SQLite" else open_postgres(self.address)

    def database(self) -> Database:
        """The database below it."""
        return SqliteDatabase(Path(self.address)) if self.kind == "SQLite" else PostgresDatabase(self.address)


def one_query(ledger: Ledger, client: int, key: str) -> None:
    """Reserve and settle."""
    ask = Ask(analyst=f"analyst {client}", dataset="data", version="v1", query=key, cost=WORST, key=key)
    held = ledger.reserve(ask)
    if isinstance(held, Reservation):
        ledger.settle(held, USED, payload=_PAYLOAD)


def client_loop(place: Place, client: int, seconds: float) -> int:
    """Ask for so many seconds; how many queries were answered."""
    ledger, done = place.open(), 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        one_query(ledger, client, f"{client} {time.time_ns()} {done}")
        done += 1
    ledger.close()
    return done


def queries_per_second(place: Place, clients: int, seconds: float) -> float:
    """All clients at once, each a process."""
    with get_context("spawn").Pool(clients) as pool:
        # The first round starts the processes and loads the code.
        pool.starmap(client_loop, [(place, client, 0.2) for client in range(clients)], chunksize=1)
        done = pool.starmap(client_loop, [(place, client, seconds) for client in range(clients)], chunksize=1)
    return sum(done) / seconds


def pgbench_rate(cluster: Cluster, clients: int, seconds: float) -> float:
    """Transactions per second of pgbench's own script on the same server."""
    words = ("-h", str(cluster.folder), "-U", "postgres", "-n", "-c", str(clients), "-T", str(max(1, round(seconds))))
    said = cluster.run("pgbench", *words, "postgres")
    found = re.search(r"tps = ([\d.]+)", said)
    if found is None:
        raise RuntimeError(said)
    return float(found.group(1))


def grow(database: Database, *, to: int) -> None:
    """Copy one settled query's rows until the history is so long; verify would not pass, the indexes do not care."""
    with database.writing() as rows:
        have = rows.fetch("SELECT COUNT(*) FROM asks WHERE entity = 'data'")[0][0]
        if have >= to:
            return
        series = f"WITH RECURSIVE n(i) AS (SELECT {have} UNION ALL SELECT i + 1 FROM n WHERE i < {to})"  # noqa: S608
        base = 10_000_000
        asks = (
            "number, analyst, ask_key, request, what, version, query, family, fresh, cost, held_rho, held_delta, "
            "state, touched, made, expires, mode, accounts, charged_rho, charged_delta, answer"
        )
        changed = asks.replace("number", f"{base} + i", 1).replace("ask_key", "ask_key || ' ' || i", 1)
        one = "(SELECT * FROM asks WHERE entity = 'data' AND state = 'settled' ORDER BY number LIMIT 1) a"
        logged = "(SELECT * FROM log WHERE entity = 'data' ORDER BY seq LIMIT 1) l"
        rows.fetch(f"INSERT INTO asks (entity, {asks}) {series} SELECT entity, {changed} FROM n, {one}")  # noqa: S608
        rows.fetch(
            f"INSERT INTO log (entity, seq, by_whom, body, hash) {series} "  # noqa: S608
            f"SELECT entity, -{base} - i, by_whom, body, hash FROM n, {logged}"
        )


def latency(place: Place, queries: int) -> tuple[float, float]:
    """Median and 95th percentile of one query, in milliseconds."""
    ledger = place.open()
    taken = []
    for number in range(queries):
        started = time.perf_counter()
        one_query(ledger, 0, f"latency {time.time_ns()} {number}")
        taken.append(1000 * (time.perf_counter() - started))
    ledger.close()
    taken.sort()
    return statistics.median(taken), taken[int(0.95 * len(taken))]


def set_up(place: Place) -> None:
    """A ledger with limits on everybody and everything."""
    ledger = place.open()
    ledger.grant("owner", "owner", by="owner")
    for kind in ("analyst", "dataset"):
        ledger.set_limit(Account(kind=kind, name=EVERY, entity=EVERY), rho_limit(10**6, "0.1"), by="owner")
    one_query(ledger, 0, "first")
    ledger.close()


def measure(
    place: Place, seconds: float, *, beside: Callable[[int], float] | None = None, calm: Callable[[], object] = bool
) -> None:
    """Print one store's table; `calm` lets the server finish what a bulk load leaves behind."""
    set_up(place)
    for rows in HISTORIES:
        database = place.database()
        grow(database, to=rows)
        database.close()
        calm()
        median, tail = latency(place, 200)
        print(
            f"{place.kind:10} history of {rows:>9,} queries: median {median:6.2f} ms, 95 % {tail:6.2f} ms", flush=True
        )
    for clients in CLIENTS:
        rate = queries_per_second(place, clients, seconds)
        line = f"{place.kind:10} {clients:2} clients: {rate:8.1f} queries/s, {2 * rate:8.1f} transactions/s"
        if beside is not None:
            own = beside(clients)
            line += f"; pgbench {own:8.1f} transactions/s; ratio {2 * rate / own:.2f}"
        print(line, flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each rate is measured")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="hushcount-") as folder:
        measure(Place("SQLite", str(Path(folder) / "ledger.db")), seconds)
    if find_programs() is None:
        print("PostgreSQL: its programs are not installed (Debian: the package 'postgresql')")
        return
    with running_cluster(durable=True) as cluster:
        cluster.run("pgbench", "-h", str(cluster.folder), "-U", "postgres", "-i", "-q", "-s", "1", "postgres")
        here = ("-h", str(cluster.folder), "-U", "postgres")
        measure(
            Place("PostgreSQL", cluster.address),
            seconds,
            beside=lambda clients: pgbench_rate(cluster, clients, seconds),
            calm=lambda: cluster.run("psql", *here, "-q", "-c", "VACUUM ANALYZE", "-c", "CHECKPOINT", "postgres"),
        )


if __name__ == "__main__":
    main()
