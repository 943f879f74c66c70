"""The lookout: what became of reservations and what is left, for those who run the service; little is read for it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from hushcount.app.budgets import make_limit
from hushcount.app.serving.lookout import Lookout
from hushcount.app.serving.opening import open_setting
from hushcount.app.setting import Setting
from hushcount.errors import LedgerUnavailable
from hushcount.ledger.ledger import EVERY, Account, Ask, Page
from hushcount.model.costs import Concentrated, Cost
from tests.unit.app.serving.services import ZOE, make_config, running_service
from tests.unit.app.serving.test_queries import TOP, released

THIRD = Cost.of((Concentrated(rho=Decimal("0.03")), 1))


@pytest.fixture
def scene(tmp_path):
    """A service, and a lookout on its ledger that has looked once."""
    config = make_config(tmp_path)
    with running_service(config) as service:
        released(service, ZOE, TOP, "before")
        lookout = Lookout(lambda: open_setting(config))
        lookout.look()
        yield service, lookout
        lookout.close()


def held(service, key, **more):
    """A reservation of a program."""
    offer = service.served.find("events")
    ask = Ask(analyst="zoe", dataset=offer.id, version="v", query=key, cost=THIRD, key=key, fresh=True, **more)
    return service.ledger.reserve(ask)


def test_what_became_of_reservations_is_counted_since_the_start(scene):
    """Settled, refunded and open; what was before the first look is not counted."""
    service, lookout = scene
    assert (lookout.seen.ended, lookout.seen.open) == ({}, 0)
    released(service, ZOE, TOP, "again")
    service.ledger.refund(held(service, "one"))
    held(service, "two")
    lookout.look()

    # A repeat is paid for already: nothing was held for it.
    assert lookout.seen.ended == {"refunded": 1}
    assert lookout.seen.open == 1
    released(service, ZOE, type(TOP)(dataset="events", question="top", said={"item": "article", "k": 2}), "new")
    lookout.look()
    assert lookout.seen.ended == {"refunded": 1, "settled": 1}


def test_what_expired_is_counted(scene):
    """Whoever looks at what is left has it charged, and counted then."""
    service, lookout = scene
    held(service, "lost", lifetime=timedelta(microseconds=1))
    lookout.look()
    lookout.look()

    assert lookout.seen.ended == {"expired": 1}
    assert lookout.seen.open == 0


def test_what_is_left_is_told_in_whole_releases_of_enforced_limits(scene):
    """Rounded down, so that what one question cost is not told; a limit that is only tracked tells nothing."""
    service, lookout = scene
    left = lookout.seen.left["events"]
    assert isinstance(left, int)
    assert left == 9
    held(service, "part")
    lookout.look()
    assert lookout.seen.left == {"events": 8}
    tracked = make_limit({"releases": 20}, window="month", mode="track")
    service.ledger.set_limit(Account(kind="dataset", name=EVERY, entity=EVERY), tracked, by="olga")
    lookout.look()

    assert lookout.seen.left == {}


def test_history_is_not_read_again(scene, monkeypatch):
    """A look reads what is new since the last one, however long the log is."""
    service, lookout = scene
    for number in range(5):
        service.ledger.refund(held(service, f"k{number}"))
    lookout.look()
    read = []
    ledger = type(service.ledger)
    before = ledger.history
    monkeypatch.setattr(ledger, "history", lambda own, page, *, by: read.append(page) or before(own, page, by=by))
    lookout.look()
    assert read == []
    service.ledger.refund(held(service, "last"))
    lookout.look()

    (page,) = read
    assert isinstance(page, Page)
    assert lookout.seen.ended == {"refunded": 6}


def test_a_ledger_that_is_away_tells_nothing_and_is_tried_again(scene, monkeypatch):
    """Old numbers are not shown as if they were new; what ended meanwhile is counted after."""
    service, lookout = scene
    watch = type(service.ledger.watch)
    with monkeypatch.context() as patched:
        patched.setattr(watch, "running", lambda _: (_ for _ in ()).throw(LedgerUnavailable("away", passes=True)))
        service.ledger.refund(held(service, "meanwhile"))
        lookout.look()
        assert lookout.seen is None
    lookout.look()

    assert lookout.seen.ended == {"refunded": 1}


def test_a_ledger_that_cannot_be_opened_ends_nothing():
    """Neither does one that was never there."""

    def opening() -> Setting:
        raise LedgerUnavailable("not there", passes=True)

    lookout = Lookout(opening)
    lookout.look()

    assert lookout.seen is None
