"""Data sets: one table has one budget and one person, and who is told what of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hushcount.app.serving.opening import open_service
from tests.api.served import TOP, released, staged

MORE = {"name": "more", "store": "files", "table": "more.csv", "person": "user_id"}
OTHER = {"dataset": "more", "question": "count", "item": "item", "max_items_per_user": 1}


def folder(stage):
    """Where the files are."""
    return Path(stage.service.served.find("events").store.place)


@pytest.mark.parametrize("spelling", ["./events.csv", "events*.csv", "linked.csv", "hard.csv", "copied.csv"])
def test_another_way_to_the_same_table_is_no_other_budget(fresh, spelling):
    """By whatever path, pattern or link, and as a copy, too."""
    data = folder(fresh)
    (data / "linked.csv").symlink_to(data / "events.csv")
    (data / "hard.csv").hardlink_to(data / "events.csv")
    (data / "copied.csv").write_bytes((data / "events.csv").read_bytes())
    made = fresh.owner.post("/v1/datasets", {**MORE, "name": "again", "table": spelling})
    assert made.status == 201, made.body
    assert made.form["people"] == "events"
    whole = {**TOP, "method": "unknown-gumbel"}
    assert released(fresh.owner, whole, key="one").form["cost"]["releases"] == 1
    again = released(fresh.owner, {**whole, "dataset": "again"}, key="two").form
    assert again["cost"]["releases"] == 0
    assert again["cost"]["repeated"] is True


@pytest.mark.parametrize(
    "table", ["../noise-key", "/etc/passwd", "a/../../x", "~/x", "http://x/y.csv", "out.csv", "x\0"]
)
def test_no_table_leads_out_of_its_store(fresh, table):
    """Neither does a link."""
    outside = folder(fresh).parent / "outside.csv"
    outside.write_text("user_id,item\nq,r\n", encoding="utf-8")
    (folder(fresh) / "out.csv").symlink_to(outside)
    assert fresh.owner.post("/v1/datasets", {**MORE, "table": table}).status in {400, 502}
    assert "more" not in [one["name"] for one in fresh.owner.get("/v1/datasets").form["data"]]


def test_a_name_of_the_configuration_is_not_taken_over(fresh):
    """Else one worker answers about another table than the others, under the same name."""
    taken = fresh.owner.post("/v1/datasets", {**MORE, "name": "events"})
    assert (taken.status, taken.code) == (400, "invalid-parameter")
    assert released(fresh.analyst).status == 200


def test_a_person_who_is_no_column_is_not_pinned(fresh):
    """A slip would keep the right column out for ever."""
    wrong = fresh.owner.post("/v1/datasets", {**MORE, "person": "user"})
    assert (wrong.status, wrong.code) == (400, "unknown-column")
    assert fresh.owner.post("/v1/datasets", MORE).status == 201


def test_another_person_is_refused(fresh):
    """What is spent is added up for one kind of person."""
    assert fresh.owner.post("/v1/datasets", {**MORE, "table": "events.csv", "person": "country"}).status == 502


@pytest.mark.parametrize("mode", ["estimate", "release"])
def test_data_that_is_gone_tells_an_analyst_nothing_of_the_server(fresh, mode):
    """Neither where it lies nor what lies beside it; an owner is told."""
    (folder(fresh) / "events.csv").rename(folder(fresh) / "event.csv")
    for client in (fresh.analyst, fresh.owner):
        reply = client.post("/v1/queries", {**TOP, "mode": mode}, Idempotency_Key="k")
        assert (reply.status, reply.code, reply.form["charged"]) == (502, "store-failed", False)
        told = reply.body.decode()
        assert (str(folder(fresh)) in told) == (client is fresh.owner)
        assert client is fresh.owner or "event.csv" not in told


def test_data_that_was_never_met_is_not_there_for_strangers(tmp_path):
    """A store that fails tells nobody without a role that there is something to fail."""

    def ghostly(config):
        ghost = replace(config.datasets[0], name="ghost", table="ghost.csv")
        return replace(config, datasets=(*config.datasets, ghost))

    with staged(tmp_path, ghostly) as stage:
        for client in (stage.stranger, stage.analyst):
            replies = [client.post("/v1/queries", {**TOP, "dataset": name}) for name in ("ghost", "nothing")]
            assert [reply.status for reply in replies] == [404, 404]
            assert replies[0].form["detail"] == replies[1].form["detail"]
        assert stage.owner.post("/v1/queries", {**TOP, "dataset": "ghost"}).status == 502


def test_data_about_the_same_people_is_not_served_before_it_is_joined(fresh):
    """Else it has a budget of its own, and no worker starts again until what is held has ended."""
    assert fresh.owner.post("/v1/datasets", {**MORE, "people": "members"}).status == 201
    (folder(fresh) / "last.csv").write_text("user_id,item\nz1,x\n", encoding="utf-8")
    last = {**MORE, "name": "last", "table": "last.csv"}
    assert fresh.owner.post("/v1/datasets", last).status == 201
    wish = {"dataset": "last", "cost": {"rho": "0.0001"}}
    held = fresh.owner.post("/v1/budget/reservations", wish, Idempotency_Key="held")
    again = {**last, "name": "late", "people": "members"}
    refused = fresh.owner.post("/v1/datasets", again)
    assert (refused.status, refused.code) == (403, "not-permitted")
    assert "late" not in [one["name"] for one in fresh.owner.get("/v1/datasets").form["data"]]
    with open_service(fresh.service.config) as other:
        assert "late" not in other.served.names()
    assert fresh.owner.delete(f"/v1/budget/reservations/{held.form['id']}").status == 200
    assert fresh.owner.post("/v1/datasets", again).form["people"] == "more"
