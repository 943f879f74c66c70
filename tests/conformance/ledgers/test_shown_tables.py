"""Tables for other programs: there with the record that says so, or not at all; readable by who may read nothing else.

The steps with which an operator lets a program read them are those of the page, taken from it.
"""

from __future__ import annotations

import re
from contextlib import suppress

import psycopg
import pytest

from hushcount.errors import Outdated
from hushcount.ledger.records import Change, ShownTable
from tests.architecture.sources import ROOT
from tests.conformance.ledgers.stores import OWNER, Crash, Faulty, known

HOSTILE = ("'; DROP TABLE x; --", '"', "%s", "?", "{}", "\\", "=1+1", "a\0b", "\ud800", "ü\n", "", "{a,b}", "NULL")
CHANGE = Change(kind="question", id="s_1", body={"published": "top"}, owner="ann", by=OWNER)


def table(items=("a",), name="top"):
    """A table with so many items."""
    columns = {"item": ("TEXT", items), "count": ("BIGINT", [7 if item else None for item in items])}
    return ShownTable(name=name, columns=columns)


@pytest.fixture
def shop(server_store, clock):
    """A ledger on a server."""
    made = server_store.found(clock)
    known(made, "visits")
    return made


def rows(store, name="top"):
    """What stands in a table; None if there is none."""
    with psycopg.connect(store.place, autocommit=True) as connection:
        try:
            return connection.execute(f'SELECT * FROM {store.schema}_published."{name}"').fetchall()  # noqa: S608
        except psycopg.errors.UndefinedTable:
            return None


def test_a_file_shows_nothing_and_keeps_the_record(ledger, store):
    """Both stores take the same call; where there is no place for a table, there is none."""
    record = ledger.records.put_shown(CHANGE, table())

    assert (record.id, ledger.records.find("question", "s_1")) == ("s_1", record)
    assert ledger.verify().problems == ()
    assert store.kind == "sqlite" or rows(store) == [("a", 7)]


def test_rows_are_replaced_and_the_table_is_taken_away(shop, server_store):
    """The newest rows alone; then nothing, twice."""
    shop.records.put_shown(CHANGE, table())
    shop.records.put_shown(CHANGE, table(("b", "c")))
    second = rows(server_store)
    for _ in range(2):
        shop.records.put_shown(CHANGE, ShownTable(name="top"))

    assert second == [("b", 7), ("c", 7)]
    assert rows(server_store) is None


def test_items_are_hostile_text(shop, server_store):
    """Whatever it holds, it is a value; what PostgreSQL cannot hold at all is a sign that says so."""
    shop.records.put_shown(CHANGE, table(HOSTILE))

    want = [item.replace("\0", "\ufffd").replace("\ud800", "?") for item in HOSTILE]
    assert [item for item, _ in rows(server_store)] == want


@pytest.mark.parametrize("name", ["a-b", "select", 'x"; DROP SCHEMA public; --', "per%cent?", "%s"])
def test_names_are_names(shop, server_store, name):
    """Quoted, whatever they hold."""
    shop.records.put_shown(CHANGE, table(name=name))
    with psycopg.connect(server_store.place, autocommit=True) as connection:
        found = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = %s",
            (f"{server_store.schema}_published",),
        ).fetchall()

    assert found == [(name,)]
    shop.records.put_shown(CHANGE, ShownTable(name=name))


def test_both_or_neither(shop, server_store, clock):
    """A crash at any step leaves the record with its table, or neither; so does who was second."""
    steps, seen = 1, set()
    while True:
        faulty = Faulty(server_store.database(clock), crash_at=steps)
        ledger = server_store.over(faulty)
        change = Change(kind="question", id=f"s_{steps}", body={"n": 1}, owner="ann", by=OWNER)
        with suppress(Crash):
            ledger.records.put_shown(change, table(name=f"t{steps}"))
        both = shop.records.find("question", f"s_{steps}") is not None, rows(server_store, f"t{steps}") is not None
        assert both[0] == both[1], steps
        seen.add(both[0])
        if steps > faulty.steps:
            break
        steps += 1
    with pytest.raises(Outdated):
        shop.records.put_shown(Change(kind="k", id="new", body={}, owner="a", by="a", edition=5), table(name="late"))

    assert seen == {True, False}
    assert rows(server_store, "late") is None
    assert shop.verify().problems == ()


def grants():
    """What an operator types to let a program read what is published, as the page has it."""
    page = (ROOT / "docs/serve/operators.md").read_text(encoding="utf-8")
    found = re.search(r"^```sql\n(CREATE ROLE.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_a_reader_reads_what_is_published_and_nothing_else(server_store, clock, cluster):
    """By the steps of the page, before anything is published or after; every other table of the ledger is refused."""
    ledger = server_store.found(clock)
    ledger.records.put_shown(CHANGE, table())
    steps = grants().replace("hushcount_published", f"{server_store.schema}_published")
    steps = steps.replace("hushcount_reader", f"reader_of_{server_store.schema}").replace("budgets", "postgres")
    with psycopg.connect(server_store.place, autocommit=True) as owner:
        owner.execute(steps)
        names = [
            name
            for (name,) in owner.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (server_store.schema,)
            ).fetchall()
        ]
    ledger.records.put_shown(CHANGE, table(("b",)))
    ledger.records.put_shown(CHANGE, table(("c",), name="later"))
    address = cluster.address.replace("user=postgres", f"user=reader_of_{server_store.schema}")
    with psycopg.connect(address, autocommit=True) as reader:
        for name, item in (("top", "b"), ("later", "c")):
            found = reader.execute(f"SELECT item FROM {server_store.schema}_published.{name}").fetchall()  # noqa: S608
            assert found == [(item,)]
        for name in names:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(f'SELECT * FROM {server_store.schema}."{name}"')  # noqa: S608
        for deed in ("DELETE FROM {0}.top", "INSERT INTO {0}.top VALUES ('x')", "CREATE TABLE {0}.mine (a INT)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(deed.format(f"{server_store.schema}_published"))

    assert {"records", "asks", "releases", "books"} <= set(names)


def test_a_schema_that_is_not_ours_is_left_alone(server_store, clock, cluster):
    """Where the ledger's user may make no tables, questions are published all the same, over HTTP alone."""
    user = f"budgets_of_{server_store.schema}"
    with psycopg.connect(server_store.place, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {user} LOGIN")
        owner.execute(f"CREATE SCHEMA {server_store.schema} AUTHORIZATION {user}")
        owner.execute(f"CREATE SCHEMA {server_store.schema}_published")
    server_store.place = cluster.address.replace("user=postgres", f"user={user}")
    ledger = server_store.found(clock)

    assert ledger.records.put_shown(CHANGE, table()).id == "s_1"
    assert ledger.records.put_shown(CHANGE, ShownTable(name="top")).id == "s_1"
