"""An engine and a ledger store of one's own, added by the recipe of CONTRIBUTING: a class each, and nothing else."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

import hushcount
from hushcount.app.catalog import report
from hushcount.app.secret import passing_secret
from hushcount.app.setting import Setting
from hushcount.errors import BudgetExhausted
from hushcount.ledger.founding import Founding, bring_up_to_date, found
from hushcount.ledger.limits import ten_standard_releases
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.sqlite import SqliteTransaction
from hushcount.ledger.store import utc_now
from tests.unit.app.made_engine import made_engine


class MemoryStore:
    """A store of one's own: a database in memory. Implements `Database`; what is in it is gone with it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """One at a time, all or nothing."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield SqliteTransaction(self._connection, utc_now)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    reading = glancing = upgrading = jotting = writing

    def await_disk(self) -> None:
        """Nothing is ever there."""

    def scrub(self) -> None:
        """Memory keeps nothing that was taken out."""

    def version(self, transaction) -> int:
        """As SQLite keeps it."""
        return int(transaction.fetch("PRAGMA user_version")[0][0])

    def set_version(self, transaction, version: int) -> None:
        """As SQLite keeps it."""
        transaction.write([(f"PRAGMA user_version = {version}", ())])

    def close(self) -> None:
        """Forget all of it."""
        self._connection.close()


@pytest.fixture
def setting():
    """A setting whose ledger is in the store of one's own, founded as every ledger is."""
    secret, store = passing_secret(), MemoryStore()
    found(store, Founding(owner="ann", limit=ten_standard_releases(), secret=secret.fingerprint))
    bring_up_to_date(store, secret.fingerprint, place="in memory")
    made = Setting(secret=secret, ledger=SqlLedger(store), analyst="ann")
    yield made
    made.close()


def test_a_store_of_ones_own_holds_a_ledger(setting):
    """Registered, charged, repeated for free, refused at its limit, and whole."""
    engine = made_engine()
    first = hushcount.count(engine, user="user", item="item", setting=setting)
    again = hushcount.count(engine, user="user", item="item", setting=setting)
    (line,) = report(setting)

    assert again.to_bytes() == first.to_bytes()
    assert line.balance.spent.rho > 0
    with pytest.raises(BudgetExhausted):
        hushcount.count(engine, user="user", item="item", rho=2, setting=setting)
    assert setting.ledger.verify().problems == ()


def test_an_engine_of_ones_own_is_asked_like_any_other(setting):
    """It is handed over as the source: priced, answered by every question, and left open, since it is its owner's."""
    engine = made_engine()
    words = {"user": "user", "item": "item"}
    price = hushcount.estimate(engine, **words, setting=setting)
    answers = [
        hushcount.count(engine, **words, setting=setting),
        hushcount.top(engine, **words, k=3, setting=setting),
        hushcount.vocab(engine, **words, setting=setting),
    ]
    nobody = hushcount.count(engine, **words, setting=replace(setting, ledger=None))

    assert price.rho == pytest.approx(0.1)
    assert all(len(answer) for answer in (*answers, nobody))
    assert not engine.closed
    assert len(report(setting)) == 1
