"""Two data sets that differ in one person look the same from outside, but for what was released and paid for."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass

import pytest

from hushcount.app.serving.data.loans import LentEngine
from hushcount.errors import StoreFailed
from tests.api import served
from tests.api.asgi import Client, Reply
from tests.api.served import COUNT, TOP, staged

# The person who is in one of the data sets and not in the other, with an item of their own and a country of their own.
ONE_MORE = "u-one-more,an item of their own,XX\n"
# What is random or the time in every reply: it is taken out before two are compared.
_VOLATILE = re.compile(
    r"\b(req|q|r|t|w|h|s)_[a-z2-7]{16,}|\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)|\b[0-9a-f]{32}\b|\b[0-9a-f]{64}\b"
)
KNOWN_ITEMS = {"keys": ["a1", "a2", "an item of their own"]}


@dataclass(frozen=True)
class Look:
    """One reply, as somebody sees it."""

    what: str
    status: int
    headers: str
    body: str


def look(what: str, reply: Reply, *, body: bool = True) -> Look:
    """A reply without what is random in it; an answer that was paid for is compared by all but its rows."""
    skipped = set() if body else {"content-length", "etag"}
    headers = json.dumps({name: value for name, value in reply.headers.items() if name not in skipped})
    text = reply.body.decode() if body else ",".join(sorted(reply.form))
    return Look(what, reply.status, _VOLATILE.sub("*", headers), _VOLATILE.sub("*", text))


def asked(client: Client) -> list[Look]:
    """Prices, refusals and errors of all kinds, before and after data was read."""
    bodies = {
        "a price": TOP,
        "of a count": COUNT,
        "of known items": {**COUNT, **KNOWN_ITEMS},
        "of what one person has": {**TOP, "where": "country = 'XX'"},
        "a rehearsal": {**TOP, "mode": "rehearse"},
        "a rehearsal of one person": {**TOP, "mode": "rehearse", "where": "country = 'XX'"},
        "an unknown column": {**TOP, "item": "artcle"},
        "a filter that does not fit": {**TOP, "where": "country > 3"},
        "an unsafe filter": {**TOP, "where": "country = lower('XX')"},
        "too dear": {**TOP, "rho": "1000"},
    }
    # The noise of a rehearsal is new each time; it is drawn for a made-up table.
    seen = [look(what, client.post("/v1/queries", body), body="rehearsal" not in what) for what, body in bodies.items()]
    release = {**TOP, "mode": "release"}
    seen.append(look("a broken store", _broken(client)))
    seen.append(look("no room", client.post("/v1/queries", {**release, "rho": "5"}, Idempotency_Key="dear")))
    seen.append(
        look(
            "over the most",
            client.post("/v1/queries", {**release, "max_cost": {"releases": "0.1"}}, Idempotency_Key="m"),
        )
    )
    read = ("/v1/datasets", "/v1/datasets/events", "/v1/datasets/events/budget", "/v1/queries", "/v1/me")
    return [*seen, *(look(what, client.get(what)) for what in read)]


def _broken(client: Client) -> Reply:
    """A store that fails once data is read, with words that depend on the data."""
    really = LentEngine.histogram

    def broken(engine, selection, **given):
        found = really(engine, selection, **given)
        raise StoreFailed(f"row {len(str(found))} cannot be read")

    LentEngine.histogram = broken
    try:
        return client.post("/v1/queries", {**TOP, "k": 5, "mode": "release"}, Idempotency_Key="broken")
    finally:
        LentEngine.histogram = really


def stages(client: Client) -> list[str]:
    """Every stage that a question tells, read while it is held still at that stage."""
    heard, really = [], LentEngine.histogram
    reached, go = threading.Event(), threading.Event()

    def slow(engine, selection, **given):
        reached.set()
        go.wait(20)
        return really(engine, selection, **given)

    LentEngine.histogram = slow
    try:
        first = client.post(
            "/v1/queries", {**TOP, "k": 4, "mode": "release"}, Idempotency_Key="s", Prefer="wait=0"
        ).form
        heard.append(first["status"])
        reached.wait(20)
        heard.append(client.get(f"/v1/queries/{first['id']}").form["stage"])
        go.set()
        heard.append(client.get(f"/v1/queries/{first['id']}", Prefer="wait=20").form["status"])
    finally:
        go.set()
        LentEngine.histogram = really
    return heard


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same questions to two services whose data differ in one person."""
    found, really = [], served.make_files

    def one_more(folder):
        config = really(folder)
        with (folder / "data" / "events.csv").open("a", encoding="utf-8") as file:
            file.write(ONE_MORE)
        return config

    for number, make in enumerate((really, one_more)):
        served.make_files = make
        try:
            with staged(tmp_path_factory.mktemp(f"data{number}")) as stage:
                client = stage.analyst
                found.append((asked(client), stages(client), asked_and_paid(client)))
        finally:
            served.make_files = really
    return found


def asked_and_paid(client: Client) -> list[Look]:
    """An answer, without its rows, and the same again for nothing."""
    body = {**COUNT, "mode": "release", **KNOWN_ITEMS}
    return [
        look("an answer", client.post("/v1/queries", body, Idempotency_Key=key, Prefer="wait=60"), body=False)
        for key in ("one", "two")
    ]


def test_prices_refusals_and_errors_are_the_same(both):
    """Byte for byte, headers included."""
    first, second = both[0][0], both[1][0]

    assert [one for one, other in zip(first, second, strict=True) if one != other] == []
    assert {look.status for look in first} >= {200, 400, 403}


def test_stages_are_the_same(both):
    """Fixed words, in the same order."""
    assert both[0][1] == both[1][1]
    assert both[0][1][-1] == "done"


def test_an_answer_of_fixed_cost_looks_the_same_but_for_its_rows(both):
    """Status, headers and members of an answer whose cost does not depend on what was found."""
    assert both[0][2] == both[1][2]
    assert both[0][2][0].status == 200


def test_the_comparison_can_fail():
    """A count of rows in a header or in an error is told apart."""

    def reply(text, rows):
        return Reply(status=500, headers={"rows": rows, "request-id": "req_" + "a" * 20}, body=text, parts=1)

    assert look("x", reply(b"req_" + b"b" * 20, "4000")) == look("x", reply(b"req_" + b"c" * 20, "4000"))
    assert look("x", reply(b"", "4000")) != look("x", reply(b"", "4001"))
    assert look("x", reply(b"row 4000", "")) != look("x", reply(b"row 4001", ""))
