"""Questions and their answers as the HTTP interface words them: keys, waiting, polling, lists, and free things."""

from __future__ import annotations

import uuid
from datetime import date

import pytest

from hushcount_client import ServiceError, StillRunning
from tests.unit.client.scripted import DONE, ESTIMATE, RUNNING, TOKEN, Sleeps, answer, connected, playing, problem


def test_a_question_is_sent_as_the_interface_words_it():
    """One POST with the question, a key, the wish to wait and the token; the answer is read in full."""
    with playing(answer(200, DONE)) as script:
        release = connected(script).top("engagements", item="article", k=10, where="country = 'NZ'", max_cost=1)

    (seen,) = script.seen
    assert (seen.method, seen.path) == ("POST", "/v1/queries")
    assert seen.body == {
        "mode": "release",
        "dataset": "engagements",
        "question": "top",
        "item": "article",
        "k": 10,
        "where": "country = 'NZ'",
        "max_cost": {"releases": 1},
    }
    assert uuid.UUID(seen.headers["idempotency-key"])
    assert seen.headers["prefer"] == "wait=5"
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"
    assert seen.headers["content-type"] == "application/json"
    assert [row.count for row in release.rows] == [3986, 120]
    assert (release.id, release.cutoff, release.enforced, release.made_up) == ("r_7f3a", 96, True, False)
    assert release.cost == DONE["cost"]
    assert release.left == DONE["left"]
    assert release.receipt == {"id": "abc123", "question": "top"}
    assert release.notes == tuple(DONE["release"]["notes"])


def test_every_call_has_a_key_of_its_own_unless_one_is_chosen():
    """Two calls are two attempts; a key that was chosen goes out as it is."""
    with playing(*[answer(200, DONE)] * 3) as script:
        connection = connected(script)
        for options in ({}, {}, {"key": "mine-1"}):
            connection.count("engagements", item="article", **options)

    first, second, third = (seen.headers["idempotency-key"] for seen in script.seen)
    assert first != second
    assert third == "mine-1"


def test_a_long_question_is_polled_and_its_stages_are_told():
    """202, then what Location names, at the pace of Retry-After; each stage is told once."""
    place = {"Location": "/v1/queries/q_01", "Retry_After": "2"}
    told, sleeps = [], Sleeps()
    steps = [
        answer(202, RUNNING, **place),
        answer(200, RUNNING, Retry_After="3"),
        answer(202, {**RUNNING, "id": "q_01", "stage": "adding noise"}),
        answer(200, DONE),
    ]
    # A reply to polling need not repeat where it came from.
    steps[1] = answer(200, {**RUNNING, "id": "q_01"}, Retry_After="3")
    with playing(*steps) as script:
        release = connected(script, sleeps).count("engagements", item="article", say=told.append)

    assert len(release) == 2
    assert [(seen.method, seen.path) for seen in script.seen[1:]] == [("GET", "/v1/queries/q_01")] * 3
    assert "idempotency-key" not in script.seen[1].headers
    assert told == ["counting people", "adding noise"]
    assert sleeps == [2.0, 3.0, 1.0]


def test_patience_ends_and_says_how_to_join():
    """A question that runs longer than patience lasts goes on at the server; the error has its key and its id."""
    running = answer(202, RUNNING, Location="/v1/queries/q_01", Retry_After="20")
    with playing(running, answer(202, {**RUNNING, "id": "q_01"}, Retry_After="20")) as script:
        connection = connected(script, whole=30.0)
        with pytest.raises(StillRunning) as caught:
            connection.count("engagements", item="article", key="mine-1")

    assert caught.value.query == "q_01"
    assert caught.value.key == "mine-1"
    assert "key='mine-1'" in str(caught.value)
    assert caught.value.charged is None


def test_a_location_elsewhere_is_not_followed():
    """Only the id is taken of a Location: another host gets neither a request nor the token."""
    running = answer(202, RUNNING, Location="https://evil.example/v1/queries/q_01", Retry_After="1")
    with playing(running, answer(200, DONE)) as script:
        connected(script).count("engagements", item="article")

    assert script.seen[1].path == "/v1/queries/q_01"


@pytest.mark.parametrize("place", ["/v1/queries/q%2F..", "/v1/queries/q_01?x=1", "", "/v1/queries/q 1"])
def test_a_location_that_names_no_question_is_refused(place):
    """What is no id goes into no path."""
    with playing(answer(202, RUNNING, Location=place)) as script, pytest.raises(ServiceError) as caught:
        connected(script).count("engagements", item="article")

    assert caught.value.code == "not-understood"


@pytest.mark.parametrize(
    ("form", "code", "charged"),
    [
        ({"status": "cancelled", "charged": False}, "cancelled", False),
        ({"status": "failed"}, "failed", None),
        (
            {"status": "failed", "problem": {"code": "store-failed", "status": 502, "charged": True}},
            "store-failed",
            True,
        ),
        ({"status": "odd"}, "not-understood", None),
    ],
)
def test_a_question_that_ends_without_an_answer_is_an_error(form, code, charged):
    """Cancelled, failed, or something that is not known: never an empty table."""
    running = answer(202, RUNNING, Location="/v1/queries/q_01")
    with playing(running, answer(200, form)) as script, pytest.raises(ServiceError) as caught:
        connected(script).count("engagements", item="article", key="mine-1")

    assert (caught.value.code, caught.value.charged, caught.value.key) == (code, charged, "mine-1")


def test_a_receipt_that_did_not_come_along_is_fetched():
    """Free, from the place of the release."""
    bare = {**DONE, "release": {name: value for name, value in DONE["release"].items() if name != "receipt"}}
    with playing(answer(200, bare), answer(200, {"id": "abc123"})) as script:
        release = connected(script).count("engagements", item="article")

    assert script.seen[1].path == "/v1/releases/r_7f3a/receipt"
    assert release.receipt == {"id": "abc123"}


def test_an_answer_whose_receipt_is_lost_can_be_had_again():
    """The answer was paid: the error has the key under which it is given again for nothing."""
    bare = {**DONE, "release": {name: value for name, value in DONE["release"].items() if name != "receipt"}}
    with playing(answer(200, bare), problem(404, "not-found")) as script, pytest.raises(ServiceError) as caught:
        connected(script).count("engagements", item="article", key="mine-1")

    assert caught.value.key == "mine-1"
    assert "mine-1" in " ".join(caught.value.__notes__)


def test_an_estimate_is_free():
    """It carries no key and asks for mode estimate; price and accuracy are numbers."""
    with playing(answer(200, ESTIMATE)) as script:
        estimate = connected(script).estimate("engagements", item="article", question="top", k=10)

    assert script.seen[0].body["mode"] == "estimate"
    assert "idempotency-key" not in script.seen[0].headers
    assert (estimate.releases, estimate.give_or_take, estimate.cutoff, estimate.fits) == (1.0, 24, 96, True)
    assert estimate.cheaper[0]["change"] == {"preset": "cautious"}
    assert estimate.to_dict() == ESTIMATE


@pytest.mark.parametrize("mark", [{"made_up": True}, {}])
def test_a_rehearsal_says_that_it_is_made_up(mark):
    """In the value and in every table of it, also where the server forgot to say so."""
    form = {"mode": "rehearse", "release": DONE["release"], **mark}
    with playing(answer(200, form)) as script:
        rehearsed = connected(script).rehearse("engagements", item="article", question="top", k=10)

    assert script.seen[0].body["mode"] == "rehearse"
    assert rehearsed.made_up
    assert rehearsed.to_dict()["made_up"] == [True, True]


def test_lists_are_read_to_their_end():
    """Page after page, by what the server calls next; a limit that was asked for is kept."""
    pages = [answer(200, {"data": [{"id": "a"}], "next": "x&y"}), answer(200, {"data": [{"id": "b"}], "next": None})]
    with playing(*pages) as script:
        found = connected(script).datasets()
    with playing(answer(200, {"data": [{"id": n} for n in range(5)], "next": "m"})) as other:
        newest = connected(other).history(5)

    assert [one["id"] for one in found] == ["a", "b"]
    assert [seen.path for seen in script.seen] == ["/v1/datasets?limit=100", "/v1/datasets?limit=100&after=x%26y"]
    assert len(newest) == 5
    assert other.seen[0].path == "/v1/queries?limit=5"


@pytest.mark.parametrize("form", [{}, {"data": None}, {"data": [1], "next": None}])
def test_what_is_no_list_is_refused(form):
    """Never an empty list in its place."""
    with playing(answer(200, form)) as script, pytest.raises(ServiceError, match="no list"):
        connected(script).history()


def test_a_list_that_never_ends_is_left():
    """A page without entries that promises more is the last."""
    with playing(answer(200, {"data": [], "next": "again"})) as script:
        assert connected(script).history() == []


def test_names_stay_within_their_place():
    """A name with a slash or a question mark is one part of the path."""
    with playing(answer(200, {"left": {}}), problem(404, "not-found")) as script:
        connection = connected(script)
        connection.budget("a/b?c=é")
        with pytest.raises(ServiceError):
            connection.release("../me")

    assert script.seen[0].path == "/v1/datasets/a%2Fb%3Fc%3D%C3%A9/budget"
    assert script.seen[1].path == "/v1/releases/..%2Fme"


def test_a_stored_release_is_read_alone():
    """As the release alone, row by row, or column by column as the ledger stores it."""
    stored = {**DONE["release"], "rows": {"item": ["a"], "count": [7], "low": [5], "high": [9]}}
    with playing(answer(200, DONE["release"]), answer(200, stored)) as script:
        connection = connected(script)
        first, second = connection.release("r_7f3a"), connection.release("r_7f3a")

    assert first.to_dict()["count"] == [3986, 120]
    assert second.to_dict() == {"item": ["a"], "count": [7], "low": [5], "high": [9]}
    assert script.seen[0].path == "/v1/releases/r_7f3a"


def test_a_wish_for_more_and_a_cancel():
    """How much, why and until when; a cancel tells what the server said of its price."""
    with playing(answer(201, {"id": "w_1"}), answer(200, {"status": "cancelled", "charged": False})) as script:
        connection = connected(script)
        wish = connection.ask_for_more("engagements", releases=5, why="the quarter's report", until=date(2026, 12, 1))
        cancelled = connection.cancel("q_01")

    assert wish == {"id": "w_1"}
    assert script.seen[0].body == {
        "dataset": "engagements",
        "releases": "5",
        "why": "the quarter's report",
        "until": "2026-12-01",
    }
    assert cancelled["charged"] is False
    assert (script.seen[1].method, script.seen[1].path) == ("DELETE", "/v1/queries/q_01")
