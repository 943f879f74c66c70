"""The DuckDB engine: versions, types, spilling, and errors that say what to do and carry no value."""

from __future__ import annotations

import gc
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hushcount.engines.duckdb import keys
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.filters import grammar
from hushcount.errors import HushcountError, InvalidInput, InvalidParameter, UnreadableSource
from hushcount.model.inputs import Bound
from hushcount.model.queries import Selection, TextItems
from tests.conformance.engines.openers import OPENERS

SELECTION = Selection(user="user", item="item")
TABLE = {"user": [1, 1, 2], "item": ["x", "y", "x"]}
CHANGES = {
    "a value": {"user": [1, 1, 2], "item": ["x", "y", "z"]},
    "a repeated row": {"user": [1, 1, 2, 2], "item": ["x", "y", "x", "x"]},
    "two repeated rows": {"user": [1, 1, 2, 2, 2], "item": ["x", "y", "x", "x", "x"]},
    "a missing row": {"user": [1, 1], "item": ["x", "y"]},
    "a missing value": {"user": [1, None, 2], "item": ["x", "y", "x"]},
    "an empty value": {"user": [1, 1, 2], "item": ["x", "", "x"]},
    "swapped values": {"user": [1, 2, 1], "item": ["x", "y", "x"]},
    "another name": {"user": [1, 1, 2], "thing": ["x", "y", "x"]},
    "another type": {"user": ["1", "1", "2"], "item": ["x", "y", "x"]},
    "no rows": {"user": [], "item": []},
}
TYPED = {"parquet", "directory", "arrow", "arrow reader", "pandas", "polars", "polars lazy", "relation", "connection"}


def rows(histogram):
    """A histogram as plain values."""
    return list(zip(histogram.items.tolist(), histogram.counts.tolist(), strict=True))


def write(path, text):
    """A file with this text."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# Versions


@pytest.mark.parametrize("source", OPENERS)
def test_the_version_changes_with_the_data(tmp_path, source):
    """Any change of the data gives another version id; the same data gives the same one."""

    def version(columns):
        folder = tmp_path / "again"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return OPENERS[source](columns, folder).fingerprint(b"key")

    changed = {name: version(columns) for name, columns in CHANGES.items() if name != "another type" or source in TYPED}
    first, again = version(TABLE), version(TABLE)

    assert first == again
    assert first not in changed.values()
    assert len(set(changed.values())) == len(changed)


@pytest.mark.parametrize("source", ["arrow", "pandas", "polars", "relation", "connection", "duckdb file", "sqlite"])
def test_the_order_of_rows_does_not_matter_in_memory(tmp_path, source):
    """A frame or table is a set of rows: sorting it is no change."""
    other = {name: values[::-1] for name, values in TABLE.items()}
    versions = {OPENERS[source](columns, tmp_path).fingerprint(b"key") for columns in (TABLE, other)}

    assert len(versions) == 1


def test_a_copy_or_another_name_is_the_same_data(tmp_path):
    """The version id of files is that of their bytes, whatever they are called and wherever they lie."""
    OPENERS["pattern"](TABLE, tmp_path)
    shutil.copy(tmp_path / "part-1.csv", tmp_path / "z.csv")
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "part-1.csv", tmp_path / "copy" / "2.csv")
    shutil.copy(tmp_path / "part-2.csv", tmp_path / "copy" / "1.csv")

    names = ("part-1.csv", "z.csv", "part-*.csv", "copy")
    one, again, both, copied = (open_duckdb(str(tmp_path / name)).fingerprint(b"key") for name in names)

    assert one == again
    assert both == copied
    assert one != both


def test_a_file_that_changes_under_our_hands_is_refused(tmp_path):
    """An engine answers about the state that it opened, or not at all."""
    path = write(tmp_path / "a.csv", "user,item\n1,x\n")
    engine = open_duckdb(path)
    engine.fingerprint(b"key")
    write(path, "user,item\n1,x\n2,x\n")

    with pytest.raises(UnreadableSource, match="changed since it was opened; open it again and ask once more"):
        engine.histogram(SELECTION)


def test_a_frame_is_copied(tmp_path):
    """What happens to a frame after it was opened is not seen."""
    frame = pd.DataFrame(TABLE)
    engine = open_duckdb(frame)
    before = engine.fingerprint(b"key")
    frame.loc[0, "item"] = "other"

    assert rows(engine.histogram(SELECTION)) == [("x", 2), ("y", 1)]
    assert engine.fingerprint(b"key") == before


# Types

TYPES = {
    "UTINYINT": ("7", "7"),
    "UBIGINT": ("18446744073709551615", "18446744073709551615"),
    "HUGEINT": ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
    "DECIMAL(6, 2)": ("1.5", "1.50"),
    "FLOAT": ("0.1", "0.1"),
    "DOUBLE": ("-0.0", "0.0"),
    "BOOLEAN": ("TRUE", "true"),
    "DATE": ("'2024-12-31'", "2024-12-31"),
    "TIME": ("'12:30:00'", "12:30:00"),
    "TIMESTAMP": ("'2024-12-31 12:30:00.5'", "2024-12-31 12:30:00.5"),
    "TIMESTAMP WITH TIME ZONE": ("'2024-12-31 12:30:00+02'", "2024-12-31 10:30:00+00"),
    "UUID": ("'00000000-0000-0000-0000-00000000000A'", "00000000-0000-0000-0000-00000000000a"),
    "ENUM('a', 'b')": ("'b'", "b"),
    "INTERVAL": ("INTERVAL 1 DAY", "1 day"),
}


@pytest.mark.parametrize("name", TYPES)
def test_people_and_items_are_texts(name):
    """A value of any plain type is known by its text, whatever the time zone of the machine."""
    literal, text = TYPES[name]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    for user, item in (("1", f"{literal}::{name}"), (f"{literal}::{name}", "'x'")):
        engine = open_duckdb(connection.sql(f'SELECT {user} AS "user", {item} AS item'))

        assert rows(engine.histogram(SELECTION)) == [(text if user == "1" else "x", 1)]
        held = engine.incidence(SELECTION)
        assert [str(person) for person in held.whole().users] == ["1" if user == "1" else text]


def test_numbers_and_their_texts_are_the_same_person():
    """7 as a number and "7" as a text bound alike, so that a person keeps the same items in every format."""
    bound = Bound(max_items=1, salt=b"salt")
    items = list("abcdefgh")
    answers = [
        rows(open_duckdb(pa.table({"user": pa.array([7] * 8, kind), "item": items})).histogram(SELECTION, bound=bound))
        for kind in (pa.int8(), pa.uint32(), pa.int64(), pa.uint64())
    ]
    answers.append(rows(open_duckdb(pa.table({"user": ["7"] * 8, "item": items})).histogram(SELECTION, bound=bound)))

    assert len(answers[0]) == 1
    assert all(answer == answers[0] for answer in answers)


def test_people_far_apart_are_encoded():
    """Integers over the whole range of 64 bits do not overflow."""
    users = [-(2**63), 2**63 - 1, 0, 2**63 - 1]
    engine = open_duckdb(pa.table({"user": users, "item": ["x", "x", "y", "y"]}))

    assert rows(engine.histogram(SELECTION)) == [("x", 2), ("y", 2)]
    assert sorted(engine.incidence(SELECTION).whole().users.tolist()) == sorted(set(users))


def test_negative_nan_is_missing(tmp_path):
    """NaN of either sign is missing, also where the statistics of a file deny that there is any."""
    nan = np.array([0xFFF8000000000000, 0x7FF8000000000000], dtype=np.uint64).view(np.float64)
    table = pa.table({"user": [1.0, 2.0, *nan], "item": [*nan, 1.0, 2.0], "score": [*nan, *nan]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")

    for source in (table, tmp_path / "a.parquet"):
        assert rows(open_duckdb(source).histogram(SELECTION)) == []
        kept = Selection(user="user", item="item", where=grammar.read("NOT (score < 5)"))
        assert rows(open_duckdb(source).histogram(kept)) == []


@pytest.mark.parametrize("values", [[["a"]], [{"a": 1}], [{"secret": "secret"}]])
def test_nested_values_are_refused(values):
    """A list is not an item; the text says what to do, and no name of a field."""
    engine = open_duckdb(pa.table({"user": [1], "item": values}))
    with pytest.raises(InvalidInput, match="must be one plain value; take a field out of it first") as caught:
        engine.validate(SELECTION)

    assert "secret" not in str(caught.value)


def test_no_type_of_the_database_is_shown():
    """Labels of an ENUM and fields of a structure are private values: errors say kinds of our own."""
    made = "SELECT 1 AS \"user\", 'secret'::ENUM('secret', 'b') AS e, {'secret': 1} AS s, 7 AS n, [{'secret': 1}] AS l"
    engine = open_duckdb(duckdb.sql(made))
    filters = {name: grammar.read(f"{name} = DATE '2024-12-31' AND {name} = TRUE") for name in ("s", "n", "l")}
    selections = [
        *(Selection(user="user", item=name) for name in ("s", "l", "nothing")),
        *(Selection(user="user", item=TextItems(column=name)) for name in ("s", "n", "l")),
        *(Selection(user="user", item="n", where=where) for where in filters.values()),
        Selection(user="user", item="n", where=grammar.read("e IN (1, 'x')")),
    ]
    for selection in selections:
        with pytest.raises(HushcountError) as caught:
            engine.validate(selection)

        assert "secret" not in message(caught)
        assert not re.search("STRUCT|ENUM|INTEGER|VARCHAR", message(caught).rpartition("Error")[2])
    assert "secret" not in repr(engine.describe())


def test_json_values_become_texts(tmp_path):
    """Numbers, texts and truth values of one column are read as texts, and nested values as JSON."""
    lines = (
        '{"user": 7, "item": "7"}\n{"user": "7", "item": 7}\n{"user": 8, "item": true}\n{"user": 9, "o": {"a": 1}}\n'
    )
    engine = open_duckdb(write(tmp_path / "a.jsonl", lines))

    assert rows(engine.histogram(SELECTION)) == [("7", 1), ("true", 1)]
    assert rows(engine.histogram(Selection(user="user", item="o"))) == [('{"a":1}', 1)]


def test_csv_keeps_texts_as_they_are(tmp_path):
    """No value is guessed to be a number: leading zeros, spaces and capitals stay."""
    text = '\ufeffuser;item;n\r\n007;" x";1\r\n7;NULL;\r\n8;"a;b\r\nc";""\r\n'
    engine = open_duckdb(write(tmp_path / "a.csv", text))

    assert [(column.name, column.kind) for column in engine.describe().columns] == [
        ("user", "text"),
        ("item", "text"),
        ("n", "text"),
    ]
    assert rows(engine.histogram(SELECTION)) == [(" x", 1), ("NULL", 1), ("a;b\r\nc", 1)]
    assert rows(engine.histogram(Selection(user="user", item="n"))) == [("", 1), ("1", 1)]


def test_compressed_files_are_read(tmp_path):
    """CSV and JSON may be compressed."""
    for ending in ("csv.gz", "jsonl.gz", "tsv.gz"):
        kind = "JSON" if "json" in ending else "CSV"
        path = tmp_path / f"a.{ending}"
        delimiter = ", DELIMITER '\t'" if "tsv" in ending else ""
        duckdb.sql(f"COPY (SELECT 1 AS \"user\", 'x' AS item) TO '{path}' (FORMAT {kind}{delimiter})")

        assert rows(open_duckdb(path).histogram(SELECTION)) == [("x", 1)]


def test_odd_names_are_names(tmp_path):
    """Quotes, brackets and spaces in names of files and columns are nothing special."""
    for name in ("it's.csv", "a[1].csv", "q?.csv", "s*.csv", "a b.csv"):
        path = write(tmp_path / name, '"us""er","it\'em"\n1,x\n')

        assert rows(open_duckdb(path).histogram(Selection(user='us"er', item="it'em"))) == [("x", 1)]


# Size and threads


def test_little_memory_spills(tmp_path):
    """Data beyond the memory limit is answered by way of the disk, and nothing stays there."""
    connection = duckdb.connect()
    path = tmp_path / "a.parquet"
    made = (
        "SELECT i % 100000 AS \"user\", 'a long enough item ' || (i * 7919 % 300000) AS item FROM range(1000000) t(i)"
    )
    connection.execute(f"COPY ({made}) TO '{path}'")
    engine = open_duckdb(path, memory_limit="60MB")
    found = engine.histogram(SELECTION, top=5)
    want = connection.execute(
        f"SELECT item, count(DISTINCT \"user\") AS n FROM '{path}' GROUP BY item ORDER BY n DESC, item LIMIT 5"  # noqa: S608
    ).fetchall()

    assert rows(found) == want


@pytest.mark.parametrize("error", [OSError(28, "No space left on device", "a place of ours"), MemoryError()])
@pytest.mark.parametrize("ask", ["histogram", "incidence"])
def test_a_full_disk_is_told_without_the_systems_words(tmp_path, monkeypatch, error, ask):
    """Whatever of rows does not fit: it names no place, and the engine answers on."""
    engine = open_duckdb(pa.table(TABLE))

    def add(*_):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(keys.Keys, "take", add)
        with pytest.raises(UnreadableSource, match="not enough memory or disk space") as raised:
            getattr(engine, ask)(SELECTION)

    assert "place" not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert len(engine.histogram(SELECTION).items)


def test_nothing_stays_on_disk(tmp_path, monkeypatch):
    """The folder for spilled rows goes with the engine, and nobody else can read it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = open_duckdb(pa.table(TABLE))

    assert [folder.stat().st_mode & 0o077 for folder in tmp_path.iterdir()] == [0]
    del engine
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_closing_lets_go(tmp_path, monkeypatch):
    """The folder is gone at once; closing again does nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = open_duckdb(pa.table(TABLE))
    engine.close()
    engine.close()

    assert not list(tmp_path.iterdir())
    with pytest.raises(UnreadableSource, match="the data frame was closed; open it again"):
        engine.histogram(SELECTION)


@pytest.mark.parametrize("source", ["arrow", "parquet", "csv"])
def test_sixteen_threads_ask_at_once(tmp_path, source):
    """The same and different questions, all under way together, give the integers that each gives alone."""
    made = {"user": [n % 97 for n in range(3000)], "item": [f"item {n % 31}" for n in range(3000)]}
    engine = OPENERS[source]({**made, "age": [n % 7 for n in range(3000)]}, tmp_path)
    bound = Bound(max_items=2, salt=b"salt")
    questions = [
        lambda n=n: rows(
            engine.histogram(
                replace(SELECTION, where=grammar.read(f"age >= {n % 4}"), per_item_cap=1 + n % 2),
                bound=bound if n % 3 == 0 else None,
                top=5 + n % 2,
            )
        )
        for n in range(12)
    ]
    questions += [lambda: rows(engine.incidence(SELECTION).counts(bound))] * 2 + [
        lambda: engine.fingerprint(b"key")
    ] * 2
    alone = [question() for question in questions]
    start = threading.Barrier(len(questions))

    def ask(question):
        start.wait()
        return [question() for _ in range(3)]

    with ThreadPoolExecutor(max_workers=len(questions)) as pool:
        together = list(pool.map(ask, questions))

    assert len(questions) == 16
    assert together == [[answer] * 3 for answer in alone]


def test_other_collations_are_not_used(tmp_path):
    """Items that differ in case are different items, whatever the database thinks."""
    path = tmp_path / "a.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute('CREATE TABLE t ("user" INTEGER, item VARCHAR COLLATE NOCASE)')
        connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'A'), (3, 'B')")

    assert rows(open_duckdb(path).histogram(SELECTION)) == [("A", 1), ("B", 1), ("a", 1)]


# Errors


def message(caught):
    """The whole of what an error could tell: its text, causes and traceback included."""
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return "".join(traceback.format_exception(caught.value))


def broken_sources(folder):
    """Sources that fail only when their values are read."""
    yield write(folder / "columns.csv", "user,item\n1,x\n2,secret,secret\n")
    yield write(folder / "quote.csv", 'user,item\n1,x\n2,"secret\n')
    yield write(folder / "latin.csv", "user,item\n1,secr\xe9t\n".encode("latin-1"))
    yield write(folder / "short.tsv", "user\titem\n1\tx\nsecret\n")
    yield write(folder / "broken.jsonl", '{"user": 1, "item": "x"}\n{"user": "secret\n')
    yield write(folder / "number.parquet", b"PAR1 secret PAR1")


def test_no_value_is_in_an_error(tmp_path):
    """A source that breaks half-way is refused, without a word from it, its causes included."""
    for path in broken_sources(tmp_path):
        with pytest.raises(UnreadableSource) as caught:
            open_duckdb(path).histogram(SELECTION)

        assert "no values are shown" in str(caught.value)
        assert "secr" not in message(caught)


def test_broken_texts(tmp_path):
    """The texts for files that cannot be parsed."""
    texts = {}
    for path in broken_sources(tmp_path):
        with pytest.raises(UnreadableSource) as caught:
            open_duckdb(path).histogram(SELECTION)
        texts[path.name] = str(caught.value).replace(str(path), path.name).rpartition(" (")[0]
    csv = (
        "cannot be read: a row does not have the columns of the first line, a quote is left open, or it is not in "
        "UTF-8; in the last case convert it with: iconv -f latin1 -t utf-8"
    )

    assert texts == {
        "columns.csv": f"'columns.csv' {csv}",
        "quote.csv": f"'quote.csv' {csv}",
        "latin.csv": f"'latin.csv' {csv}",
        "short.tsv": f"'short.tsv' {csv}",
        "broken.jsonl": (
            "'broken.jsonl' cannot be read: it is not JSON with one object in each line, or it is not written in UTF-8"
        ),
        "number.parquet": (
            "'number.parquet' cannot be read: it is not a whole Parquet file, or its files do not have the same "
            "columns; write it anew"
        ),
    }


def test_sources_that_are_not_there(tmp_path, monkeypatch):
    """Missing, empty and unknown files: what happened, why, what to do."""
    monkeypatch.chdir(tmp_path)
    write(Path("events.parquet"), b"PAR1")
    write(Path("empty.csv"), "")
    write(Path("notes.docx"), "x")
    write(Path("twice.csv"), "user,User\n1,x\n")
    write(Path("blank.csv"), "\n\nuser,item\n1,x\n")
    Path("folder").mkdir()
    Path("mixed").mkdir()
    write(Path("mixed/a.csv"), "user,item\n1,x\n")
    write(Path("mixed/b.json"), "{}")
    Path("heads").mkdir()
    write(Path("heads/a.csv"), "user,item\n1,x\n")
    write(Path("heads/b.csv"), "item,user\nx,1\n")
    ends = "the name must end in .csv, .tsv, .json, .jsonl or .parquet"
    wanted = {
        "event.parquet": "'event.parquet' cannot be read: there is no such file; did you mean 'events.parquet'?",
        "nothing.like": "'nothing.like' cannot be read: there is no such file; check the name and the directory",
        "no/such/folder.csv": (
            "'no/such/folder.csv' cannot be read: there is no such file; check the name and the directory"
        ),
        "*.csvv": "'*.csvv' cannot be read: no file matches the pattern; try: ls *.csvv",
        "empty.csv": ("'empty.csv' cannot be read: the file is empty (0 bytes); check what should have written it"),
        "notes.docx": f"'notes.docx' cannot be read: its format is not known; {ends}",
        "folder": f"'folder' cannot be read: the directory holds no data files; {ends}",
        "mixed": "'mixed' cannot be read as one table: it holds files of several formats; name one of them",
        "heads": "'heads' cannot be read as one table: the first lines of its files differ",
        "blank.csv": "'blank.csv' cannot be read: its first line must name each column, differently, in UTF-8",
        "twice.csv": "'twice.csv' cannot be read: its first line must name each column, differently, in UTF-8",
    }
    for source, text in wanted.items():
        with pytest.raises(UnreadableSource) as caught:
            open_duckdb(source)

        assert str(caught.value) == text


def test_sources_of_no_kind():
    """What is no source is told what one is."""
    with pytest.raises(InvalidParameter) as caught:
        open_duckdb(7)

    assert str(caught.value) == (
        "source = 'int' cannot be used: it must be a file name, a frame (pandas, Polars, Arrow), a DuckDB relation, or "
        "a DuckDB connection and a table."
    )
    with pytest.raises(InvalidParameter, match="it must be a local file"):
        open_duckdb("s3://bucket/events.parquet")
    with pytest.raises(InvalidParameter, match=r"Write for example: table='events'"):
        open_duckdb(duckdb.connect())
    with pytest.raises(InvalidParameter, match=r"A frame or a relation is one table"):
        open_duckdb(pa.table(TABLE), table="x")


def test_tables_are_chosen_by_name(tmp_path):
    """A database of several tables asks which; a wrong name lists them."""
    path = tmp_path / "a.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE events AS SELECT 1 AS \"user\", 'x' AS item")
        connection.execute("CREATE TABLE others AS SELECT 1 AS \"user\", 'y' AS item")

    assert rows(open_duckdb(path, table="others").histogram(SELECTION)) == [("y", 1)]
    with pytest.raises(InvalidParameter) as caught:
        open_duckdb(path, table="event")
    assert str(caught.value) == (
        "table = 'event' cannot be used: it must be a table of the database. Did you mean 'events'? "
        "There are: 'events', 'others'."
    )
    with pytest.raises(InvalidParameter, match="There are: 'events', 'others'"):
        open_duckdb(path)
    with pytest.raises(InvalidParameter, match="Only databases have several tables"):
        open_duckdb(write(tmp_path / "a.csv", "user,item\n"), table="events")


def test_a_file_without_rows_is_no_error(tmp_path):
    """Columns and no rows: an empty histogram, complete."""
    engine = open_duckdb(write(tmp_path / "a.csv", "user,item\n"))
    found = engine.histogram(SELECTION)

    assert rows(found) == []
    assert found.complete


def test_importing_the_engine_is_light():
    """No database is loaded before a source is opened."""
    heavy = "('duckdb', 'pandas')"
    script = f"import sys, hushcount.engines.duckdb.engine; print(*(n for n in {heavy} if n in sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 (our own)

    assert run.stdout.split() == []


def test_frames_need_no_arrow_package():
    """Relations and Polars frames are read where pyarrow is not installed."""
    script = """
import sys
sys.modules["pyarrow"] = sys.modules["pandas"] = None
import duckdb, polars
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.model.queries import Selection
for source in (duckdb.sql("SELECT 1 AS person, 'x' AS item"), polars.DataFrame({"person": [1], "item": ["x"]})):
    print(open_duckdb(source).histogram(Selection(user="person", item="item")).items.tolist())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 (our own)

    assert run.stdout.split() == ["['x']", "['x']"]


# Real data


def test_real_texts_give_their_words(data_dir):
    """Texts whose words were found by [a-z']+ give the same words, but for those with two apostrophes in a row."""
    path = data_dir / "git_commit_words_text.parquet"
    found = open_duckdb(path).histogram(Selection(user="user", item=TextItems(column="text")))
    split = f"SELECT DISTINCT \"user\", unnest(string_split(text, ' ')) AS item FROM '{path}'"  # noqa: S608
    want = duckdb.sql(f"SELECT item, count(*) FROM ({split}) WHERE item != '' GROUP BY item").fetchall()  # noqa: S608
    gone = {item for item, _ in want} - set(found.items)

    assert len(found.items) > 30_000
    assert all("''" in item for item in gone)
    assert len(set(rows(found)) ^ set(want)) < 3 * len(gone) + 1
