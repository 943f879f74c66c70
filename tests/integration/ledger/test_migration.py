"""A ledger written by the first version opens, migrates and verifies; passwords are gone, everything else is kept."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import SecretUnusable
from hushcount.ledger.founding import bring_up_to_date
from hushcount.ledger.ledger import EVERY, Account, Page, Proof, StoredRelease
from hushcount.ledger.replay import verify
from hushcount.ledger.schema import MIGRATIONS, TABLES
from hushcount.model.costs import Cost
from hushcount.model.identities import Identity, Sighting
from tests.conformance.ledgers.stores import SECRET, Crash, Faulty, HandClock, Store, analyst, answered, ask, dataset

DUMP = Path(__file__).resolve().parents[2] / "stored" / "ledger-v1.sql"
OLGA = "olga"
# The ledger was written on the sixteenth of November.
LATER = datetime(2026, 11, 20, tzinfo=UTC)
OLD_ADDRESS = "postgresql://ann:hunter2@db.example.org:5432/sales?options=-c%20timezone=UTC"
OLD_KEY = "06c8a9d3f90b87880fac0e4e7fe491867961fb94eafdb212324e2d23aa49c248"
NEW_ADDRESS = "postgresql://db.example.org:5432/sales"
FIRST_TABLES = (
    *("books", "log", "names", "versions", "accounts", "asks", "releases", "holders", "limits", "roles", "members"),
)


@pytest.fixture(scope="module")
def dump() -> Iterator[sqlite3.Connection]:
    """The stored ledger as it was written."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(DUMP.read_text(encoding="utf-8"))
        yield connection


def fill(store: Store, dump: sqlite3.Connection, change=lambda table, row: row) -> Store:
    """Put the stored ledger into a store, as the first version kept it there."""
    rows = {
        table: [change(table, row) for row in dump.execute(f"SELECT * FROM {table}")]  # noqa: S608
        for table in FIRST_TABLES
    }
    if store.kind == "sqlite":
        with closing(sqlite3.connect(store.place)) as connection:
            for statement in MIGRATIONS[0]:
                connection.execute(statement.format(blob="BLOB"))
            connection.executescript("PRAGMA user_version = 1; PRAGMA application_id = 1752527720")
            for table, found in rows.items():
                marks = ", ".join("?" for _ in found[0])
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", found)  # noqa: S608
            connection.commit()
        return store
    with psycopg.connect(store.place) as connection:
        connection.execute(f"CREATE SCHEMA {store.schema}")
        connection.execute(f"SET search_path = {store.schema}")
        for statement in MIGRATIONS[0]:
            connection.execute(statement.format(blob="BYTEA"))
        connection.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO schema_version VALUES (1)")
        for table, found in rows.items():
            marks = ", ".join("%s" for _ in found[0])
            connection.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", found)  # noqa: S608
    return store


@pytest.fixture
def old(store, dump) -> Store:
    """The stored ledger, not yet opened."""
    return fill(store, dump)


def everything(store: Store) -> str:
    """Every table of a store as one text, bytes as bytes."""
    database = store.database(HandClock(LATER))
    with database.reading() as rows:
        found = [rows.fetch(f"SELECT * FROM {table}") for table in ("books", *TABLES)]  # noqa: S608
    database.close()
    return repr([[bytes(v) if isinstance(v, memoryview) else v for v in row] for table in found for row in table])


def migrated(store: Store):
    """The ledger after its first opening."""
    return store.open(HandClock(LATER))


def test_the_dump_holds_what_this_is_about(dump):
    """The stored ledger has a password in its tables and log, and a version without an entry: the test can fail."""
    text = repr([dump.execute(f"SELECT * FROM {table}").fetchall() for table in FIRST_TABLES])  # noqa: S608
    logged = [json.loads(body) for (body,) in dump.execute("SELECT body FROM log")]
    versions = {body["value"] for body in logged if body["kind"] == "version"}

    assert text.count("hunter2") > 20
    assert len({v for (v,) in dump.execute("SELECT version FROM versions")} - versions) == 1


def test_it_opens_and_verifies(old):
    """The log adds up to every table after the migration, now and at the next opening, which changes nothing."""
    ledger = migrated(old)
    before = everything(old)
    again = migrated(old)

    assert ledger.verify().problems == ()
    assert (again.migrated, again.founded) == ("", False)
    assert everything(old) == before


def test_it_says_what_it_did(old):
    """One text for the owner: data sets, the address that was cut down, the stray version, and to change passwords."""
    said = migrated(old).migrated

    for words in ("4 data sets", "a frame by name, sales, w", NEW_ADDRESS, "change those passwords", "1 versions"):
        assert words in said
    assert "hunter2" not in said


def test_the_password_is_nowhere(old):
    """No table, no entry of the log, no history and no file on the disk holds it any more."""
    ledger = migrated(old)
    entities = [proof.entity for proof in ledger.verify().heads]
    told = repr([ledger.history(Page(entity=entity, size=1000), by=OLGA) for entity in entities])
    told += repr(ledger.catalog.datasets(by=OLGA)) + repr(ledger.verify())
    ledger.close()

    for text in (told, everything(old)):
        assert "hunter2" not in text
        assert "timezone=UTC" not in text
    if old.kind == "sqlite":
        files = list(Path(old.place).parent.iterdir())

        assert files
        assert not any(b"hunter2" in file.read_bytes() for file in files)


def test_what_was_spent_and_ruled_is_what_it_was(old, dump):
    """Every account, limit and role is as it was, under the name without the password."""
    ledger = migrated(old)
    for entity, kind, name, *_, lifetime, delta in dump.execute("SELECT * FROM accounts"):
        entity, name = (NEW_ADDRESS if text == OLD_ADDRESS else text for text in (entity, name))  # noqa: PLW2901
        balance = ledger.balance(Account(kind=kind, name=name, entity=entity))

        assert (str(balance.lifetime.rho), balance.lifetime.delta) == (lifetime, type(balance.lifetime.delta)(delta))
        assert balance.spent == balance.lifetime
    assert str(ledger.balance(dataset(NEW_ADDRESS)).limit.ceiling.rho.normalize()) == "0.5"
    assert str(ledger.balance(dataset("/srv/data/a.csv")).limit.ceiling.rho.normalize()) == "1"
    assert ledger.balance(analyst("ann", "/srv/data/a.csv")).limit.mode == "track"
    ledger.grant("otto", "analyst", by=OLGA)
    assert ledger.usage("/srv/data/a.csv", by="zoe")


def test_stored_answers_are_still_free_to_who_paid(old, dump):
    """The same question on the same data gives the same bytes, for nothing to holders."""
    ledger = migrated(old)
    database = old.database(HandClock(LATER))
    with database.reading() as rows:
        found = rows.fetch("SELECT entity, number, digest, payload FROM releases ORDER BY entity, number")
        holders = set(rows.fetch("SELECT * FROM holders"))
    database.close()
    before = {
        (NEW_ADDRESS if entity == OLD_ADDRESS else entity, number, digest, payload)
        for entity, number, digest, payload in dump.execute("SELECT entity, number, digest, payload FROM releases")
    }

    assert {(entity, number, digest, bytes(payload)) for entity, number, digest, payload in found} == before
    assert (NEW_ADDRESS, 3, "analyst", "ann") in holders
    assert len(holders) == dump.execute("SELECT COUNT(*) FROM holders").fetchone()[0]
    assert ledger.verify().problems == ()


def asked(question: str, k: int | None, rho: str) -> str:
    """The canonical text of a question, as the first version wrote it."""
    form = {
        "question": question,
        "user": "person",
        "item": "item",
        "where": None,
        "per_item_cap": 1,
        "max_items": None,
        "public_items": None,
        "k": k,
        "with_counts": True,
        "budget": ["RhoBudget", rho, "0.000001"],
        "method": None,
        "error": [0.1, None],
    }
    return json.dumps(form, sort_keys=True)


@pytest.mark.parametrize(
    ("entity", "analyst_", "key", "query"),
    [
        ("a frame by name", "bob", "new", asked("count", None, "0.05")),
        (OLD_ADDRESS, "ann", "new", asked("count", None, "0.05")),
        ("a frame by name", "bob", OLD_KEY, asked("count", None, "0.05")),
        ("/srv/data/a.csv", "bob", "new", asked("top", 2, "0.02")),
    ],
)
def test_what_was_asked_then_is_free_now(old, dump, entity, analyst_, key, query):
    """The same question on the same data, and a retry under an old key, give the stored bytes for nothing."""
    digest = hashlib.sha256(query.encode()).hexdigest()
    version, payload, cost = dump.execute(
        "SELECT r.version, r.payload, a.cost FROM releases r JOIN asks a USING (entity, number) "
        "WHERE r.entity = ? AND r.query = ?",
        (entity, digest),
    ).fetchone()
    name = NEW_ADDRESS if entity == OLD_ADDRESS else entity
    worst = Cost.from_json(json.loads(cost))
    question = ask(key, analyst=analyst_, dataset=name, version=version, query=query, cost=worst)
    again = migrated(old).reserve(question)

    assert isinstance(again, StoredRelease)
    assert (again.payload, again.charged) == (payload, Spent())


def test_old_books_are_data_sets_of_the_catalog(old):
    """Paths, versions and names are identities, also the version that had no entry; names are readable."""
    ledger = migrated(old)
    found = {d.name: d for d in ledger.catalog.datasets(by=OLGA)}
    stray = Identity(kind="version", value="v-manual")

    assert {name: d.id for name, d in found.items()} == {
        "a": "/srv/data/a.csv",
        "a frame by name": "a frame by name",
        "sales": NEW_ADDRESS,
        "w": "/srv/data/w*.csv",
    }
    assert Identity(kind="path", value="/srv/data/a.csv") in found["a"].identities
    assert stray in found["a"].identities
    assert Identity(kind="name", value=NEW_ADDRESS) in found["sales"].identities
    assert Identity(kind="name", value="a frame by name") in found["a frame by name"].identities
    assert all(d.person is None for d in found.values())
    assert (found["a"].by, found["a"].made.year) == (OLGA, 2026)


def test_questions_go_on_where_they_were(old):
    """The old file, met by its path or its version, is charged to its old book; the first question pins the person."""
    ledger = migrated(old)
    path = Identity(kind="path", value="/srv/data/a.csv")
    version = Identity(kind="version", value="1c5ad646a77d3e8e3f0fa6818246be39")
    seen = [Sighting(title="a", finds=(one,), binds=(one,)) for one in (path, version)]
    made = [ledger.catalog.register(one, person="person", name=None, by="ann").dataset for one in seen]
    before = ledger.balance(dataset("/srv/data/a.csv")).lifetime
    answered(ledger, ask("new", dataset=made[0].id))

    assert [d.id for d in made] == ["/srv/data/a.csv"] * 2
    assert made[1].person == "person"
    assert ledger.balance(dataset("/srv/data/a.csv")).lifetime != before
    assert ledger.verify().problems == ()


def test_links_that_were_kept_are_still_checked(old, dump):
    """Every link of the old log is still good, also of the books that were written anew; a false one is not."""
    ledger = migrated(old)
    found = dump.execute("SELECT entity, seq, hash FROM log")
    links = [Proof(entity=entity, seq=seq, hash=text) for entity, seq, text in found]
    bad = {
        OLD_ADDRESS: Proof(entity=OLD_ADDRESS, seq=3, hash="0" * 64),
        EVERY: Proof(entity=EVERY, seq=5, hash="0" * 64),
        "/srv/data/a.csv": Proof(entity="/srv/data/a.csv", seq=5, hash="0" * 64),
    }

    for link in links:
        assert ledger.verify({link.entity: link}).problems == ()
    for name, link in bad.items():
        (problem,) = ledger.verify({name: link}).problems

        assert "hunter2" not in problem


def test_the_redaction_is_on_record_and_its_hashes_are_guarded(old):
    """Each book that was written anew says so in an entry, and an edit of the hashes that it had is found."""
    ledger = migrated(old)
    for entity, entries in ((NEW_ADDRESS, 5), (EVERY, 2)):
        noted = [e for e in ledger.history(Page(entity=entity, size=100), by=OLGA) if e.kind == "redact"]

        assert [e.body["entries"] for e in noted] == [entries]
    untouched = ledger.history(Page(entity="/srv/data/a.csv", size=100), by=OLGA)
    assert not any(e.kind == "redact" for e in untouched)
    database = old.database(HandClock(LATER))
    for edit in (
        "UPDATE redacted SET hash = 'x' WHERE seq = 3",
        "DELETE FROM redacted WHERE seq = 5",
        "UPDATE redacted SET entity = '/srv/data/a.csv' WHERE seq = 3",
        "UPDATE redacted SET seq = 77 WHERE seq = 3",
    ):
        problems = []
        with suppress(Crash), database.writing() as rows:
            rows.write([(edit, ())])
            problems += verify(rows, {}).problems
            raise Crash

        assert any("redaction" in problem for problem in problems), edit
    database.close()


def test_the_secret_of_the_first_opener_is_the_ledgers(old):
    """An old ledger knew no secret: whoever opens it first gives it theirs, on record, and no other is taken after."""
    ledger = migrated(old)
    last = ledger.history(Page(entity=EVERY, size=100), by=OLGA)[-1]

    assert (last.kind, last.body["secret"]) == ("secret", SECRET)
    with pytest.raises(SecretUnusable):
        old.open(secret="other")  # noqa: S106 (a fingerprint)


def test_two_addresses_of_one_place_stay_two_books(store, dump):
    """Where two old names differ in user and parameters only, both keep their budget, and the owner is told to join."""
    other = "postgresql://bob:sesame@db.example.org:5432/sales"

    def renamed(_, row):
        return tuple(v.replace("a frame by name", other) if isinstance(v, str) else v for v in row)

    fill(store, dump, renamed)
    ledger = migrated(store)
    found = {d.name: d for d in ledger.catalog.datasets(by=OLGA)}

    assert {d.id for d in found.values()} >= {NEW_ADDRESS, f"{NEW_ADDRESS}-2"}
    assert "hushcount catalog join" in ledger.migrated
    assert "sesame" not in everything(store)
    assert ledger.catalog.join("sales", "sales-2", by=OLGA).population == NEW_ADDRESS


def test_a_crash_anywhere_leaves_the_old_ledger(old):
    """Wherever the migration dies, the next opening finds the old ledger or the new one, whole."""
    crashes = 0
    for at in (3, 20, 45, 70, 90, 10_000):
        with closing(Faulty(old.database(HandClock(LATER)), crash_at=at)) as faulty, suppress(Crash):
            crashes += 1
            bring_up_to_date(faulty, SECRET, place="here")
            crashes -= 1

    assert crashes == 5
    assert migrated(old).verify().problems == ()
    assert "hunter2" not in everything(old)


def test_many_open_it_at_once(old):
    """Eight who open an old ledger at the same moment migrate it once, and none of them is refused."""
    found, failures, gate = [], [], threading.Barrier(8)

    def open_it() -> None:
        gate.wait()
        try:
            found.append(migrated(old).migrated)
        except Exception as error:  # noqa: BLE001 (told below)
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert sorted(map(bool, found)) == [False] * 7 + [True]
    assert migrated(old).verify().problems == ()


@pytest.mark.parametrize("entity", [OLD_ADDRESS, "/srv/data/a.csv"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda row: (*row[:3], row[3].replace('"at":', '"at": '), row[4]),
        lambda row: (*row[:3], row[3].replace('"previous":"', '"previous":"0'), row[4]),
        lambda row: (*row[:4], "0" * 64),
        lambda row: (*row[:3], "not an entry", row[4]),
        lambda row: (*row[:3], "[" * 50_000, row[4]),
        lambda row: (*row[:3], '{"kind":' * 700 + '"://"' + "}" * 700, row[4]),
    ],
)
def test_what_was_edited_before_is_found_afterwards(store, dump, entity, edit):
    """The migration heals no broken chain: an edit of the old log is found in the new one, also where it was redone."""

    def edited(table, row):
        return edit(row) if table == "log" and row[:2] == (entity, 4) else row

    ledger = migrated(fill(store, dump, edited))
    problems = ledger.verify().problems

    assert any("entry 4" in problem or "entry 5" in problem for problem in problems)
    assert "hunter2" not in everything(store) + repr(problems)
