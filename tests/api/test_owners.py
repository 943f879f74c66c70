"""What owners do over HTTP: data sets, limits, freezes, wishes, saved and published questions, usage, the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount.app.serving.questions.scheduling import ask_scheduled
from hushcount.app.serving.setup.config import Timing
from tests.api.served import CANARY, TOP, released, staged

CAUTIOUS = {**TOP, "preset": "cautious"}


def test_a_limit_refuses_with_a_way_out_and_more_is_granted_until_a_day(fresh):
    """Refused, wished for, decided by the owner alone, and then it fits."""
    assert fresh.owner.put("/v1/limits", {"dataset": "events", "analyst": "ana", "releases": 1}).status == 200
    refused = released(fresh.analyst, {**TOP, "preset": "generous"})
    assert (refused.status, refused.code) == (403, "budget-exhausted")
    assert refused.form["asked"]["releases"] > 1
    assert refused.form["left"] == {"releases": 1}
    assert refused.form["short"] == ["your own budget"]
    assert refused.form["would_fit"]
    assert refused.form["ask"]["owners"]
    assert "retry-after" not in refused.headers
    wish = fresh.analyst.post("/v1/requests", {"dataset": "events", "releases": "20", "why": "the yearly report"})
    assert wish.status == 201
    name = wish.form["id"]
    assert fresh.owner.get("/v1/requests?dataset=events").form["data"][0]["id"] == name
    assert fresh.reader.get(f"/v1/requests/{name}").code == "not-found"
    verdict = {"grant": True, "sentence": "as agreed"}
    assert fresh.reader.post(f"/v1/requests/{name}/decision", verdict).code == "not-found"
    assert fresh.analyst.post(f"/v1/requests/{name}/decision", verdict).code == "not-permitted"
    decided = fresh.owner.post(f"/v1/requests/{name}/decision", verdict)
    assert (decided.status, decided.form["state"]) == (200, "granted"), decided.body
    assert fresh.analyst.get(f"/v1/requests/{name}").form["decision"]["words"] == "as agreed"
    fresh.owner.put("/v1/limits", {"dataset": "events", "releases": 100})
    assert released(fresh.analyst, {**TOP, "preset": "generous"}, key="k2").status == 200


@pytest.mark.parametrize("analysts", ["colleagues", "separate"])
def test_a_refusal_leads_to_what_is_free_whoever_asked_first(tmp_path, analysts):
    """Answers that the caller has, each at its place; that somebody else had asked one of them before does not show."""

    def change(config):
        return replace(config, privacy=replace(config.privacy, analysts=analysts, timing=Timing(kind="off")))

    with staged(tmp_path, change) as stage:
        assert released(stage.owner, CAUTIOUS, key="before").status == 200
        mine = [released(stage.analyst, {**CAUTIOUS, **more}, key=f"k{len(more)}") for more in ({}, {"fresh": True})]
        stage.owner.put("/v1/limits", {"dataset": "events", "analyst": "ana", "releases": "0.5"})
        refused = released(stage.analyst, TOP, key="dear")
        places = [one["release"] for one in refused.form["already_answered"]]
        read = [stage.analyst.get(place) for place in places]

        assert refused.code == "budget-exhausted"
        assert {one["what"] for one in refused.form["already_answered"]} == {"top of article per user_id"}
        assert sorted(places) == sorted(f"/v1/releases/{one.form['release']['id']}" for one in mine)
        assert [one.status for one in read] == [200, 200]


def test_a_refusal_leads_to_each_of_several_answers_that_were_asked_at_once(fresh):
    """Also if another question has the key of one of them, made of theirs by hand."""
    questions = [{**CAUTIOUS, "k": k} for k in (1, 2)]
    said = {"questions": questions, "mode": "release"}
    batch = fresh.analyst.post("/v1/batches", said, Idempotency_Key="k", Prefer="wait=60")
    single = released(fresh.analyst, {**CAUTIOUS, "k": 3}, key="k#2")
    fresh.owner.put("/v1/limits", {"dataset": "events", "analyst": "ana", "releases": "0.5"})
    refused = released(fresh.analyst, TOP, key="dear")
    places = [one["release"] for one in refused.form["already_answered"]]
    read = [fresh.analyst.get(place) for place in places]

    assert refused.code == "budget-exhausted"
    mine = [*(one["id"] for one in batch.form["releases"]), single.form["release"]["id"]]
    assert sorted(places) == sorted(f"/v1/releases/{name}" for name in mine)
    assert [one.status for one in read] == [200, 200, 200]


@pytest.mark.parametrize(
    "limit",
    [
        {"releases": "3"},
        {"rho": "0.3", "delta": "1e-6"},
        {"epsilon": 2, "delta": "1e-6"},
        {"information": 100, "calls": 100},
    ],
)
def test_a_limit_is_said_in_four_ways(stage, limit):
    """Releases, zCDP, epsilon, LinkedIn's units."""
    reply = stage.owner.put("/v1/limits", {"dataset": "events", "group": "team", "mode": "track", **limit})
    assert reply.status == 200, reply.body
    assert reply.form["mode"] == "track"
    assert any(one["name"] == "team" for one in stage.owner.get("/v1/limits?dataset=events").form["data"])


@pytest.mark.parametrize(
    "limit",
    [{}, {"releases": 1, "rho": 1}, {"rho": 1}, {"releases": "1e9"}, {"analyst": "a", "group": "b", "releases": 1}],
)
def test_a_limit_said_otherwise_is_refused(stage, limit):
    """In no way, in two, in half a one, for two accounts at once."""
    assert stage.owner.put("/v1/limits", {"dataset": "events", **limit}).code == "invalid-parameter"


def test_a_limit_may_begin_on_a_day(fresh):
    """Tracked until the day begins; the day itself is enforced. A day that is over is refused."""
    day = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()
    limit = {"dataset": "events", "analyst": "*", "releases": 1}
    told = fresh.owner.put("/v1/limits", {**limit, "enforced_from": day}).form

    assert (told["mode"], told["enforced_from"][:16]) == ("track", f"{day}T00:00")
    assert 0.61 < told["guess"] < 0.612
    assert fresh.owner.put("/v1/limits", {**limit, "enforced_from": "2020-01-01"}).code == "invalid-parameter"
    assert fresh.owner.put("/v1/limits", {**limit, "enforced_from": day, "mode": "track"}).code == "invalid-parameter"


def test_a_tracked_limit_is_marked_in_every_answer(fresh):
    """In headers, in JSON and in each row of a file."""
    fresh.owner.put("/v1/limits", {"dataset": "events", "releases": 1, "mode": "track"})
    reply = released(fresh.analyst)
    assert reply.headers["hushcount-mode"] == "track"
    assert reply.form["release"]["enforced"] is False
    file = fresh.analyst.get(f"/v1/releases/{reply.form['release']['id']}.csv")
    assert file.headers["hushcount-mode"] == "track"
    assert b"tracked" in file.body


def test_a_freeze_stops_questions_and_not_reading(fresh):
    """Of one data set or of all; for nothing."""
    before = released(fresh.analyst).form["release"]["id"]
    assert fresh.owner.post("/v1/datasets/events/freeze", {"frozen": True, "why": "an incident"}).status == 200
    reply = released(fresh.analyst, {**TOP, "k": 2}, key="k2")
    assert (reply.status, reply.code, reply.form["charged"]) == (403, "frozen", False)
    assert fresh.analyst.get(f"/v1/releases/{before}").status == 200
    assert fresh.owner.post("/v1/datasets/events/freeze", {"frozen": False}).status == 200
    assert released(fresh.analyst, {**TOP, "k": 2}, key="k3").status == 200
    fresh.owner.post("/v1/freeze", {"frozen": True})
    assert released(fresh.analyst, {**TOP, "k": 1}, key="k4").code == "frozen"


def test_a_stopped_data_set_still_tells_what_it_is(fresh):
    """Its budget is read, with nothing left to ask; a stop is a refusal of questions and of nothing else."""
    fresh.owner.post("/v1/datasets/events/freeze", {"frozen": True, "why": "a complaint"})
    told = fresh.analyst.get("/v1/datasets/events/budget")

    assert (told.status, told.form["left"]) == (200, None)
    assert fresh.analyst.get("/v1/datasets/events").status == 200


def test_a_data_set_is_added_and_facts_are_declared(fresh):
    """By owners, within a store of the configuration and nowhere else."""
    body = {"name": "more", "store": "files", "table": "more.csv", "person": "user_id"}
    assert fresh.analyst.post("/v1/datasets", body).code in {"not-found", "not-permitted"}
    made = fresh.owner.post("/v1/datasets", body)
    assert made.status == 201, made.body
    assert fresh.analyst.get("/v1/datasets/more").code == "not-found"
    facts = {"facts": {"item": {"max_items_per_user": 2, "public_items": ["x", "y"]}}}
    assert fresh.owner.patch("/v1/datasets/more", facts).form["facts"]["item"]["public_items"] == 2
    price = fresh.owner.post("/v1/queries", {"dataset": "more", "question": "count", "item": "item"}).form
    assert price["expected"]["rows"] == "every one of the 2 listed items"
    for table in ("../noise-key", "/etc/passwd", "nothing.csv"):
        reply = fresh.owner.post("/v1/datasets", {**body, "name": "evil", "table": table})
        assert reply.status in {400, 502}, reply.body
    assert fresh.owner.post("/v1/datasets", {**body, "store": "nowhere"}).code == "invalid-parameter"


def test_a_data_set_says_of_which_day_it_is(tmp_path):
    """Where versions change once a day: today's, in UTC. Elsewhere it is the data as it stands, of no day."""

    def daily(config):
        return replace(config, stores=tuple(replace(store, snapshot="day") for store in config.stores))

    (tmp_path / "daily").mkdir()
    (tmp_path / "none").mkdir()
    with staged(tmp_path / "daily", daily) as stage:
        told = stage.analyst.get("/v1/datasets/events").form
        now = stage.service.setting.clock()
    with staged(tmp_path / "none") as stage:
        other = stage.analyst.get("/v1/datasets/events").form

    assert (told["snapshot"], told["as_of"]) == ("day", f"{now:%Y-%m-%d}")
    assert (other["snapshot"], other["as_of"]) == ("none", None)


def test_examples_name_real_columns_or_there_are_none(tmp_path):
    """Of a table that tells its columns, and of CSV and JSON those that owners declared: each can be sent as it is."""
    with staged(tmp_path) as stage:
        data = tmp_path / "data"
        rows = pa.table({"user_id": ["w1", "w2"], "thing": ["x", "y"]})
        pq.write_table(rows, data / "told.parquet")
        (data / "keys.jsonl").write_text('{"user_id": "w1", "secret": "x"}\n', encoding="utf-8")
        for name, table in (("told", "told.parquet"), ("keys", "keys.jsonl")):
            new = {"name": name, "store": "files", "table": table, "person": "user_id"}
            assert stage.owner.post("/v1/datasets", new).status == 201
        told, keys, lines = (
            stage.owner.get(f"/v1/datasets/{name}").form["examples"] for name in ("told", "keys", "events")
        )
        stage.owner.patch("/v1/datasets/events", {"facts": {"article": {"max_items_per_user": 1}}})
        declared = stage.owner.get("/v1/datasets/events").form["examples"]

        assert (keys, lines) == ([], [])
        assert {one["item"] for one in told} == {"thing"}
        assert {one["item"] for one in declared} == {"article"}
        assert [stage.owner.post("/v1/queries", one).status for one in (*told, *declared)] == [200] * 4


def test_a_published_question_is_read_by_readers_who_never_ask(fresh):
    """From saving to taking back; strangers see none of it."""
    made = fresh.analyst.post("/v1/questions", {"name": "weekly", "asked": CAUTIOUS})
    assert made.status == 201, made.body
    assert fresh.analyst.get("/v1/questions/weekly/latest.csv").code == "not-found"
    reply = fresh.analyst.post("/v1/questions/weekly/release", Idempotency_Key="w1")
    assert reply.status == 200, reply.body
    assert fresh.analyst.get("/v1/questions/weekly/latest").form == reply.form["release"]
    assert fresh.reader.get("/v1/questions/weekly/latest.csv").code == "not-found"
    publish = {"question": made.form["id"], "name": "top-weekly"}
    assert fresh.analyst.post("/v1/datasets/events/publish", publish).code == "not-permitted"
    assert fresh.owner.post("/v1/datasets/events/publish", publish).status == 201
    file = fresh.reader.get("/v1/questions/top-weekly/latest.csv")
    assert file.status == 200
    assert file.headers["cache-control"] == "private, no-cache"
    assert fresh.reader.get("/v1/questions/top-weekly/latest.csv", If_None_Match=file.headers["etag"]).status == 304
    assert fresh.reader.get(f"/v1/releases/{reply.form['release']['id']}").status == 200
    assert fresh.stranger.get("/v1/questions/top-weekly/latest.csv").code == "not-found"
    assert [one["name"] for one in fresh.reader.get("/v1/questions").form["data"]] == ["top-weekly"]
    assert fresh.owner.delete("/v1/datasets/events/publish/top-weekly").status == 204
    assert fresh.reader.get("/v1/questions/top-weekly/latest.csv").code == "not-found"
    assert fresh.reader.get(f"/v1/releases/{reply.form['release']['id']}").code == "not-found"
    assert fresh.analyst.delete("/v1/questions/weekly").status == 204


@pytest.mark.parametrize(
    ("asked", "code", "pointer"),
    [
        ({"dataset": "events", "question": "top", "item": "article"}, "invalid-parameter", "/asked/k"),
        ({**TOP, "preset": "generous", "rho": "0.1"}, "invalid-parameter", None),
        ({**TOP, "where": "country = (SELECT 1)"}, "unsafe-filter", None),
    ],
)
def test_a_question_that_could_never_be_asked_is_not_saved(stage, asked, code, pointer):
    """It is refused when it is saved, with the place of what is wrong, and nothing of it is kept."""
    reply = stage.analyst.post("/v1/questions", {"name": "never", "asked": asked})

    assert (reply.status, reply.code) == (400, code)
    assert pointer is None or reply.form["pointer"] == pointer
    assert stage.analyst.get("/v1/questions/never").status == 404
    assert "never" not in [one["name"] for one in stage.analyst.get("/v1/questions").form["data"]]


def test_usage_is_numbers_and_a_picture_and_a_proposal(fresh):
    """Who would have been stopped by which limit."""
    for number in range(3):
        released(fresh.analyst, {**CAUTIOUS, "k": number + 1}, key=f"k{number}")
    form = fresh.auditor.get("/v1/datasets/events/usage?limits=0.1,10&window=day").form
    assert form["analysts"] == 1
    assert [one["stopped"] for one in form["limits"]] == [["ana"], []]
    picture = fresh.owner.get("/v1/datasets/events/usage", Accept="image/svg+xml")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert fresh.owner.post("/v1/datasets/events/proposals", {"share": "0.9"}).form["releases"] >= 1
    assert fresh.owner.get("/v1/datasets/events/usage?limits=a").code == "invalid-parameter"


def test_the_log_is_whole_and_kept_heads_are_in_it(fresh):
    """In pages; a forged head is noticed."""
    released(fresh.analyst)
    entries = fresh.auditor.get("/v1/log?dataset=events&limit=2").form
    assert [entry["seq"] for entry in entries["data"]] == [1, 2]
    assert entries["next"] == "2"
    assert fresh.auditor.get("/v1/log?dataset=events&after=2").form["data"][0]["seq"] == 3
    verdict = fresh.owner.post("/v1/log/verify").form
    assert verdict["whole"] is True
    again = fresh.owner.post("/v1/log/verify", {"heads": verdict["heads"]}).form
    assert again["whole"] is True
    forged = [{**verdict["heads"][0], "hash": "0" * 64}]
    assert fresh.owner.post("/v1/log/verify", {"heads": forged}).form["whole"] is False


def test_a_group_has_a_budget_of_its_own(fresh):
    """While somebody is in it."""
    assert fresh.owner.put("/v1/groups/team", {"add": ["ana", "rea"]}).status == 200
    fresh.owner.put("/v1/limits", {"dataset": "events", "group": "team", "releases": "0.5"})
    refused = released(fresh.analyst)
    assert refused.form["short"] == ["your group's budget"]
    assert "team" in fresh.analyst.get("/v1/me").form["groups"]
    assert fresh.owner.put("/v1/groups/team", {"remove": ["ana"]}).status == 200
    assert released(fresh.analyst, key="k2").status == 200


def test_other_programs_spend_from_the_same_account(fresh):
    """Held, settled, given back, each reservation its program's own."""
    wish = {"dataset": "events", "cost": {"rho": "0.05", "delta": "1e-9"}, "what": "synthetic data", "lifetime": "2h"}
    assert fresh.program.post("/v1/budget/check", wish).form["fits"] is True
    made = fresh.program.post("/v1/budget/reservations", wish, Idempotency_Key="nightly-1")
    assert made.status == 201, made.body
    again = fresh.program.post("/v1/budget/reservations", wish, Idempotency_Key="nightly-1")
    assert again.form["id"] == made.form["id"]
    path = f"/v1/budget/reservations/{made.form['id']}"
    assert fresh.analyst.post(f"{path}/settle", {"cost": {"rho": "0.04"}}).code == "not-found"
    settled = fresh.program.post(f"{path}/settle", {"cost": {"rho": "0.04"}})
    assert settled.form["charged"]["rho"].startswith("0.04")
    assert fresh.program.delete(path).status in {200, 409}
    updated = fresh.program.post("/v1/budget/update", wish, Idempotency_Key="nightly-2")
    assert updated.form["charged"]["rho"].startswith("0.05")
    dear = {**wish, "cost": {"rho": "100"}}
    assert fresh.program.post("/v1/budget/check", dear).form["fits"] is False
    assert fresh.program.post("/v1/budget/update", dear, Idempotency_Key="n3").code == "budget-exhausted"
    for_ana = {**wish, "analyst": "ana"}
    assert fresh.program.post("/v1/budget/reservations", for_ana, Idempotency_Key="n4").code == "not-permitted"
    given = fresh.program.post("/v1/budget/reservations", wish, Idempotency_Key="n5").form["id"]
    assert fresh.program.delete(f"/v1/budget/reservations/{given}").status == 200
    assert fresh.program.post(f"/v1/budget/reservations/{given}/settle", {"cost": {"rho": "0.01"}}).status in {404, 409}


def test_rare_items_show_up_nowhere(fresh):
    """In no list that an owner reads."""
    released(fresh.analyst)
    everything = [
        fresh.owner.get(path).body.decode()
        for path in (
            "/v1/queries",
            "/v1/log?dataset=events",
            "/v1/log",
            "/v1/datasets/events",
            "/v1/people",
            "/v1/limits",
        )
    ]
    assert not any(CANARY in text for text in everything)


def test_separate_analysts_learn_nothing_of_each_other_from_balances_and_refusals(tmp_path):
    """What ana is told does not depend on what olga spent, until the shared budget itself is short."""

    def separate(config):
        return replace(config, privacy=replace(config.privacy, analysts="separate"))

    with staged(tmp_path, separate) as stage:
        stage.owner.put("/v1/limits", {"dataset": "events", "analyst": "ana", "releases": 1})
        before = stage.analyst.get("/v1/datasets/events/budget").form
        assert released(stage.owner, {**TOP, "k": 1}).status == 200
        assert stage.analyst.get("/v1/datasets/events/budget").form == before
        assert [(one["kind"], one["shared"]) for one in before["accounts"]] == [
            ("dataset", True),
            ("token", False),
            ("analyst", False),
        ]
        own = released(stage.analyst, {**TOP, "preset": "generous"})
        assert own.form["short"] == ["your own budget"]
        assert "spent_on" not in own.form
        stage.owner.put("/v1/limits", {"dataset": "events", "releases": "0.2"})
        shared = released(stage.analyst, key="k2")
        assert shared.code == "budget-exhausted"
        assert shared.form["short"] == ["a budget that is shared with others"]
        assert shared.form["left"] == {"releases": None}
        assert "spent_on" not in shared.form


@pytest.mark.parametrize("role", ["owner", "auditor"])
def test_whoever_has_a_role_for_one_data_set_reads_what_is_about_it_alone(fresh, role):
    """Also where others are about the same people."""
    ledger = fresh.service.ledger
    ledger.catalog.join("events", "hidden", by="olga")
    events, hidden = (fresh.service.served.find(name).id for name in ("events", "hidden"))
    ledger.grant("oda", role, dataset=events, by="olga")
    ledger.grant("hal", "analyst", dataset=hidden, by="olga")
    assert released(fresh.analyst, TOP, key="a").status == 200
    assert (
        released(fresh.token("hal"), {"dataset": "hidden", "question": "top", "item": "item", "k": 1}, key="b").status
        == 200
    )
    oda = fresh.token("oda", scopes=("manage", "read"))

    entries = oda.get("/v1/log?dataset=events&limit=2").form
    more = oda.get(f"/v1/log?dataset=events&after={entries['next']}").form
    told = [*entries["data"], *more["data"]]
    assert {one["by"] for one in told} == {"ana"}
    assert [one["kind"] for one in told] == ["reserve", "touch", "settle"]
    assert more["next"] is None
    assert oda.get("/v1/datasets/events/usage").form["analysts"] == 1
    assert oda.post("/v1/datasets/events/proposals", {}).status == 200
    assert fresh.owner.get("/v1/datasets/events/usage").form["analysts"] == 2
    assert oda.get("/v1/log").status in {403, 404}
    assert oda.get("/v1/log?dataset=hidden").status == 404
    assert oda.get("/v1/datasets/hidden/usage").status == 404


def test_facts_are_held_against_the_data_for_owners_alone(fresh):
    """A price by default; then yes or no, without a number of the data, paid once; nobody else may."""
    facts = {"article": {"max_items_per_user": 2, "public_items": ["a0", "a1"], "per_item_cap": 3}}
    assert fresh.owner.patch("/v1/datasets/events", {"facts": facts}).status == 200
    path = "/v1/datasets/events/check"
    price = fresh.owner.post(path, {})
    assert (price.status, price.form["mode"]) == (200, "estimate"), price.body
    assert {one["holds"] for one in price.form["facts"]} == {None}
    assert fresh.owner.post(path, {"mode": "release"}).code == "invalid-parameter"
    reply = fresh.owner.post(path, {"mode": "release"}, Idempotency_Key="c1")
    assert reply.status == 200, reply.body
    assert {one["fact"]: one["holds"] for one in reply.form["facts"]} == {
        "max_items_per_user": True,
        "public_items": False,
        "per_item_cap": None,
        "person": None,
    }
    assert 0 < reply.form["cost"]["releases"] <= 0.1
    assert CANARY not in reply.body.decode()
    again = fresh.owner.post(path, {"mode": "release"}, Idempotency_Key="c2")
    assert (again.form["facts"], again.form["cost"]) == (reply.form["facts"], {"releases": 0})
    log = fresh.owner.get("/v1/log?dataset=events").form["data"]
    assert any(one["kind"] == "settle" and one["by"] == "olga" for one in log)
    for role, code in (("analyst", "not-permitted"), ("reader", "not-permitted"), ("stranger", "not-found")):
        for mode in ("estimate", "release"):
            assert fresh.role(role).post(path, {"mode": mode}, Idempotency_Key="c3").code == code


def test_a_schedule_is_set_shown_and_taken_back(fresh):
    """Asked by itself within moments; last run, next and last problem are for whose it is alone."""
    asked = {"name": "daily", "asked": CAUTIOUS, "schedule": "new data"}
    assert fresh.analyst.post("/v1/questions", {**asked, "schedule": "hourly"}).code == "invalid-parameter"
    made = fresh.analyst.post("/v1/questions", asked)
    assert made.status == 201, made.body
    assert made.form["schedule"]["next"] == "Within about a minute."
    ask_scheduled(fresh.service)
    shown = fresh.analyst.get("/v1/questions/daily").form
    assert shown["schedule"]["last_run"]["state"] == "done"
    assert shown["schedule"]["last_problem"] is None
    assert shown["schedule"]["next"] == "When the data has a new version."
    assert fresh.analyst.get("/v1/questions/daily/latest").form["id"] == shown["latest"]
    query = fresh.analyst.get(f"/v1/queries/{shown['schedule']['last_run']['query']}")
    assert query.form["cost"]["releases"] > 0
    for other in (fresh.reader, fresh.stranger, fresh.owner):
        assert other.get("/v1/questions/daily").code == "not-found"
        assert other.patch("/v1/questions/daily", {"schedule": None}).code == "not-found"
    ended = fresh.analyst.patch("/v1/questions/daily", {"schedule": None})
    assert (ended.status, ended.form["schedule"]) == (200, None)
    publish = {"question": made.form["id"], "name": "top-daily"}
    assert fresh.owner.post("/v1/datasets/events/publish", publish).form["schedule"] is None


def test_what_each_can_know_is_their_own_and_what_is_published(fresh):
    """Two numbers: publishing charges nobody again, and what was taken back stays known."""
    spent = fresh.owner.get("/v1/datasets/events/budget").form["accounts"]
    made = fresh.analyst.post("/v1/questions", {"name": "weekly", "asked": CAUTIOUS}).form
    cost = fresh.analyst.post("/v1/questions/weekly/release", Idempotency_Key="w1").form["cost"]["releases"]
    before = {name: fresh.role(name).get("/v1/datasets/events/budget").form["known"] for name in ("analyst", "reader")}
    assert before["analyst"]["own"] == {"releases": cost}
    assert (before["analyst"]["published"], before["reader"]["published"]) == ({"releases": 0}, {"releases": 0})
    accounts = fresh.owner.get("/v1/datasets/events/budget").form["accounts"]
    fresh.owner.post("/v1/datasets/events/publish", {"question": made["id"], "name": "top"})
    assert fresh.owner.get("/v1/datasets/events/budget").form["accounts"] == accounts != spent
    known = {name: fresh.role(name).get("/v1/datasets/events/budget").form["known"] for name in ("analyst", "reader")}
    assert known["analyst"] == before["analyst"]
    assert (known["reader"]["own"], known["reader"]["published"]) == ({"releases": 0}, {"releases": cost})
    assert fresh.reader.get("/v1/questions/top/latest.csv").status == 200
    assert fresh.reader.get("/v1/datasets/events/budget").form["known"] == known["reader"]
    fresh.owner.delete("/v1/datasets/events/publish/top")
    assert fresh.reader.get("/v1/datasets/events/budget").form["known"] == known["reader"]
    assert fresh.auditor.get("/v1/datasets/events/budget").form["known"] is None
