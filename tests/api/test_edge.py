"""What holds for every request: ids, headers, sizes, JSON, methods, other people's pages, and nothing of a failure."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

from hushcount.api import me
from hushcount.api.helps import HELPS
from hushcount.api.problems import STATUS
from hushcount.app.serving.problems import CODES
from tests.api.served import CANARY, COUNT, released, staged

SOMEBODY = "Herbert-Quatermain"
# Written down once more, so that a guard which is taken away is missed.
GUARDS = {
    "strict-transport-security": "max-age=31536000",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
# What is not named here is forbidden; nothing inline runs, and nothing is fetched from elsewhere.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}


@pytest.mark.parametrize(
    "path", ["/healthz", "/v1/me", "/v1/nothing", "/problems/busy", "/openapi.json", "/v1/queries"]
)
def test_every_reply_is_guarded_and_has_an_id_and_a_length(stage, path):
    """Answers, problems and pages alike; no other site is let in."""
    reply = stage.analyst.get(path)
    assert {name: reply.headers[name] for name in GUARDS} == GUARDS
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    assert policy == POLICY
    assert reply.headers["request-id"].startswith("req_")
    assert int(reply.headers["content-length"]) == len(reply.body)
    assert "access-control-allow-origin" not in reply.headers


def test_a_request_keeps_the_id_and_the_trace_that_it_came_with(stage):
    """So that one request is found in everybody's logs."""
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    reply = stage.analyst.get("/v1/nothing", Request_Id="mine-1", traceparent=trace)
    assert reply.headers["request-id"] == reply.form["request_id"] == "mine-1"
    assert reply.headers["traceparent"] == trace


@pytest.mark.parametrize("given", ["a b", "x" * 129, "<script>", "ä"])
def test_an_id_that_could_break_a_log_is_not_taken(stage, given):
    """One is made instead."""
    assert stage.analyst.get("/v1/me", Request_Id=given).headers["request-id"] != given


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{", {}, 400, "not-json"),
        (b"\xff{}", {}, 400, "not-json"),
        (b'{"a": NaN}', {}, 400, "not-json"),
        (b'{"a": 1, "a": 2}', {}, 400, "not-json"),
        (b"[" * 100_000, {}, 400, "not-json"),
        (b'{"where": ' + b"[" * 16 + b"]" * 16 + b"}", {}, 400, "not-json"),
        (b'{"where": ' + b"[" * 15 + b"]" * 15 + b"}", {}, 400, "invalid-parameter"),
        (b'{"where": "' + b"[" * 100 + b'"}', {}, 400, "invalid-parameter"),
        (b'{"where": "' + b'\\"[' * 300_000, {}, 400, "not-json"),
        (b'{"k": ' + b"9" * 5000 + b"}", {}, 400, "not-json"),
        (b'{"rho": 0.' + b"9" * 5000 + b"}", {}, 400, "not-json"),
        (b"[]", {}, 400, "invalid-parameter"),
        (b"null", {}, 400, "invalid-parameter"),
        (b"", {}, 400, "invalid-parameter"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "not-json"),
        (b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "not-json"),
        (b" " * (2**20 + 1), {}, 413, "body-too-large"),
        (b"{}", {"Content-Length": "9" * 30}, 413, "body-too-large"),
        (b" " * (2**20 + 1), {"Content-Length": "2"}, 413, "body-too-large"),
    ],
)
def test_bodies_that_cannot_be_read_are_refused_by_what_is_wrong(stage, body, headers, status, code):
    """Not JSON, not only JSON, too deep, too long, too large, also where the length is a lie."""
    reply = stage.analyst.request("POST", "/v1/queries", body, headers=headers)
    assert (reply.status, reply.code) == (status, code)
    assert reply.form["charged"] is False


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"itme": "article"}, "unknown-option", "/itme"),
        ({"k": "3"}, "invalid-parameter", "/k"),
        ({"k": True}, "invalid-parameter", "/k"),
        ({"question": "drop"}, "invalid-parameter", "/question"),
        ({"rho": "NaN"}, "invalid-parameter", "/rho"),
        ({"rho": "-1"}, "invalid-parameter", "/rho"),
        ({"max_cost": {"releases": 1, "a/b~c": 2}}, "unknown-option", "/max_cost/a~1b~0c"),
        ({"where": "x" * 10_001}, "invalid-parameter", "/where"),
        ({"keys": ["a"] * 100_001}, "invalid-parameter", "/keys"),
        ({"keys": "/etc/passwd"}, "invalid-parameter", "/keys"),
        ({"user": "country"}, "unknown-option", "/user"),
        ({"ledger": False}, "unknown-option", "/ledger"),
    ],
)
def test_what_is_wrong_in_a_body_is_told_with_its_place(stage, change, code, pointer):
    """As a JSON pointer; who a person is and where the ledger is are not the caller's to say."""
    reply = stage.analyst.post("/v1/queries", {**COUNT, **change})
    assert (reply.status, reply.code, reply.form["pointer"]) == (400, code, pointer)


def test_a_filter_joins_a_hundred_conditions_and_no_more(stage):
    """However they are joined; a list of values is one of them."""
    each = "(country = 'NZ' OR NOT country = 'AU')"
    replies = [
        stage.analyst.post("/v1/queries", {**COUNT, "where": " AND ".join([each] * times)}) for times in (50, 51)
    ]
    listed = stage.analyst.post("/v1/queries", {**COUNT, "where": "country IN (" + ", ".join(["'x'"] * 500) + ")"})

    assert replies[0].status == 200
    assert (replies[1].status, replies[1].code, replies[1].form["charged"]) == (400, "unsafe-filter", False)
    assert listed.status == 200


def test_the_nearest_option_is_suggested(stage):
    """A slip of the finger is named."""
    assert "'item'" in stage.analyst.post("/v1/queries", {**COUNT, "itme": "x"}).form["detail"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/me?x=1", "unknown-option"),
        ("/v1/datasets?limit=1001", "invalid-parameter"),
        ("/v1/datasets?limit=0", "invalid-parameter"),
        ("/v1/datasets?limit=x", "invalid-parameter"),
        ("/v1/datasets?limit=1&limit=2", "invalid-parameter"),
        ("/v1/queries?limt=1", "unknown-option"),
        ("/healthz?x=1", "unknown-option"),
        ("/v1/log?after=x", "invalid-parameter"),
        ("/v1/budget", "invalid-parameter"),
    ],
)
def test_parameters_that_are_not_known_or_cannot_be_are_refused(stage, path, code):
    """A page that is too large is refused, not cut."""
    reply = stage.owner.get(path)
    assert (reply.status, reply.code) == (400, code)
    assert reply.form["parameter"] in path or path == "/v1/budget"


def test_a_method_that_is_not_there_says_which_are(stage):
    """In the header that is made for it."""
    reply = stage.analyst.put("/v1/me", {})
    assert (reply.status, reply.code) == (405, "not-found")
    assert reply.headers["allow"] == "GET"


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
    ],
)
def test_a_page_of_another_site_cannot_call(stage, headers):
    """Told by what browsers say of themselves; a page of our own can."""
    reply = stage.analyst.request("POST", "/v1/queries", COUNT, headers=headers)
    assert (reply.status, reply.code) == (403, "not-permitted")
    assert stage.analyst.post("/v1/queries", COUNT, Origin="http://127.0.0.1:8443").status == 200


def test_nothing_of_a_failure_inside_leaves_or_is_logged(stage, monkeypatch, caplog):
    """Its text may quote data, so its kind and place are all that is kept."""

    def broken(request):
        raise RuntimeError(SOMEBODY)

    monkeypatch.setattr(me, "_me", broken)
    with caplog.at_level(logging.DEBUG):
        reply = stage.analyst.get("/v1/me")
    assert (reply.status, reply.code) == (500, "internal")
    assert SOMEBODY not in reply.body.decode()
    assert SOMEBODY not in caplog.text
    kinds = [record.kind for record in caplog.records if hasattr(record, "kind")]
    assert any(kind.startswith("RuntimeError at test_edge.py:") for kind in kinds)


def test_the_log_has_who_and_what_became_of_it_and_nothing_that_was_said(stage, caplog):
    """No filter, no name that is no data set, no item."""
    with caplog.at_level(logging.DEBUG):
        stage.analyst.post("/v1/queries", {**COUNT, "where": f"country = '{SOMEBODY}'"})
        stage.analyst.post("/v1/queries", {**COUNT, "dataset": SOMEBODY})
        stage.analyst.get(f"/v1/releases/{SOMEBODY}")
        stage.analyst.get(f"/v1/me?{SOMEBODY}=1")
        released(stage.analyst, key="for-the-log")
    lines = [record for record in caplog.records if record.name == "hushcount.api"]
    told = [(line.route, line.status, line.code, line.caller, line.dataset) for line in lines]
    assert told == [
        ("/v1/queries", 200, None, "ana", "events"),
        ("/v1/queries", 404, "not-found", "ana", None),
        ("/v1/releases/{release}", 404, "not-found", "ana", None),
        ("/v1/me", 400, "unknown-option", "ana", None),
        ("/v1/queries", 200, None, "ana", "events"),
    ]
    everything = json.dumps([vars(record) for record in caplog.records], default=str)
    assert SOMEBODY not in everything
    assert CANARY not in everything


def test_every_code_has_a_status_and_a_page(stage):
    """The three tables are about the same codes."""
    assert set(STATUS) == set(CODES) == set(HELPS)
    for code in CODES:
        reply = stage.anybody.get(f"/problems/{code}")
        assert reply.status == 200
        assert code in reply.body.decode()
    assert stage.anybody.get("/problems/nothing").code == "not-found"


def test_life_and_readiness_are_for_anybody(stage):
    """They show nothing but that."""
    assert stage.anybody.get("/healthz").form == {"status": "ok"}
    assert stage.anybody.get("/readyz").form == {"status": "ready"}


def test_an_unreachable_ledger_is_not_ready_and_says_so(fresh, monkeypatch):
    """Nothing is answered without it; callers are told to come again."""
    from hushcount.errors import LedgerUnavailable

    def gone(*given, **named):
        raise LedgerUnavailable("no")

    with monkeypatch.context() as patched:
        patched.setattr(type(fresh.service.ledger.watch), "vitals", gone)
        patched.setattr(type(fresh.service.ledger.records), "find", gone)
        assert fresh.anybody.get("/readyz").code == "ledger-unavailable"
        reply = fresh.analyst.get("/v1/me")
    assert (reply.status, reply.code) == (503, "ledger-unavailable")
    assert reply.headers["retry-after"]


def test_another_host_name_is_refused_where_nobody_signs_in(tmp_path):
    """A name that somebody made lead here would let their page own everything."""
    from tests.api.served import staged_alone

    with staged_alone(tmp_path) as client:
        assert client.get("/v1/me").form["role"] == "owner"
        assert replace(client, host="localhost:8443").get("/v1/me").status == 200
        assert replace(client, host="evil.example:8443").get("/v1/me").code == "not-permitted"
        assert replace(client, host="evil.example:8443").post("/v1/queries", COUNT).status == 403


def test_a_flood_of_one_caller_is_held_and_no_others(tmp_path):
    """With the time after which to try again; nothing was charged."""
    slow = lambda config: replace(config, server=replace(config.server, rate=1))  # noqa: E731  short
    with staged(tmp_path, slow) as stage:
        replies = [stage.analyst.get("/v1/me") for _ in range(8)]
        held = [reply for reply in replies if reply.status == 429]

        assert 1 <= len(held) <= 3
        assert held[0].code == "too-many-requests"
        assert int(held[0].headers["retry-after"]) >= 1
        assert held[0].headers["ratelimit-policy"] == '"requests";q=5;w=5'
        assert stage.owner.get("/v1/me").status == 200
