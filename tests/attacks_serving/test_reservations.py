"""Reservations of the budget service: nobody settles or frees what somebody else holds, by whatever name."""

from __future__ import annotations

import base64
import json

import pytest

from hushcount.app import answer as spine
from hushcount.errors import StoreFailed
from tests.api.served import TOP, released

COST = {"rho": "0.05"}


def made_up(*said):
    """The name that a reservation would have if names were not sealed."""
    return "h_" + base64.b32encode(json.dumps(said).encode()).decode().rstrip("=").lower()


def reserve(client, key="nightly-1", **more):
    """Hold something."""
    body = {"dataset": "events", "cost": COST, **more}
    return client.post("/v1/budget/reservations", body, Idempotency_Key=key)


def spent(stage):
    """What the data's account has spent and held."""
    (own,) = [one for one in stage.owner.get("/v1/datasets/events/budget").form["accounts"] if one["kind"] == "dataset"]
    return own["spent"]["rho"], own["held"]["rho"]


@pytest.mark.parametrize("name", [made_up("sam", "nightly", "nightly-1"), made_up("nightly", "nightly", "nightly-1")])
def test_a_stranger_cannot_free_what_a_program_holds(fresh, name):
    """Else the program reads, cannot settle any more, and nothing is charged."""
    held = reserve(fresh.program)
    assert held.status == 201
    for client in (fresh.stranger, fresh.reader, fresh.analyst, fresh.program):
        assert client.delete(f"/v1/budget/reservations/{name}").status == 404
    assert fresh.stranger.delete(f"/v1/budget/reservations/{held.form['id']}").status == 404
    assert fresh.program.post(f"/v1/budget/reservations/{held.form['id']}/settle", {"cost": COST}).status == 200
    assert spent(fresh) == ("0.05", "0")


def test_nobody_settles_a_question_under_way_for_nothing(fresh, reading):
    """Else it is charged nothing, and what was settled is given to all who ask the same, for ever."""
    asked = fresh.analyst.begin("POST", "/v1/queries", {**TOP, "mode": "release"}, headers={"Idempotency-Key": "k"})
    assert reading.began.wait(30)
    for client, name in ((fresh.stranger, "sam"), (fresh.analyst, "ana"), (fresh.program, "nightly")):
        place = f"/v1/budget/reservations/{made_up(name, 'ana', 'k')}"
        assert client.post(f"{place}/settle", {"cost": {"rho": "0"}}).status == 404
        assert client.delete(place).status == 404
    reading.go.set()
    assert asked.result(30).status == 200
    assert released(fresh.owner, key="o").status == 200


def test_the_costs_of_others_are_not_read_through_made_up_names(fresh):
    """Settling what is settled tells what it cost."""
    assert released(fresh.analyst, key="k").status == 200
    name = made_up("sam", "ana", "k")
    assert fresh.stranger.post(f"/v1/budget/reservations/{name}/settle", {"cost": COST}).status == 404


@pytest.mark.parametrize("change", [lambda name: name.upper(), lambda name: name + "a", lambda name: name[:-1] + "a"])
def test_a_changed_name_is_no_name(fresh, change):
    """Each reservation has one name."""
    name = reserve(fresh.program).form["id"]
    assert fresh.program.delete(f"/v1/budget/reservations/{change(name)}").status == 404


def test_whoever_is_no_program_any_more_settles_nothing(fresh):
    """A role that was taken away ends here too, and so does a token that only reads."""
    name = reserve(fresh.program).form["id"]
    reads = fresh.token("nightly", scopes=("read",))
    assert reads.delete(f"/v1/budget/reservations/{name}").status in {403, 404}
    assert fresh.owner.put("/v1/people/nightly", {"role": "nobody", "dataset": "events"}).status == 200
    assert fresh.program.delete(f"/v1/budget/reservations/{name}").status == 404


def test_a_narrowed_token_does_not_reach_reservations_of_other_data(fresh):
    """By its data sets, as everywhere."""
    name = reserve(fresh.token("olga", scopes=("program",))).form["id"]
    hidden = fresh.service.served.find("hidden").id
    narrow = fresh.token("olga", scopes=("program",), datasets=(hidden,))
    assert narrow.delete(f"/v1/budget/reservations/{name}").status == 404


def test_a_reservation_with_a_long_key_can_be_settled(fresh):
    """A name longer than an address may be could only expire, in full."""
    held = reserve(fresh.owner, key="k" * 255, analyst="\N{GRINNING FACE}" * 200)
    assert held.status == 201, held.body
    place = f"/v1/budget/reservations/{held.form['id']}"
    assert fresh.owner.post(f"{place}/settle", {"cost": {"rho": "0.04"}}).status == 200


@pytest.mark.parametrize("said", [["nightly", ["a"], {}], ["nightly", None, None], [1, 2, 3], {}, "nightly", None])
def test_names_of_anything_else_are_not_found(fresh, said):
    """What is no list of texts is no failure inside."""
    name = "h_" + base64.b32encode(json.dumps(said).encode()).decode().rstrip("=").lower()
    assert fresh.program.delete(f"/v1/budget/reservations/{name}").status == 404


@pytest.mark.parametrize("batch", [False, True])
def test_the_name_of_a_reservation_that_was_given_back_settles_no_question(fresh, batch):
    """An owner may hold budget and ask: what is asked under a key that is free again has not its old name."""
    cost, key = {"rho": "0.1", "delta": "0.000001"}, "k#0" if batch else "k"
    wish = {"dataset": "events", "cost": cost, "what": "nightly", "lifetime": "1h"}
    name = fresh.owner.post("/v1/budget/reservations", wish, Idempotency_Key=key).form["id"]
    assert fresh.owner.delete(f"/v1/budget/reservations/{name}").status < 300
    if batch:
        body = {"mode": "release", "questions": [TOP, {**TOP, "k": 4}]}
        asked = fresh.owner.post("/v1/batches", body, Idempotency_Key="k", Prefer="wait=30")
    else:
        asked = released(fresh.owner, key=key)
    assert asked.status == 200, asked.body

    settled = fresh.owner.post(f"/v1/budget/reservations/{name}/settle", {"cost": {"rho": "0"}})
    assert (settled.status, settled.code) == (404, "not-found")


def test_a_reservation_takes_nobodys_key(fresh):
    """Held by an owner on somebody's account under a key that they then ask with: the question is its own attempt."""
    key = "the-same"
    held = reserve(fresh.owner, key=key, analyst="ana")
    assert held.status == 201
    answer = released(fresh.analyst, {**TOP, "method": "unknown-gumbel"}, key=key)
    assert (answer.status, answer.form["cost"]["releases"]) == (200, 1.0)
    again = reserve(fresh.owner, key=key, analyst="ana")
    assert again.form["id"] == held.form["id"]


def test_what_fails_beside_a_reservation_was_not_charged(fresh, monkeypatch):
    """A problem says what the question cost, whatever else is held under the same key on the same account."""
    assert reserve(fresh.owner, key="k", analyst="ana").status == 201

    def broken(*_given, **_named):
        raise StoreFailed("it is gone")

    monkeypatch.setattr(spine, "_registered", broken)
    problem = released(fresh.analyst, TOP, key="k")
    assert (problem.code, problem.form["charged"]) == ("store-failed", False)


def test_two_programs_with_the_same_key_do_not_meet(fresh):
    """Each holds its own, also on the same account."""
    one = reserve(fresh.owner, key="k", analyst="nightly")
    two = reserve(fresh.program, key="k")
    assert (one.status, two.status) == (201, 201)
    assert spent(fresh) == ("0", "0.1")
