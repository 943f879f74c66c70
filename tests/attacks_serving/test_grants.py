"""Grants: more until a moment, and not a second longer, whoever spends and wherever the people go."""

from __future__ import annotations

from datetime import timedelta

from tests.api.served import TOP, released

SPAN = timedelta(seconds=10)


def granted(stage, who, client, releases="5"):
    """Raise somebody's limit of one release for a while."""
    assert stage.owner.put("/v1/limits", {"dataset": "events", "analyst": who, "releases": "1"}).status == 200
    until = stage.service.setting.clock() + SPAN
    body = {"dataset": "events", "releases": releases, "why": "a report", "until": until.isoformat()}
    wish = client.post("/v1/requests", body).form["id"]
    reply = stage.owner.post(f"/v1/requests/{wish}/decision", {"grant": True, "sentence": "yes"})
    assert reply.form["state"] == "granted"


def limit_of(stage, who, dataset="events"):
    """What somebody may spend on a data set, as their owner reads it; None if they have no limit of their own."""
    found = stage.owner.get(f"/v1/limits?dataset={dataset}").form["data"]
    return next((one["releases"] for one in found if (one["kind"], one["name"]) == ("analyst", who)), None)


def test_a_program_does_not_spend_a_grant_that_is_over(fresh, wall):
    """The minute between two chores is as over as the rest."""
    assert fresh.owner.put("/v1/people/ana", {"role": "owner", "dataset": "events"}).status == 200
    both = fresh.token("ana", scopes=("ask", "program", "manage"))
    granted(fresh, "ana", both)
    assert limit_of(fresh, "ana") == 6
    # Nothing is done to end it.
    wall.let_pass(SPAN.total_seconds())
    body = {"dataset": "events", "cost": {"rho": "0.3"}}
    reply = both.post("/v1/budget/reservations", body, Idempotency_Key="late")
    assert (reply.status, reply.code) == (403, "budget-exhausted")
    assert limit_of(fresh, "ana") == 1


def test_a_question_does_not_spend_a_grant_that_is_over(fresh, wall):
    """Neither alone nor among others."""
    granted(fresh, "ana", fresh.analyst)
    wall.let_pass(SPAN.total_seconds())
    questions = [TOP, {**TOP, "k": 2}]
    reply = fresh.analyst.post("/v1/batches", {"mode": "release", "questions": questions}, Idempotency_Key="b")
    assert (reply.status, reply.code) == (403, "budget-exhausted")
    assert released(fresh.analyst, key="one").status == 200
    assert released(fresh.analyst, {**TOP, "k": 2}, key="two").code == "budget-exhausted"


def test_a_grant_ends_where_its_people_part(fresh, wall):
    """A data set that leaves during a grant takes its end along, though nobody remembers it."""
    ledger = fresh.service.ledger
    ledger.catalog.join("hidden", "events", by="olga")
    granted(fresh, "ana", fresh.analyst)
    ledger.catalog.split("events", by="olga")
    assert limit_of(fresh, "ana") == limit_of(fresh, "ana", "hidden") == 6
    wall.let_pass(SPAN.total_seconds())
    assert limit_of(fresh, "ana") == limit_of(fresh, "ana", "hidden") == 1
    assert released(fresh.analyst, key="one").status == 200
    assert released(fresh.analyst, {**TOP, "k": 2}, key="two").code == "budget-exhausted"
