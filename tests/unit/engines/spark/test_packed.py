"""Packed lists, without Spark: what a worker packs of its rows is who has what, whatever their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.engines.incidence import incidence
from hushcount.engines.spark import packed

NAMES = st.sampled_from(["", "a", "A", "ä", "z", "\uffff", "😀", "7", "10"])
ROWS = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=40)


def unpacked(rows, *, size):
    """Who has what by the packed rows, as pairs of texts; and how many rows of bytes there are."""
    people, items = zip(*rows, strict=True)
    table = pa.table({"person": pa.array(people, pa.string()), "item": pa.array(items, pa.string())})
    made = list(packed.pack(iter(table.to_batches(max_chunksize=size))))
    return list(packed.unpack(iter(made)))


def pairs(held):
    """All pairs, each person's in the order in which they stand."""
    items, everybody = held.items.tolist(), held.whole()
    return [
        (user, items[item])
        for n, user in enumerate(everybody.users.tolist())
        for item in everybody.ids[everybody.offsets[n] : everybody.offsets[n + 1]].tolist()
    ]


@given(rows=ROWS, size=st.integers(1, 9), most=st.sampled_from([1, 3, 1 << 22]))
def test_what_is_packed_is_who_has_what(rows, size, most):
    """Each pair once, a person in one piece, items of each piece distinct, sorted, and all held by somebody."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "_PAIRS", most)
        pieces = unpacked(rows, size=size)
    plain = incidence([user for user, _ in rows], [item for _, item in rows])

    assert sorted(pair for piece in pieces for pair in pairs(piece)) == sorted(pairs(plain))
    assert len({user for piece in pieces for user, _ in pairs(piece)}) == sum(piece.people for piece in pieces)
    for piece in pieces:
        assert piece.items.tolist() == sorted({item for _, item in pairs(piece)})
        assert (np.diff(piece.whole().offsets) > 0).all()
        assert (piece.whole().ids.dtype, piece.whole().offsets.dtype) == (np.int32, np.int64)
        assert packed.arrow_texts(piece.items).to_pylist() == piece.items.tolist()


@given(rows=ROWS, size=st.integers(1, 9), data=st.data())
def test_the_bytes_do_not_depend_on_the_order_of_rows(rows, size, data):
    """A task that runs again meets its rows in another order, and rows of bytes are dealt out by what they hold."""

    def packed_bytes(those, *, size):
        people, items = zip(*those, strict=True)
        table = pa.table({"person": pa.array(people, pa.string()), "item": pa.array(items, pa.string())})
        made = packed.pack(iter(table.to_batches(max_chunksize=size)))
        return [row.as_py() for batch in made for row in batch.column(0)]

    again = data.draw(st.permutations(rows))

    assert packed_bytes(rows, size=size) == packed_bytes(again, size=40)


def test_a_large_part_is_cut(monkeypatch):
    """Into pieces of about the size that was set; a person who holds more than that stays whole."""
    rows = [(f"p{n // 10}", f"i{n % 10}") for n in range(100)] + [("p5", f"more {n}") for n in range(50)]
    monkeypatch.setattr(packed, "_PAIRS", 20)
    sizes = [len(piece.whole().ids) for piece in unpacked(rows, size=7)]

    assert sum(sizes) == 150
    assert len(sizes) > 3
    assert sorted(sizes)[-2] <= 30


def test_nothing_is_packed_of_nothing():
    """A part without rows gives no row of bytes, and none is no pass."""
    empty = pa.table({"person": pa.array([], pa.string()), "item": pa.array([], pa.string())})

    assert list(packed.pack(iter([]))) == []
    assert list(packed.pack(iter(empty.to_batches()))) == []
    assert list(packed.unpack(iter([]))) == []
