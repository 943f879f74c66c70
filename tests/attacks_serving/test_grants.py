"""Grants: more until a moment, and not a second longer, whoever spends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.api.served import TOP, released


def later(stage, **span):
    """Let the service's clock go on."""
    moment = datetime.now(UTC) + timedelta(**span)
    object.__setattr__(stage.service, "setting", replace(stage.service.setting, clock=lambda: moment))


def granted(stage, who, client, releases="5"):
    """Raise somebody's limit of one release for two hours."""
    assert stage.owner.put("/v1/limits", {"dataset": "events", "analyst": who, "releases": "1"}).status == 200
    until = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    body = {"dataset": "events", "releases": releases, "why": "a report", "until": until}
    wish = client.post("/v1/requests", body).form["id"]
    reply = stage.owner.post(f"/v1/requests/{wish}/decision", {"grant": True, "sentence": "yes"})
    assert reply.form["state"] == "granted"


def test_a_program_does_not_spend_a_grant_that_is_over(fresh):
    """The minute between two chores is as over as the rest."""
    assert fresh.owner.put("/v1/people/ana", {"role": "owner", "dataset": "events"}).status == 200
    both = fresh.token("ana", scopes=("ask", "program", "manage"))
    granted(fresh, "ana", both)
    later(fresh, hours=3)
    body = {"dataset": "events", "cost": {"rho": "0.3"}}
    reply = both.post("/v1/budget/reservations", body, Idempotency_Key="late")
    assert (reply.status, reply.code) == (403, "budget-exhausted")


def test_a_question_does_not_spend_a_grant_that_is_over(fresh):
    """Neither alone nor among others."""
    granted(fresh, "ana", fresh.analyst)
    later(fresh, hours=3)
    fresh.service.runner._means = replace(fresh.service.runner._means, setting=fresh.service.setting)  # noqa: SLF001
    questions = [TOP, {**TOP, "k": 2}]
    reply = fresh.analyst.post("/v1/batches", {"mode": "release", "questions": questions}, Idempotency_Key="b")
    assert (reply.status, reply.code) == (403, "budget-exhausted")
    assert released(fresh.analyst, key="one").status == 200
    assert released(fresh.analyst, {**TOP, "k": 2}, key="two").code == "budget-exhausted"
