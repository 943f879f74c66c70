"""A book in PostgreSQL is free for the next one before the disk has what was written; whoever wrote it waits."""

from __future__ import annotations

import json

import psycopg
import pytest

from hushcount.ledger import asks, postgres
from hushcount.ledger.postgres import PostgresTransaction
from tests.conformance.ledgers.stores import answered, ask, cost

# Between a look at both ends of the server's log somebody else may write to it; not each time.
LOOKS = 5
JOIN = (
    "SELECT r.number FROM releases r JOIN asks a ON r.entity = a.entity AND r.version = a.version "
    "AND r.query = a.query WHERE a.entity = ? AND a.number = ? AND r.canonical = 1"
)


@pytest.fixture
def ledger(asked_ledger):
    """A ledger on a server."""
    return asked_ledger


@pytest.fixture
def written(cluster):
    """Whether all that the server has in its log is on the disk."""
    with psycopg.connect(cluster.address, autocommit=True) as line:

        def look() -> bool:
            ends = "SELECT pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn()"
            return bool(line.execute(ends).fetchall()[0][0])

        yield look


def verbs(ledger, number):
    """Each verb that lets go, one after the other."""
    held = ledger.reserve(ask(f"{number}"))
    yield "reserve"
    ledger.touch(held)
    yield "touch"
    ledger.settle(held, cost(), payload=b"answer")
    yield "settle"
    ledger.refund(ledger.reserve(ask(f"{number} back")))
    yield "refund"


def test_a_verb_is_on_the_disk_when_it_returns(ledger, written):
    """Reserve, touch, settle and refund, although the book was free before that."""
    seen = {verb: set() for verb in ("reserve", "touch", "settle", "refund")}
    for number in range(LOOKS):
        for verb in verbs(ledger, number):
            seen[verb].add(written())

    assert all(True in looks for looks in seen.values()), seen


def test_without_the_mark_it_is_not(ledger, written, monkeypatch):
    """The look can fail: a commit that does not wait, and nothing after it that does, is not on the disk yet."""
    monkeypatch.setattr(postgres, "_MARK", ("SELECT 1", ()))
    seen = [written() for number in range(LOOKS) for _ in verbs(ledger, number)]

    assert False in seen


def test_what_was_seen_is_on_the_disk_once_it_was_waited_for(server_store, ledger, written):
    """Heads and verdicts are kept elsewhere, so they never name a link that the server could still lose."""
    database, seen = server_store.served(), []
    for number in range(LOOKS):
        with database.jotting() as rows:
            rows.write([("INSERT INTO roles (entity, person, role) VALUES ('*', ?, 'reader')", (f"p{number}",))])
        before = written()
        ledger.heads() if number % 2 else ledger.verify()
        seen.append((before, written()))
    database.close()

    assert (False, True) in seen


def test_what_is_handed_out_is_on_the_disk_before_anybody_sees_it(ledger, monkeypatch):
    """A stored answer is charged for in the commit that hands it over: a reader could give it away before the disk."""
    real, ends = PostgresTransaction._exchange, []  # noqa: SLF001

    def heard(transaction, statements, *, end=()):
        ends.extend([tuple(sql for sql, _ in end)] if end else [])
        return real(transaction, statements, end=end)

    answered(ledger, ask("a"), b"answer")
    monkeypatch.setattr(PostgresTransaction, "_exchange", heard)
    ledger.reserve(ask("new"))
    ledger.reserve(ask("again", query="a", analyst="bob"))
    ledger.reserve(ask("apart", query="a", analyst="zoe", apart=True))
    ledger.reserve_all((ask("one"), ask("two", query="a", analyst="eve")))

    late = ("COMMIT", postgres._MARK[0])  # noqa: SLF001
    assert ends == [late, ("COMMIT",), ("COMMIT",), ("COMMIT",)]


def test_a_long_history_that_the_server_has_not_counted_is_not_read(server_store, ledger):
    """While a book is held: the answer to the question of an ask is looked up, not looked for among all of them."""
    for number in range(300):
        answered(ledger, ask(f"{number}"), b"answer")
    said = {
        "ours": asks.like("visits", 100),
        "a join": (JOIN, ("visits", 100)),
    }
    database, read = server_store.served(), {}
    with database.reading() as rows:
        for name, (sql, values) in said.items():
            plan = rows.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", *values)[0][0]
            top = (json.loads(plan) if isinstance(plan, str | bytes) else plan)[0]["Plan"]
            read[name] = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    database.close()

    assert read["ours"] < 30 < read["a join"], read
