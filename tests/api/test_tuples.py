"""Items of several columns over HTTP: asked, rehearsed, told in every format, reckoned with, and kept to the offer."""

from __future__ import annotations

import csv
import io

import pytest

from tests.api.served import released

PAIR = {"dataset": "events", "question": "count", "item": ["country", "article"], "max_items_per_user": 1}


@pytest.fixture(scope="module")
def release(stage):
    """People per country and article."""
    return released(stage.analyst, PAIR).form["release"]


def test_an_item_is_a_list_of_its_values(release):
    """In the order of the columns, which the receipt names."""
    assert release["receipt"]["columns"] == ["country", "article"]
    assert release["receipt"]["item"] == "country and article"
    assert {tuple(row["item"]) for row in release["rows"]} >= {("NZ", "a1"), ("AU", "a2")}


def test_files_have_the_columns_by_name(stage, release):
    """And the same rows."""
    text = stage.analyst.get(f"/v1/releases/{release['id']}.csv").body.decode()
    rows = [(row["country"], row["article"], int(row["count"])) for row in csv.DictReader(io.StringIO(text))]

    assert rows == [(*row["item"], row["count"]) for row in release["rows"]]
    assert "<th>country</th><th>article</th>" in stage.analyst.get(f"/v1/releases/{release['id']}.html").body.decode()
    assert stage.analyst.get(f"/v1/releases/{release['id']}.svg").status == 200


def test_rows_are_reckoned_with_by_their_values(stage, release):
    """Two of them added up; one that was not released is told."""
    first, second = release["rows"][:2]
    path = f"/v1/releases/{release['id']}/derive"
    made = stage.analyst.post(path, {"deed": "sum", "items": [first["item"], second["item"]]}).form

    assert made["value"] == first["count"] + second["count"]
    assert stage.analyst.post(path, {"deed": "sum", "items": [["NZ", "nothing"]]}).status == 400


def test_the_same_question_however_it_is_said_is_free(stage, release):
    """`by` puts a column before the others."""
    said = {**PAIR, "item": "article", "by": "country"}
    again = released(stage.analyst, said, key="the-same-once-more").form

    assert again["release"]["rows"] == release["rows"]
    assert again["cost"]["releases"] == 0


def test_a_rehearsal_has_as_many_values(stage):
    """Each made up and marked."""
    rows = stage.analyst.post("/v1/queries", {**PAIR, "mode": "rehearse"}).form["release"]["rows"]

    assert rows
    assert all(len(row["item"]) == 2 and all("made-up" in cell for cell in row["item"]) for row in rows)


@pytest.mark.parametrize(
    ("more", "member"),
    [
        ({"item": ["country", "user_id"]}, "item"),
        ({"item": ["country", "country"]}, "item"),
        ({"item": []}, "item"),
        ({"item": ["a"] * 9}, "item"),
        ({"item": ["country", "day(article)"], "timezone": "Nowhere/Land"}, "timezone"),
        ({"timezone": "Europe/Berlin"}, "timezone"),
        ({"item": ["country", "day(article)"], "date_format": "%Q"}, "date_format"),
        ({"keys": [["NZ"]]}, "keys"),
        ({"keys": ["NZ"]}, "keys"),
    ],
)
def test_what_cannot_be_is_refused(stage, more, member):
    """With the member, and nothing is charged."""
    reply = stage.analyst.post("/v1/queries", {**PAIR, **more})

    assert reply.status == 400, reply.body
    assert member in reply.body.decode()
