"""How often a verb waits for the server: while it holds a book everybody else who wants it waits too."""

from __future__ import annotations

from contextlib import suppress

import psycopg
import pytest

from hushcount.accounting import zcdp
from hushcount.errors import LedgerUnavailable
from hushcount.ledger.jobs import NewJob
from hushcount.ledger.ledger import Account
from hushcount.ledger.postgres import PostgresTransaction
from hushcount.ledger.store import Conflict
from tests.conformance.ledgers.stores import OWNER, answered, ask, cost, dataset, sighting


@pytest.fixture
def trips(monkeypatch):
    """A list that grows with each round trip."""
    real, made = PostgresTransaction._exchange, []  # noqa: SLF001

    def counted(transaction, statements, **end):
        made.append(statements)
        return real(transaction, statements, **end)

    monkeypatch.setattr(PostgresTransaction, "_exchange", counted)
    return made


@pytest.fixture
def ledger(asked_ledger):
    """A ledger on a server."""
    return asked_ledger


def test_a_verb_on_a_book_takes_two(ledger, trips):
    """One to hold it and to ask for all that is decided on, one to write and to commit; one more at the first time."""
    taken = {}
    held = ledger.reserve(ask("a"))
    taken["reserve"] = len(trips)
    ledger.touch(held)
    taken["touch"] = len(trips) - sum(taken.values())
    ledger.settle(held, cost(), payload=b"answer")
    taken["settle"] = len(trips) - sum(taken.values())
    again = ledger.reserve(ask("b", query="a"))
    taken["repeat"] = len(trips) - sum(taken.values())
    ledger.reserve(ask("c"))
    taken["another"] = len(trips) - sum(taken.values())

    assert again.payload == b"answer"
    # The first question finds out where the data set belongs. A repeat looks up who has paid for the answer, and
    # fetches its bytes.
    assert taken == {"reserve": 3, "touch": 2, "settle": 2, "repeat": 4, "another": 2}
    assert ledger.verify().problems == ()


def test_a_verb_with_a_token_takes_two(ledger, trips):
    """The accounts are asked for with the book, also where a cap of a token is one of them."""
    ledger.reserve(ask("first"))
    trips.clear()
    held = ledger.reserve(ask("a", token="t1"))  # noqa: S106 (a name)
    reserved = len(trips)
    ledger.settle(held, cost(), payload=b"answer")

    assert (reserved, len(trips) - reserved) == (2, 2)
    assert ledger.balance(Account(kind="token", name="t1", entity="visits")).spent == zcdp.spent(cost())


def test_a_plain_read_takes_one(ledger, trips):
    """It begins with its question, and nobody waits for its end. An answer that is recalled takes one more."""
    answered(ledger, ask("a"), b"answer")
    ledger.records.put("saved", "one", {"k": 3}, owner="ann", by="ann")
    ledger.jobs.begin(NewJob(id="q1", analyst="ann", key="k1", dataset="visits", body="{}", question="?"), worker="w1")
    met = sighting("/data/visits", title="visits", kind="path")
    reads = {
        "record": lambda: ledger.records.find("saved", "one"),
        "page": lambda: ledger.records.page("saved"),
        "role": lambda: ledger.role_of(OWNER, dataset="visits"),
        "job": lambda: ledger.jobs.find("q1"),
        "job of a key": lambda: ledger.jobs.of_key("ann", "k1"),
        "jobs": lambda: ledger.jobs.page(analyst="ann"),
        "lookup": lambda: ledger.catalog.lookup(met),
        "known": lambda: ledger.catalog.register(met, person="user", name=None, by=OWNER),
        "price": lambda: ledger.check(ask("b")),
        "balance": lambda: ledger.balance(dataset()),
        "running": lambda: ledger.watch.running() == 0,
        "recall": lambda: ledger.recall("ann", "a"),
    }
    taken = {}
    for name, read in reads.items():
        trips.clear()
        found = read()
        taken[name] = len(trips)

        assert found, name
    assert taken == {**dict.fromkeys(reads, 1), "recall": 2}


def test_a_job_is_begun_in_two(ledger, trips):
    """One to see whether its key or its question is known, one to write and to commit."""
    new = NewJob(id="q1", analyst="ann", key="k1", dataset="visits", body="{}", question="?")
    trips.clear()
    job, fresh = ledger.jobs.begin(new, worker="w1")

    assert (job.state, fresh, len(trips)) == ("running", True, 2)


def test_what_was_sent_before_a_write_is_asked_for_again(server_store):
    """Else a verb would decide on what it changed itself."""
    server_store.found()
    database = server_store.database()
    count = ("SELECT COUNT(*) FROM roles WHERE person = ?", ("zoe",))
    with database.writing() as rows:
        rows.send([count])
        rows.write([("INSERT INTO roles (entity, person, role) VALUES (?, ?, ?)", ("*", "zoe", "reader"))])
        seen = rows.fetch(count[0], *count[1])
    database.close()

    assert seen == [(1,)]


def test_a_statement_that_fails_among_many_leaves_nothing_and_is_told(server_store, ledger):
    """All of a transaction goes in one breath; the first failure is what is told, and the connection goes on."""
    database = server_store.database()
    role = ("INSERT INTO roles (entity, person, role) VALUES (?, ?, ?)", ("*", "zoe", "reader"))
    with pytest.raises(Conflict, match="duplicate key"), database.writing() as rows:
        rows.write([role, role, ("DELETE FROM books", ())])
    with database.reading() as rows:
        left = rows.fetch("SELECT COUNT(*) FROM roles WHERE person = ?", "zoe")
    database.close()

    assert left == [(0,)]
    assert ledger.reserve(ask("after")).number > 0


def test_a_transaction_that_cannot_be_rolled_back_holds_nobody_up(server_store, monkeypatch):
    """An interrupt may come while the server is at work: then the line is cut, and the book is free."""
    server_store.found()
    first, second = server_store.served(), server_store.served()

    def interrupted():
        with first.writing() as rows:
            rows.fetch("SELECT entity FROM books WHERE entity = '*' FOR UPDATE")
            raise KeyboardInterrupt

    real = psycopg.Connection.execute

    def busy(connection, query, *given, **named):
        if query == "ROLLBACK":
            raise psycopg.OperationalError("sending query failed: another command is already in progress")
        return real(connection, query, *given, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", busy)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    monkeypatch.undo()
    with second.writing() as rows:
        rows.fetch("SET LOCAL lock_timeout = '5s'")
        held = rows.fetch("SELECT entity FROM books WHERE entity = '*' FOR UPDATE")
    with first.reading() as rows:
        again = rows.fetch("SELECT 1")
    first.close()
    second.close()

    assert (held, again) == ([("*",)], [(1,)])


def test_a_commit_that_the_server_took_back_is_told(server_store):
    """What failed before and was passed over: PostgreSQL calls the rollback that follows no error."""
    server_store.found()
    database = server_store.served()
    with pytest.raises(LedgerUnavailable, match="took back"), database.writing() as rows, suppress(psycopg.Error):
        rows.fetch("SELECT 1 / 0")
    database.close()
