"""Fingerprints name what was read: no row can be computed that leaves one as it is, and each key gives another."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from datetime import datetime, timedelta
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount.compiled import passes
from hushcount.engines.duckdb import recognising
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.identities import rows_identity
from hushcount.errors import InvalidParameter
from tests.plainly import plainly

_WORD, _PRIME = 2**64 - 1, 0xD6E8FEB86659FD93


def old_fingerprint(rows):
    """The formula of before: three hashes of each row, all of them functions of one, without a key."""
    connection = duckdb.connect()
    connection.register("incoming", table(rows))
    values = '"user", item'
    sql = (
        f"SELECT count(*), sum(hash({values})::HUGEINT), sum(hash({values}, 1)::HUGEINT), bit_xor(hash({values}, 2)) "  # noqa: S608
        "FROM incoming"
    )
    return connection.execute(sql).fetchall()


def table(rows):
    """Rows of two whole numbers."""
    return pa.table({"user": [user for user, _ in rows], "item": [item for _, item in rows]})


def hashed(*values):
    """DuckDB's hash of whole numbers."""
    holes = ", ".join("?::BIGINT" for _ in values)
    return duckdb.execute(f"SELECT hash({holes})", list(values)).fetchall()[0][0]


def unhashed(word):
    """The whole number with a given hash: each step of it can be undone."""
    for _ in range(2):
        word ^= word >> 32
        word = word * pow(_PRIME, -1, 2**64) & _WORD
    word ^= word >> 32
    return word - 2**64 if word >> 63 else word


def colliding(row, user):
    """A row of another person with the same hash of both columns: the second is joined to the first by exclusive or."""
    return user, unhashed(hashed(*row) ^ hashed(user, 0) ^ hashed(0))


def test_a_computed_row_changes_the_fingerprint():
    """The formula of before was blind to such a row, whoever's it is; now it shows."""
    rows = [(1, 10), (2, 20), (3, 30)]
    victim, other = (7, 70), colliding((7, 70), 8)

    assert other[0] != victim[0]
    assert old_fingerprint([*rows, victim]) == old_fingerprint([*rows, other])
    ours = [open_duckdb(table([*rows, row])).fingerprint(b"key") for row in (victim, other)]
    assert ours[0] != ours[1]


def test_each_key_gives_another_fingerprint():
    """Nothing of one can be found in another, nor the sums behind them."""
    engine = open_duckdb(table([(1, 10), (2, 20)]))
    found = [engine.fingerprint(bytes([n]) * 32) for n in range(50)]

    assert len(set(found)) == 50
    # Digits agree as often as those of unrelated numbers: one in sixteen.
    alike = [
        one == two
        for first in found
        for second in found
        if first < second
        for one, two in zip(first[5:], second[5:], strict=True)
    ]
    assert 0.04 < sum(alike) / len(alike) < 0.09


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": ["x", "y"], "b": ["1", "2"]}, {"a": ["x", "y"], "b": ["2", "1"]}),
        ({"a": ["ab"], "b": ["c"]}, {"a": ["a"], "b": ["bc"]}),
        ({"a": ["1:x"], "b": [""]}, {"a": [""], "b": ["1:x"]}),
        ({"a": [None], "b": ["x"]}, {"a": [""], "b": ["x"]}),
        ({"a": [None], "b": ["x"]}, {"a": ["x"], "b": [None]}),
        ({"a": ["x", "x"]}, {"a": ["x"]}),
        ({"a": ["x"] * 3 + ["y"]}, {"a": ["x"] + ["y"] * 3}),
        ({"a": [0.0]}, {"a": [-0.0]}),
        ({"a": [float("nan")]}, {"a": [None]}),
        ({"a": [1, None], "b": [None, 1]}, {"a": [None, 1], "b": [None, 1]}),
        ({"a": [["x", "y"]]}, {"a": [["x, y"]]}),
        ({"a": [["x"]]}, {"a": [None]}),
        ({"a": [b"\x00;"], "b": [b""]}, {"a": [b"\x00"], "b": [b";"]}),
    ],
)
def test_what_differs_has_another_fingerprint(one, two):
    """Borders between cells, what is missing, repeated, nested or written alike."""
    found = [
        open_duckdb(pa.table({n: pa.array(v, type_of(one, n)) for n, v in columns.items()})) for columns in (one, two)
    ]

    assert found[0].fingerprint(b"key") != found[1].fingerprint(b"key")


def type_of(columns, name):
    """The type of a column, also where the other table holds nothing in it."""
    kinds = {str: pa.string(), float: pa.float64(), int: pa.int64(), list: pa.list_(pa.string()), bytes: pa.binary()}
    return kinds[
        next(type(value) for values in [columns[name], *columns.values()] for value in values if value is not None)
    ]


@pytest.mark.parametrize("key", [b"", b"k" * 65, "secret"])
def test_a_key_that_is_none_is_refused(key):
    """And not shown."""
    with pytest.raises(InvalidParameter, match="bytes, from 1 to 64") as caught:
        open_duckdb(table([(1, 2)])).fingerprint(key)

    assert "secret" not in str(caught.value)


MOMENTS = [datetime(2026, 1, 1) + timedelta(hours=n, seconds=n) for n in range(600)]  # noqa: DTZ001 (of no zone)
# Columns with their cells as texts; a cell that is missing adds nothing.
CELLS = {
    "id": (pa.array(range(-300, 300), pa.int64()), [str(n) for n in range(-300, 300)]),
    "small": (pa.array(range(600), pa.uint16()), [str(n) for n in range(600)]),
    "far": (pa.array([2**63 - 1, -(2**63), None] * 200), [str(2**63 - 1), str(-(2**63))] * 200),
    "huge": (pa.array([2**64 - 1 - n for n in range(600)], pa.uint64()), [str(2**64 - 1 - n) for n in range(600)]),
    "text": (pa.array([f"né {n}" * (n % 40) for n in range(600)]), [f"né {n}" * (n % 40) for n in range(600)]),
    "few": (pa.array(["a", None, "", "b"] * 150), ["a", "", "b"] * 150),
    "at": (pa.array(MOMENTS), [str(at) for at in MOMENTS]),
    "real": (pa.array([float("nan"), -0.0, *(n / 8 for n in range(598))]), ["0.0", *(str(n / 8) for n in range(598))]),
    "list": (pa.array([[f"{n}"] for n in range(600)]), [f'["{n}"]' for n in range(600)]),
    "none": (pa.nulls(600, pa.string()), []),
}


def hash_of(text):
    """The first 64 bits of a text's MD5."""
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8], "big")


@pytest.mark.parametrize("plain", [False, True], ids=["machine code", "SQL"])
@pytest.mark.parametrize("names", [[name] for name in CELLS] + [list(CELLS)], ids="-".join)
def test_the_identity_of_rows_is_the_sum_of_cells(tmp_path, names, plain):
    """Of every kind, one by one and together, whether values come again or not, by machine code and without it."""
    pq.write_table(pa.table({name: CELLS[name][0] for name in names}), tmp_path / "rows.parquet")
    total = sum(hash_of(text) for name in names for text in CELLS[name][1])
    engine = open_duckdb(tmp_path / "rows.parquet")

    with plainly() if plain else nullcontext():
        assert engine.rows_identity(b"key") == rows_identity(b"key", rows=600, total=total, version=str)


@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_long_texts_are_left_to_the_database(tmp_path, long):
    """Which holds no more of them than it may; machine code has hundreds of thousands of rows at a time."""
    texts = [f"{n} " * (400 if long else 4) for n in range(600)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "rows.parquet")
    engine = open_duckdb(tmp_path / "rows.parquet")
    with patch.object(recognising, "_hashed", side_effect=recognising._hashed) as hashed:  # noqa: SLF001
        found = engine.rows_identity(b"key")

    assert hashed.called == (not long and passes.library() is not None)
    assert found == rows_identity(b"key", rows=600, total=sum(map(hash_of, texts)), version=str)
