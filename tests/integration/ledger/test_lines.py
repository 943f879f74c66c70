"""Connections to a server, and what it reads to find one row."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from hushcount.ledger.asks import of_answer, of_key, of_number, of_question
from hushcount.ledger.book import lock_book
from hushcount.ledger.lines import Lines
from hushcount.ledger.wire import _numbered
from tests.conformance.ledgers.stores import Store, ask, cost, known


@pytest.fixture
def ledger(asked_ledger):
    """A ledger on a server."""
    return asked_ledger


def lines(cluster):
    """How many connections the server has, of others than who asks."""
    with psycopg.connect(cluster.address) as line:
        told = "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        return line.execute(told).fetchall()[0][0]


def asked_by(threads, ledger, name):
    """Ask by so many threads at once, which end then."""
    together = threading.Barrier(threads)

    def one(number):
        together.wait()
        held = ledger.reserve(ask(f"{name} {number}"))
        together.wait()
        ledger.settle(held, cost(), payload=b"answer")

    begun = [threading.Thread(target=one, args=(number,)) for number in range(threads)]
    for thread in begun:
        thread.start()
    for thread in begun:
        thread.join()


def test_a_thread_that_ended_leaves_its_connection_to_the_next(ledger, cluster):
    """Else a program that asks by many short threads takes every place that the server has."""
    asked_by(3, ledger, "first")
    after_three = lines(cluster)
    for turn in range(5):
        asked_by(3, ledger, f"turn {turn}")

    assert lines(cluster) == after_three
    assert ledger.verify().problems == ()


def killed(cluster, wires):
    """Their ends at the server are gone, and nobody was told."""
    with psycopg.connect(cluster.address, autocommit=True) as line:
        for wire in wires:
            line.execute("SELECT pg_terminate_backend(%s, 5000)", (wire.connection.info.backend_pid,))


def by_a_thread(work):
    """What a thread comes to that ends then."""
    made = []
    thread = threading.Thread(target=lambda: made.append(work()))
    thread.start()
    thread.join()
    return made[0]


def test_a_broken_connection_is_not_handed_on(cluster):
    """Nor one that a living thread has; whoever comes next gets a new one."""
    held = Lines(cluster.address, "public", psycopg)
    mine, left = held.wire(), by_a_thread(held.wire)
    left.connection.close()
    other = by_a_thread(held.wire)

    assert len({id(mine), id(left), id(other)}) == 3
    assert by_a_thread(held.wire) is other
    assert held.wire() is mine
    held.close()
    assert mine.connection.closed
    assert other.connection.closed


def test_a_connection_that_the_server_ended_is_not_handed_on(cluster):
    """After a restart each of them would fail one question, although the server is there."""
    held, together = Lines(cluster.address, "public", psycopg), threading.Barrier(3)
    made = []

    def one():
        made.append(held.wire())
        together.wait()

    begun = [threading.Thread(target=one) for _ in range(3)]
    for thread in begun:
        thread.start()
    for thread in begun:
        thread.join()
    killed(cluster, made)
    found = by_a_thread(held.wire)

    assert found not in made
    assert found.ask([("SELECT 7", ())])[0][0] == [(7,)]
    assert all(wire.connection.closed for wire in made)
    held.close()


def test_a_transaction_that_was_left_open_is_not_handed_on(cluster):
    """What it holds goes with its connection."""
    held = Lines(cluster.address, "public", psycopg)

    def begun():
        wire = held.wire()
        wire.ask([("BEGIN", ())])
        return wire

    left = by_a_thread(begun)

    assert by_a_thread(held.wire) is not left
    assert left.connection.closed
    held.close()


def waiting(cluster):
    """How many wait for a lock of each kind."""
    with psycopg.connect(cluster.address) as line:
        told = "SELECT locktype, COUNT(*) FROM pg_locks WHERE NOT granted GROUP BY 1"
        return dict(line.execute(told).fetchall())


def test_whoever_waits_for_a_book_waits_in_turn(ledger, server_store, cluster):
    """In one queue, where each is woken once; and not for a book of the same name in another ledger of the server."""
    other = Store("postgres", server_store.place, schema=f"{server_store.schema}_other")
    other.found()
    apart = other.over(other.served())
    known(apart, "visits")
    done, database = [], server_store.served()
    with database.writing() as holder:
        lock_book(holder, "visits")
        asked = [
            threading.Thread(target=lambda number=number: done.append(ledger.reserve(ask(f"waits {number}"))))
            for number in range(3)
        ]
        for thread in asked:
            thread.start()
        end = time.monotonic() + 20
        while sum(waiting(cluster).values()) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        found, answered = waiting(cluster), apart.reserve(ask("elsewhere"))
    for thread in asked:
        thread.join()

    assert found == {"advisory": 3}
    assert answered.entity == "visits"
    assert len(done) == 3
    apart.close()
    database.close()


def plan_of(line, statement):
    """How the server would run a statement again and again, whatever its values."""
    sql, values = statement
    line.execute("SET plan_cache_mode = force_generic_plan")
    line.execute(b"PREPARE one AS " + _numbered(sql), prepare=False)
    given = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in values)
    rows = line.execute(f"EXPLAIN EXECUTE one ({given})").fetchall()
    line.execute("DEALLOCATE one")
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        (of_number("visits", 7), "asks_pkey"),
        (of_answer("visits", 7)[0], "releases_pkey"),
        (of_answer("visits", 7)[1], "releases_pkey"),
        (of_key("ann", "k"), "asks_by_key"),
        (of_question("visits", "v", "q", shown=True), "Index Only Scan using holders_pkey"),
        (of_question("visits", "v", "q", shown=True), "(number = releases.number)"),
    ],
    ids=["ask", "answer", "bytes", "key", "question", "its holders"],
)
def test_a_new_ledger_finds_a_row_by_its_key(ledger, server_store, cluster, statement, key):
    """Also before the server has counted its rows."""
    with psycopg.connect(cluster.address, autocommit=True) as line:
        line.execute(f'SET search_path = "{server_store.schema}"')

        assert key in plan_of(line, statement)


def test_with_the_indexes_of_before_it_reads_all_that_was_asked(ledger, server_store, cluster):
    """An index that began as the key does was taken for it: what this looks at can be seen."""
    with psycopg.connect(cluster.address, autocommit=True) as line:
        line.execute(f'SET search_path = "{server_store.schema}"')
        line.execute("CREATE INDEX asks_of_before ON asks (entity, analyst, number)")

        assert "asks_of_before" in plan_of(line, of_number("visits", 7))
