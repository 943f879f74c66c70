"""The wire to PostgreSQL: values as they are, errors that leave it usable, ends that nobody waits for in vain."""

from __future__ import annotations

import signal
import time

import psycopg
import pytest

from hushcount.errors import LedgerUnavailable
from hushcount.ledger import wire
from hushcount.ledger.wire import Wire


@pytest.fixture
def line(cluster):
    """A wire of its own."""
    with psycopg.connect(cluster.address, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE kept (place BIGINT, text TEXT, bytes BYTEA)")
        yield Wire(connection, psycopg)


def test_values_come_back_as_they_were(line):
    """Texts of any letters, bytes of any kind, the largest and smallest moments, and nothing at all."""
    rows = [(2**63 - 1, "Ünï ☃ $1 '?", bytes(range(256))), (-(2**63) + 1, "", b""), (None, None, None)]
    line.ask([("INSERT INTO kept VALUES (?, ?, ?)", row) for row in rows])
    ((found, done),) = line.ask([("SELECT place, text, bytes FROM kept", ())])

    assert found == rows
    assert done == "SELECT 3"


def test_a_number_beyond_every_moment_is_compared_and_not_refused(line):
    """Whoever asks for entries after a number that no book reaches gets none."""
    line.ask([("INSERT INTO kept VALUES (?, ?, ?)", (1, "", b""))])

    assert line.ask([("SELECT 1 FROM kept WHERE place > ?", (10**30,))])[0][0] == []
    assert line.ask([("SELECT 1 FROM kept WHERE place < ?", (10**30,))])[0][0] == [(1,)]


def test_a_text_that_would_be_cut_is_refused_before_anything_is_sent(line):
    """PostgreSQL ends texts at a null character: what is kept would be another name."""
    with pytest.raises(psycopg.DataError, match="NUL"):
        line.ask([("INSERT INTO kept (text) VALUES (?)", ("before",)), ("SELECT ?::TEXT", ("ann\x00bob",))])

    assert not line.owed
    assert line.ask([("SELECT COUNT(*) FROM kept", ())])[0][0] == [(0,)]


def test_a_statement_that_failed_is_not_taken_for_prepared(line):
    """It failed because the table was not there; once it is, the same statement works, and so does what came after."""
    late, other = ("SELECT COUNT(*) FROM late", ()), ("SELECT 7", ())
    with pytest.raises(psycopg.errors.UndefinedTable):
        line.ask([late, other])
    line.ask([("CREATE TEMPORARY TABLE late (place BIGINT)", ())])

    assert [rows for rows, _ in line.ask([late, other, late])] == [[(0,)], [(7,)], [(0,)]]


def test_beyond_what_is_prepared_statements_still_work(line, monkeypatch):
    """The server keeps a bounded number of them for each connection."""
    monkeypatch.setattr(wire, "_MOST_PREPARED", 2)
    said = [line.ask([(f"SELECT {number} + ?::BIGINT", (1,))])[0][0] for number in range(5)]
    ((kept,),) = line.plain.execute("SELECT COUNT(*) FROM pg_prepared_statements WHERE name LIKE 'hushcount%'")

    assert said == [[(number + 1,)] for number in range(5)]
    assert kept == 2


def test_much_in_both_directions_does_not_stop(line):
    """Neither end waits for the other to read first."""
    text = "x" * 50_000
    said = line.ask([("SELECT ?::TEXT", (text,))] * 200)

    assert all(rows == [(text,)] for rows, _ in said)


def test_what_was_told_is_done_and_read_later(line):
    """Nobody waited for it; whoever speaks next finds it done, and the driver can be used as such."""
    line.tell([("INSERT INTO kept (text) VALUES (?)", ("told",))])
    owed = line.owed

    assert owed
    assert line.plain.execute("SELECT text FROM kept").fetchall() == [("told",)]
    assert not line.owed


def test_the_view_of_a_read_is_let_go_of(server_store):
    """Its end is not waited for and yet comes: an open view would keep the server from tidying up."""
    server_store.found()
    database = server_store.served()
    with database.reading() as rows:
        ((process,),) = rows.fetch("SELECT pg_backend_pid()")
    state, until = "", time.monotonic() + 20
    with psycopg.connect(server_store.place, autocommit=True) as other:
        while state != "idle" and time.monotonic() < until:
            ((state,),) = other.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", (process,)).fetchall()
    database.close()

    assert state == "idle"


def test_a_line_that_was_cut_after_a_read_is_told_and_made_anew(server_store):
    """The end of the read got lost on the way: the next call says so, the one after it goes through."""
    server_store.found()
    database = server_store.served()
    with database.reading() as rows:
        ((process,),) = rows.fetch("SELECT pg_backend_pid()")
    with psycopg.connect(server_store.place, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", (process,))
    with pytest.raises(LedgerUnavailable, match="not there") as told, database.reading() as rows:
        rows.fetch("SELECT 1")
    with database.reading() as rows:
        again = rows.fetch("SELECT 1")
    database.close()

    assert told.value.passes
    assert again == [(1,)]


def test_an_interrupt_between_two_words_holds_nobody_up(server_store):
    """Control-C while the server is at work: the book is free at once, and the database can be used."""
    server_store.found()
    first, second = server_store.served(), server_store.served()

    def stopped(*_):
        raise KeyboardInterrupt

    def interrupted():
        with first.writing() as rows:
            rows.fetch("SELECT entity FROM books WHERE entity = '*' FOR UPDATE")
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            rows.fetch("SELECT pg_sleep(60)")

    before = signal.signal(signal.SIGALRM, stopped)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with second.writing() as rows:
        rows.fetch("SET LOCAL lock_timeout = '10s'")
        held = rows.fetch("SELECT entity FROM books WHERE entity = '*' FOR UPDATE")
    with first.reading() as rows:
        again = rows.fetch("SELECT 1")
    first.close()
    second.close()

    assert (held, again) == ([("*",)], [(1,)])
