"""Separate analysts: nothing that one is told depends on what another asked."""

from __future__ import annotations

import hashlib
import json
import re
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.api import queries as api_queries
from hushcount.app import answer as spine
from hushcount.app.serving.setup.config import Timing
from hushcount.ledger.ledger import Account
from tests.api.served import COUNT, TOP, released, staged
from tests.attacks_serving.conftest import apart


def told(form):
    """What was told, without ids and moments, which differ anyway."""
    moments = r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)|\d+ \w+ \d{4}, \d\d:\d\d UTC"
    return re.sub(rf"[qr]_[a-z2-7]{{20,}}|req_\w+|{moments}", "", str(form))


def test_a_price_does_not_tell_what_others_spent(separate, bob):
    """Of a shared budget nothing is told but that it is short."""
    assert separate.owner.put("/v1/limits", {"dataset": "events", "releases": "10"}).status == 200
    asked = {"questions": [TOP, COUNT]}
    check = {"dataset": "events", "cost": {"rho": "0.01"}}
    before = [bob.post("/v1/queries", TOP).form, bob.post("/v1/batches", asked).form]
    program = separate.program.post("/v1/budget/check", check).form
    assert released(separate.analyst).status == 200
    assert [bob.post("/v1/queries", TOP).form, bob.post("/v1/batches", asked).form] == before
    assert separate.program.post("/v1/budget/check", check).form == program


def test_an_owner_still_sees_how_many_fit(separate):
    """Whoever oversees the data sees all of it."""
    assert separate.owner.put("/v1/limits", {"dataset": "events", "releases": "10"}).status == 200
    assert separate.token("olga", scopes=("manage",)).post("/v1/queries", TOP).form["left"]["like_this"] == 10


@pytest.mark.parametrize("question", [TOP, {**TOP, "k": 1000}, COUNT])
def test_an_answer_that_was_there_is_as_if_new(separate, bob, wall, question):
    """Neither price nor receipt nor state tell that somebody asked before; also not when it is asked once more."""
    first = released(separate.analyst, question, key="one")
    assert first.status == 200
    wall.let_pass(1.1)
    second = released(bob, question, key="two")
    assert told(second.form["cost"]) == told(first.form["cost"])
    assert {key: value for key, value in second.headers.items() if key.startswith("hushcount")} == {
        key: value for key, value in first.headers.items() if key.startswith("hushcount")
    }
    again = released(bob, question, key="three")
    for reply in (second, again):
        release = reply.form["release"]
        assert release["made"] > first.form["release"]["made"]
        assert release["receipt"]["made"] == release["made"]
        assert told({**release, "stored": ""}) == told({**first.form["release"], "stored": ""})
    receipt = bob.get(f"/v1/releases/{second.form['release']['id']}/receipt").form
    assert receipt["made"] == second.form["release"]["made"]


def guessed(release):
    """The digest of the bytes that the ledger would have stored for what a caller was told, had they asked first."""
    receipt = {name: value for name, value in release["receipt"].items() if name not in {"dataset", "words"}}
    rows = {name: [row[name] for row in release["rows"]] for name in release["rows"][0]}
    form = {"rows": rows, "cutoff": release["cutoff"], "cost": release["cost"], "receipt": receipt}
    return hashlib.sha256(json.dumps(form, ensure_ascii=True).encode()).hexdigest()[:32]


def test_no_digest_tells_when_somebody_asked_first(separate, bob, wall):
    """Whoever has an answer knows all of its bytes but that moment, and could try every second of the year."""
    first = released(separate.analyst, COUNT, key="one").form["release"]
    wall.let_pass(1.1)
    second = released(bob, COUNT, key="two").form["release"]
    etag = bob.get(f"/v1/releases/{second['id']}").headers["etag"]

    assert guessed(first) == first["stored"]
    assert guessed(second) == second["stored"]
    assert second["stored"] != first["stored"]
    assert etag.startswith(f'"{second["stored"]}-')


def test_nobody_is_told_that_somebody_else_asks_the_same(separate, bob, reading):
    """Whether a question waits for another one's end does not show."""
    async_ = {"Idempotency-Key": "k", "Prefer": "respond-async"}
    body = {**TOP, "mode": "release"}
    first = separate.analyst.request("POST", "/v1/queries", body, headers=async_)
    assert reading.began.wait(30)
    second = bob.request("POST", "/v1/queries", body, headers=async_)
    other = bob.request("POST", "/v1/queries", {**body, "k": 4}, headers={**async_, "Idempotency-Key": "k2"})
    seen = [(reply.status, reply.form["status"], reply.form["stage"]) for reply in (first, second, other)]
    assert seen[0] == seen[1] == seen[2]
    mine = bob.get("/v1/queries").form["data"]
    assert len({(one["status"], one["stage"]) for one in mine}) == 1


def test_nobody_waits_for_somebody_else_who_asks_the_same(separate, bob, reading):
    """It is held and read at once: a balance that stays as it was would tell that another one's run is waited for."""
    assert asked(separate.analyst, TOP).status == 202
    assert reading.began.wait(30)
    reading.began.clear()
    assert asked(bob, TOP).status == 202
    began = reading.began.wait(10)
    population = separate.service.ledger.catalog.find("events", by="olga").population
    held = separate.service.ledger.balance(Account(kind="analyst", name="bob", entity=population)).reserved

    assert began
    assert held.rho > 0


def test_a_receipt_tells_when_it_was_asked_and_not_when_it_was_answered(separate, reading, wall):
    """Or how long it took would stand in it, to the second, whatever the grid."""
    reply = asked(separate.analyst, TOP)
    assert reading.began.wait(30)
    wall.let_pass(2.1)
    reading.go.set()
    ended(separate, reply)
    job = separate.service.ledger.jobs.find(reply.form["id"])
    release = released(separate.analyst, TOP, key="k").form["release"]

    assert (job.changed - job.made).total_seconds() > 2
    assert release["made"] == job.made.isoformat(timespec="seconds")


def test_stages_do_not_go_around_the_grid(tmp_path, reading, wall):
    """What is seen of a question changes at a tick and at no other moment."""

    def grid(config):
        timing = Timing(kind="grid", every=timedelta(seconds=8))
        return replace(config, privacy=replace(config.privacy, timing=timing))

    with staged(tmp_path, grid) as stage:
        asked = stage.analyst.request(
            "POST",
            "/v1/queries",
            {**TOP, "mode": "release"},
            headers={"Idempotency-Key": "k", "Prefer": "respond-async"},
        )
        place = asked.headers["location"]
        events = stage.analyst.begin("GET", f"{place}/events")
        assert reading.began.wait(30)
        before = stage.analyst.get(place).form
        job = place.rpartition("/")[2]
        running = stage.service.runner.under_way(job)
        reading.go.set()
        if running is not None:
            running.result(30)
        after = stage.analyst.get(place).form
        assert before == after
        assert not events.done()
        wall.let_pass(8)
        assert events.result(30).body.count(b"event: stage") == 1


def gridded(config):
    """A change of the configuration: separate analysts, and answers at every eighth second."""
    timing = Timing(kind="grid", every=timedelta(seconds=8))
    return replace(apart(config), privacy=replace(apart(config).privacy, timing=timing))


def asked(client, body, *, key="k", path="/v1/queries"):
    """Ask and do not wait."""
    headers = {"Idempotency-Key": key, "Prefer": "respond-async"}
    return client.request("POST", path, {**body, "mode": "release"}, headers=headers)


def ended(stage, reply):
    """Wait until a question has ended, whether it shows or not."""
    running = stage.service.runner.under_way(reply.form["id"])
    if running is not None:
        running.result(30)
    assert stage.service.ledger.jobs.find(reply.form["id"]).state == "done"


def seen(stage, client, question):
    """All that a caller is told who looks everywhere: accounts, prices of this and other questions, what is refused."""
    check = {"dataset": "events", "cost": {"rho": "0.049"}}
    replies = [
        client.get("/v1/datasets/events/budget"),
        client.get("/v1/datasets/events"),
        client.get("/v1/datasets"),
        client.get("/v1/me"),
        client.get("/v1/queries"),
        client.get("/v1/budget?dataset=events"),
        client.post("/v1/queries", question),
        client.post("/v1/queries", {**question, "preset": "precise"}),
        client.post("/v1/batches", {"questions": [question, COUNT]}),
        stage.program.post("/v1/budget/check", check),
        stage.program.post("/v1/budget/reservations", {**check, "cost": {"rho": "9"}}, Idempotency_Key="too-much"),
        stage.owner.get("/v1/datasets/events/budget"),
        stage.owner.get("/v1/datasets/events/usage"),
    ]
    return [(reply.status, told(reply.form)) for reply in replies]


def test_nothing_that_is_told_goes_around_the_grid(tmp_path, reading, wall):
    """Whatever one looks at, it is the same before a run ends and after, until its tick; then it is not."""
    # A question that gives back a part of what was held.
    question = {**TOP, "k": 1000}
    with staged(tmp_path, gridded) as stage:
        ana = stage.analyst
        reply = asked(ana, question)
        assert reading.began.wait(30)
        before = seen(stage, ana, question)
        reading.go.set()
        ended(stage, reply)
        after = seen(stage, ana, question)
        # It was not too slow to tell anything.
        assert ana.get(reply.headers["location"]).status == 202
        assert after == before
        assert ana.get(reply.headers["location"]).status == 202
        wall.let_pass(8)
        assert ana.get(reply.headers["location"], Prefer="wait=20").status == 200
        assert seen(stage, ana, question) != before


def test_what_fits_does_not_go_around_the_grid(tmp_path, wall):
    """A question that fits only into what another one gives back is refused until the tick."""
    question = {**TOP, "k": 1000, "method": "unknown-gumbel"}
    with staged(tmp_path, gridded) as stage:
        limit = {"dataset": "events", "analyst": "ana", "rho": "0.15", "delta": "0.1"}
        assert stage.owner.put("/v1/limits", limit).status == 200
        reply = asked(stage.analyst, question)
        ended(stage, reply)
        other = {**question, "where": "country = 'NZ'"}
        assert asked(stage.analyst, other, key="early").status == 403
        assert stage.analyst.get(reply.headers["location"]).status == 202
        wall.let_pass(8)
        later = stage.analyst.get(reply.headers["location"], Prefer="wait=20")
        assert (later.status, later.form["cost"]["given_back"]) == (200, 0.999)
        assert asked(stage.analyst, other, key="late").status == 202


def test_a_wish_to_cancel_does_not_go_around_the_grid(tmp_path, reading, monkeypatch):
    """One that has ended and one that reads are told the same."""
    monkeypatch.setattr(api_queries, "_CANCEL_WAIT", 0.2)
    with staged(tmp_path, gridded) as stage:
        first = asked(stage.analyst, TOP)
        assert reading.began.wait(30)
        running = stage.analyst.request("DELETE", first.headers["location"]).form
        reading.go.set()
        second = asked(stage.analyst, {**TOP, "k": 4}, key="k2")
        ended(stage, second)
        hidden = stage.analyst.request("DELETE", second.headers["location"]).form
        differ = {"id", "made", "questions"}
        assert {name: running[name] for name in running if name not in differ} == {
            name: hidden[name] for name in hidden if name not in differ
        }


def test_balances_do_not_tell_that_an_answer_was_there(separate, bob, wall, monkeypatch):
    """What is held for it is what would be for a new one, and as long."""
    assert released(separate.analyst, TOP, key="a").status == 200
    slowly(monkeypatch, wall, 2.0)
    assert released(separate.analyst, {**TOP, "k": 4}, key="b").status == 200
    reply = asked(bob, {**TOP, "k": 4})
    ended(separate, reply)
    own = bob.get("/v1/datasets/events/budget").form["accounts"][-1]
    assert (own["held"]["rho"] != "0", own["spent"]["rho"]) == (True, "0")


def test_a_full_data_set_does_not_tell_which_answers_are_there(separate, bob):
    """Where nothing new fits, what somebody else asked does not fit either, nor is it priced as if it did."""
    assert released(separate.analyst, TOP, key="a").status == 200
    assert separate.owner.put("/v1/limits", {"dataset": "events", "releases": "1"}).status == 200
    priced = [bob.post("/v1/queries", {**TOP, "k": k}).form for k in (3, 4)]
    assert [(one["fits"], one["free"], one["left"]) for one in priced] == [(False, None, priced[0]["left"])] * 2
    there, new = (released(bob, {**TOP, "k": k}, key=f"k{k}") for k in (3, 4))
    assert (there.status, told(there.form)) == (new.status, told(new.form))
    assert there.status == 403


def test_what_one_has_paid_for_is_there_at_once_whoever_made_it(separate, bob, wall, monkeypatch):
    """Or the second time would tell whose run the first time was."""
    slowly(monkeypatch, wall, 4.0)
    assert released(separate.analyst, TOP, key="a").status == 200
    reply = asked(bob, TOP, key="b")
    ended(separate, reply)
    assert bob.get(reply.headers["location"]).status == 202
    wall.let_pass(4)
    assert bob.get(reply.headers["location"], Prefer="wait=20").status == 200
    assert released(bob, {**TOP, "k": 4}, key="c").status == 200
    for question in (TOP, {**TOP, "k": 4}):
        began = time.monotonic()
        assert released(bob, question, key=f"again-{question['k']}").status == 200
        assert time.monotonic() - began < 3.9


def slowly(monkeypatch, wall, seconds):
    """Reading takes some time, by the clock on the wall."""
    real = spine._draw  # noqa: SLF001  where data is read

    def draw(*given, **named):
        wall.let_pass(seconds)
        return real(*given, **named)

    monkeypatch.setattr(spine, "_draw", draw)


@pytest.mark.parametrize("first", ["alone", "among others"])
def test_a_batch_does_not_tell_that_an_answer_was_there(separate, bob, wall, monkeypatch, first):
    """Asked alone or among others, an answer that was there takes as long as its first run did."""
    slowly(monkeypatch, wall, 4.0)
    pair = {"mode": "release", "questions": [TOP, COUNT]}
    if first == "alone":
        assert released(separate.analyst, TOP, key="a").status == 200
        assert released(separate.analyst, COUNT, key="b").status == 200
    else:
        assert separate.analyst.post("/v1/batches", pair, Idempotency_Key="a").status == 200
    reply = asked(bob, pair, path="/v1/batches") if first == "alone" else asked(bob, TOP)
    ended(separate, reply)
    assert bob.get(reply.headers["location"]).status == 202
    # Two that were asked alone took twice as long.
    wall.let_pass(8 if first == "alone" else 4)
    assert bob.get(reply.headers["location"], Prefer="wait=20").status == 200


def test_a_full_line_does_not_count_who_stands_in_it(tmp_path, reading):
    """That a store is busy cannot be hidden; how many questions of others wait for it is not told."""

    def narrow(config):
        store = replace(config.store("files"), max_running=1, max_waiting=3)
        return replace(apart(config), stores=(store,))

    with staged(tmp_path, narrow) as stage:
        asked(stage.analyst, TOP)
        assert reading.began.wait(30)
        for k in (4, 5, 6):
            asked(stage.analyst, {**TOP, "k": k}, key=f"k{k}")
        until = time.monotonic() + 30
        while stage.service.stores.load(stage.service.served.find("events")) != (1, 3) and time.monotonic() < until:
            time.sleep(0.01)
        refused = asked(stage.token("olga", scopes=("ask",)), {**TOP, "k": 7})
        assert (refused.code, refused.form["charged"]) == ("busy", False)
        assert "3" not in refused.form["detail"]
        reading.go.set()
