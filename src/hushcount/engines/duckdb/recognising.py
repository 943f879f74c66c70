"""Recognising data in DuckDB: the fingerprint that names exactly what is read, and the identity of its rows.

A fingerprint is a keyed additive multiset hash (MSet-Add-Hash of Clarke, Devadas, van Dijk, Gassend and Suh,
"Incremental multiset hash functions", Asiacrypt 2003): each row is hashed by SHA-256 under a key, the hashes are added
up, and the number of rows stands beside the sum. The order of rows does not matter. If SHA-256 under an unknown key is
as good as random, two different tables have equal sums with a chance of 2^-256, and equal fingerprints, which are
shorter, with one of 2^-128; nobody without the key can do better than to try. Without a key, and with hashes of 64 bits
that can be inverted, as it was once, rows that leave the sums as they are can be computed.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import closing

import numpy as np

from hushcount.compiled import passes
from hushcount.compiled.cells import CellSum
from hushcount.engines.duckdb.arrow import TextColumn
from hushcount.engines.duckdb.cursor import Cursor
from hushcount.engines.duckdb.loading import Loaded
from hushcount.engines.duckdb.sql import DuckDBColumn, Typed, quoted, text_sql
from hushcount.engines.identities import keyed
from hushcount.model.frozen import frozen

# Their texts are never empty and hold no semicolon: they need no length before them.
_BARE = {"integer", "decimal", "real", "boolean", "date", "moment", "zoned"}
# Four words of 64 bits each.
_LANES = 4
# Rows that are looked at to guess how columns are.
_SAMPLE = 100_000
# Values are grouped before they are hashed if each comes so often, on the average: where SQL would hash them, and where
# machine code would.
_OFTEN, _VERY_OFTEN = 2, 8
# Machine code hashes rows of so many bytes, on the average: it has hundreds of thousands of them in memory at a
# time, and of long texts SQL hashes as many.
_LONG = 500


def fingerprint(cursor: Cursor, columns: Typed, key: bytes) -> str:
    """A keyed digest of the columns and all rows of `data`, in any order."""
    # 32 characters, so that a short row and its key are one block of SHA-256.
    row_key = keyed(key, b"row", b"")
    cells = ", ".join(_cell_sql(column) for column in columns.values())
    lanes = ", ".join(f"sum(('0x' || substr(digest, {1 + 16 * n}, 16))::UBIGINT)" for n in range(_LANES))
    digests = f"SELECT sha256(concat(?::VARCHAR, {cells})) AS digest FROM data"  # noqa: S608
    found = cursor.row(f"SELECT count(*), {lanes} FROM ({digests})", [row_key])  # noqa: S608
    shape = [(column.name, column.type_name) for column in columns.values()]
    return f"rows-{keyed(key, b'table', repr((shape, found)).encode('utf-8', 'surrogatepass'))}"


def _cell_sql(column: DuckDBColumn) -> str:
    """SQL for parts of a text from which the cell can be read back: nothing is missing, "0:" is the empty text."""
    name = quoted(column.name)
    if column.kind in _BARE:
        return f"{name}::VARCHAR, ';'"
    text = f"to_json({name})::VARCHAR" if column.kind == "nested" else f"{name}::VARCHAR"
    return f"strlen({text}), ':', {text}"


def add_cells(cursor: Cursor, loaded: Loaded) -> tuple[int, int]:
    """How many rows there are, and the sum of all cells' hashes, as `engines.identities` says.

    Everything is read, so what cannot be parsed fails here.
    """
    if loaded.columns is None:
        rows, total = cursor.row(_objects_sql(loaded.objects_sql()), [])
    else:
        columns, looks = loaded.columns.values(), _looked(cursor, loaded.columns)
        fast = passes.library() is not None
        # Texts are parsed once for all columns, so nothing is grouped there.
        often = math.inf if loaded.is_parsed else _VERY_OFTEN if fast else _OFTEN
        grouped = [column for column in columns if looks[column.name].times >= often]
        others = [column for column in columns if column not in grouped]
        fast = fast and sum(looks[column.name].length for column in others) <= _LONG
        rows, total = _hashed(cursor, others) if fast else cursor.row(_cells_sql(others), [])
        total += cursor.row(f"SELECT {' + '.join(map(_groups_sql, grouped))}", [])[0] if grouped else 0
    return int(rows), int(total)


def _hash_sql(text: str) -> str:
    return f"('0x' || substr(md5({text}), 1, 16))::UBIGINT"


def _cells_sql(columns: list[DuckDBColumn]) -> str:
    """How many rows there are, and the sum of some columns' hashes."""
    sums = [f"coalesce(sum({_hash_sql(_text(column))}), 0)" for column in columns]
    return f"SELECT count(*), {' + '.join(sums) or 0} FROM data"  # noqa: S608


def _hashed(cursor: Cursor, columns: list[DuckDBColumn]) -> tuple[int, int]:
    """As `_cells_sql`, by machine code. A missing cell is read as zero or as an empty text, and taken off again."""
    integers = [quoted(column.name) for column in columns if column.integer_bits is not None]
    texts = [_text(column) for column in columns if column.integer_bits is None]
    cells = [f"coalesce({name}, 0)::BIGINT" for name in integers] + [f"coalesce({text}, '')" for text in texts]
    wanted = f"SELECT {', '.join([_missing_sql(integers), _missing_sql(texts), *cells])} FROM data"  # noqa: S608
    kinds = *(np.int64 for _ in range(2 + len(integers))), *(str for _ in texts)
    found, rows, missing = CellSum(), 0, [0, 0]
    with closing(cursor.batches(wanted, [], kinds)) as batches:
        for batch in batches:
            for place, column in enumerate(batch):
                if isinstance(column, TextColumn):
                    found.add_texts(column.buffer, column.edges)
                elif place >= len(missing):
                    found.add_integers(column)
                else:
                    missing[place] += int(column.sum())
                    rows += 0 if place else len(column)
    return rows, found.total() - missing[0] * _hash(b"0") - missing[1] * _hash(b"")


def _missing_sql(cells: list[str]) -> str:
    """How many cells of a row are missing."""
    return " + ".join(["0::BIGINT", *(f"({cell} IS NULL)::BIGINT" for cell in cells)])


def _hash(text: bytes) -> int:
    return int.from_bytes(hashlib.md5(text, usedforsecurity=False).digest()[:8], "big")


@frozen
class _Look:
    """What the first rows say of a column: how often a value comes, and its length, on the average."""

    times: float
    length: float


def _looked(cursor: Cursor, columns: Typed) -> dict[str, _Look]:
    """Each column. Nested ones cannot all be grouped by, so their values seem to come once."""
    told = list[str]()
    for column in columns.values():
        name = quoted(column.name)
        distinct = "1" if column.kind == "nested" else f"greatest(approx_count_distinct({name}), 1)"
        count = "1" if column.kind == "nested" else f"count({name})"
        told += [f"{count} / {distinct}", f"coalesce(avg(strlen({_text(column)})), 0)"]
    found = cursor.row(f"SELECT {', '.join(told)} FROM (SELECT * FROM data LIMIT {_SAMPLE})", [])  # noqa: S608
    return {name: _Look(times=found[2 * n], length=found[2 * n + 1]) for n, name in enumerate(columns)}


def _groups_sql(column: DuckDBColumn) -> str:
    """The sum of a column's hashes, each value hashed once: of those that come again that is several times as fast."""
    name = quoted(column.name)
    values = f"SELECT {name}, count(*) AS times FROM data GROUP BY {name}"  # noqa: S608
    return f"(SELECT coalesce(sum(times * {_hash_sql(_text(column))}::HUGEINT), 0) FROM ({values}))"  # noqa: S608


def _text(column: DuckDBColumn) -> str:
    """SQL for the text of a cell."""
    return f"to_json({quoted(column.name)})::VARCHAR" if column.kind == "nested" else text_sql(column)


def _objects_sql(objects: str) -> str:
    """All values of all objects. A key that an object has twice is an error: one of the two would not be read."""
    values = "map_values(json::MAP(VARCHAR, VARCHAR))"
    hashes = f"list_sum([{_hash_sql('text')}::HUGEINT FOR text IN {values} IF text IS NOT NULL])"
    return f"SELECT count(*), coalesce(sum({hashes}), 0) FROM {objects}"  # noqa: S608
