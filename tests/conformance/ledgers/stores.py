"""Both stores behind one door, a clock that is set by hand, and a database that fails when it is told to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from hushcount.ledger.ledger import Account, Ask
from hushcount.ledger.postgres import PostgresDatabase
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.sqlite import SqliteDatabase
from hushcount.model.costs import Cost, Failure, Gaussian
from tests.conftest import IN_CI
from tests.postgres import MISSING, find_programs, running_cluster

START = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
OWNER = "olga"
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

    def database(self):
        """A connection of its own."""
        if self.kind == "sqlite":
            return SqliteDatabase(Path(self.place))
        return PostgresDatabase(self.place, schema=self.schema)

    def open(self, clock=None, database=None) -> SqlLedger:
        """The ledger that lies here."""
        ledger = SqlLedger(database or self.database(), clock or HandClock())
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
    """A new ledger with an owner."""
    made = store.open(clock)
    made.grant(OWNER, "owner", by=OWNER)
    return made


class Crash(BaseException):
    """The process dies here; no handler of ours may catch it."""


class Faulty:
    """A database that crashes at the n-th step of its writing transactions, counted over all of them.

    Steps are: before a transaction begins, before each statement, before the commit, and after the commit, when the
    caller has not heard of it yet.
    """

    def __init__(self, inner, crash_at: int | None = None, crash=None) -> None:
        self.inner, self.dialect = inner, inner.dialect
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
            yield FaultyRows(rows, self)
            self.step()
        self.step()

    def reading(self):
        """As the database does."""
        return self.inner.reading()

    def close(self) -> None:
        """As the database does."""
        self.inner.close()


class FaultyRows:
    """A transaction that takes a step before each statement."""

    def __init__(self, rows, faulty: Faulty) -> None:
        self._rows, self._faulty = rows, faulty

    def fetch(self, sql, *values):
        """As the transaction does."""
        self._faulty.step()
        return self._rows.fetch(sql, *values)

    def write(self, statements) -> None:
        """As the transaction does, statement by statement."""
        for statement in statements:
            self._faulty.step()
            self._rows.write([statement])


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
