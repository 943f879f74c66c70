"""Metrics: what is counted, in which steps, and that nothing of a question is in them."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import prometheus_client
import pytest
from fastapi import APIRouter, Response
from prometheus_client.core import CollectorRegistry

from hushcount.api.app import make_app
from hushcount.api.metrics import LedgerMetrics, make_metrics
from hushcount.app.serving.jobs.running import SILENCE
from hushcount.app.serving.lookout import Seen
from hushcount.app.serving.opening import open_service
from tests.api.served import CANARY, TOP, released, staged


def text_of(*collectors):
    """What a collector of metrics reads."""
    registry = CollectorRegistry()
    for one in collectors:
        registry.register(one)
    return prometheus_client.generate_latest(registry).decode()


def told(metrics):
    """All that one process counted."""
    return text_of(metrics.requests, metrics.refusals, metrics.seconds, metrics.resumed, metrics.ledger)


def test_refusals_are_counted_by_code_and_nothing_of_a_question_is_told(tmp_path):
    """A bad filter, an unknown data set, an answer: codes and routes, no names, no items, no words of a filter."""
    metrics = make_metrics()
    with staged(tmp_path) as stage:
        analyst = replace(stage.analyst, app=make_app(stage.service, observe=metrics.observe))
        assert released(analyst, TOP).status == 200
        assert analyst.post("/v1/queries", {**TOP, "where": f"country = '{CANARY}' OR 1"}).status == 400
        assert analyst.post("/v1/queries", {**TOP, "dataset": CANARY}).status == 404
    found = told(metrics)

    assert 'hushcount_problems_total{code="not-found"} 1.0' in found
    assert 'hushcount_problems_total{code="unsafe-filter"} 1.0' in found
    assert not any(word in found for word in (CANARY, "ana", "events", "article", "country"))


def test_no_duration_is_told_of_what_may_ask_a_question(tmp_path):
    """Neither of the interface's own routes that do, nor of any page for browsers; of others there is one."""
    metrics = make_metrics()
    asking = APIRouter()

    @asking.get("/console/slow")
    async def slow() -> Response:
        return Response()

    with staged(tmp_path) as stage:
        app = make_app(stage.service, observe=metrics.observe, pages=(asking,))
        analyst, owner = replace(stage.analyst, app=app), replace(stage.owner, app=app)
        question = {"name": "saved", "asked": {name: TOP[name] for name in ("dataset", "question", "item", "k")}}
        replies = [
            released(analyst, TOP),
            analyst.post("/v1/batches", {"questions": [TOP]}),
            analyst.post("/v1/questions", question),
            analyst.post("/v1/questions/saved/release", None, Idempotency_Key="saved"),
            owner.post("/v1/datasets/events/check", {}),
            analyst.begin("GET", "/console/slow").result(60),
            analyst.get("/v1/me"),
        ]
    routes = set(re.findall(r'hushcount_request_seconds_count\{route="([^"]*)"\}', told(metrics)))

    assert [reply.status // 100 for reply in replies] == [2] * len(replies)
    assert routes == {"/v1/me", "/v1/questions"}


def test_what_the_ledger_tells_is_shown_only_if_it_was_seen():
    """Every outcome has a number from the beginning; a ledger that is away has none, and says so."""
    seen = Seen(open=3, ended={"settled": 7}, left={"events": 4})
    found = text_of(LedgerMetrics(lambda: seen))

    assert "hushcount_ledger_reached 1.0" in found
    assert "hushcount_reservations_open 3.0" in found
    assert 'hushcount_reservations_ended_total{outcome="settled"} 7.0' in found
    assert 'hushcount_reservations_ended_total{outcome="expired"} 0.0' in found
    assert 'hushcount_releases_left{dataset="events"} 4.0' in found
    away = text_of(LedgerMetrics(lambda: None))
    assert "hushcount_ledger_reached 0.0" in away
    assert not any(word in away for word in ("open", "ended", "left"))


def test_questions_that_another_worker_left_are_counted_as_resumed(tmp_path, monkeypatch):
    """One that a dead worker had is; one that was asked here is not. The ledger's time is told in coarse steps."""
    metrics = make_metrics()
    with staged(tmp_path) as stage:
        monkeypatch.setattr(stage.service.runner, "run", lambda _, **how: None)
        reply = stage.analyst.begin(
            "POST", "/v1/queries", {**TOP, "mode": "release"}, headers={"Idempotency-Key": "lost", "Prefer": "wait=0"}
        ).result(30)
        assert reply.status == 202
        # As if it had died: nobody speaks for its jobs any more.
        stage.service.runner._closing.set()  # noqa: SLF001
        stage.service.ledger.jobs.leave(stage.service.runner.worker)
        with open_service(stage.service.config, telling=metrics.telling) as other:
            until = time.monotonic() + 3 * SILENCE.total_seconds()
            while other.ledger.jobs.find(reply.form["id"]).state != "done":
                assert time.monotonic() < until
                time.sleep(0.05)
    found = told(metrics)

    assert "hushcount_questions_resumed_total 1.0" in found
    buckets = [line for line in found.splitlines() if line.startswith("hushcount_ledger_seconds_bucket")]
    assert len(buckets) == 7
    assert 'le="0.005"' in buckets[0]


@pytest.mark.parametrize("name", ["requests", "refusals", "seconds", "resumed", "ledger"])
def test_no_label_is_free_text(name):
    """Labels are routes, statuses and codes."""
    assert set(getattr(make_metrics(), name)._labelnames) <= {"route", "status", "code"}  # noqa: SLF001
