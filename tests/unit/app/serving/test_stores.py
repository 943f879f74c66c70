"""Stores: one engine for all, exchanged when the data changes, with a line before it and a deadline for each."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from hushcount.app.serving.data.access import direct_access, open_offer
from hushcount.app.serving.data.shelves import Access
from hushcount.app.serving.data.stores import Stores
from hushcount.errors import Busy, StoreTimeout, UnreadableSource
from hushcount.model.queries import Selection
from tests.unit.app.serving.made_store import made_offer, wait_until, write_csv

KEY = b"k" * 32
ASKED = Selection(user="user", item="item")


class Counting:
    """Access that counts what was opened and closed, and may wait for a word."""

    def __init__(self, *, stamp=None, gate=None):
        self.opened, self.closed, self.version, self.gate = 0, [], "a", gate
        self.access = Access(open=self.open, stamp=stamp or (lambda offer, settled: (self.version,)))

    def open(self, offer):
        """An engine that says which one it is."""
        self.opened += 1
        return Numbered(self, self.opened)


class Numbered:
    """An engine that knows nothing but its number; its histogram waits at the gate."""

    def __init__(self, maker, number):
        self.maker, self.number, self.reads, self.looks = maker, number, threading.Event(), 0

    def fingerprint(self, key):
        """Its number."""
        self.looks += 1
        return f"rows-{self.number}"

    def histogram(self, selection, *, bound=None, top=None):
        """Comes back when the gate opens."""
        self.reads.set()
        assert self.maker.gate.wait(30)
        return self.number

    def close(self):
        """Closed, once."""
        assert self.number not in self.maker.closed
        self.maker.closed.append(self.number)


def test_one_engine_serves_all_questions(tmp_path):
    """Sixteen threads at once: it is opened once, and all see the same version."""
    write_csv(tmp_path / "events.csv")
    offer, opened = made_offer(tmp_path), []

    def opening(asked):
        opened.append(asked)
        return open_offer(asked)

    stores = Stores(Access(open=opening, stamp=direct_access().stamp))
    together = threading.Barrier(16)

    def ask(_):
        together.wait()
        with stores.lend(offer) as engine:
            return engine.fingerprint(KEY), tuple(engine.histogram(ASKED, top=5).counts.tolist())

    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(ask, range(16)))
    stores.close()

    assert len(opened) == 1
    assert len(found) == 1
    assert found.pop()[1] == (200, 200, 200)


def test_a_changed_file_is_a_new_version_and_questions_under_way_keep_the_old_engine():
    """The old engine is closed after its last question, not before."""
    made = Counting()
    stores, offer = Stores(made.access), made_offer("/nowhere")
    with stores.lend(offer) as old:
        made.version = "b"
        with stores.lend(offer) as new:
            assert (old.fingerprint(KEY), new.fingerprint(KEY)) == ("rows-1", "rows-2")
        assert made.closed == []
    assert made.closed == [1]

    stores.close()
    assert made.closed == [1, 2]


def test_real_files_that_change_are_opened_anew(tmp_path):
    """Written in place with its date put back, replaced, or appended to: the version is another one each time."""
    path = write_csv(tmp_path / "events.csv")
    stores, offer, seen = Stores(), made_offer(tmp_path), []

    def look():
        with stores.lend(offer) as engine:
            seen.append((engine.fingerprint(KEY), engine.histogram(ASKED, top=5).items.tolist()[0]))

    look()
    write_csv(path, tag="xx")
    look()
    write_csv(tmp_path / "other", tag="yy").replace(path)
    look()
    look()
    stores.close()

    assert len({version for version, _ in seen[:3]}) == 3
    assert [item for _, item in seen] == ["it0", "xx0", "yy0", "yy0"]
    assert seen[2] == seen[3]


def test_a_file_that_is_gone_is_refused_and_comes_back(tmp_path):
    """Nothing is answered from what was kept of it; when it is there again, it is opened again."""
    path = write_csv(tmp_path / "events.csv")
    stores, offer = Stores(), made_offer(tmp_path)
    with stores.lend(offer) as engine:
        before = engine.fingerprint(KEY)
    path.rename(tmp_path / "away")
    with pytest.raises(UnreadableSource, match="no such file"), stores.lend(offer):
        pass
    (tmp_path / "away").rename(path)
    with stores.lend(offer) as engine:
        assert engine.fingerprint(KEY) == before
    stores.close()


def test_no_more_read_at_once_than_the_store_allows():
    """Two read, one waits, the fourth is refused at once and costs nothing; then all who waited come to read."""
    made = Counting(gate=threading.Event())
    stores, offer = Stores(made.access), made_offer("/nowhere", max_running=2, max_waiting=1)

    def ask():
        with stores.lend(offer) as engine:
            return engine.histogram(ASKED)

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(ask) for _ in range(3)]
        wait_until(lambda: stores.load(offer) == (2, 1))
        with pytest.raises(Busy, match=r"busy.*Nothing was read and nothing was charged"):
            ask()
        made.gate.set()
        assert [one.result() for one in asked] == [1, 1, 1]
    assert stores.load(offer) == (0, 0)
    stores.close()


class Uncopied(Numbered):
    """An engine that holds no copy of its data."""

    def validate_lists(self):
        """Lists are short."""


@pytest.mark.parametrize(("kind", "looks"), [(Uncopied, 3), (Numbered, 1)])
def test_data_that_is_not_copied_is_looked_at_for_each_question(kind, looks):
    """What was lost or pushed meanwhile refuses before it is charged; a copy's version is asked for once."""
    made = Counting()
    engines = []
    access = Access(open=lambda offer: engines.append(kind(made, 1)) or engines[-1], stamp=made.access.stamp)
    stores, offer = Stores(access), made_offer("/nowhere")
    found = []
    for _ in range(3):
        with stores.lend(offer) as engine:
            found.append(engine.fingerprint(KEY))
    stores.close()

    assert found == ["rows-1"] * 3
    assert len(engines) == 1
    assert engines[0].looks == looks


def test_a_slow_question_is_given_up_and_its_place_is_free_only_when_it_ended():
    """The caller is freed at the deadline; the store is not asked more than it may be meanwhile."""
    made = Counting(gate=threading.Event())
    stores = Stores(made.access)
    offer = made_offer("/nowhere", max_running=1, max_waiting=0, timeout=timedelta(milliseconds=50))
    with pytest.raises(StoreTimeout, match="did not answer within"), stores.lend(offer) as engine:
        engine.histogram(ASKED)

    assert stores.load(offer) == (1, 0)
    made.gate.set()
    wait_until(lambda: stores.load(offer) == (0, 0))
    with stores.lend(offer) as engine:
        assert engine.fingerprint(KEY) == "rows-1"
    stores.close()


def test_what_nothing_tells_about_is_opened_for_each_question():
    """And closed after it: no version is ever taken for another."""
    made = Counting(stamp=lambda offer, settled: None)
    stores, offer = Stores(made.access), made_offer("/nowhere")
    for _ in range(2):
        with stores.lend(offer):
            pass
    stores.close()

    assert made.closed == [1, 2]


def test_data_that_changes_all_the_time_is_refused():
    """No state of it can be named; all that was opened is closed."""
    made = Counting(stamp=lambda offer, settled: (object(),))
    stores, offer = Stores(made.access), made_offer("/nowhere")
    with pytest.raises(UnreadableSource, match="changes all the time"), stores.lend(offer):
        pass
    stores.close()

    assert sorted(made.closed) == list(range(1, made.opened + 1))


def test_a_closed_service_lends_nothing_and_lets_questions_finish():
    """Who reads goes on to the end; who waits and who comes is refused."""
    made = Counting(gate=threading.Event())
    stores, offer = Stores(made.access), made_offer("/nowhere", max_running=1, max_waiting=5)

    def ask():
        with stores.lend(offer) as engine:
            return engine.histogram(ASKED)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(ask)
        wait_until(lambda: stores.load(offer) == (1, 0))
        second = pool.submit(ask)
        wait_until(lambda: stores.load(offer) == (1, 1))
        closing = pool.submit(stores.close)
        with pytest.raises(Busy, match="the service stops"):
            second.result(30)
        made.gate.set()
        assert first.result(30) == 1
        closing.result(30)
    with pytest.raises(Busy, match="the service stops"):
        ask()

    assert made.closed == [1]


def test_a_failed_opening_is_told_to_all_and_tried_again():
    """Each caller gets an error of their own."""
    made = Counting()
    failing = [True]

    def opening(offer):
        if failing:
            raise UnreadableSource("it is broken")
        return made.open(offer)

    stores, offer = Stores(Access(open=opening, stamp=made.access.stamp)), made_offer("/nowhere")
    for _ in range(2):
        with pytest.raises(UnreadableSource, match="it is broken"), stores.lend(offer):
            pass
    failing.clear()
    with stores.lend(offer) as engine:
        assert engine.fingerprint(KEY) == "rows-1"
    assert stores.load(offer) == (0, 0)
    stores.close()


def test_columns_are_described_without_standing_in_line(tmp_path):
    """While a store is full, its columns can still be shown."""
    write_csv(tmp_path / "events.csv")
    stores, offer = Stores(), made_offer(tmp_path, max_running=1, max_waiting=0)
    with stores.lend(offer):
        assert [column.name for column in stores.describe(offer).columns] == ["user", "item"]
    stores.close()
