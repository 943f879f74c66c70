"""PostgreSQL: one snapshot of one table, the same whatever the address says beside where it is; and no word of it."""

from __future__ import annotations

import sys
import traceback

import pytest

from hushcount.engines.duckdb import servers
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.engines.identities import host_name
from hushcount.engines.sources import recognise
from hushcount.errors import HushcountError, InvalidParameter, MissingExtra, UnreadableSource
from hushcount.model.queries import Selection
from tests.postgres import MISSING, find_programs, running_cluster

SELECTION = Selection(user="user", item="item")
KEY = b"key"
MADE = [
    """CREATE TABLE "ev ents" ("user" bigint, item text, at timestamptz, score double precision, raw bytea,
        lasted interval, day date)""",
    """INSERT INTO "ev ents" VALUES
        (1, 'x', '2024-12-31 23:30+00', 0.1::float8 + 0.2::float8, '\\x00ff', '1 day 2 hours', '2024-12-31'),
        (2, 'x', NULL, NULL, NULL, NULL, NULL), (2, '', NULL, 1e16, NULL, NULL, NULL),
        (NULL, 'x', NULL, NULL, NULL, NULL, NULL)""",
    "INSERT INTO \"ev ents\" SELECT i, 'many' FROM generate_series(1, 45000) AS i",
    "CREATE SCHEMA other",
    'CREATE TABLE other."ev ents" ("user" bigint, item text)',
]
ALLOWED = [
    "CREATE ROLE analyst LOGIN PASSWORD 'hidden'",
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO analyst",
    "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
]


def rows(histogram):
    """A histogram as plain values."""
    return list(zip(histogram.items.tolist(), histogram.counts.tolist(), strict=True))


@pytest.fixture(scope="module")
def cluster():
    """One server for all tests of this file."""
    if find_programs() is None:
        pytest.skip(MISSING)
    import psycopg

    with running_cluster() as running:
        with psycopg.connect(running.address) as server:
            for made in [*MADE, *ALLOWED]:
                server.execute(made)
        yield running


@pytest.fixture
def own(cluster):
    """The name of a database with the same tables, for a test that changes them."""
    import psycopg

    with psycopg.connect(cluster.address, autocommit=True) as server:
        server.execute("CREATE DATABASE own")
        with psycopg.connect(cluster.address, dbname="own") as within:
            for made in MADE:
                within.execute(made)
        yield "own"
        server.execute("DROP DATABASE own WITH (FORCE)")


def address(cluster, options="", *, user="postgres", database="postgres"):
    """How to name it."""
    return f"postgresql:///{database}?host={cluster.folder}&user={user}&password=hidden{options}"


def test_tables_are_read(cluster):
    """Streamed; values of any type as texts; empty and missing kept apart; a wrong name lists the tables."""
    engine = open_duckdb(address(cluster))

    assert rows(engine.histogram(SELECTION)) == [("many", 45000), ("x", 2), ("", 1)]
    dated = Selection(user="user", item="item", where=grammar.read("day >= DATE '2024-12-31'"))
    assert rows(engine.histogram(dated)) == [("x", 1)]
    with pytest.raises(InvalidParameter, match="There are: 'ev ents'"):
        open_duckdb(address(cluster), table="nothing")


SETTINGS = [
    "",
    "&options=-c%20timezone%3DAsia/Tokyo",
    "&options=-c%20extra_float_digits%3D-15",
    "&options=-c%20datestyle%3DGerman",
    "&options=-c%20intervalstyle%3Diso_8601%20-c%20bytea_output%3Descape",
    "&options=-c%20search_path%3Dpg_catalog,public,other",
    "&application_name=other&connect_timeout=5",
    "&client_encoding=latin1",
    "&port=5432&sslmode=prefer",
]


def test_no_setting_of_an_address_changes_the_data(cluster):
    """Time zone, formats, digits, search path: one version, one identity, one place."""
    engines = [open_duckdb(address(cluster, options), table="ev ents") for options in SETTINGS]
    places = {tuple(map(str, engine.sighting(KEY).binds)) for engine in engines}

    assert len({engine.fingerprint(KEY) for engine in engines}) == 1
    assert len({engine.rows_identity(KEY) for engine in engines}) == 1
    assert len(places) == 1
    named, numbered = places.pop()
    assert named == "table:postgresql://localhost:5432/postgres/public.ev ents"
    assert numbered.startswith("table:postgresql:")
    assert numbered.endswith("/postgres/public.ev ents")
    assert engines[0].sighting(KEY).title == "ev ents"


def test_the_nearest_schema_is_read(cluster):
    """The search path finds the table, once; the place says which one it was."""
    engine = open_duckdb(address(cluster, "&options=-c%20search_path%3Dother,public"))

    assert rows(engine.histogram(SELECTION)) == []
    assert [str(found).rpartition("/")[2] for found in engine.sighting(KEY).binds] == ["other.ev ents"] * 2


def test_a_schema_may_be_named(cluster):
    """`schema.table` beyond the search path, and recognised as that table; one that is not there is told."""
    named = open_duckdb(address(cluster), table="other.ev ents")
    nearest = open_duckdb(address(cluster), table="ev ents")

    assert [column.name for column in named.describe().columns] == ["user", "item"]
    assert named.sighting(KEY).finds != nearest.sighting(KEY).finds
    with pytest.raises(InvalidParameter, match="a table of the database"):
        open_duckdb(address(cluster), table="nowhere.events")


def test_a_server_that_does_not_tell_its_number(cluster):
    """Then the place is the host as it was named."""
    engine = open_duckdb(address(cluster, user="analyst"))

    assert list(map(str, engine.sighting(KEY).finds)) == [
        "table:postgresql://localhost:5432/postgres/public.ev ents",
        "name:postgresql://localhost:5432/postgres",
    ]
    assert rows(engine.histogram(SELECTION))[0] == ("many", 45000)


def test_the_rows_are_those_of_one_moment(cluster, own, monkeypatch):
    """What another session commits while rows are copied is not seen, not even in part."""
    import psycopg

    copy_rows = servers.copy_rows

    def copy_slowly(connection, server, *, names, rows):
        def watched():
            for n, chunk in enumerate(rows):
                if n == 0:
                    with psycopg.connect(cluster.address, dbname=own) as other:
                        other.execute('INSERT INTO "ev ents" ("user", item) VALUES (1, \'late\')')
                        other.execute('DELETE FROM "ev ents" WHERE "user" > 30000 AND item = \'many\'')
                yield chunk

        copy_rows(connection, server, names=names, rows=watched())

    monkeypatch.setattr(servers, "copy_rows", copy_slowly)
    before = open_duckdb(address(cluster, database=own))
    monkeypatch.undo()
    after = open_duckdb(address(cluster, database=own))

    assert rows(before.histogram(SELECTION)) == [("many", 45000), ("x", 2), ("", 1)]
    assert rows(after.histogram(SELECTION)) == [("many", 30000), ("x", 2), ("", 1), ("late", 1)]
    assert before.fingerprint(KEY) != after.fingerprint(KEY)


def test_nothing_is_written(cluster, own):
    """The session may read only: a view that would write is refused."""
    import psycopg

    with psycopg.connect(cluster.address, dbname=own) as server:
        server.execute("CREATE SEQUENCE counter")
        server.execute("CREATE VIEW counting AS SELECT nextval('counter') AS \"user\", 'x'::text AS item")

    with pytest.raises(UnreadableSource, match="the server refused it"):
        open_duckdb(address(cluster, database=own), table="counting")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("DB.Example.ORG", "db.example.org"),
        ("db.example.org.", "db.example.org"),
        ("localhost", "localhost"),
        ("127.0.0.1", "localhost"),
        ("127.8.8.8", "localhost"),
        ("::1", "localhost"),
        ("[::1]", "localhost"),
        ("::ffff:127.0.0.1", "localhost"),
        ("/var/run/postgresql", "localhost"),
        ("@socket", "localhost"),
        ("", "localhost"),
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
    ],
)
def test_a_host_has_one_name(host, name):
    """Capitals, dots, brackets and long numbers are not another host."""
    assert host_name(host) == name


def test_errors_hide_the_address():
    """A server that does not answer: neither its address nor a password is printed."""
    with pytest.raises(UnreadableSource) as caught:
        open_duckdb("postgresql://me:hidden@127.0.0.1:1/db?connect_timeout=1", table="t")

    assert str(caught.value) == (
        "the PostgreSQL table cannot be read: the server refused it (OperationalError); check the address and rights"
    )
    assert caught.value.__context__ is None


ADDRESSES = [
    "postgresql://me:hidden@127.0.0.1:1/db?connect_timeout=1",
    "postgres://me:hidden@127.0.0.1:1/db?connect_timeout=1",
    "POSTGRESQL://me:hidden@127.0.0.1:1/db",
    "mysql://me:hidden@127.0.0.1:1/db",
    "host=127.0.0.1 user=me password=hidden dbname=db",
    "user = me  password = hidden",
    "postgresql://me:hidden@[::1/db",
    "postgresql://me:hidden@host/db?options=-c%20role%3Dhidden&nonsense=hidden",
]


@pytest.mark.parametrize("given", ADDRESSES)
def test_no_password_is_told(given):
    """However an address is written, no text of ours holds it: messages, causes, names and what objects print."""
    with pytest.raises(HushcountError) as caught:
        open_duckdb(given)

    assert "hidden" not in "".join(traceback.format_exception_only(caught.value))
    assert caught.value.__context__ is None
    if given.startswith("postgres"):
        assert "hidden" not in repr(recognise(given))


def test_the_extra_is_named(monkeypatch):
    """Without psycopg the error says how to get it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hushcount\[postgres\]'"):
        open_duckdb("postgresql://localhost/db", table="t")
