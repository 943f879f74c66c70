"""Cursors read ahead: whoever stops reading early, in whatever way, leaves no read under way and no rows behind."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from hushcount.engines.duckdb import cursor as cursor_module
from hushcount.engines.duckdb.cursor import Cursor

ROWS = 10


class Read:
    """What a stream gives: one row at a time; how many reads are under way, and how many batches held."""

    def __init__(self, seconds):
        self.seconds, self.running, self.held, self.made = seconds, 0, 0, 0

    def batches(self, _stream, _kinds):
        """Instead of DuckDB's."""
        for row in range(ROWS):
            self.running += 1
            time.sleep(self.seconds)
            self.running -= 1
            self.held, self.made = self.held + 1, self.made + 1
            yield Batch(self, row)


class Batch:
    """One row, which is counted until it is let go of."""

    def __init__(self, read, row):
        self.read, self.row = read, row

    def __enter__(self):
        return (np.array([self.row]),)

    def __exit__(self, *_):
        self.release()

    def release(self):
        """Once for each."""
        self.read.held -= 1


class Connection:
    """Takes any statement."""

    def sql(self, *_, **__):
        """What has a stream."""
        return self

    def __arrow_c_stream__(self):
        return self


@pytest.fixture
def read(monkeypatch):
    """A stream that can be watched, 0.02 s a batch."""
    found = Read(0.02)
    monkeypatch.setattr(cursor_module, "batches", found.batches)
    return found


def reading():
    """All batches."""
    return Cursor(source=None, own=Connection()).batches("", [], (np.int64,))


def test_all_rows_are_read_in_order_and_let_go(read):
    """One after the other, the next made while one is looked at."""
    ahead = []
    with closing(reading()) as found:
        rows = []
        for (column,) in found:
            time.sleep(2 * read.seconds)
            rows += column.tolist()
            ahead.append(read.made - len(rows))

    assert rows == list(range(ROWS))
    assert max(ahead) == 1
    assert (read.running, read.held) == (0, 0)


@pytest.mark.parametrize("after", [1, 2, ROWS])
def test_whoever_stops_early_leaves_nothing(read, after):
    """The batch that was made ahead is let go, and nothing is read any more."""
    with closing(reading()) as found:
        for _ in range(after):
            next(found)

    assert (read.running, read.held) == (0, 0)
    assert read.made <= after + 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_failure_of_whoever_reads_leaves_nothing(read, error):
    """It is told as it is, once the read under way has ended."""
    with pytest.raises(error), closing(reading()) as found:
        _failing(found, error)

    assert (read.running, read.held) == (0, 0)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_an_interrupt_after_a_read_was_begun_leaves_none_under_way(read, number, monkeypatch):
    """Before anybody has heard of it: the connection is about to be closed, so it is waited for all the same."""
    submit, count = ThreadPoolExecutor.submit, []

    def interrupted(self, work, *given):
        waiting = submit(self, work, *given)
        if work is next:
            count.append(work)
            if len(count) == number:
                raise KeyboardInterrupt
        return waiting

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt), closing(reading()) as found:
        for _ in found:
            pass
    made = read.made
    time.sleep(3 * read.seconds)

    assert (read.running, read.made) == (0, made)


def test_a_second_interrupt_waits_as_well(read, monkeypatch):
    """Whoever is told to stop while waiting for a read to end waits for it once more."""
    read.seconds = 0.3
    monkeypatch.setattr("concurrent.futures.Future.exception", _interrupted)
    with pytest.raises(KeyboardInterrupt), closing(reading()) as found:
        _failing(found, KeyboardInterrupt)

    assert read.running == 0


def _failing(found, error):
    next(found)
    raise error


def _interrupted(_self):
    raise KeyboardInterrupt


def test_readers_of_several_threads_do_not_wait_for_each_other(monkeypatch):
    """Each reads while all others do."""
    all_of_them = threading.Barrier(8, timeout=60)

    def meeting(_stream, _kinds):
        all_of_them.wait()
        yield Batch(Read(0), 1)

    monkeypatch.setattr(cursor_module, "batches", meeting)
    with ThreadPoolExecutor(max_workers=8) as asking:
        found = list(asking.map(lambda _: [column.tolist() for (column,) in reading()], range(8)))

    assert found == [[[1]]] * 8
