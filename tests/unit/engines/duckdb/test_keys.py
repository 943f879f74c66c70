"""Keys of rows: every one that was added is handed out once, in memory and beyond it."""

from __future__ import annotations

import resource
import threading
import time
from contextlib import suppress
from dataclasses import replace
from unittest.mock import patch

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hushcount.compiled import cores
from hushcount.engines.duckdb import encoding, keys
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.duckdb.keys import Keys, Room
from hushcount.engines.pairs import NUMBER_BITS
from hushcount.errors import UnreadableSource
from hushcount.model.queries import Selection

PEOPLE = 40
BATCHES = st.lists(st.lists(st.tuples(st.integers(9, PEOPLE - 1), st.integers(0, 2**31 - 1)), max_size=30), max_size=8)


@pytest.mark.parametrize("room", [3, 10**6])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES, block=st.integers(1, 20), first=st.integers(0, 9))
def test_all_rows_come_back(tmp_path, room, batches, block, first):
    """Blocks that are filled to their end or not, batches that are longer than a block, files by person."""
    with patch.multiple(keys, _BLOCK=block, _FILES=3, WAITING=[]):
        held = Keys(Room(rows=room, folder=tmp_path))
        for batch in batches:
            people, items = (
                np.array(column, dtype=np.int32) for column in (zip(*batch, strict=True) if batch else ((), ()))
            )
            held.add(people.astype(np.int64), items)
        found = [
            (own[numbers.index(int(key) >> NUMBER_BITS)], int(key) & (2**NUMBER_BITS - 1))
            for parts, numbers, own in held.parts(range(first, first + PEOPLE))
            for part in parts
            for key in part
        ]

    assert sorted(found) == sorted(pair for batch in batches for pair in batch)
    assert (held.spilled is not None) == (room == 3 and _is_spilled(batches))


def _is_spilled(batches):
    """Whether a batch found others before it that left it no room."""
    held = 0
    for batch in batches:
        if held and held + len(batch) > 3:
            return True
        held += len(batch)
    return False


def test_a_block_waits_for_the_next(tmp_path, monkeypatch):
    """One at a time: who is at work at the same time has another, and nobody has one that somebody still reads."""
    monkeypatch.setattr(keys, "WAITING", [])
    monkeypatch.setattr(keys, "_BLOCK", 8)

    def filled(value):
        held = Keys(Room(rows=10**6, folder=tmp_path))
        for _ in range(3):
            held.add(np.full(2, value), np.zeros(2, dtype=np.int32))
        return held

    one, other = filled(1), filled(2)
    parts = one.parts(range(9))
    blocks, _, _ = next(parts)
    third = filled(3)

    assert {int(key) >> NUMBER_BITS for block in blocks for key in block} == {1}
    parts.close()
    # Given up, for all that is known: another core may still be reading.
    assert not keys.WAITING
    one.let_wait()
    assert len(keys.WAITING) == 1
    list(other.parts(range(9)))
    other.let_wait()
    assert len(keys.WAITING) == 1
    waiting = keys.WAITING[0]
    fourth = filled(4)
    assert any(np.shares_memory(block, waiting) for block in next(fourth.parts(range(9)))[0])
    assert {int(key) >> NUMBER_BITS for block in next(third.parts(range(9)))[0] for key in block} == {3}


def test_the_next_block_is_made_by_another_core(tmp_path, monkeypatch):
    """Once three quarters of one are filled, and not where rows are fewer; each serves once."""
    monkeypatch.setattr(keys, "WAITING", [])
    monkeypatch.setattr(keys, "_BLOCK", 8)
    begun, threads = [], set()

    def beside(work):
        begun.append(number)

        def slowly():
            time.sleep(0.01)
            threads.add(threading.get_ident())
            return work()

        return cores.beside(slowly)

    monkeypatch.setattr(keys, "beside", beside)
    held = Keys(Room(rows=10**6, folder=tmp_path))
    for number in range(20):
        held.add(np.full(2, number), np.zeros(2, dtype=np.int32))
    blocks, _, _ = next(held.parts(range(20)))

    assert [int(key) >> NUMBER_BITS for block in blocks for key in block] == [n // 2 for n in range(40)]
    # The first batch has a block of its own, and each of the others has room for four.
    assert begun == [4, 8, 12, 16]
    assert threads
    assert threading.get_ident() not in threads


def test_all_of_a_block_is_handed_out_by_the_system(monkeypatch):
    """Each page of it is written to."""
    monkeypatch.setattr(keys.np, "empty", np.ones)
    block = keys._written_block()  # noqa: SLF001

    assert len(block) == keys._BLOCK  # noqa: SLF001
    assert not block[:: keys._PAGE].any()  # noqa: SLF001
    assert keys._PAGE * block.itemsize <= resource.getpagesize()  # noqa: SLF001


def test_a_block_of_rows_that_were_given_up_waits_for_nobody(tmp_path, monkeypatch):
    """Whoever interrupts twice does not wait for the other core, which reads on."""
    monkeypatch.setattr(keys, "WAITING", [])
    monkeypatch.setattr(keys, "_BLOCK", 1 << 17)
    path = tmp_path / "log.parquet"
    duckdb.sql(f"COPY (SELECT i % 500 AS \"user\", 'it' || (i % 9) AS item FROM range(300000) t(i)) TO '{path}'")  # noqa: S608

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    engine = open_duckdb(path)
    with patch.object(encoding, "split_rows", interrupted), pytest.raises(KeyboardInterrupt):
        engine.incidence(Selection(user="user", item="item"))
    after_interrupt = list(keys.WAITING)
    engine.incidence(Selection(user="user", item="item"))

    assert after_interrupt == []
    assert len(keys.WAITING) == 1


@pytest.mark.parametrize("last", ["1099511627776", "error('in the middle of it')"])
def test_nothing_stays_of_a_reading_that_comes_to_nothing(tmp_path, monkeypatch, last):
    """Neither where somebody who comes late is far from the others, nor where reading fails."""
    path = tmp_path / "log.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT i // 4 AS \"user\", 'it' || (i % 9) AS item, i AS i FROM range(300000) t(i)) TO '{path}'"  # noqa: S608
        )
    engine = open_duckdb(path)
    monkeypatch.setattr(engine, "_room", replace(engine._room, rows=1000))  # noqa: SLF001
    monkeypatch.setattr(encoding, "_read", _stopped(encoding._read, last))  # noqa: SLF001
    with suppress(UnreadableSource):
        engine.histogram(Selection(user="user", item="item"))

    assert not [place for place in engine._room.folder.rglob("*") if place.is_file()]  # noqa: SLF001


def _stopped(read, last):
    """As `read`, of rows of which the last has another person."""

    def stopped(cursor, rows, keys, **more):
        person = f"if(rows.person = 74999, {last}, rows.person)::BIGINT AS person"
        sql = f"SELECT {person}, item FROM ({rows.sql}) rows"  # noqa: S608
        found = read(cursor, replace(rows, sql=sql, person="person", kind=np.int64), keys, **more)
        assert keys.spilled is not None
        return found

    return stopped
