"""Loading: what is opened stays as it is, keeps the texts that DuckDB itself gives, and is known by where it lies."""

from __future__ import annotations

import os
import sqlite3
from functools import cache

import duckdb
import pytest

from hushcount.engines.duckdb import copying
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")
KEY = b"key"


def rows(histogram):
    """A histogram as plain values."""
    return list(zip(histogram.items.tolist(), histogram.counts.tolist(), strict=True))


def made(path, *statements):
    """A DuckDB file."""
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


# Snapshots


def test_a_view_of_a_file_is_copied(tmp_path):
    """A view over another file, or one that never gives the same twice, has one state: that of its opening."""
    log = tmp_path / "log.csv"
    log.write_text("user,item\n1,x\n2,x\n", encoding="utf-8")
    path = made(
        tmp_path / "a.duckdb",
        f"CREATE VIEW log AS SELECT * FROM read_csv('{log}')",  # noqa: S608
        'CREATE VIEW drawn AS SELECT range AS "user", random()::VARCHAR AS item FROM range(5)',
    )
    engine, drawn = open_duckdb(path, table="log"), open_duckdb(path, table="drawn")
    before = engine.fingerprint(KEY)
    log.write_text("user,item\n1,x\n2,y\n", encoding="utf-8")

    assert rows(engine.histogram(SELECTION)) == [("x", 2)]
    assert engine.fingerprint(KEY) == before
    assert open_duckdb(path, table="log").fingerprint(KEY) != before
    assert rows(drawn.histogram(SELECTION)) == rows(drawn.histogram(SELECTION))
    assert drawn.fingerprint(KEY) == drawn.fingerprint(KEY)
    assert drawn.fingerprint(KEY) != open_duckdb(path, table="drawn").fingerprint(KEY)


def test_a_view_lets_go_of_the_file(tmp_path):
    """It is copied, so that others may write again."""
    path = made(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 1 AS \"user\", 'x' AS item", "CREATE VIEW v AS FROM t")
    engine = open_duckdb(path, table="v")
    made(path, "INSERT INTO t VALUES (2, 'x')")

    assert rows(engine.histogram(SELECTION)) == [("x", 1)]


def test_a_table_of_a_file_is_watched(tmp_path):
    """It is read where it is; a file that is replaced or written under our hands is refused."""
    statements = [f"CREATE TABLE t AS SELECT {n} AS \"user\", 'x' AS item" for n in (1, 2)]
    path = made(tmp_path / "a.duckdb", statements[0])
    engine = open_duckdb(path)
    made(tmp_path / "b.duckdb", statements[1]).replace(path)

    with pytest.raises(UnreadableSource, match="changed since it was opened"):
        engine.histogram(SELECTION)
    engine = open_duckdb(path)
    os.utime(path)
    with pytest.raises(UnreadableSource, match="changed since it was opened"):
        engine.fingerprint(KEY)


def test_sqlite_rows_are_those_of_one_moment(tmp_path, monkeypatch):
    """What another program commits while rows are copied is not seen."""
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (user, item)")
        connection.executemany("INSERT INTO t VALUES (?, 'x')", [(n,) for n in range(5)])
    monkeypatch.setattr(copying, "_CHUNK", 2)
    copy_rows = copying.copy_rows

    def copy_slowly(*words, names, rows):
        def watched():
            for n, chunk in enumerate(rows):
                if n == 0:
                    with sqlite3.connect(path) as other:
                        other.execute("DELETE FROM t WHERE user > 2")
                        other.execute("INSERT INTO t VALUES (9, 'late')")
                yield chunk

        copy_rows(*words, names=names, rows=watched())

    monkeypatch.setattr(copying, "copy_rows", copy_slowly)

    assert rows(open_duckdb(path).histogram(SELECTION)) == [("x", 5)]
    monkeypatch.undo()
    assert rows(open_duckdb(path).histogram(SELECTION)) == [("x", 3), ("late", 1)]


# Values at the ends of their ranges

EXTREMES = {
    "HUGEINT": ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "7"],
    "UHUGEINT": ["340282366920938463463374607431768211455", "0"],
    "UBIGINT": ["18446744073709551615"],
    "DATE": ["infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)", "0044-03-15 (BC)"],
    "TIMESTAMP": ["infinity", "-infinity", "294247-01-10 04:00:54.775806", "290308-12-22 (BC) 00:00:00"],
    "TIMESTAMP_S": ["infinity", "294247-01-10 04:00:54", "290308-12-22 (BC) 00:00:00"],
    "TIMESTAMP_MS": ["-infinity", "294247-01-10 04:00:54.775"],
    "TIMESTAMP_NS": ["infinity", "2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00"],
    "TIMESTAMPTZ": ["infinity", "-infinity", "294247-01-10 04:00:54.775806+00", "290308-12-22 (BC) 00:00:00+00"],
    "TIMETZ": ["12:30:00+02", "12:30:00-07"],
    "TIME": ["24:00:00"],
    "BIT": ["0101", "1"],
    "DECIMAL(38, 10)": ["1234567890123456789012345678.0123456789"],
    "DOUBLE": ["inf", "-inf", "1.7976931348623157e+308", "5e-324"],
    "BLOB": ["\\xFF\\x00"],
    "UUID": ["ffffffff-ffff-ffff-ffff-ffffffffffff"],
}


@pytest.fixture(params=["relation", "connection", "file", "view of a file"])
def as_source(request, tmp_path):
    """How to open what a SELECT gives."""

    def opened(select):
        if request.param in {"file", "view of a file"}:
            kind = "VIEW" if "view" in request.param else "TABLE"
            path = tmp_path / "a.duckdb"
            path.unlink(missing_ok=True)
            return open_duckdb(made(path, "SET TimeZone = 'Asia/Tokyo'", f"CREATE {kind} t AS {select}"))
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        if request.param == "relation":
            return open_duckdb(connection.sql(select))
        connection.execute(f"CREATE TABLE t AS {select}")
        return open_duckdb(connection, table="t")

    return opened


@cache
def identity_of_texts(values):
    """Of rows that hold the texts themselves; the same for each of four kinds of sources."""
    select = f"SELECT held::VARCHAR AS a, held::VARCHAR AS b, shown FROM (VALUES {values}) t(held, shown)"  # noqa: S608
    return open_duckdb(duckdb.sql(select)).rows_identity(KEY)


@pytest.mark.parametrize("type_name", EXTREMES)
def test_extreme_values_keep_their_texts(as_source, type_name):
    """As DuckDB's own cast gives them, for people and items, in a histogram, an incidence and the rows' identity."""
    texts = EXTREMES[type_name]
    values = ", ".join(f"('{text}'::{type_name}, '{text}')" for text in texts)
    engine = as_source(f'SELECT held AS "user", held AS item, shown FROM (VALUES {values}) t(held, shown)')  # noqa: S608
    by_text = Selection(user="shown", item="item")

    assert sorted(rows(engine.histogram(by_text))) == sorted((text, 1) for text in texts)
    assert sorted(engine.incidence(by_text).items.tolist()) == sorted(texts)
    people = engine.incidence(Selection(user="user", item="shown")).whole().users
    assert sorted(map(str, people.tolist())) == sorted(texts)
    if type_name != "TIMESTAMPTZ":
        assert engine.rows_identity(KEY) == identity_of_texts(values)
    assert engine.fingerprint(KEY)


def test_extreme_values_are_told_apart(as_source):
    """No two of them have one fingerprint, nor does one that would come out the same after a wrap-around."""
    texts = [
        "-1::HUGEINT",
        "340282366920938463463374607431768211455::UHUGEINT",
        "-170141183460469231731687303715884105728",
    ]
    found = {as_source(f'SELECT {text} AS "user", 1 AS item').fingerprint(KEY) for text in texts}

    assert len(found) == 3


def test_filters_reach_the_ends(as_source):
    """A date that no moment reaches is compared as a date; infinity is after all and before all."""
    texts = ["infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)", "2024-12-31"]
    values = ", ".join(f"('{text}'::DATE, '{text}')" for text in texts)
    engine = as_source(f'SELECT day, item AS "user", item FROM (VALUES {values}) t(day, item)')  # noqa: S608
    late = Selection(user="user", item="item", where=grammar.read("day > DATE '2024-12-31'"))

    assert sorted(engine.histogram(late).items.tolist()) == ["5881580-07-10", "infinity"]


def test_nested_values_of_a_relation_stay_nested():
    """They are no items, may be missing or not, and count for the fingerprint."""
    engines = [
        open_duckdb(duckdb.sql(f"SELECT 1 AS \"user\", 'x' AS item, {value} AS n"))
        for value in ("{'a': 1::UHUGEINT}", "{'a': 2::UHUGEINT}", "NULL::STRUCT(a UHUGEINT)")
    ]
    given = Selection(user="user", item="item", where=grammar.read("n IS NOT NULL"))

    assert {engine.describe().columns[2].kind for engine in engines} == {"nested"}
    assert [rows(engine.histogram(given)) for engine in engines] == [[("x", 1)], [("x", 1)], []]
    assert len({engine.fingerprint(KEY) for engine in engines}) == 3


# Places


def test_tables_of_files_are_known_by_path_and_name(tmp_path):
    """Of DuckDB and SQLite, through a link, through a connection, whatever the working directory."""
    path = made(
        tmp_path / "a.duckdb",
        "CREATE TABLE events AS SELECT 1 AS \"user\", 'x' AS item",
        "CREATE SCHEMA s",
        "CREATE TABLE s.events AS SELECT 2 AS \"user\", 'y' AS item",
        "CREATE TABLE s.others AS SELECT 2 AS \"user\", 'z' AS item",
    )
    (tmp_path / "link.duckdb").symlink_to("a.duckdb")
    lite = tmp_path / "a.sqlite"
    with sqlite3.connect(lite) as connection:
        connection.execute("CREATE TABLE events AS SELECT 1 AS user, 'x' AS item")
    place = f"table:{path.resolve()}#events"

    found = [open_duckdb(source, table="events").sighting(KEY) for source in (path, tmp_path / "link.duckdb", lite)]
    assert [[str(each) for each in sighting.finds] for sighting in found] == [
        [place],
        [place],
        [f"table:{lite.resolve()}#events"],
    ]
    assert {sighting.title for sighting in found} == {"events"}
    assert all(str(sighting.binds[-1]).startswith("inode:") for sighting in found)
    assert all(sighting.finds == sighting.binds[:-1] for sighting in found)
    with duckdb.connect(path) as connection:
        assert [str(each) for each in open_duckdb(connection, table="events").sighting(KEY).finds] == [place]
        other = open_duckdb(connection, table="others")
        assert [str(each) for each in other.sighting(KEY).finds] == [f"table:{path.resolve()}#s.others"]
        assert rows(other.histogram(SELECTION)) == [("z", 1)]
        connection.execute("CREATE TEMP TABLE events AS SELECT 1 AS \"user\", 'temp' AS item")
        nearest = open_duckdb(connection, table="events")
        assert [str(each) for each in nearest.sighting(KEY).finds] == ["table:a DuckDB connection#events"]
        assert rows(nearest.histogram(SELECTION)) == [("temp", 1)]


def test_frames_lie_nowhere_and_tables_in_memory_go_by_their_name():
    """Only their rows tell what they are."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE events AS SELECT 1 AS \"user\", 'x' AS item")
    named, frame = open_duckdb(connection, table="events"), open_duckdb(connection.sql("FROM events"))

    assert [str(each) for each in named.sighting(KEY).finds] == ["table:a DuckDB connection#events"]
    assert frame.sighting(KEY).finds == frame.sighting(KEY).binds == ()
    assert named.rows_identity(KEY) == frame.rows_identity(KEY)
    with pytest.raises(InvalidParameter, match="There are: 'events'"):
        open_duckdb(connection, table="event")
