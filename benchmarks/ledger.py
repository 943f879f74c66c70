"""The ledger's speed: reserve, settle and refusal against the length of the history, and queries per second.

One query is reserve and settle: two durable transactions on one data set, the worst case for both stores, because all
clients want the same row. Each client is a process; sixteen are also measured as threads of four processes, as in a
service. Beside it runs pgbench on the same server, whose script also updates one row that all clients want (scale 1):
one durable transaction. The two take turns of a second, and medians over all turns are shown. The
history is half repeats, which cost the population nothing and are what a refusal must not read. Run it with:
python -m benchmarks.ledger, and --longest 1000000 for a long history.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from hushcount.errors import BudgetExhausted
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import EVERY, Account, Ask, Ledger, Reservation
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.postgres import PostgresDatabase, found_postgres
from hushcount.ledger.sqlite import SqliteDatabase, found_sqlite
from hushcount.ledger.store import Database
from hushcount.model.costs import Cost, Failure, Gaussian
from hushcount.model.identities import Sighting
from tests.postgres import Cluster, find_programs, running_cluster

WORST = Cost.of(Gaussian(rho=Decimal("0.0001")), Failure(delta=Decimal("1e-12")))
USED = Cost.of(Gaussian(rho=Decimal("0.00005")))
TOO_MUCH = Cost.of(Gaussian(rho=Decimal(10**9)))
# So many clients, each a process, or as threads of so many processes.
CLIENTS = ((1, 1), (4, 4), (16, 4), (16, 16))
HISTORIES = (10, 1_000, 10_000, 100_000, 1_000_000)
FOUNDING = Founding(owner="owner", limit=rho_limit(10**6, "0.1"), secret="00")  # noqa: S106 (a fingerprint)
_PAYLOAD = bytes(500)


@dataclass(frozen=True)
class Place:
    """Where a ledger lies; can be handed to another process."""

    kind: str
    address: str

    def open(self) -> Ledger:
        """The ledger there."""
        return found_sqlite(self.address, FOUNDING) if self.kind == "SQLite" else found_postgres(self.address, FOUNDING)

    def database(self) -> Database:
        """The database below it."""
        return SqliteDatabase(Path(self.address)) if self.kind == "SQLite" else PostgresDatabase(self.address)


@dataclass(frozen=True)
class Rates:
    """Medians over all turns: queries per second, milliseconds of a processor for each, and pgbench beside them."""

    queries: float
    processor: float
    beside: float | None
    ratio: float | None


def question(client: int, key: str, cost: Cost = WORST) -> Ask:
    """A question that nobody has asked before."""
    return Ask(analyst=f"analyst {client}", dataset="data", version="v1", query=key, cost=cost, key=key, family="alike")


def one_query(ledger: Ledger, client: int, key: str) -> tuple[float, float]:
    """Reserve and settle; the seconds that each took."""
    started = time.perf_counter()
    held = ledger.reserve(question(client, key))
    between = time.perf_counter()
    if isinstance(held, Reservation):
        ledger.settle(held, USED, payload=_PAYLOAD)
    return between - started, time.perf_counter() - between


def one_refusal(ledger: Ledger, client: int, key: str) -> float:
    """A question that does not fit; the seconds that it took to say so."""
    started = time.perf_counter()
    try:
        ledger.reserve(question(client, key, TOO_MUCH))
    except BudgetExhausted:
        return time.perf_counter() - started
    raise RuntimeError(key)


@lru_cache
def opened(place: Place) -> Ledger:
    """The ledger of this process, which stays open as that of a service does."""
    return place.open()


def client_loop(place: Place, client: int, seconds: float) -> tuple[int, float]:
    """Ask for so many seconds; how many queries were answered, and the seconds of a processor that it took."""
    ledger, done = opened(place), 0
    end, before = time.perf_counter() + seconds, time.process_time()
    while time.perf_counter() < end:
        one_query(ledger, client, f"{client} {time.time_ns()} {done}")
        done += 1
    return done, time.process_time() - before


@lru_cache
def threads_of(_place: Place, clients: int) -> ThreadPoolExecutor:
    """The clients of this process, which stay."""
    return ThreadPoolExecutor(clients)


def process_loop(place: Place, clients: range, seconds: float) -> tuple[int, float]:
    """As `client_loop`, of several clients in this process."""
    if len(clients) == 1:
        return client_loop(place, clients[0], seconds)
    before = time.process_time()
    done = threads_of(place, len(clients)).map(lambda client: client_loop(place, client, seconds)[0], clients)
    return sum(done), time.process_time() - before


def in_turns(
    place: Place, clients: int, processes: int, seconds: float, *, beside: Callable[[int], float] | None
) -> Rates:
    """All clients at once for a second at a time, then pgbench: a busy machine slows both."""
    ours, theirs, spent = list[float](), list[float](), list[float]()
    shares = [range(clients)[first::processes] for first in range(processes)]
    with get_context("spawn").Pool(processes) as pool:
        # The first round starts the processes, loads the code and prepares the statements.
        pool.starmap(process_loop, [(place, share, 0.5) for share in shares], chunksize=1)
        for _ in range(max(1, round(seconds))):
            done = pool.starmap(process_loop, [(place, share, 1.0) for share in shares], chunksize=1)
            ours.append(float(sum(count for count, _ in done)))
            spent.append(1000 * sum(used for _, used in done) / ours[-1])
            theirs += [] if beside is None else [beside(clients)]
    ratios = [2 * rate / own for rate, own in zip(ours, theirs, strict=False)]
    return Rates(
        queries=statistics.median(ours),
        processor=statistics.median(spent),
        beside=statistics.median(theirs) if theirs else None,
        ratio=statistics.median(ratios) if ratios else None,
    )


def pgbench_rate(cluster: Cluster, clients: int) -> float:
    """Transactions per second of pgbench's own script on the same server, for a second."""
    words = ("-h", str(cluster.folder), "-U", "postgres", "-n", "-c", str(clients), "-T", "1")
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
        columns = (
            "analyst, ask_key, request, what, dataset, version, query, family, fresh, cost, held_rho, held_delta, "
            "state, touched, made, expires, mode, accounts, charged_rho, charged_delta"
        )
        changed = columns.replace("ask_key", "ask_key || ' ' || i", 1)
        one = "(SELECT * FROM asks WHERE entity = 'data' AND state = 'settled' ORDER BY number LIMIT 1) a"
        # Every other query is a repeat, and the newest thousands all are.
        answer = f"CASE WHEN i % 2 = 0 AND i < {to} - 5000 THEN {base} + i ELSE answer END"
        rows.fetch(
            f"INSERT INTO asks (entity, number, {columns}, answer) {series} "  # noqa: S608
            f"SELECT entity, {base} + i, {changed}, {answer} FROM n, {one}"
        )
        kept = "dataset, version, query || i, family, what, canonical, cost, made, digest, payload"
        rows.fetch(
            f"INSERT INTO releases (entity, number, {kept.replace(' || i', '')}) {series} SELECT entity, {base} + i, "  # noqa: S608
            f"{kept} FROM n, (SELECT * FROM releases WHERE entity = 'data' ORDER BY number LIMIT 1) r"
        )
        rows.fetch(
            f"INSERT INTO log (entity, seq, by_whom, body, hash) {series} "  # noqa: S608
            f"SELECT entity, -{base} - i, by_whom, body, hash FROM n, "
            "(SELECT * FROM log WHERE entity = 'data' ORDER BY seq LIMIT 1) l"
        )


def latencies(place: Place, queries: int) -> dict[str, tuple[float, float]]:
    """Median and 95th percentile of each step of a query, in milliseconds."""
    ledger = place.open()
    taken: dict[str, list[float]] = {"reserve": [], "settle": [], "refusal": []}
    for number in range(queries):
        reserve, settle = one_query(ledger, 0, f"latency {time.time_ns()} {number}")
        refusal = one_refusal(ledger, 0, f"refused {time.time_ns()} {number}")
        for step, seconds in (("reserve", reserve), ("settle", settle), ("refusal", refusal)):
            taken[step].append(1000 * seconds)
    ledger.close()
    return {step: (statistics.median(all_), sorted(all_)[int(0.95 * len(all_))]) for step, all_ in taken.items()}


def set_up(place: Place) -> None:
    """A ledger with limits on everybody and everything."""
    ledger = place.open()
    ledger.catalog.register(Sighting(title="data", finds=(), binds=()), person="user", name="data", by="owner")
    ledger.set_limit(Account(kind="analyst", name=EVERY, entity=EVERY), rho_limit(10**6, "0.1"), by="owner")
    one_query(ledger, 0, "first")
    ledger.close()


@dataclass(frozen=True)
class Plan:
    """How much is measured: the seconds of each rate, the longest history, and how often each step is timed."""

    seconds: float
    longest: int
    queries: int


def measure(
    place: Place, plan: Plan, *, beside: Callable[[int], float] | None = None, calm: Callable[[], object] = bool
) -> None:
    """Print one store's tables; `calm` lets the server finish what a bulk load leaves behind."""
    set_up(place)
    print(f"{place.kind:10} median and 95 % in ms      reserve          settle         refusal", flush=True)
    for rows in (rows for rows in HISTORIES if rows <= plan.longest):
        database = place.database()
        grow(database, to=rows)
        database.close()
        calm()
        steps = latencies(place, plan.queries).values()
        shown = "  ".join(f"{median:6.2f} {tail:7.2f}" for median, tail in steps)
        print(f"{place.kind:10} {rows:>9,} queries     {shown}", flush=True)
    for clients, processes in CLIENTS:
        rates = in_turns(place, clients, processes, plan.seconds, beside=beside)
        line = f"{place.kind:10} {clients:2} clients in {processes:2} processes: {rates.queries:8.1f} queries/s, "
        line += f"{2 * rates.queries:8.1f} transactions/s; {rates.processor:.2f} ms of a processor a query"
        if rates.ratio is not None:
            line += f"; pgbench {rates.beside:8.1f} transactions/s; ratio {rates.ratio:.2f}"
        print(line, flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each rate is measured")
    parser.add_argument("--longest", type=int, default=100_000, help="the longest history")
    parser.add_argument("--queries", type=int, default=100, help="how often each step is timed")
    given = parser.parse_args()
    plan = Plan(seconds=given.seconds, longest=given.longest, queries=given.queries)
    with tempfile.TemporaryDirectory(prefix="hushcount-") as folder:
        measure(Place("SQLite", str(Path(folder) / "ledger.db")), plan)
    if find_programs() is None:
        print("PostgreSQL: its programs are not installed (Debian: the package 'postgresql')")
        return
    with running_cluster(durable=True) as cluster:
        cluster.run("pgbench", "-h", str(cluster.folder), "-U", "postgres", "-i", "-q", "-s", "1", "postgres")
        here = ("-h", str(cluster.folder), "-U", "postgres")
        measure(
            Place("PostgreSQL", cluster.address),
            plan,
            beside=lambda clients: pgbench_rate(cluster, clients),
            calm=lambda: cluster.run("psql", *here, "-q", "-c", "VACUUM ANALYZE", "-c", "CHECKPOINT", "postgres"),
        )


if __name__ == "__main__":
    main()
