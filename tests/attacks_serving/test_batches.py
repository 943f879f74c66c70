"""Batches: all answered or none, and none means that nothing was paid."""

from __future__ import annotations

import pytest

from tests.api.served import COUNT, TOP, released

OTHER = {**TOP, "k": 2}


def batch(client, *questions, key="b", **more):
    """Several questions at once."""
    return client.post("/v1/batches", {"mode": "release", "questions": questions, **more}, Idempotency_Key=key)


def spent(client):
    """What the caller has spent and holds, in standard releases and as rho."""
    own = client.get("/v1/datasets/events/budget").form["accounts"][-1]
    assert own["kind"] == "analyst"
    return round(own["releases"]["spent"], 3), own["held"]["rho"]


@pytest.mark.parametrize("questions", [(COUNT, TOP), (TOP, COUNT), (COUNT, OTHER)])
def test_what_is_stored_is_not_paid_for_if_the_rest_does_not_fit(fresh, questions):
    """A stored answer is handed over at once; among others it waits for them."""
    assert released(fresh.owner, COUNT, key="o1").status == 200
    assert released(fresh.owner, OTHER, key="o2").status == 200
    assert fresh.owner.put("/v1/limits", {"analyst": "ana", "releases": "1.5"}).status == 200
    refused = batch(fresh.analyst, *questions)
    assert (refused.status, refused.code, refused.form["charged"]) == (403, "budget-exhausted", False)
    assert spent(fresh.analyst) == (0, "0")


def test_what_fits_together_is_answered_together(fresh):
    """Also if some of it is stored and one stands twice."""
    assert released(fresh.owner, COUNT, key="o1").status == 200
    assert fresh.owner.put("/v1/limits", {"analyst": "ana", "releases": "3"}).status == 200
    made = batch(fresh.analyst, COUNT, TOP, TOP)
    assert made.status == 200
    rows = [one["rows"] for one in made.form["releases"]]
    assert rows[1] == rows[2]
    assert spent(fresh.analyst)[0] <= 2
    assert batch(fresh.analyst, COUNT, TOP, TOP).form == made.form


def test_fresh_questions_of_a_batch_are_each_paid(fresh):
    """Two answers to one question have two prices, or averages would be free."""
    made = batch(fresh.analyst, {**COUNT, "fresh": True}, {**COUNT, "fresh": True})
    first, second = ([row["count"] for row in one["rows"]] for one in made.form["releases"])
    assert first != second
    assert spent(fresh.analyst)[0] == 2


def test_a_key_of_a_batch_is_not_a_way_to_another_answer(fresh):
    """The ledger's key of a part, given as a key, joins that part or is refused; it never draws again."""
    question = {**COUNT, "fresh": True}
    made = batch(fresh.analyst, question, TOP)
    part = released(fresh.analyst, question, key="b#0")
    assert part.form["release"]["rows"] == made.form["releases"][0]["rows"]
    assert released(fresh.analyst, TOP, key="b#0").code == "key-reused"
    assert spent(fresh.analyst)[0] <= 2


def test_what_is_allowed_for_a_batch_is_for_all_of_it(fresh):
    """Not for each of its questions; and what is theirs already costs nothing of it."""
    allowed = {"max_cost": {"releases": 1}}
    assert batch(fresh.analyst, COUNT, TOP, **allowed).code == "over-max-cost"
    assert released(fresh.analyst, COUNT, key="own").status == 200
    assert batch(fresh.analyst, COUNT, TOP, key="c", **allowed).status == 200


def test_a_batch_that_got_dearer_after_it_was_looked_at_is_refused(fresh, monkeypatch):
    """What is held is held against what was allowed, whatever it seemed to cost when it was taken."""
    monkeypatch.setattr("hushcount.app.serving.questions.queries._looked_at", lambda *_: None)
    refused = batch(fresh.analyst, COUNT, TOP, max_cost={"releases": 1})
    assert (refused.code, refused.form["charged"]) == ("over-max-cost", False)
    assert spent(fresh.analyst) == (0, "0")
