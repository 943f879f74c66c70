"""Served questions through the spine: many at once, while the data changes, in front of a slow store."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.app.answer import Asking, answer
from hushcount.app.request import make_request
from hushcount.app.serving.data.access import open_offer
from hushcount.app.serving.data.shelves import Access
from hushcount.app.serving.data.stores import Stores
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting
from hushcount.engines.engine import Distributed, asking
from hushcount.errors import StoreTimeout, UnreadableSource
from tests.unit.app.made_engine import made_engine
from tests.unit.app.serving.made_store import made_offer, write_csv

CHEAP = {"rho": "0.0001", "delta": "1e-9", "k": 3}


@pytest.fixture
def setting(tmp_path):
    """Ann before a ledger of her own, and a folder for data beside it."""
    (tmp_path / "data").mkdir()
    made = make_setting(Places(home=tmp_path / "home", ledger=str(tmp_path / "ledger.sqlite"), analyst="ann"))
    yield made
    made.close()


def ask(stores, offer, setting, **options):
    """One paid question."""
    request = make_request("top", user="user", item="item", options={**CHEAP, **options})
    with stores.lend(offer) as engine:
        return answer(request, engine, setting, call=Asking(dataset=offer.name))


def test_sixteen_at_once_while_the_file_changes(tmp_path, setting):
    """Each answer is about one of the versions, as a whole; in the end all are about the last one."""
    path, offer, stores = tmp_path / "data" / "events.csv", made_offer(tmp_path / "data"), Stores()
    write_csv(path, people=30_000, tag="a")
    first = ask(stores, offer, setting).receipt.data_version
    together = threading.Barrier(17)

    def asking(number):
        together.wait()
        return [ask(stores, offer, setting, fresh=True) for _ in range(3)]

    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(asking, number) for number in range(16)]
        together.wait()
        write_csv(tmp_path / "data" / "next", people=30_000, tag="b").replace(path)
        found = [release for one in asked for release in one.result()]
    last = ask(stores, offer, setting)
    stores.close()

    assert last.receipt.data_version != first
    for release in found:
        assert sorted(release.items.tolist()) in (["a0", "a1", "a2"], ["b0", "b1", "b2"])
    # Each answer has a version of its own, so that nobody can compare them.
    assert len({release.receipt.data_version for release in found}) == len(found)
    assert sorted(last.items.tolist()) == ["b0", "b1", "b2"]
    assert setting.ledger.verify().problems == ()


def test_a_repeat_reads_nothing(tmp_path, setting):
    """Neither rows nor bytes: version and identities were told once, and the ledger has the answer."""
    write_csv(tmp_path / "data" / "events.csv", people=30_000)
    offer, engines = made_offer(tmp_path / "data"), []

    def opening(asked):
        engines.append(open_offer(asked))
        return engines[-1]

    stores = Stores(Access(open=opening, stamp=lambda offer, settled: ("same",)))
    before = ask(stores, offer, setting)
    for verb in ("histogram", "incidence", "rows_identity", "fingerprint", "sighting"):
        setattr(engines[0], verb, None)
    again = ask(stores, offer, setting)
    stores.close()

    assert again.to_bytes() == before.to_bytes()


def test_a_slow_store_is_asked_no_more_than_it_may_be(setting):
    """Each question takes 200 ms; two run at once, six wait for them, and all are answered."""
    made, lock, running, most = made_engine(), threading.Lock(), [0], [0]
    whole = made.histogram

    def slow(*given, **named):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.2)
        with lock:
            running[0] -= 1
        return whole(*given, **named)

    made.histogram, made.close = slow, lambda: None
    stores = Stores(Access(open=lambda offer: made, stamp=lambda offer, settled: ("same",)))
    offer = replace(made_offer("/nowhere", max_running=2, max_waiting=6), name="made")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ask(stores, offer, setting, fresh=True), range(8)))
    stores.close()

    assert len(found) == 8
    assert most[0] == 2


def test_a_question_that_takes_too_long_says_what_it_cost(setting):
    """The caller is free at the deadline, and knows that what was held stays charged, since data was being read."""
    made, gate = made_engine(), threading.Event()
    made.histogram, made.close = lambda *given, **named: gate.wait(30), lambda: None
    stores = Stores(Access(open=lambda offer: made, stamp=lambda offer, settled: ("same",)))
    offer = replace(made_offer("/nowhere", timeout=timedelta(milliseconds=300)), name="made")
    with pytest.raises(StoreTimeout, match="given up") as refused:
        ask(stores, offer, setting)
    gate.set()
    stores.close()

    assert "stays charged" in refused.value.__notes__[0]


def test_a_file_that_vanished_is_refused_and_costs_nothing(tmp_path, setting):
    """Before anything is held."""
    path, offer, stores = write_csv(tmp_path / "data" / "events.csv"), made_offer(tmp_path / "data"), Stores()
    ask(stores, offer, setting)
    spent = setting.ledger.verify()
    path.unlink()
    with pytest.raises(UnreadableSource, match="no such file"):
        ask(stores, offer, setting, fresh=True)
    stores.close()

    assert setting.ledger.verify() == spent


def test_an_engine_of_many_machines_is_asked_in_the_thread_that_asks():
    """Its questions are bound to that thread, so none is handed to another; it still counts as one of many machines."""
    asked = []

    class Many:
        """Looks like one."""

        @contextmanager
        def asking(self, say):
            """Watched."""
            asked.append(threading.get_ident())
            yield

        def histogram(self, selection, *, bound=None, top=None):
            """Nothing."""
            asked.append(threading.get_ident())

        def close(self):
            """Nothing to do."""

    many = Many()
    stores = Stores(Access(open=lambda offer: many, stamp=lambda offer, settled: None))
    with stores.lend(made_offer("/nowhere")) as engine:
        assert isinstance(engine, Distributed)
        with asking(engine, lambda _: None):
            engine.histogram(None)
    assert asked == [threading.get_ident()] * 2
    stores.close()
