"""A check of declared facts shows at the moments at which questions do, and tells separate analysts of nobody."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.app.serving import opening
from hushcount.app.serving.data.access import direct_access
from hushcount.app.serving.data.shelves import Access
from hushcount.app.serving.setup.config import Timing
from hushcount.errors import StoreFailed
from hushcount.ledger.ledger import Page
from hushcount.ledger.windows import micros
from tests.api.served import staged

PATH = "/v1/datasets/events/check"
FACTS = {"facts": {"article": {"max_items_per_user": 1}}}
GRID = 2.0
# Where nothing has to be seen before the tick, and a slow machine may be as slow as it is.
SHORT = 0.8


class SlowEngine:
    """An engine whose look at the data takes as long as it is told, and fails if it is told."""

    def __init__(self, engine, pace) -> None:
        self._engine, self._pace = engine, pace

    def __getattr__(self, name: str):
        return getattr(self._engine, name)

    def histogram(self, selection, **given):
        """As the engine's own, after a while."""
        self._pace["looks"] += 1
        time.sleep(self._pace["seconds"])
        if self._pace["fails"]:
            raise StoreFailed("canary: the store is away")
        return self._engine.histogram(selection, **given)


@pytest.fixture
def pace(monkeypatch):
    """How long each look at the data takes; a check of a bound looks twice."""
    told = {"seconds": 0.0, "fails": False, "looks": 0}
    direct = direct_access()
    access = Access(open=lambda offer: SlowEngine(direct.open(offer), told), stamp=direct.stamp)
    monkeypatch.setattr(opening, "direct_access", lambda: access)
    monkeypatch.setattr(opening, "make_access", lambda *_: access)
    return told


def timed(kind="grid", every=GRID, analysts="colleagues"):
    """A change of the configuration."""

    def change(config):
        timing = Timing(kind=kind, every=timedelta(seconds=every))
        return replace(config, privacy=replace(config.privacy, timing=timing, analysts=analysts))

    return change


def checked(client, key):
    """A check that is paid for, and how long it took to be seen."""
    began = time.monotonic()
    reply = client.post(PATH, {"mode": "release"}, Idempotency_Key=key)
    return reply, time.monotonic() - began


def entries(stage, kind):
    """What stands in the log of the people of `events`, of one kind."""
    population = stage.service.ledger.catalog.find("events", by="olga").population
    found = stage.service.ledger.history(Page(entity=population), by="olga")
    return [one for one in found if one.kind == kind]


def test_a_check_shows_on_the_grid_and_so_do_its_accounts(tmp_path, pace):
    """Neither the reply nor any balance tells that it has ended, before the tick."""
    with staged(tmp_path, timed()) as stage:
        stage.owner.patch("/v1/datasets/events", FACTS)
        waiting = stage.owner.begin("POST", PATH, {"mode": "release"}, headers={"Idempotency-Key": "k"})
        began = time.monotonic()
        while not entries(stage, "keep") and time.monotonic() - began < 30:
            time.sleep(0.02)
        hidden = not waiting.done()
        held = [
            one for one in stage.owner.get("/v1/datasets/events/budget").form["accounts"] if one["kind"] == "dataset"
        ]
        reply = waiting.result(30)
        took = time.monotonic() - began

        assert entries(stage, "keep"), "the answer was never veiled"
        assert hidden
        assert float(held[0]["spent"]["rho"]) == 0
        assert reply.status == 200
        assert took >= GRID - 0.1
        assert stage.service.ledger.verify().problems == ()


def test_a_failure_shows_on_the_grid(tmp_path, pace):
    """What fails after reading is told at a tick too, and in the words for all such failures."""
    pace["fails"] = True
    with staged(tmp_path, timed(every=SHORT)) as stage:
        stage.owner.patch("/v1/datasets/events", FACTS)
        reply, took = checked(stage.owner, "k")

        assert (reply.status, reply.code) == (502, "store-failed")
        assert reply.form["charged"] is True
        assert b"canary" not in reply.body
        assert took >= SHORT


def test_a_retry_is_no_second_watch(tmp_path, pace):
    """Under the same key it shows at a tick since the first attempt, whenever it is sent."""
    pace["fails"] = True
    with staged(tmp_path, timed(every=SHORT)) as stage:
        stage.owner.patch("/v1/datasets/events", FACTS)
        assert checked(stage.owner, "k")[0].status == 502
        pace["fails"] = False
        # The first one was told of at a tick, so the second one begins soon after one.
        time.sleep(0.25)
        assert checked(stage.owner, "k")[0].status == 200
        (taken,) = [one.at for one in entries(stage, "reserve")]
        (shown,) = [one.body["expires"] for one in entries(stage, "unveil")]
        passed = (shown - micros(taken)) / (SHORT * 1e6)

        assert passed == pytest.approx(round(passed), abs=1e-3)


def test_a_fixed_delay_is_kept_and_what_is_late_is_lost(tmp_path, pace):
    """Whoever asked is told at the moment itself; under the same key there is never more."""
    pace["seconds"] = 1.2
    with staged(tmp_path, timed("fixed", 0.7)) as stage:
        stage.owner.patch("/v1/datasets/events", FACTS)
        replies = [checked(stage.owner, "k")]
        await_end(stage)
        assert pace["looks"] == 2
        pace["seconds"] = 0.0
        replies.append(checked(stage.owner, "k"))

        assert [(reply.status, reply.code) for reply, _ in replies] == [(504, "store-timeout")] * 2
        assert replies[0][0].form["charged"] is True
        assert replies[0][1] < 2.2


def await_end(stage):
    """Wait until a check has ended of which nobody is told any more."""
    places, until = stage.anybody.app.state.worker.heavy, time.monotonic() + 30
    while places.borrowed_tokens:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_separate_analysts_do_not_learn_that_somebody_checked_before(tmp_path, pace):
    """A stored answer is charged, and comes as late, as if it were new."""
    pace["seconds"] = 0.75 * SHORT
    with staged(tmp_path, timed(every=SHORT, analysts="separate")) as stage:
        stage.owner.patch("/v1/datasets/events", FACTS)
        offer = stage.service.served.find("events")
        stage.service.ledger.grant("otto", "owner", dataset=offer.id, by="olga")
        otto = stage.token("otto", scopes=("manage", "ask"))
        prices = [otto.post(PATH, {"mode": "estimate"}).form]
        first, slow = checked(stage.owner, "k")
        looks = pace["looks"]
        prices.append(otto.post(PATH, {"mode": "estimate"}).form)
        second, took = checked(otto, "other")

        assert prices[0] == prices[1]
        assert first.status == second.status == 200
        assert first.form == second.form
        assert pace["looks"] == looks, "it was read again"
        # Two looks together end after the first tick, so both show at the second one at least.
        assert slow >= 2 * SHORT - 0.1
        assert took >= 2 * SHORT - 0.1
