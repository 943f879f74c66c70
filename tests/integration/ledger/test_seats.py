"""Seats: those who read a ledger in a file at once have a connection each, up to a few."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import ExitStack, closing

import pytest

from hushcount.ledger.seats import Seats

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
