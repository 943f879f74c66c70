"""A ledger of the second version opens, migrates and verifies: nothing of it is changed, and what is new is there."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from hushcount.errors import CostOverrun, SecretUnusable
from hushcount.ledger.founding import bring_up_to_date
from hushcount.ledger.jobs import NewJob
from hushcount.ledger.ledger import EVERY, Account, Page, Proof, Reservation, StoredRelease
from hushcount.ledger.schema import MIGRATIONS, TABLES, newest_version
from tests.conformance.ledgers.stores import OWNER, SECRET, START, Crash, Faulty, HandClock, Store, ask, cost

DUMP = Path(__file__).resolve().parents[2] / "stored" / "ledger-v2.sql"
LATER = START + timedelta(hours=2)
SECOND_TABLES = (
    *("books", "log", "accounts", "asks", "releases", "holders", "limits", "roles", "members"),
    *("datasets", "identities", "settings", "redacted"),
)
# Of the statements of the first two versions, in order.
PINNED = "07aa7d6332774b9364fb770126aa092bceb061557fa36a4a257009dd1c447198"


@pytest.fixture(scope="module")
def dump() -> Iterator[sqlite3.Connection]:
    """The stored ledger as it was written."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(DUMP.read_text(encoding="utf-8"))
        yield connection


def statements(blob: str) -> list[str]:
    """The tables of the second version, empty."""
    return [step.format(blob=blob) for steps in MIGRATIONS[:2] for step in steps if isinstance(step, str)]


def columns(dump: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table of the dump."""
    return [row[1] for row in dump.execute(f"PRAGMA table_info({table})")]


@pytest.fixture
def old(store, dump) -> Store:
    """The stored ledger in each store, not yet opened."""
    filled = []
    for table in SECOND_TABLES:
        found, names = dump.execute(f"SELECT * FROM {table}").fetchall(), columns(dump, table)  # noqa: S608
        marks = ", ".join("?" for _ in names)
        filled.append((f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", found))  # noqa: S608
    if store.kind == "sqlite":
        with closing(sqlite3.connect(store.place)) as connection:
            for statement in statements("BLOB"):
                connection.execute(statement)
            connection.executescript("PRAGMA user_version = 2; PRAGMA application_id = 1752527720")
            for sql, found in filled:
                connection.executemany(sql, found)
            connection.commit()
        return store
    with psycopg.connect(store.place) as connection:
        connection.execute(f"CREATE SCHEMA {store.schema}")
        connection.execute(f"SET search_path = {store.schema}")
        for statement in statements("BYTEA"):
            connection.execute(statement)
        connection.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO schema_version VALUES (2)")
        for sql, found in filled:
            connection.cursor().executemany(sql.replace("?", "%s"), found)
    return store


def everything(store: Store, tables: tuple[str, ...]) -> str:
    """Some tables of a store as one text."""
    database = store.database(HandClock(LATER))
    with database.reading() as rows:
        found = {table: sorted(map(repr, map(_plain, rows.fetch(f"SELECT * FROM {table}")))) for table in tables}  # noqa: S608
    database.close()
    return repr(found)


def _plain(row: tuple) -> list:
    return [bytes(value) if isinstance(value, memoryview) else value for value in row]


def test_the_dump_is_of_the_second_version(dump):
    """It has no table of the third, a query that is running, and roles in a closed book: the tests can fail."""
    tables = {name for (name,) in dump.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    assert dump.execute("PRAGMA user_version").fetchone() == (2,)
    assert tables == set(SECOND_TABLES)
    assert dump.execute("SELECT count(*) FROM asks WHERE state = 'open'").fetchone() == (1,)
    assert dump.execute("SELECT role FROM roles WHERE entity = 'week 2' AND person = 'rob'").fetchone() == ("auditor",)


def test_the_first_two_migrations_are_what_they_were():
    """A step that was published is never changed: ledgers out there have taken it."""
    text = "\n".join(step for steps in MIGRATIONS[:2] for step in steps if isinstance(step, str))

    assert hashlib.sha256(text.encode()).hexdigest() == PINNED


def test_its_orders_are_all_until_an_owner_lowers_them(old):
    """Its costs were known for all Renyi orders; fewer are an owner's word, in the log, and every table adds up."""
    ledger = old.open(HandClock(LATER))
    assert ledger.order == Decimal("Infinity")
    ledger.lower_order(Decimal(16), by=OWNER)

    assert old.open(HandClock(LATER)).order == 16
    assert not ledger.verify().problems


def test_it_opens_and_verifies(old):
    """The log adds up to every table; every row of the old tables is as it was; the next opening changes nothing."""
    before = everything(old, SECOND_TABLES)
    ledger = old.open(HandClock(LATER))
    after = everything(old, ("books", *TABLES))
    again = old.open(HandClock(LATER))

    assert newest_version() == 5
    assert everything(old, SECOND_TABLES) == before
    assert ledger.verify().problems == ()
    assert (ledger.migrated, again.migrated, again.founded) == ("", "", False)
    assert everything(old, ("books", *TABLES)) == after


def test_kept_links_still_hold(old, dump):
    """No entry was written anew, so every link that anybody kept is in the chain."""
    ledger = old.open(HandClock(LATER))
    for entity, seq, head in dump.execute("SELECT entity, seq, hash FROM log"):
        assert ledger.verify({entity: Proof(entity=entity, seq=seq, hash=head)}).problems == (), (entity, seq)


def test_accounts_and_answers_are_what_they_were(old, dump):
    """Every balance, every stored answer under its key, and the query that was running goes on."""
    ledger = old.open(HandClock(LATER))
    for entity, kind, name, lifetime in dump.execute(
        "SELECT entity, kind, name, lifetime_rho FROM accounts WHERE entity IN (SELECT entity FROM books "
        "WHERE merged IS NULL)"
    ):
        assert str(ledger.balance(Account(kind=kind, name=name, entity=entity)).lifetime.rho) == lifetime
    settled = ledger.reserve(ask("settled"))
    fresh = ledger.reserve(ask("fresh", query="settled", fresh=True))
    running = ledger.recall("ann", "running")

    assert (settled.payload, fresh.payload) == (b"one", b"two")
    assert ledger.recall("ann", "late").payload == b"three"
    assert ledger.recall("ann", "refunded") is None
    with pytest.raises(CostOverrun):
        ledger.recall("ann", "overrun")
    assert isinstance(running, Reservation)
    assert ledger.settle(running, cost("0.05"), payload=b"done").payload == b"done"
    assert isinstance(ledger.recall("ann", "running"), StoredRelease)
    assert ledger.verify().problems == ()


def test_roles_are_what_they_were(old):
    """Also those that a join left in a closed book: they hold nothing, now as then."""
    ledger = old.open(HandClock(LATER))

    assert [ledger.role_of(name) for name in (OWNER, "ada", "petra", "rob")] == ["owner", "auditor", None, None]
    assert ledger.role_of("petra", dataset="visits") == "owner"
    assert ledger.role_of("rob", dataset="week 2") is None


def test_what_is_new_works(old):
    """Records, jobs, roles for a data set, tokens and freezes, and the replay of all of it."""
    ledger = old.open(HandClock(LATER))
    ledger.records.put("token", "t_1", {"scopes": []}, owner="ann", by="ann")
    ledger.grant("rae", "reader", dataset="week 2", by=OWNER)
    new = NewJob(id="q_1", analyst="ann", key="k", dataset="visits", body="b", question="q")
    held = ledger.reserve(ask("new", token="t_1"))  # noqa: S106 (the name of one)
    ledger.refund(held)

    assert ledger.jobs.begin(new, worker="w")[0].state == "running"
    assert ledger.history(Page(entity=EVERY, size=1000), by=OWNER)[-1].kind == "role"
    assert ledger.verify().problems == ()


def test_another_secret_is_refused_and_changes_nothing(old):
    """The secret is looked at in the same transaction: a stranger does not even migrate it."""
    before = everything(old, SECOND_TABLES)
    with pytest.raises(SecretUnusable):
        old.open(HandClock(LATER), secret="other")  # noqa: S106 (a fingerprint)
    database = old.database()
    with database.reading() as rows:
        version = database.version(rows)
    database.close()

    assert version == 2
    assert everything(old, SECOND_TABLES) == before


def test_a_crash_anywhere_leaves_the_old_ledger(old):
    """Wherever the migration dies, the next opening finds the old ledger or the new one, whole."""
    crashes = 0
    for at in (*range(1, 20, 4), 10_000):
        with closing(Faulty(old.database(HandClock(LATER)), crash_at=at)) as faulty, suppress(Crash):
            crashes += 1
            bring_up_to_date(faulty, SECRET, place="here")
            crashes -= 1

    assert crashes == 5
    assert old.open(HandClock(LATER)).verify().problems == ()


def test_many_open_it_at_once(old):
    """Eight who open it at the same moment migrate it once, and all can use it."""
    found, failures = [], []

    def open_it(number: int) -> None:
        try:
            ledger = old.open(HandClock(LATER))
            found.append(ledger.records.put("wish", f"w_{number}", {}, owner="ann", by="ann").edition)
        except Exception as error:  # noqa: BLE001 (told below)
            failures.append(error)

    threads = [threading.Thread(target=open_it, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert found == [1] * 8
    assert old.open(HandClock(LATER)).verify().problems == ()


def test_what_was_taken_out_long_ago_is_not_scrubbed_again(old):
    """Writing the whole file anew is for the step that takes something out, not for every later one."""
    database = old.database(HandClock(LATER))
    with database.writing() as rows:
        rows.write([("INSERT INTO redacted (entity, seq, hash) VALUES ('visits', 1, 'x')", ())])
    scrubbed = []
    database.scrub = lambda: scrubbed.append(True)
    bring_up_to_date(database, SECRET, place="here")
    database.close()

    assert scrubbed == []
