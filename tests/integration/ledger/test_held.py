"""A ledger's file that one process opens twice: nothing that is charged on either is lost when others come and go."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter

import pytest

from hushcount.errors import LedgerForeign
from hushcount.ledger import held
from hushcount.ledger.sqlite import SqliteDatabase
from tests.conformance.ledgers.stores import Store, ask, cost, known

# Another program, which looks at the ledger and leaves it. Whoever leaves last takes the log of writes along.
LOOK = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
print(file.execute("SELECT COUNT(*) FROM asks").fetchone()[0])
file.close()
"""


class Forgetful(Counter):
    """As it was before: nobody knows what this process has open."""

    def __getitem__(self, held):
        return 0


def seen(path):
    """How many asks another process finds."""
    words = [sys.executable, "-c", LOOK, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603 (our own words)
    return int(done.stdout)


@pytest.mark.parametrize("known_files", [Counter, Forgetful], ids=["ours", "broken twin"])
def test_what_is_charged_after_a_second_opening_is_there_for_all(tmp_path, monkeypatch, known_files):
    """Broken twin: the file is looked at again, SQLite's lock is gone, and another process takes the log away."""
    monkeypatch.setattr(held, "_OPEN", known_files())
    path = tmp_path / "ledger.db"
    store = Store("sqlite", str(path))
    first = store.found()
    known(first, "visits")
    first.reserve(ask("one"))
    second = store.open()
    assert seen(path) == 1
    second.close()
    assert seen(path) == 1
    first.settle(first.reserve(ask("two")), cost(), payload=b"answer")
    first.reserve(ask("three"))
    found = seen(path)
    first.close()

    assert (found == 3) == (known_files is Counter)


def test_threads_that_open_it_lose_nothing(tmp_path):
    """Each opens the ledger for itself, asks, and closes it, while other processes come and go."""
    path = tmp_path / "ledger.db"
    store = Store("sqlite", str(path))
    known(store.found(), "visits")
    over = threading.Event()

    def asking(number):
        for turn in range(10):
            ledger = store.open()
            ledger.reserve(ask(f"{number} {turn}"))
            ledger.close()

    def looking():
        while not over.is_set():
            seen(path)

    other = threading.Thread(target=looking)
    other.start()
    asked = [threading.Thread(target=asking, args=(number,)) for number in range(4)]
    for thread in asked:
        thread.start()
    for thread in asked:
        thread.join()
    over.set()
    other.join()

    assert seen(path) == 40
    assert store.open().verify().problems == ()
    store.close()


def test_a_ledger_that_is_collected_while_another_is_opened_holds_up_nobody(tmp_path):
    """Whoever is looked for by the collector may be in the same thread, in the middle of an opening."""
    path, done = tmp_path / "ledger.db", []
    store = Store("sqlite", str(path))
    store.found().close()
    forgotten = [SqliteDatabase(path)]

    def opening():
        elsewhere = tmp_path / "another.db"
        elsewhere.write_bytes(b"")
        done.append(held.hold(elsewhere, lambda _: forgotten.clear()))

    thread = threading.Thread(target=opening, daemon=True)
    thread.start()
    thread.join(20)

    assert len(done) == 1
    held.let_go(done[0])
    status = path.stat()
    assert (status.st_dev, status.st_ino) not in held._OPEN  # noqa: SLF001


def test_a_file_is_looked_at_again_once_it_is_closed(tmp_path):
    """Nothing is remembered of a file that nobody has open, closed or forgotten: another one may be in its place."""
    path = tmp_path / "ledger.db"
    store = Store("sqlite", str(path))
    store.found().close()
    database = SqliteDatabase(path)
    noted = dict(held._OPEN)  # noqa: SLF001
    database.close()
    database.close()
    forgotten = SqliteDatabase(path)
    del forgotten
    status = path.stat()

    assert noted[status.st_dev, status.st_ino] == 1
    assert (status.st_dev, status.st_ino) not in held._OPEN  # noqa: SLF001
    path.write_bytes(b"something else, in the same place")
    with pytest.raises(LedgerForeign):
        SqliteDatabase(path)
