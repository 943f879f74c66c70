"""The same rows are recognised from every format and engine, and other rows are not."""

from __future__ import annotations

import shutil

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.spark.engine import open_spark
from hushcount.errors import UnreadableSource
from tests.conformance.engines.generated import tables
from tests.conformance.engines.openers import OPENERS, SPARK, TEXTS_OF_ALL_KINDS, arrow_table, open_reference
from tests.conformance.engines.reference import ReferenceEngine
from tests.local_spark import local_spark
from tests.postgres import MISSING, find_programs, running_cluster

KEY = b"a key of the caller"
TABLE = {
    "user": [1, 1, 2, None, 2, 2],
    "item": ["x", "é", "", "x", None, None],
    "live": [True, False, None, True, True, True],
    "score": [0.5, None, -0.0, 1e16, 2.0, 2.0],
}
SEARCH = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(params=[*OPENERS, *SPARK])
def opened(request, tmp_path):
    """How to open a kind of source, of any engine."""
    return lambda columns: {**OPENERS, **SPARK}[request.param](columns, tmp_path)


def test_the_same_rows_are_recognised(opened):
    """From a file, a compressed one, a database, a frame, on one machine or many: one identity for one key."""
    engine, reference = opened(TABLE), open_reference(TABLE, None)
    found = [engine.rows_identity(key) for key in (KEY, b"another")]

    assert found == [reference.rows_identity(key) for key in (KEY, b"another")]
    assert found[0] != found[1]


# All other sources are asked for it in `test_answers_agree`, where they are open anyway.
@pytest.mark.parametrize("source", ["compressed", "json array", "arrow reader", "connection"])
@SEARCH
@given(columns=tables())
def test_generated_rows_are_recognised(source, tmp_path, columns):
    """Odd texts, all kinds, what is missing; without rows each version is known by itself."""
    if columns["user"]:
        engine = OPENERS[source](columns, tmp_path)

        assert engine.rows_identity(KEY) == ReferenceEngine(columns).rows_identity(KEY)


def test_order_and_names_do_not_matter():
    """Of rows and of columns."""
    table = arrow_table(TABLE)
    turned = (
        table.take([3, 1, 5, 0, 4, 2]).select(["score", "item", "user", "live"]).rename_columns(["a", "b", "c", "d"])
    )

    assert open_duckdb(table).rows_identity(KEY) == open_duckdb(turned).rows_identity(KEY)


def test_other_rows_are_not_recognised():
    """Another value, one row more or less, a repeated row, a column more, nothing at all."""
    first = {"user": ["1", "2"], "item": ["x", "y"]}
    others = [
        {"user": ["1", "2"], "item": ["x", "z"]},
        {"user": ["1"], "item": ["x"]},
        {"user": ["1", "2", "2"], "item": ["x", "y", "y"]},
        {"user": ["1", "2", None], "item": ["x", "y", None]},
        {"user": ["1", "2"], "item": ["x", "y"], "more": ["1", "2"]},
        {"user": ["1", "2"], "item": ["xy", ""]},
        {"user": pa.array([], pa.string()), "item": pa.array([], pa.string())},
        {"user": pa.array([], pa.string()), "thing": pa.array([], pa.string())},
    ]
    found = [open_duckdb(pa.table(columns)).rows_identity(KEY) for columns in [first, *others]]

    assert len(set(found)) == len(found)


def test_values_of_all_kinds_are_recognised(tmp_path):
    """The text of each cell is the one that questions see, on both engines; nested values included."""
    nested = pa.array([["a", None], [], None, ["é"], ['"'], [], ["b"]], pa.list_(pa.string()))
    pq.write_table(TEXTS_OF_ALL_KINDS.append_column("nested", nested), tmp_path / "kinds.parquet")
    local_spark()

    assert open_spark(tmp_path / "kinds.parquet").rows_identity(KEY) == open_duckdb(
        tmp_path / "kinds.parquet"
    ).rows_identity(KEY)


@pytest.mark.skipif(find_programs() is None, reason=MISSING)
def test_a_server_holds_the_same_rows():
    """As texts of PostgreSQL, whatever the formats of the session."""
    import psycopg

    columns = {name: TABLE[name] for name in ("user", "item", "live")}
    with running_cluster() as cluster:
        with psycopg.connect(cluster.address) as server:
            server.execute('CREATE TABLE events ("user" bigint, item text, live boolean)')
            for row in zip(*columns.values(), strict=True):
                server.execute("INSERT INTO events VALUES (%s, %s, %s)", row)
        engine = open_duckdb(f"postgresql:///postgres?host={cluster.folder}&user=postgres")

        assert engine.rows_identity(KEY) == ReferenceEngine(columns).rows_identity(KEY)


@pytest.mark.parametrize("open_file", [open_duckdb, open_spark], ids=["duckdb", "spark"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("columns.csv", "user,item,more\n1,x,y\n2,secret\n"),
        ("quote.csv", 'user,item,more\n1,x,y\n2,x,"secret\n'),
        ("last.jsonl", '{"user": 1, "item": "x"}\n{"user": 2, "item": "secret"\n'),
        ("twice.jsonl", '{"user": 1, "item": "x", "secret": 1, "secret": 2}\n'),
        ("number.jsonl", '{"user": 1, "item": "x"}\n7\n'),
        ("array.json", '[{"user": 1, "item": "x"}, ["secret"]]\n'),
        ("rest.json", '[{"user": 1, "item": "x"}]\n[{"user": 2, "item": "secret"}]\n'),
        ("open.json", '[{"user": 1, "item": "x"}, {"user": "secret"}\n'),
    ],
)
def test_what_cannot_be_parsed_is_refused_before_any_question(open_file, name, text, tmp_path):
    """The identity reads every row and every column: a file that breaks anywhere is told, without a value from it."""
    if open_file is open_spark:
        local_spark()
    (tmp_path / name).write_text(text, encoding="utf-8")
    engine = open_file(tmp_path / name)
    with pytest.raises(UnreadableSource) as caught:
        engine.rows_identity(KEY)

    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def values(sighting, kind):
    """The identities of a kind by which data is found, and those that are remembered."""
    return [[each.value for each in found if each.kind == kind] for found in (sighting.finds, sighting.binds)]


@pytest.mark.parametrize("open_file", [open_duckdb, open_spark], ids=["duckdb", "spark"])
def test_files_are_seen_by_name_content_and_number(open_file, tmp_path):
    """Copies share their bytes, links their path, hard links their number, looked up only while there are two."""
    if open_file is open_spark:
        local_spark()
    path = tmp_path / "events.csv"
    path.write_text("user,item\n1,x\n", encoding="utf-8")
    alone = open_file(path).sighting(KEY)
    shutil.copy(path, tmp_path / "copy.csv")
    (tmp_path / "link.csv").symlink_to("events.csv")
    copy, link = (open_file(tmp_path / name).sighting(KEY) for name in ("copy.csv", "link.csv"))
    (tmp_path / "hard.csv").hardlink_to(path)
    hard = open_file(tmp_path / "hard.csv").sighting(KEY)
    other = open_file(path).sighting(b"another key")
    number = f"{path.stat().st_dev}:{path.stat().st_ino}"

    assert alone.title == "events"
    assert values(alone, "path") == [[str(path.resolve())]] * 2
    assert values(alone, "inode") == [[], [number]]
    assert values(hard, "inode") == [[number], [number]]
    assert values(link, "path") == values(alone, "path")
    assert values(copy, "path") != values(alone, "path")
    assert values(copy, "bytes") == values(hard, "bytes") == values(alone, "bytes")
    assert values(other, "bytes") != values(alone, "bytes")


def test_sightings_are_those_of_every_engine(tmp_path):
    """Also where workers digest large files, and of compressed ones."""
    local_spark()
    text = "user,item\n7,x\n"
    for n in range(3):
        duckdb.sql(f"COPY (SELECT {n} AS \"user\", 'x' AS item) TO '{tmp_path}/{n}.csv.gz' (FORMAT CSV)")
    (tmp_path / "3.csv").write_text(text, encoding="utf-8")
    ours, theirs = open_spark(tmp_path), open_duckdb(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushcount.engines.spark.recognising._FEW_BYTES", 0)

        assert ours.sighting(KEY) == theirs.sighting(KEY)
        assert ours.fingerprint(KEY) == theirs.fingerprint(KEY)
    assert len(theirs.sighting(KEY).binds) == 12
