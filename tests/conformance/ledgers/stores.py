"""Both stores behind one door, a clock that is set by hand, and a database that fails when it is told to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import Account, Ask
from hushcount.ledger.postgres import PostgresDatabase, found_postgres, open_postgres
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.sqlite import SqliteDatabase, found_sqlite, open_sqlite
from hushcount.model.costs import Cost, Failure, Gaussian
from hushcount.model.identities import Identity, Sighting
from tests.conftest import IN_CI
from tests.postgres import MISSING, find_programs, running_cluster

START = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
OWNER = "olga"
SECRET = "5ec2e7"  # noqa: S105 (a fingerprint)
KINDS = ("sqlite", "postgres")
_schemas = itertools.count()


class HandClock:
    """Tells the time that it was set to."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time now."""
        return self.now

    def forward(self, **step: float) -> None:
        """Move on."""
        self.now += timedelta(**step)


class Store:
    """A place for one ledger, opened as often as wanted: what another process would do."""

    def __init__(self, kind: str, place: str, *, schema: str = "") -> None:
        self.kind, self.place, self.schema = kind, place, schema
        self._open: list[SqlLedger] = []

    def database(self, clock=None):
        """A connection of its own, as to a ledger that is there."""
        clock = clock or HandClock()
        if self.kind == "sqlite":
            return SqliteDatabase(Path(self.place), clock=clock)
        return PostgresDatabase(self.place, schema=self.schema, clock=clock)

    def served(self):
        """A connection whose clock is the server's."""
        return PostgresDatabase(self.place, schema=self.schema)

    def found(self, clock=None, *, owner: str = OWNER, limit=None, secret: str = SECRET) -> SqlLedger:
        """A new ledger, or the one that lies here."""
        founding = Founding(owner=owner, limit=limit, secret=secret)
        clock = clock or HandClock()
        if self.kind == "sqlite":
            return self._kept(found_sqlite(self.place, founding, clock=clock))
        return self._kept(found_postgres(self.place, founding, schema=self.schema, clock=clock))

    def open(self, clock=None, *, secret: str = SECRET) -> SqlLedger:
        """The ledger that lies here."""
        clock = clock or HandClock()
        if self.kind == "sqlite":
            return self._kept(open_sqlite(self.place, secret=secret, clock=clock))
        return self._kept(open_postgres(self.place, secret=secret, schema=self.schema, clock=clock))

    def over(self, database) -> SqlLedger:
        """The ledger that lies here, through a database of the test's own."""
        return self._kept(SqlLedger(database))

    def _kept(self, ledger: SqlLedger) -> SqlLedger:
        self._open.append(ledger)
        return ledger

    def close(self) -> None:
        """Close all that was opened."""
        for ledger in self._open:
            ledger.close()


@pytest.fixture(scope="session")
def cluster():
    """A PostgreSQL server of our own. Without its programs the test is skipped; in CI it fails."""
    if find_programs() is None:
        if IN_CI:
            pytest.fail(f"{MISSING} (CI is set, so this is a failure and not a skip)")
        pytest.skip(MISSING)
    with running_cluster() as running:
        yield running


@pytest.fixture(params=KINDS)
def store(request, tmp_path) -> Iterator[Store]:
    """An empty place in each store."""
    if request.param == "sqlite":
        made = Store("sqlite", str(tmp_path / "ledger.db"))
    else:
        address = request.getfixturevalue("cluster").address
        made = Store("postgres", address, schema=f"ledger_{next(_schemas)}")
    yield made
    made.close()


@pytest.fixture
def server_store(cluster) -> Iterator[Store]:
    """An empty place in PostgreSQL, for what only a server can do."""
    made = Store("postgres", cluster.address, schema=f"ledger_{next(_schemas)}")
    yield made
    made.close()


@pytest.fixture
def clock() -> HandClock:
    """Noon on a Tuesday in the middle of a month."""
    return HandClock()


@pytest.fixture
def ledger(store, clock) -> SqlLedger:
    """A new ledger with an owner, in which two data sets are known."""
    made = store.found(clock)
    for name in ("visits", "clicks"):
        known(made, name)
    return made


class Crash(BaseException):
    """The process dies here; no handler of ours may catch it."""


class Faulty:
    """A database that crashes at the n-th step of its writing transactions, counted over all of them.

    Steps are: before a transaction begins, before each statement, before the commit, and after the commit, when the
    caller has not heard of it yet.
    """

    def __init__(self, inner, crash_at: int | None = None, crash=None) -> None:
        self.inner = inner
        self.crash_at, self.steps = crash_at, 0
        self._crash = crash

    def step(self) -> None:
        """Count, and crash if it is time."""
        self.steps += 1
        if self.steps == self.crash_at:
            if self._crash is not None:
                self._crash()
            raise Crash

    @contextmanager
    def writing(self):
        """As the database does, with steps."""
        self.step()
        with self.inner.writing() as rows:
            yield FaultyTransaction(rows, self)
            self.step()
        self.step()

    @contextmanager
    def jotting(self):
        """As the database does, with steps."""
        self.step()
        with self.inner.jotting() as rows:
            yield FaultyTransaction(rows, self)
            self.step()
        self.step()

    @contextmanager
    def upgrading(self):
        """As the database does, with steps."""
        self.step()
        with self.inner.upgrading() as rows:
            yield FaultyTransaction(rows, self)
            self.step()
        self.step()

    def __getattr__(self, name):
        """Everything else as the database does."""
        return getattr(self.inner, name)


class FaultyTransaction:
    """A transaction that takes a step before each statement."""

    def __init__(self, rows, faulty: Faulty) -> None:
        self._rows, self._faulty, self.dialect = rows, faulty, rows.dialect

    def now(self):
        """As the transaction does."""
        return self._rows.now()

    def ahead(self):
        """As the transaction does."""
        return self._rows.ahead()

    def anchor(self) -> None:
        """As the transaction does."""
        self._faulty.step()
        self._rows.anchor()

    def let_go(self) -> None:
        """As the transaction does."""
        self._rows.let_go()

    def show(self, shown) -> None:
        """As the transaction does."""
        self._faulty.step()
        self._rows.show(shown)

    def fetch(self, sql, *values):
        """As the transaction does."""
        self._faulty.step()
        return self._rows.fetch(sql, *values)

    def send(self, statements) -> None:
        """As the transaction does."""
        self._faulty.step()
        self._rows.send(statements)

    def write(self, statements) -> None:
        """As the transaction does, statement by statement; each has reached the database before the next step."""
        for statement in statements:
            self._faulty.step()
            self._rows.write([statement])
            self._rows.fetch("SELECT 1")


def sighting(*values: str, title: str = "data", kind: str = "bytes") -> Sighting:
    """Data that is known by these values."""
    found = tuple(Identity(kind=kind, value=value) for value in values)
    return Sighting(title=title, finds=found, binds=found)


def known(ledger, *names: str, person: str | None = "user", by: str = OWNER):
    """Data sets of these names, each known by its path; the last of them."""
    made = [
        ledger.catalog.register(sighting(f"/data/{name}", title=name, kind="path"), person=person, name=None, by=by)
        for name in names
    ]
    return made[-1].dataset


def cost(rho="0.1", delta="0.000001") -> Cost:
    """A cost of this rho and delta."""
    return Cost.of(
        *([Gaussian(rho=Decimal(rho))] if Decimal(rho) else []),
        *([Failure(delta=Decimal(delta))] if Decimal(delta) else []),
    )


def ask(key: str, /, **changes) -> Ask:
    """A question whose text is its key, unless said otherwise."""
    said = {
        "analyst": "ann",
        "dataset": "visits",
        "version": "v1",
        "query": key,
        "cost": cost(),
        "key": key,
        "what": f"question {key}",
    }
    return Ask(**{**said, **changes})


def analyst(name: str = "ann", entity: str = "visits") -> Account:
    """An analyst's account."""
    return Account(kind="analyst", name=name, entity=entity)


def group(name: str, entity: str = "visits") -> Account:
    """A group's account."""
    return Account(kind="group", name=name, entity=entity)


def dataset(entity: str = "visits") -> Account:
    """A data set's account."""
    return Account(kind="dataset", name=entity, entity=entity)


def answered(ledger, question: Ask, payload: bytes = b"table", actual: Cost | None = None):
    """The whole spine: reserve, touch, settle."""
    held = ledger.reserve(question)
    if hasattr(held, "payload"):
        return held
    ledger.touch(held)
    return ledger.settle(held, actual or question.cost, payload=payload)
