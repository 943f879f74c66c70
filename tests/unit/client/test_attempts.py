"""Trying again: with the same key, where that is safe, at growing distances, and never without end."""

from __future__ import annotations

import socket

import pytest

from hushcount_client import Patience, ServiceError, Unreachable, connect
from hushcount_client.patience import wished
from tests.unit.client.scripted import (
    DONE,
    Sleeps,
    answer,
    connected,
    cut_in_headers,
    cut_short,
    dropped,
    page,
    patient,
    playing,
    problem,
)


@pytest.mark.parametrize(
    "failure",
    [
        dropped,
        cut_short,
        cut_in_headers,
        page(502),
        page(503),
        page(504),
        problem(503, "busy", charged=False),
        problem(504, "store-timeout"),
    ],
)
def test_a_failure_that_may_pass_is_tried_again_under_the_same_key(failure):
    """A connection that breaks after the question was sent, or a server that is away: the same bytes, the same key."""
    sleeps = Sleeps()
    with playing(failure, failure, answer(200, DONE)) as script:
        release = connected(script, sleeps).count("engagements", item="article")

    assert len(release) == 2
    assert len({seen.headers["idempotency-key"] for seen in script.seen}) == 1
    assert all(seen.body == script.seen[0].body for seen in script.seen)
    assert sleeps == [0.5, 1.0]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid-parameter"),
        (401, "not-signed-in"),
        (403, "budget-exhausted"),
        (404, "not-found"),
        (409, "data-changed"),
        (413, "body-too-large"),
        (422, "key-reused"),
        (429, "too-many-requests"),
        (500, "internal"),
    ],
)
def test_a_refusal_is_final(status, code):
    """Nothing that would be refused again is asked again."""
    with playing(problem(status, code)) as script, pytest.raises(ServiceError) as caught:
        connected(script).count("engagements", item="article")

    assert (caught.value.status, caught.value.code) == (status, code)
    assert len(script.seen) == 1


def test_what_was_charged_is_not_tried_again():
    """The outcome of a question that was charged is replayed under its key; another try would only wait."""
    with playing(problem(502, "store-failed", charged=True)) as script, pytest.raises(ServiceError) as caught:
        connected(script).count("engagements", item="article")

    assert caught.value.charged is True
    assert "It was charged." in str(caught.value)


def test_tries_end():
    """Six, with pauses that double up to a limit; then the last failure is told, with the key."""
    sleeps = Sleeps()
    with playing(*[dropped] * 6) as script, pytest.raises(Unreachable) as caught:
        connected(script, sleeps).count("engagements", item="article", key="mine-1")

    assert sleeps == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert caught.value.sent
    assert caught.value.charged is None
    assert "key='mine-1'" in " ".join(caught.value.__notes__)


def test_patience_also_ends_tries():
    """No pause is begun that would last beyond it."""
    sleeps = Sleeps()
    with playing(*[page(503)] * 3) as script, pytest.raises(ServiceError):
        connected(script, sleeps, whole=3.0).count("engagements", item="article")

    assert sleeps == [0.5, 1.0]


def test_a_server_may_ask_for_time_within_reason():
    """Retry-After makes a pause longer, up to half a minute, and never shorter."""
    busy = {"code": "busy", "charged": False}
    steps = [answer(503, busy, Retry_After=after) for after in ("4", "0", "86400", "Wed, 21 Oct 2026 07:28:00 GMT")]
    sleeps = Sleeps()
    with playing(*steps, answer(200, DONE)) as script:
        connected(script, sleeps).count("engagements", item="article")

    assert sleeps == [4.0, 1.0, 30.0, 4.0]


@pytest.mark.parametrize("text", [None, "", "-1", "1.5", "soon", "\u0663"])
def test_nonsense_is_no_wish(text):
    """Only a plain whole number of seconds is one."""
    assert wished(text) is None


def test_a_wish_for_more_is_sent_once():
    """It has no key at the server, so a lost reply is told and not repeated."""
    with playing(dropped) as script, pytest.raises(Unreachable):
        connected(script).ask_for_more("engagements", releases=5, why="a report")

    assert len(script.seen) == 1


def test_polling_survives_a_lost_connection():
    """The question runs on; only asking about it is tried again."""
    running = answer(202, {"status": "running", "stage": "counting people"}, Location="/v1/queries/q_01")
    with playing(running, dropped, page(502), answer(200, DONE)) as script:
        release = connected(script).count("engagements", item="article")

    assert len(release) == 2
    assert [seen.method for seen in script.seen] == ["POST", "GET", "GET", "GET"]


def test_nobody_listens():
    """A port without a server: tried again, then told as such, and nothing was charged."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        sleeps = Sleeps()
        with pytest.raises(Unreachable) as caught:
            connect(url, patience=patient(sleeps, attempts=3)).count("engagements", item="article")

    assert len(sleeps) == 2
    assert caught.value.charged is False
    assert not caught.value.sent


def test_a_server_is_asked_to_wait_less_than_a_reply_may_take():
    """Otherwise every long question would look like a broken connection."""
    for seconds in (0.5, 1.0, 5.0, 30.0, 600.0):
        assert Patience(reply=seconds).wait < seconds
    assert Patience().wait == 10
