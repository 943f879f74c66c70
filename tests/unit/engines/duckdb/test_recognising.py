"""Fingerprints name what was read: no row can be computed that leaves one as it is, and each key gives another."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.errors import InvalidParameter

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
