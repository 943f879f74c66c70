"""A table of Pinot that is served with snapshot = "day": one version a day, whatever is pushed."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hushcount.app.serving.data.access import make_access
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.setup.config import StoreConfig
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting
from hushcount.engines.pinot.engine import open_pinot
from hushcount.errors import StoreIncomplete, UnreadableSource
from hushcount.model.queries import Selection
from tests.pinot import shared_cluster

KEY = b"k" * 32
ASKED = Selection(user="user", item="item")
KINDS = {"user": "STRING", "item": "STRING"}


@pytest.fixture
def setting(tmp_path):
    """A ledger, and a clock that stands until it is set."""
    made = make_setting(Places(home=tmp_path / "home", ledger=str(tmp_path / "ledger.sqlite"), analyst="olga"))
    now = [datetime(2026, 11, 16, 9, tzinfo=UTC)]
    yield replace(made, clock=lambda: now[0]), now
    made.close()


def _until_other(address, version):
    """Wait until all machines agree on another version."""
    end = time.monotonic() + 60
    while True:
        with suppress(StoreIncomplete):
            engine = open_pinot(address)
            found = engine.fingerprint(KEY)
            engine.close()
            if found != version:
                return
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_version_stays_for_its_day(setting, tmp_path):
    """The same rows again change nothing; others are refused until midnight, by every worker, and answered then."""
    shared, (olga, now) = shared_cluster(), setting
    old, new = ([{"user": f"u{n}", "item": item} for n in range(20)] for item in ("old", "new"))
    address = shared.load("daily", KINDS, old, [{"user": "other", "item": "x"}])
    here = "127.0.0.1"
    store = StoreConfig(
        name="olap",
        kind="pinot",
        place=f"http://{here}:{shared.ports['broker']}",
        controller=f"{here}:{shared.ports['controller']}",
        snapshot="day",
    )
    offer = Offer(id="", name="daily", store=store, table="daily", person="user")
    stores, other = (Stores(make_access(olga, tmp_path / "copies")) for _ in range(2))

    def look(worker=stores):
        with worker.lend(offer) as engine:
            return engine.fingerprint(KEY), engine.histogram(ASKED, top=1).items.tolist()

    monday = look()
    shared.push("daily", "daily_0", old)
    again = look()
    shared.push("daily", "daily_0", new)
    _until_other(address, monday[0])
    # Found out by what is asked before a question is charged.
    with stores.lend(offer) as engine, pytest.raises(StoreIncomplete, match="on the next day") as changed:
        engine.fingerprint(KEY)
    with pytest.raises(UnreadableSource, match="answers again tomorrow"):
        look(other)
    now[0] += timedelta(hours=15)
    tuesday = look()
    late = look(other)
    for worker in (stores, other):
        worker.close()

    assert changed.value.point == 11
    assert monday == again
    assert (monday[1], tuesday[1]) == (["old"], ["new"])
    assert tuesday == late
    assert monday[0] != tuesday[0]
