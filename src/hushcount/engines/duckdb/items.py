"""Items: the texts of a question, numbered as they are met, by themselves or by hashes of them.

A Parquet file that repeats texts holds each of them once, and a number for each row. DuckDB hashes what is held, not
what is repeated: where texts are few, rows with hashes are read and numbered in a third of the time. Which texts there
are is asked before. Nothing rests on different texts having different hashes: it is looked at, and if two have the same
one, texts are read.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np

from hushcount.compiled.texts import Int32s, NumberedIntegers, NumberedTexts
from hushcount.engines.duckdb.arrow import Column, TextColumn
from hushcount.engines.duckdb.attempts import attempt
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.loading import Loaded, literal_path
from hushcount.engines.duckdb.selected import SelectedRows
from hushcount.model.texts import SortedTexts

# A row takes up so many bytes at the most where a file holds texts by numbers of few texts. As a text it takes four.
_SHORT = 2
# Rows, and bytes of files, from which on it pays to ask for all texts before.
_MANY_ROWS, _MANY_BYTES = 1 << 18, 1 << 20


class ItemTexts:
    """Items of rows that come with their texts."""

    sql, kind = "item", str

    def __init__(self) -> None:
        self._texts = NumberedTexts()

    def numbers(self, column: Column) -> Int32s:
        """The number of each of some items."""
        assert isinstance(column, TextColumn), "as it was asked for"  # noqa: S101  for the type checker
        return self._texts.numbers(column.buffer, column.edges)

    @property
    def differ(self) -> bool:
        """Whether different items have different numbers."""
        return True

    def in_order(self) -> tuple[SortedTexts, Int32s]:
        """All items in the order of their texts, and where each number stands in it."""
        return self._texts.in_order()


class ItemHashes:
    """Items of rows that come with hashes of their texts."""

    sql, kind = "hash(item)", np.int64

    def __init__(self, cursor: Cursor, rows: SelectedRows) -> None:
        self._texts, self._hashes = NumberedTexts(), NumberedIntegers()
        all_items = f"SELECT item, {self.sql} FROM (SELECT DISTINCT item FROM ({rows.sql}))"  # noqa: S608
        with closing(cursor.batches(all_items, rows.parameters, (str, np.int64))) as found:
            for text, hashed in found:
                assert isinstance(text, TextColumn), "as it was asked for"  # noqa: S101  for the type checker
                self._texts.numbers(text.buffer, text.edges)
                self.numbers(hashed)

    def numbers(self, column: Column) -> Int32s:
        """The number of each of some items."""
        assert not isinstance(column, TextColumn), "as it was asked for"  # noqa: S101  for the type checker
        return self._hashes.numbers(column)

    @property
    def differ(self) -> bool:
        """Whether each text has a hash of its own, and no hash was that of no text."""
        return len(self._texts) == len(self._hashes)

    def in_order(self) -> tuple[SortedTexts, Int32s]:
        """As `ItemTexts.in_order`, if hashes differ: then texts were numbered in the same order."""
        return self._texts.in_order()


def are_few(cursor: Cursor, loaded: Loaded, column: str) -> bool:
    """Whether hashes of a column's texts look faster than the texts: as far as the first file says, for speed alone."""
    files = loaded.files
    if files is None or files.format != "parquet" or files.size < _MANY_BYTES:
        return False
    size, rows = attempt(cursor.source, lambda: _sizes(cursor, literal_path(files.place(0)), column))
    return size is not None and rows * len(files.paths) >= _MANY_ROWS and size < _SHORT * rows


def _sizes(cursor: Cursor, file: str, column: str) -> tuple[int | None, int]:
    """Bytes and values of a column of a file, as far as that is told."""
    import duckdb

    told = "SELECT sum(total_uncompressed_size), sum(num_values) FROM parquet_metadata(?) WHERE path_in_schema = ?"
    try:
        size, rows = cursor.own.execute(told, [file, column]).fetchall()[0]
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        raise
    except duckdb.Error:
        # Rows may be whole where what a file says of them is not: no question fails for what is asked for speed alone.
        return None, 0
    return size, rows
