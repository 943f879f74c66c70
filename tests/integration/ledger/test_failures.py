"""Broken machines: disk full, database gone, read-only, other versions, forks, threads. Clear words, nothing lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted, LedgerUnavailable, MissingExtra, ReservationClosed
from hushcount.ledger import postgres, schema
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import Reservation
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.sqlite import SqliteDatabase, found_sqlite, open_sqlite
from tests.conformance.ledgers.stores import (
    OWNER,
    SECRET,
    HandClock,
    Store,
    analyst,
    answered,
    ask,
    cost,
    dataset,
    known,
    sighting,
)
from tests.inner import pytest_run
from tests.postgres import running_cluster

ROOT = Path(__file__).resolve().parents[3]


def new_ledger(path: Path):
    """A new ledger in a file, in which one data set is known."""
    ledger = found_sqlite(path, Founding(owner=OWNER, limit=None, secret=SECRET), clock=HandClock())
    known(ledger, "visits")
    return ledger


def started(store: Store):
    """A new ledger in which one data set is known."""
    ledger = store.found()
    known(ledger, "visits")
    return ledger


def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    """When SQLite has no room, the verb did not happen, what was there stays, and the retry works once there is."""
    new_ledger(tmp_path / "ledger.db").close()
    database = SqliteDatabase(tmp_path / "ledger.db", clock=HandClock())
    ledger = SqlLedger(database)
    answered(ledger, ask("before"), b"kept")
    held = ledger.reserve(ask("big"))
    with database.reading() as rows:
        pages = rows.fetch("PRAGMA page_count")[0][0]
    database._writer.current().execute(f"PRAGMA max_page_count = {pages + 4}")  # noqa: SLF001 (a small disk)
    with pytest.raises(LedgerUnavailable, match=r"disk is full.*same key"):
        ledger.settle(held, cost(), payload=bytes(1 << 20))
    during = ledger.balance(dataset())
    database._writer.current().execute("PRAGMA max_page_count = 1000000")  # noqa: SLF001
    release = ledger.settle(held, cost(), payload=bytes(1 << 20))

    assert during.spent == during.reserved == zcdp.spent(cost())
    assert len(release.payload) == 1 << 20
    assert ledger.reserve(ask("again", query="before")).payload == b"kept"
    assert ledger.verify().problems == ()
    ledger.close()


def test_a_full_disk_of_the_server_is_told(server_store, monkeypatch):
    """PostgreSQL's "disk full" is told in the same words, and the transaction did not happen."""
    ledger = started(server_store)
    held = ledger.reserve(ask("q"))
    real = postgres.PostgresTransaction.write

    def full(rows, statements):
        real(rows, statements[:1])
        raise psycopg.errors.DiskFull("could not extend file")

    monkeypatch.setattr(postgres.PostgresTransaction, "write", full)
    with pytest.raises(LedgerUnavailable, match="disk is full"):
        ledger.settle(held, cost(), payload=b"lost")
    monkeypatch.undo()

    assert ledger.settle(held, cost(), payload=b"kept").payload == b"kept"
    assert ledger.verify().problems == ()


def test_a_file_that_was_taken_away_is_told(tmp_path):
    """SQLite would write on into a removed file and forget the budget; we stop, and go on when it is back."""
    path = tmp_path / "ledger.db"
    ledger = new_ledger(path)
    answered(ledger, ask("q"))
    shelf = tmp_path / "moved.db"
    path.rename(shelf)
    with pytest.raises(LedgerUnavailable, match="moved, removed or replaced"):
        ledger.reserve(ask("r"))
    shutil.copy(shelf, path)
    with pytest.raises(LedgerUnavailable, match="moved, removed or replaced"):
        ledger.reserve(ask("r"))
    shelf.replace(path)

    assert isinstance(ledger.reserve(ask("r")), Reservation)
    ledger.close()


def test_the_file_is_private(tmp_path):
    """Nobody but its owner can read the ledger or its side files."""
    ledger = new_ledger(tmp_path / "ledger.db")
    answered(ledger, ask("q"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    ledger.close()

    assert set(modes.values()) == {0o600}
    assert "ledger.db-wal" in modes


def test_a_read_only_file_is_told():
    """A ledger that may not be written says so, before anything is released, to a user who may not write it."""
    folder = Path(tempfile.mkdtemp(prefix="hushcount-"))
    try:
        ledger = new_ledger(folder / "ledger.db")
        answered(ledger, ask("q"))
        ledger.close()
        folder.chmod(0o555)
        (folder / "ledger.db").chmod(0o444)
        program = (
            "import os, sys\n"
            "from hushcount.ledger.sqlite import open_sqlite\n"
            "from hushcount.errors import LedgerUnavailable\n"
            "os.geteuid() == 0 and os.setuid(65534)\n"
            "try: open_sqlite(sys.argv[1], secret=sys.argv[2])\n"
            "except LedgerUnavailable as error: print(error)\n"
        )
        done = subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, "-c", program, str(folder / "ledger.db"), SECRET],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)

    assert "may not be written" in done.stdout, done.stdout + done.stderr


def test_a_read_only_server_is_told(server_store):
    """A server that takes no writes says so; reading still works."""
    ledger = started(server_store)
    answered(ledger, ask("q"))
    with psycopg.connect(server_store.place, autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
    try:
        reader = server_store.over(server_store.database())
        with pytest.raises(LedgerUnavailable, match="does not take writes"):
            reader.reserve(ask("r"))

        assert reader.balance(dataset()).spent == zcdp.spent(cost())
    finally:
        with psycopg.connect(
            server_store.place, autocommit=True, options="-c default_transaction_read_only=off"
        ) as connection:
            connection.execute("ALTER DATABASE postgres RESET default_transaction_read_only")


def test_a_server_that_crashes_loses_nothing(cluster):
    """The server dies between reserve and settle: clear words, and after its restart the same calls go through."""
    with running_cluster(durable=True) as server:
        founding = Founding(owner=OWNER, limit=None, secret=SECRET)
        ledger = postgres.found_postgres(server.address, founding, clock=HandClock())
        known(ledger, "visits")
        held = ledger.reserve(ask("q"))
        ledger.touch(held)
        server.stop("immediate")
        with pytest.raises(LedgerUnavailable, match=r"server is not there.*same key"):
            ledger.settle(held, cost(), payload=b"answer")
        with pytest.raises(LedgerUnavailable):
            ledger.balance(dataset())
        server.start()
        release = ledger.settle(held, cost(), payload=b"answer")

        assert release.payload == b"answer"
        assert ledger.balance(dataset()).spent == zcdp.spent(cost())
        assert ledger.verify().problems == ()
        ledger.close()


def test_a_newer_schema_is_refused_and_left_alone(store):
    """A ledger of a later version is not opened, and not changed."""
    ledger = started(store)
    answered(ledger, ask("q"))
    database = store.database()
    with database.writing() as rows:
        newer = "PRAGMA user_version = 99" if store.kind == "sqlite" else "UPDATE schema_version SET version = 99"
        rows.write([(newer, ())])
    database.close()
    with pytest.raises(LedgerUnavailable, match=r"schema version 99.*newer version wrote it"):
        store.open()

    assert ledger.balance(dataset()).spent == zcdp.spent(cost())


def test_an_older_schema_is_brought_up_to_date(store, monkeypatch):
    """Opening with a newer hushcount applies what is missing, once, and keeps everything."""
    ledger = started(store)
    answered(ledger, ask("q"), b"old")
    later = (*schema.MIGRATIONS, ("ALTER TABLE asks ADD COLUMN note TEXT",))
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    for _ in range(2):
        newer = store.open()
    monkeypatch.undo()

    assert newer.reserve(ask("again", query="q")).payload == b"old"
    with pytest.raises(LedgerUnavailable, match="newer version"):
        store.open()


def test_a_migration_that_fails_changes_nothing(store, monkeypatch):
    """A migration is all or nothing."""
    ledger = started(store)
    answered(ledger, ask("q"))
    broken = (*schema.MIGRATIONS, ("ALTER TABLE asks ADD COLUMN note TEXT", "ALTER TABLE nowhere ADD COLUMN x TEXT"))
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with pytest.raises(LedgerUnavailable):
        store.open()
    monkeypatch.undo()

    assert store.open().verify().problems == ()


def test_a_damaged_file_is_told(tmp_path):
    """A file whose middle was overwritten is reported as damaged, not read as empty."""
    path = tmp_path / "ledger.db"
    ledger = new_ledger(path)
    for number in range(30):
        answered(ledger, ask(f"q{number}"), bytes(2000))
    ledger.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 8192))
    with pytest.raises(LedgerUnavailable, match="damaged"):
        open_sqlite(path, secret=SECRET, clock=HandClock()).verify()


def test_threads_share_a_ledger(store):
    """Eight threads on one ledger object fill a limit exactly."""
    ledger = started(store)
    ledger.set_limit(dataset(), rho_limit("1", "0.1"), by=OWNER)
    outcomes = []

    def spend(thread: int) -> None:
        for number in range(3):
            try:
                answered(ledger, ask(f"{thread}-{number}"))
                outcomes.append("paid")
            except BudgetExhausted:
                outcomes.append("refused")

    threads = [threading.Thread(target=spend, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["paid"] * 10 + ["refused"] * 14
    assert ledger.balance(dataset()).left.rho == 0


def test_many_meet_the_same_new_data_at_once(store):
    """Copies of the same new data, first met at the same moment under different names, are one data set."""
    store.found()
    ledgers = [store.open() for _ in range(4)]
    barrier, failures, found = threading.Barrier(4), [], []

    def first(number: int) -> None:
        barrier.wait()
        try:
            for turn in range(5):
                seen = sighting(f"path {number} {turn}", f"bytes {turn}", title=f"name {number}")
                made = ledgers[number].catalog.register(seen, person="user", name=None, by="ann").dataset
                ledgers[number].reserve(ask(f"{number} {turn}", dataset=made.id))
                found.append((turn, made.id))
        except Exception as error:  # noqa: BLE001 (told below)
            failures.append(error)

    threads = [threading.Thread(target=first, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert len(found) == 20
    assert len(set(found)) == len({name for _, name in found}) == 5
    for _, name in found:
        assert ledgers[0].balance(dataset(name)).queries == 4
    assert ledgers[0].verify().problems == ()


def test_a_forked_child_opens_its_own_connection(store):
    """A child that inherited an open ledger spends through a connection of its own; the parent's still works."""
    ledger = started(store)
    answered(ledger, ask("parent"))
    child = os.fork()
    if child == 0:
        try:
            answered(ledger, ask("child"))
            os._exit(0)
        except BaseException:  # noqa: BLE001 (the exit code tells)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    answered(ledger, ask("parent again"))

    assert status == 0
    assert ledger.balance(analyst()).queries == 3


def test_a_busy_file_is_waited_for_and_then_told(tmp_path, monkeypatch):
    """Another process that holds the file is waited for; after that the error says what to do."""
    monkeypatch.setattr("hushcount.ledger.seats.WAIT_SECONDS", 0.1)
    ledger = new_ledger(tmp_path / "ledger.db")
    holder = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="other processes held it"):
        ledger.reserve(ask("q"))
    holder.execute("ROLLBACK")
    holder.close()

    assert isinstance(ledger.reserve(ask("q")), Reservation)
    ledger.close()


def test_without_the_driver_the_extra_is_named(monkeypatch):
    """Without psycopg the error says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="hushcount\\[postgres\\]"):
        postgres.open_postgres("host=nowhere", secret=SECRET)


def test_a_server_that_is_not_there_is_told(cluster, tmp_path):
    """Opening a ledger on a server that does not answer is a clear error."""
    with pytest.raises(LedgerUnavailable, match="server is not there"):
        postgres.open_postgres(f"host={tmp_path} user=postgres dbname=postgres", secret=SECRET)


@pytest.mark.parametrize(("ci", "outcome"), [("true", "1 error"), ("", "1 skipped")])
def test_a_missing_server_is_told(ci, outcome, tmp_path):
    """Without PostgreSQL's programs its tests are skipped with a clear word; in CI that is an error."""
    words = ("-k", "test_a_group_is_shared and postgres", "tests/conformance/ledgers/test_verbs.py")
    run = pytest_run(*words, CI=ci, HUSHCOUNT_POSTGRES=str(tmp_path))

    assert outcome in run.stdout, run.stdout + run.stderr
    assert "install the package 'postgresql'" in run.stdout


def test_a_reservation_of_another_ledger_is_refused(tmp_path):
    """A reservation is good only where it was made."""
    one, two = (new_ledger(tmp_path / name) for name in ("one.db", "two.db"))
    held = one.reserve(ask("q", lifetime=timedelta(minutes=1)))
    with pytest.raises(ReservationClosed, match="another ledger"):
        two.settle(held, cost(), payload=b"")

    assert two.balance(dataset()).lifetime == Spent()
    one.close()
    two.close()
