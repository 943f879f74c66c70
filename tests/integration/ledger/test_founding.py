"""Founding: whole or not there, once, with an owner; and nothing that is not ours is ever written to."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from hushcount.errors import InvalidParameter, LedgerForeign, LedgerMissing, LedgerUnavailable, SecretUnusable
from hushcount.ledger.ledger import EVERY, Account, Page
from hushcount.ledger.limits import NEW_ORDER, for_order, ten_standard_releases
from hushcount.ledger.schema import MIGRATIONS
from hushcount.ledger.sqlite import open_sqlite
from tests.conformance.ledgers.stores import OWNER, SECRET, HandClock, Store, answered, ask, dataset, known

STANDARD_LIMIT = for_order(ten_standard_releases(), NEW_ORDER)
EVERYTHING = Account(kind="dataset", name=EVERY, entity=EVERY)
# The process dies at so many lines of our own code, evenly spread, and at every few of the last ones, of the commit.
DEATHS, LAST, STRIDE = 40, 120, 4


def rules(ledger) -> list:
    """The entries of the book of rules."""
    return [(entry.kind, entry.by) for entry in ledger.history(Page(entity=EVERY), by=OWNER)]


def tables(store: Store) -> list:
    """What a schema of the server holds."""
    with psycopg.connect(store.place) as connection:
        return connection.execute(
            "SELECT c.relname, c.relkind, c.relfilenode FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = %s ORDER BY 1",
            (store.schema,),
        ).fetchall()


def test_a_ledger_is_founded_with_its_rules_in_one_entry(store, clock):
    """Owner, limit and secret are there from the first entry on, and the log adds up to them."""
    ledger = store.found(clock, limit=ten_standard_releases())

    assert (ledger.founded, ledger.migrated) == (True, "")
    assert rules(ledger) == [("found", OWNER)]
    assert ledger.balance(EVERYTHING).limit == STANDARD_LIMIT
    assert ledger.verify().problems == ()


def test_founding_again_changes_nothing(store, clock):
    """Whoever founds where a ledger is opens that one, with its own owner and limit."""
    store.found(clock, limit=ten_standard_releases())
    again = store.found(clock, owner="mallory")

    assert not again.founded
    assert rules(again) == [("found", OWNER)]
    assert again.balance(EVERYTHING).limit == STANDARD_LIMIT


def test_opening_never_founds(store):
    """Where there is no ledger opening says so, and leaves nothing behind."""
    with pytest.raises(LedgerMissing, match="no ledger"):
        store.open()

    if store.kind == "sqlite":
        assert list(Path(store.place).parent.iterdir()) == []
    else:
        assert tables(store) == []


def test_another_secret_is_refused(store, clock):
    """Two secrets on one ledger would answer the same question twice: refused, to those who open and who found."""
    known(store.found(clock), "visits")
    for deed in (lambda: store.open(secret="other"), lambda: store.found(secret="other")):  # noqa: S106 (fingerprints)
        with pytest.raises(SecretUnusable, match="HUSHCOUNT_HOME") as caught:
            deed()

        assert SECRET in str(caught.value)
    assert answered(store.open(clock), ask("q")).payload == b"table"


def test_what_a_ledger_is_founded_with_is_checked(store):
    """An owner without a name, or with a password in it, founds nothing."""
    for owner in ("", "*", "x://a:b@c"):
        with pytest.raises(InvalidParameter):
            store.found(owner=owner)
    with pytest.raises(LedgerMissing):
        store.open()


def foreign_files(folder: Path) -> dict[str, Path]:
    """Files that are not ours, each in a folder of its own."""
    places = {name: folder / name / "ledger.db" for name in ("text", "empty", "marked", "unmarked", "logged")}
    for path in places.values():
        path.parent.mkdir()
    places["text"].write_text("dear diary, " * 100)
    places["empty"].touch()
    for name, marks in (("marked", "PRAGMA application_id = 42"), ("unmarked", ""), ("logged", "")):
        with closing(sqlite3.connect(places[name])) as connection:
            connection.executescript(marks)
            connection.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
            if name == "logged":
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("INSERT INTO t VALUES (2)")
                connection.commit()
                # A second connection keeps the log from being moved into the file when the first one closes.
                kept = sqlite3.connect(places[name])
                kept.execute("SELECT * FROM t").fetchall()
                connection.execute("INSERT INTO t VALUES (3)")
                connection.commit()
                os.link(f"{places[name]}-wal", places[name].parent / "kept-wal")
    (places["logged"].parent / "kept-wal").rename(f"{places['logged']}-wal")
    return places


@pytest.mark.parametrize("deed", ["open", "found"])
def test_files_of_others_are_left_alone(tmp_path, deed):
    """Whatever is not a ledger is refused in words and stays as it is, byte for byte, with nothing beside it."""
    for name, path in foreign_files(tmp_path).items():
        before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        with pytest.raises(LedgerForeign, match="left as it is"):
            getattr(Store("sqlite", str(path)), deed)()
        after = {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}

        assert after == {file: text for file, text in before.items() if not file.endswith("-shm")}, name
    with pytest.raises(LedgerForeign, match="folder"):
        open_sqlite(tmp_path, secret=SECRET)


@pytest.mark.parametrize(
    "made", ["CREATE TABLE t (x int)", "CREATE TABLE schema_version (version bigint)", "CREATE VIEW books AS SELECT 1"]
)
@pytest.mark.parametrize("deed", ["open", "found"])
def test_schemas_of_others_are_left_alone(server_store, made, deed):
    """A schema with anything of another program in it is refused, and nothing is made or changed there."""
    with psycopg.connect(server_store.place, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {server_store.schema}")
        connection.execute(f"SET search_path = {server_store.schema}")
        connection.execute(made)
    before = tables(server_store)
    with pytest.raises(LedgerForeign, match="another program"):
        getattr(server_store, deed)()

    assert tables(server_store) == before


def test_an_empty_schema_is_no_ledger_and_may_become_one(server_store):
    """A schema that an administrator made for us is empty: opening makes nothing in it, founding does."""
    with psycopg.connect(server_store.place, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {server_store.schema}")
    with pytest.raises(LedgerMissing):
        server_store.open()

    assert tables(server_store) == []
    assert server_store.found().founded


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    """Where no file can be kept the error names the place and what to do."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LedgerUnavailable, match=r"no ledger can be kept at .*Nothing was charged"):
        Store("sqlite", str(tmp_path / "file" / "ledger.db")).found()


def place(store: Store, number: int) -> Store:
    """Another empty place of the same kind."""
    return Store(store.kind, f"{store.place}-{number}" if store.kind == "sqlite" else store.place,
                 schema=f"{store.schema}_{number}")  # fmt: skip


def at_lines(deed, *, line):
    """Do something, and tell each line of our own code, by its number."""
    numbers = itertools.count(1)

    def step(frame, event, _):
        if "/hushcount/ledger/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            line(next(numbers))
        return step

    sys.settrace(step)
    try:
        deed()
    finally:
        sys.settrace(None)


def founded_until_line(store: Store, at: int) -> bool:
    """Found in a process that is killed at the n-th line of our own code; whether it was."""

    def die(number):
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        status = 1
        try:
            at_lines(lambda: store.found(limit=ten_standard_releases()), line=die)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)

    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def test_killed_at_every_step_a_ledger_is_whole_or_not_there(store):
    """Wherever founding dies, the place holds a ledger with all its rules or none, and founding again goes through."""
    outcomes, lines = [], []
    at_lines(lambda: store.found(limit=ten_standard_releases()), line=lines.append)
    last = len(lines) - LAST
    for at in (*range(1, last, last // DEATHS), *range(last, len(lines), STRIDE)):
        here = place(store, at)
        if not founded_until_line(here, at):
            continue
        try:
            whole = here.open()
        except LedgerMissing:
            outcomes.append("none")
            whole = here.found(limit=ten_standard_releases())
        else:
            outcomes.append("whole")

        assert rules(whole) == [("found", OWNER)]
        assert whole.balance(EVERYTHING).limit == STANDARD_LIMIT
        assert whole.verify().problems == ()
        here.close()

    assert outcomes.count("none") > 10
    assert outcomes.count("whole") > 1
    assert outcomes == sorted(outcomes)


def test_sixteen_at_once_found_one_ledger_and_one_data_set(store):
    """Eight processes and eight threads at first use: one founds, all have the same ledger and the same data set."""
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                ledger = store.found(limit=ten_standard_releases())
                status = 10 + ledger.founded if known(ledger, "visits").id == "visits" else 2
            finally:
                os._exit(status)
        children.append(child)
    found, failures = [], []

    def thread() -> None:
        try:
            ledger = store.found(limit=ten_standard_releases())
            found.append((ledger.founded, known(ledger, "visits").id))
        except Exception as error:  # noqa: BLE001 (told below)
            failures.append(error)

    threads = [threading.Thread(target=thread) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    statuses = [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children]
    ledger = store.open()

    assert not failures
    assert set(statuses) <= {10, 11}
    assert {name for _, name in found} == {"visits"}
    assert statuses.count(11) + sum(new for new, _ in found) == 1
    assert [kind for kind, _ in rules(ledger)] == ["found", "register"]
    assert len(ledger.catalog.datasets(by=OWNER)) == 1
    assert ledger.verify().problems == ()


def broken_off(store: Store) -> None:
    """A ledger of the first version whose founding died between its tables and its rules."""
    if store.kind == "sqlite":
        with closing(sqlite3.connect(store.place)) as connection:
            connection.execute("PRAGMA application_id = 1752527720")
            connection.execute("PRAGMA user_version = 1")
            for statement in MIGRATIONS[0]:
                connection.execute(statement.format(blob="BLOB"))
            connection.commit()
        return
    with psycopg.connect(store.place) as connection:
        connection.execute(f"CREATE SCHEMA {store.schema}")
        connection.execute(f"SET search_path = {store.schema}")
        for statement in MIGRATIONS[0]:
            connection.execute(statement.format(blob="BYTEA"))
        connection.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO schema_version VALUES (1)")


def test_what_an_older_version_broke_off_is_completed_by_founding(store):
    """A ledger without an owner is not opened, so nobody spends without limits; founding gives it its rules."""
    broken_off(store)
    with pytest.raises(LedgerMissing, match="broken off"):
        store.open()
    ledger = store.found(HandClock(), limit=ten_standard_releases())

    assert ledger.founded
    assert rules(ledger)[-1] == ("found", OWNER)
    assert ledger.balance(EVERYTHING).limit == STANDARD_LIMIT
    assert ledger.verify().problems == ()
    assert known(store.open(), "visits").id == "visits"
    assert ledger.balance(dataset()).limit == STANDARD_LIMIT
