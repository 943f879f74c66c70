"""Items by hashes of their texts: where it pays, and that nothing rests on hashes being different."""

from __future__ import annotations

from unittest.mock import Mock, patch

import duckdb
import pytest

from hushcount.engines.duckdb import encoding
from hushcount.engines.duckdb import engine as engine_module
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.duckdb.items import ItemHashes, ItemTexts
from hushcount.errors import InvalidInput, UnreadableSource
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")
ROWS = 300_000


def write(path, item, *, rows=ROWS, name="item"):
    """A Parquet file of so many rows, four for each person; also CSV, by its name."""
    made = f'SELECT i // 4 AS "user", {item} AS "{name}", gen_random_uuid() AS other FROM range({rows}) t(i)'  # noqa: S608
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({made}) TO '{path}'")
    return path


def counted(path, selection=SELECTION):
    """The answer, and by what items were numbered, one kind after the other."""
    used = []

    def noted(*given, items, **more):
        used.append(type(items))
        return numbered(*given, items=items, **more)

    numbered = encoding._read  # noqa: SLF001
    with patch.object(encoding, "_read", noted):
        engine = open_duckdb(path)
        found = engine.histogram(selection)
        engine.close()
    return dict(zip(found.items.tolist(), found.counts.tolist(), strict=True)), used


@pytest.mark.parametrize("name", ["item", 'of "any, name.', "größe"])
def test_few_texts_are_read_by_hashes(tmp_path, name):
    """Of a file that repeats them, whatever the column is called; with the same counts."""
    path = write(tmp_path / "few.parquet", "'text ' || (i % 7)", name=name.replace('"', '""'))
    found, used = counted(path, Selection(user="user", item=name))
    with patch.object(engine_module, "are_few", return_value=False):
        plain, by_texts = counted(path, Selection(user="user", item=name))

    assert (used, by_texts) == ([ItemHashes], [ItemTexts])
    assert found == plain
    assert len(found) == 7


@pytest.mark.parametrize(
    ("file", "item", "rows"),
    [
        ("many.parquet", "'text ' || i", ROWS),
        ("short.parquet", "'text ' || (i % 7)", 1000),
        ("parsed.csv", "'text ' || (i % 7)", ROWS),
        ("number.parquet", "i % 7", ROWS),
    ],
)
def test_other_items_are_read_by_texts(tmp_path, file, item, rows):
    """Where there are many, few rows, or no texts to be held."""
    assert counted(write(tmp_path / file, item, rows=rows))[1] == [ItemTexts]


def test_texts_with_one_hash_are_read_by_texts(tmp_path):
    """They are told apart all the same. Broken twin: hashes that are believed give items that nobody has."""
    path = write(tmp_path / "few.parquet", "'text ' || (i % 7)")
    right = {f"text {number}": ROWS // 7 + (number < ROWS % 7) for number in range(7)}
    with patch.object(ItemHashes, "sql", "(strlen(item) % 2)::UBIGINT"):
        found, used = counted(path)
        believed = patch.object(ItemHashes, "differ", new=True)
        with believed, pytest.raises(InvalidInput):
            counted(path)

    assert (found, used) == (right, [ItemTexts])


def test_a_hash_of_no_text_is_noticed(tmp_path):
    """As there is one if a file changes between two readings."""
    path = write(tmp_path / "few.parquet", "'text ' || (i % 7)")
    numbers = ItemHashes.numbers

    def changed(self, column):
        column = column.copy()
        column[7:] += 1
        return numbers(self, column)

    with patch.object(ItemHashes, "numbers", changed):
        assert counted(path)[1][-1] is ItemTexts


def test_what_a_file_says_is_asked_once(tmp_path):
    """For each column."""
    engine = open_duckdb(write(tmp_path / "few.parquet", "'text ' || (i % 7)"))
    with patch.object(engine_module, "are_few", side_effect=engine_module.are_few) as asked:
        for _ in range(3):
            engine.histogram(SELECTION)
        engine.incidence(Selection(user="user", item="item", where=None))

    assert asked.call_count == 1


def test_that_a_file_changed_is_told_before_what_came_of_it(tmp_path):
    """A text that no row has any more gives an item without people, which is refused; why is what is told."""
    path = write(tmp_path / "few.parquet", "'text ' || (i % 7)")
    engine = open_duckdb(path)
    engine.fingerprint(b"k" * 32)
    changed = UnreadableSource("it changed")
    with (
        patch.object(engine_module, "counted", side_effect=InvalidInput("counts must be from 1 up")),
        patch.object(engine_module.HeldFiles, "check_bytes", side_effect=changed),
        pytest.raises(UnreadableSource, match="it changed"),
    ):
        engine.histogram(SELECTION)


def test_what_a_file_says_of_itself_fails_no_question(tmp_path):
    """It is asked for speed alone; an interrupt is one all the same, and the database's words are not shown."""
    engine = open_duckdb(write(tmp_path / "few.parquet", "'text ' || (i % 7)"))
    own = Mock()
    cursor = Cursor(source=engine._source, own=own)  # noqa: SLF001
    own.execute.side_effect = duckdb.InvalidInputException("'a value'")
    assert not engine_module.are_few(cursor, engine._loaded, "item")  # noqa: SLF001

    own.execute.side_effect = duckdb.InterruptException("'a value'")
    with pytest.raises(UnreadableSource) as raised:
        engine_module.are_few(cursor, engine._loaded, "item")  # noqa: SLF001
    assert "a value" not in str(raised.value)
