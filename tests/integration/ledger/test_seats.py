"""Seats: those who read a ledger in a file at once have a connection each, up to a few."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from hushcount.errors import LedgerUnavailable
from hushcount.ledger.founding import Founding
from hushcount.ledger.seats import Seat, Seats
from hushcount.ledger.sqlite import SqliteDatabase, found_sqlite
from tests.conformance.ledgers.stores import OWNER, SECRET

MOST = 4


@pytest.fixture
def seats(tmp_path):
    """The seats of an empty database."""
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
    made = Seats(path)
    yield made
    made.close()


def begun(deed) -> tuple[threading.Thread, threading.Event]:
    """A deed in a thread of its own, and what tells that it is done."""
    done = threading.Event()
    thread = threading.Thread(target=lambda: (deed(), done.set()), daemon=True)
    thread.start()
    return thread, done


def test_whoever_reads_at_once_has_a_connection_of_their_own_and_the_next_takes_one_that_is_free(seats):
    """As many as read at once are opened, and no more."""
    with seats.one() as first, seats.one() as second:
        both = {id(first.current()), id(second.current())}
    with seats.one() as third:
        again = id(third.current())

    assert len(both) == 2
    assert again in both


def test_beyond_a_few_one_waits_until_another_has_read(seats):
    """And then has theirs."""
    with ExitStack() as others:
        held = [others.enter_context(seats.one()) for _ in range(MOST - 1)]
        with seats.one() as last:
            taken = []

            def read() -> None:
                with seats.one() as seat:
                    taken.append(seat)

            thread, done = begun(read)
            waited = not done.wait(0.2)
        thread.join(10)

    assert waited
    assert taken == [last]
    assert last not in held


@pytest.mark.parametrize("deed", ["all", "close"])
def test_to_have_all_or_to_close_them_waits_for_whoever_reads(seats, deed):
    """Nobody is cut short."""

    def take_all() -> None:
        with seats.all():
            pass

    with seats.one() as seat:
        thread, done = begun(take_all if deed == "all" else seats.close)
        waited = not done.wait(0.2)
        read = seat.current().execute("SELECT COUNT(*) FROM things").fetchall()
    thread.join(10)

    assert waited
    assert read == [(0,)]
    assert done.is_set()


@pytest.fixture
def holder(tmp_path):
    """Another connection to a new database that has no log beside it."""
    with closing(sqlite3.connect(tmp_path / "bare.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
        yield connection


def pausing(monkeypatch, deed) -> list[float]:
    """From now on a deed is done in place of each pause; how long they would have been."""
    paused = []
    monkeypatch.setattr(
        "hushcount.ledger.seats.time",
        SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: (paused.append(seconds), deed())),
    )
    return paused


def test_a_file_without_a_log_is_waited_for_while_another_writes_it(tmp_path, holder, monkeypatch):
    """As many do at once who open a copy that was put back: SQLite itself refuses all but one, without any wait."""
    holder.execute("BEGIN IMMEDIATE")
    paused = pausing(monkeypatch, lambda: holder.in_transaction and holder.execute("COMMIT"))
    seat = Seat(tmp_path / "bare.db", draft=False, patient=True)
    mode = seat.current().execute("PRAGMA journal_mode").fetchall()
    seat.close()

    assert paused == [0.001]
    assert mode == [("wal",)]


def test_that_others_held_it_for_long_is_told_after_a_long_wait_alone(tmp_path, holder, monkeypatch):
    """The error says for how long others held it, so it is not raised before."""
    monkeypatch.setattr("hushcount.ledger.seats.WAIT_SECONDS", 0.3)
    holder.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    with pytest.raises(LedgerUnavailable, match="other processes held it"):
        Seat(tmp_path / "bare.db", draft=False, patient=True)

    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("doing", ["BEGIN IMMEDIATE", "BEGIN DEFERRED"])
def test_what_was_taken_out_goes_when_those_who_use_the_file_have_done(tmp_path, monkeypatch, doing):
    """Whoever writes or reads while a ledger is scrubbed is waited for; then nothing is left beside the file."""
    path = tmp_path / "ledger.db"
    found_sqlite(path, Founding(owner=OWNER, limit=None, secret=SECRET)).close()
    with closing(SqliteDatabase(path)) as database, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(doing)
        other.execute("SELECT * FROM log").fetchall()
        paused = pausing(monkeypatch, lambda: other.in_transaction and other.execute("COMMIT"))
        database.scrub()

        assert paused
        assert path.with_name("ledger.db-wal").stat().st_size == 0
