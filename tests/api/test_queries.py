"""Questions over HTTP: priced, rehearsed, released once for a key, looked at, watched, cancelled, on the grid."""

from __future__ import annotations

import json
import threading
import time

import pytest

from hushcount.app.serving.jobs import answering
from tests.api.served import CANARY, COUNT, TOP, released, staged, ticking


@pytest.fixture
def gate(monkeypatch):
    """Holds every question before it is answered, until it is opened; what waits is told by `entered`."""

    class Gate:
        open = threading.Event()
        entered = threading.Event()
        runs = 0

    held, real = Gate(), answering.answer

    def answer(*given, **named):
        held.runs += 1
        held.entered.set()
        assert held.open.wait(30)
        return real(*given, **named)

    monkeypatch.setattr(answering, "answer", answer)
    yield held
    held.open.set()


def test_a_question_is_priced_unless_something_else_is_said(stage):
    """The default costs nothing and leaves no trace."""
    reply = stage.analyst.post("/v1/queries", TOP)
    assert reply.status == 200
    form = reply.form
    assert form["mode"] == "estimate"
    assert form["cost"]["releases"] == 1
    assert form["fits"] is True
    assert form["translation"]["fetches"] > 3
    assert stage.analyst.get("/v1/queries").form["data"] == []


def test_exact_amounts_may_be_texts_or_numbers(stage):
    """Of a number every digit is kept."""
    prices = [
        stage.analyst.post("/v1/queries", {**COUNT, "rho": rho}).form["cost"]["expert"]["rho"] for rho in ("0.05", 0.05)
    ]
    assert prices[0] == prices[1]


def test_a_rehearsal_is_marked_as_made_up_and_costs_nothing(stage):
    """In every place where it could be taken for an answer."""
    before = stage.analyst.get("/v1/datasets/events/budget").form
    form = stage.analyst.post("/v1/queries", {**TOP, "mode": "rehearse"}).form
    assert form["made_up"] is True
    assert form["release"]["made_up"] is True
    assert all("made-up" in row["item"] for row in form["release"]["rows"])
    assert stage.analyst.get("/v1/datasets/events/budget").form == before


def test_a_release_needs_a_key(stage):
    """Without one a retry would pay twice."""
    for key in ({}, {"Idempotency_Key": "a b"}, {"Idempotency_Key": "x" * 256}):
        reply = stage.analyst.post("/v1/queries", {**TOP, "mode": "release"}, **key)
        assert (reply.status, reply.code) == (400, "invalid-parameter")
        assert reply.form["parameter"] == "Idempotency-Key"


def test_a_release_tells_its_price_and_what_is_left_and_is_paid_once(fresh):
    """The same key joins, another one gets the same bytes for nothing."""
    reply = released(fresh.analyst, key="k1")
    assert reply.status == 200
    form = reply.form
    assert form["status"] == "done"
    assert form["release"]["complete"] is True
    assert [set(row) for row in form["release"]["rows"]] == [{"item", "count", "low", "high"}] * 3
    assert form["cost"]["repeated"] is False
    assert reply.headers["hushcount-cost"] == f"releases={form['cost']['releases']:.6g}"
    assert reply.headers["hushcount-left"].startswith(f"releases={form['left']['releases']:.6g}; renews=")
    assert reply.headers["content-location"] == f"/v1/releases/{form['release']['id']}"
    assert reply.parts == 1
    assert CANARY not in reply.body.decode()
    again = released(fresh.analyst, key="k1")
    assert again.form["id"] == form["id"]
    assert again.form["release"] == form["release"]
    assert again.form["left"] == form["left"]
    other = released(fresh.analyst, key="k2")
    assert other.form["release"]["rows"] == form["release"]["rows"]
    assert (other.form["cost"]["releases"], other.form["cost"]["repeated"]) == (0, True)


def test_a_key_with_another_question_is_refused(fresh):
    """It would be a retry of something else."""
    assert released(fresh.analyst, key="k1").status == 200
    reply = released(fresh.analyst, {**TOP, "k": 2}, key="k1")
    assert (reply.status, reply.code) == (422, "key-reused")


def test_two_callers_may_use_the_same_key(fresh):
    """A key is its caller's own."""
    one, two = released(fresh.analyst, key="k1"), released(fresh.owner, key="k1")
    assert one.form["id"] != two.form["id"]


def test_a_price_above_the_most_that_is_allowed_is_refused(fresh):
    """Before anything is held."""
    reply = released(fresh.analyst, {**TOP, "max_cost": {"releases": "0.5"}})
    assert (reply.status, reply.code, reply.form["charged"]) == (403, "over-max-cost", False)
    assert released(fresh.analyst, {**TOP, "max_cost": {"releases": 1}}).status == 200


def test_a_price_that_was_told_is_allowed(fresh):
    """Whoever sends back what they were told is not refused, at any preset; a digit less is, and so is nothing."""
    for number, preset in enumerate(("cautious", "standard")):
        asked = {**TOP, "preset": preset}
        told = fresh.analyst.post("/v1/queries", asked).form["cost"]["releases"]
        less = released(fresh.analyst, {**asked, "max_cost": {"releases": f"{told - 1e-6:.6f}"}}, key=f"less-{number}")
        none = released(fresh.analyst, {**asked, "max_cost": {"releases": "0"}}, key=f"none-{number}")
        paid = released(fresh.analyst, {**asked, "max_cost": {"releases": str(told)}}, key=f"paid-{number}")
        again = released(fresh.analyst, {**asked, "max_cost": {"releases": 0}}, key=f"again-{number}")

        assert [one.code for one in (less, none)] == ["over-max-cost"] * 2, preset
        assert (paid.status, again.status) == (200, 200), preset


def test_who_does_not_wait_gets_a_place_to_look(fresh, gate):
    """And can wait there."""
    reply = released(fresh.analyst, Prefer="respond-async")
    assert reply.status == 202
    assert reply.headers["location"] == f"/v1/queries/{reply.form['id']}"
    assert reply.headers["retry-after"].isdigit()
    assert reply.form["status"] == "running"
    assert gate.entered.wait(10)
    gate.open.set()
    done = fresh.analyst.get(reply.headers["location"], Prefer="wait=20")
    assert (done.status, done.form["status"]) == (200, "done")


def test_waiting_ends_when_it_was_said_to(fresh, gate):
    """With what is known by then."""
    began = time.monotonic()
    assert released(fresh.analyst, Prefer="wait=1").status == 202
    assert 0.9 < time.monotonic() - began < 10


def test_the_same_question_at_once_is_run_once(fresh, gate):
    """Whoever came second waits for the first."""
    first = fresh.analyst.begin("POST", "/v1/queries", {**TOP, "mode": "release"}, headers={"Idempotency-Key": "k1"})
    assert gate.entered.wait(10)
    second = fresh.owner.begin("POST", "/v1/queries", {**TOP, "mode": "release"}, headers={"Idempotency-Key": "k2"})
    waits = fresh.owner.get("/v1/queries")
    while not waits.form["data"]:
        waits = fresh.owner.get("/v1/queries")
    assert waits.form["data"][0]["status"] == "waiting"
    gate.open.set()
    one, two = first.result(30), second.result(30)
    assert one.form["release"]["rows"] == two.form["release"]["rows"]


def test_while_questions_run_a_balance_is_told(fresh, gate):
    """They have threads of their own."""
    for number in range(20):
        body = {**TOP, "k": 1 + number, "preset": "cautious"}
        assert released(fresh.owner, body, key=f"k{number}", Prefer="respond-async").status in {202, 403}
    began = time.monotonic()
    assert fresh.analyst.get("/v1/datasets/events/budget").status == 200
    assert time.monotonic() - began < 5


def test_a_question_is_cancelled_for_nothing_before_data_is_read(fresh, gate):
    """And its key stays cancelled."""
    reply = released(fresh.analyst, Prefer="respond-async")
    assert gate.entered.wait(10)
    ending = fresh.analyst.begin("DELETE", f"/v1/queries/{reply.form['id']}")
    while not fresh.analyst.get(f"/v1/queries/{reply.form['id']}").form.get("stopping"):
        pass
    gate.open.set()
    form = ending.result(30).form
    assert (form["status"], form["charged"]) == ("cancelled", False)
    spent = fresh.analyst.get("/v1/datasets/events/budget").form["accounts"][0]["releases"]["spent"]
    assert spent == 0
    joined = released(fresh.analyst)
    assert (joined.status, joined.code) == (409, "cancelled")


def test_what_is_done_is_not_cancelled_and_says_that_it_stays_charged(fresh):
    """Nobody is told that it was free."""
    name = released(fresh.analyst).form["id"]
    form = fresh.analyst.delete(f"/v1/queries/{name}").form
    assert (form["status"], form["charged"]) == ("done", True)


def test_events_tell_stages_and_the_end_and_no_rows(fresh, gate):
    """The answer is fetched from where they say."""
    name = released(fresh.analyst, Prefer="respond-async").form["id"]
    assert gate.entered.wait(10)
    watching = fresh.analyst.begin("GET", f"/v1/queries/{name}/events")
    gate.open.set()
    reply = watching.result(30)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [line for line in reply.body.decode().split("\n\n") if line.startswith("event: ")]
    kinds = [event.split("\n")[0].removeprefix("event: ") for event in events]
    assert kinds[-1] == "end"
    last = json.loads(events[-1].split("data: ")[1])
    assert last["status"] == "done"
    assert "rows" not in reply.body.decode()
    assert fresh.analyst.get(last["releases"][0]).status == 200


def test_a_history_is_ones_own_newest_first_and_in_pages(fresh):
    """Nobody else's, not even an owner's."""
    names = [released(fresh.analyst, {**TOP, "preset": "cautious", "k": k}, key=f"k{k}").form["id"] for k in (1, 2, 3)]
    first = fresh.analyst.get("/v1/queries?limit=2").form
    assert [one["id"] for one in first["data"]] == [names[2], names[1]]
    second = fresh.analyst.get(f"/v1/queries?limit=2&after={first['next']}").form
    assert [one["id"] for one in second["data"]] == [names[0]]
    assert second["next"] is None
    assert fresh.owner.get("/v1/queries").form["data"] == []


def test_a_failure_is_the_status_of_the_request_that_asked_and_told_to_those_who_look(fresh, monkeypatch):
    """With none of the store's words; nothing was charged and it passes, so the same key is a new try."""
    from hushcount.errors import StoreIncomplete

    def broken(*given, **named):
        raise StoreIncomplete(f"a part is missing: {CANARY}")

    with monkeypatch.context() as patched:
        patched.setattr(answering, "answer", broken)
        reply = released(fresh.analyst)
    assert (reply.status, reply.code) == (502, "store-incomplete")
    looked = fresh.analyst.get(reply.headers["location"])
    assert looked.status == 200
    assert looked.form["problem"]["code"] == "store-incomplete"
    assert released(fresh.analyst).status == 200


def test_a_bug_in_a_question_shows_nothing(fresh, monkeypatch):
    """Not even that it was this bug."""

    def broken(*given, **named):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(answering, "answer", broken)
    reply = released(fresh.analyst)
    assert (reply.status, reply.code) == (500, "internal")
    assert CANARY not in reply.body.decode()


def test_answers_become_visible_on_the_grid_however_one_looks(tmp_path, wall):
    """By looking, by events, and by guessing the release's name."""
    with staged(tmp_path, ticking(8)) as stage:
        asked = released(stage.analyst, key="k2", Prefer="respond-async")
        name = asked.form["id"]
        release = f"/v1/releases/{name.replace('q_', 'r_')}"
        while stage.service.ledger.jobs.find(name).state != "done":
            time.sleep(0.005)
        events = stage.analyst.begin("GET", f"/v1/queries/{name}/events")
        assert stage.analyst.get(f"/v1/queries/{name}").form["status"] == "running"
        assert stage.analyst.get(release).code == "not-found"
        assert not events.done()
        wall.let_pass(8)
        assert b'"done"' in events.result(30).body
        assert stage.analyst.get(release).status == 200


def test_several_questions_have_one_price_and_are_answered_together(fresh):
    """Each has a release of its own."""
    questions = [{**TOP, "preset": "cautious", "k": k} for k in (2, 3)]
    price = fresh.analyst.post("/v1/batches", {"questions": questions}).form
    assert price["cost"]["releases"] == pytest.approx(0.2)
    reply = fresh.analyst.post(
        "/v1/batches", {"questions": questions, "mode": "release"}, Idempotency_Key="k1", Prefer="wait=60"
    )
    assert reply.status == 200, reply.body
    assert len(reply.form["releases"]) == 2
    for release in reply.form["releases"]:
        assert fresh.analyst.get(f"/v1/releases/{release['id']}").form == release


def test_of_several_questions_all_are_answered_or_none(fresh):
    """What does not fit together is not begun."""
    questions = [{**TOP, "k": k, "preset": "generous"} for k in range(1, 6)]
    before = fresh.analyst.get("/v1/datasets/events/budget").form["accounts"][0]["releases"]
    reply = fresh.analyst.post("/v1/batches", {"questions": questions, "mode": "release"}, Idempotency_Key="k1")
    assert (reply.status, reply.code) == (403, "budget-exhausted")
    assert fresh.analyst.get("/v1/datasets/events/budget").form["accounts"][0]["releases"] == before


def test_a_server_that_stops_lets_go_of_whoever_waits_and_takes_no_questions(fresh, gate):
    """Prices and reading go on; what runs is answered, and found by whoever comes back."""
    body = {**TOP, "mode": "release"}
    waiting = fresh.analyst.begin("POST", "/v1/queries", body, headers={"Idempotency-Key": "k1", "Prefer": "wait=60"})
    assert gate.entered.wait(10)
    name = fresh.analyst.get("/v1/queries").form["data"][0]["id"]
    watching = fresh.analyst.begin("GET", f"/v1/queries/{name}/events")
    fresh.anybody.app.state.worker.stopping = True
    assert waiting.result(10).status == 202
    assert b"event: end" not in watching.result(10).body
    reply = released(fresh.analyst, {**TOP, "k": 1}, key="k2")
    assert (reply.status, reply.code) == (503, "busy")
    assert reply.headers["retry-after"]
    assert fresh.anybody.get("/readyz").code == "busy"
    assert fresh.analyst.post("/v1/queries", TOP).status == 200
    gate.open.set()
    fresh.anybody.app.state.worker.stopping = False
    assert fresh.analyst.get(f"/v1/queries/{name}", Prefer="wait=30").form["status"] == "done"


def test_a_caller_watches_few_questions_at_once_and_a_worker_not_many(fresh, gate, monkeypatch):
    """One stream too many is refused with what to do; one that ended makes room; others are not kept out."""
    listeners = fresh.analyst.app.state.worker.listeners
    monkeypatch.setattr(listeners, "each", 2)
    monkeypatch.setattr(listeners, "most", 3)
    names = [
        released(client, {**TOP, "k": k}, key=f"w{k}", Prefer="respond-async").form["id"]
        for client, k in ((fresh.analyst, 1), (fresh.owner, 2))
    ]
    watched = [fresh.analyst.begin("GET", f"/v1/queries/{names[0]}/events") for _ in range(2)]
    until = time.monotonic() + 20
    while listeners.load != 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    own = fresh.analyst.get(f"/v1/queries/{names[0]}/events")

    assert (own.status, own.code, own.form["charged"]) == (429, "too-many-requests", False)
    assert "Prefer: wait" in own.form["detail"]
    watched.append(fresh.owner.begin("GET", f"/v1/queries/{names[1]}/events"))
    while listeners.load != 3:
        assert time.monotonic() < until
        time.sleep(0.01)
    full = fresh.owner.get(f"/v1/queries/{names[1]}/events")
    assert (full.status, full.code, full.form["charged"]) == (503, "busy", False)
    assert "retry-after" in full.headers
    gate.open.set()
    assert [one.result(30).status for one in watched] == [200, 200, 200]
    assert listeners.load == 0
    assert fresh.analyst.get(f"/v1/queries/{names[0]}/events").status == 200


def test_whoever_hangs_up_makes_room(fresh, gate):
    """A stream that is cut is not counted for ever."""
    name = released(fresh.analyst, Prefer="respond-async").form["id"]
    listeners = fresh.analyst.app.state.worker.listeners
    watching = fresh.analyst.begin("GET", f"/v1/queries/{name}/events")
    until = time.monotonic() + 20
    while listeners.load != 1:
        assert time.monotonic() < until
        time.sleep(0.01)
    watching.cancel()
    while listeners.load != 0:
        assert time.monotonic() < until
        time.sleep(0.01)
    gate.open.set()
