"""Who may do what: every role against every route, strangers as if there was nothing, tokens that narrow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.api.served import COUNT, ROLES, TOP, released

RESERVE = {"dataset": "events", "cost": {"rho": "0.001"}, "what": "a test"}
# What each role gets; everything else of /v1 is for the person themselves.
ALLOWED = {
    ("GET", "/v1/datasets/events"): {"owner", "analyst", "reader", "auditor", "program"},
    ("GET", "/v1/datasets/events/budget"): {"owner", "analyst", "reader", "auditor", "program"},
    ("POST", "/v1/queries"): {"owner", "analyst", "reader"},
    ("RELEASE", "/v1/queries"): {"owner", "analyst"},
    ("GET", "/v1/limits?dataset=events"): {"owner", "auditor"},
    ("PUT", "/v1/limits"): {"owner"},
    ("GET", "/v1/people?dataset=events"): {"owner", "auditor"},
    ("PUT", "/v1/people/zoe"): {"owner"},
    ("GET", "/v1/datasets/events/usage"): {"owner", "auditor"},
    ("POST", "/v1/datasets/events/proposals"): {"owner", "auditor"},
    ("GET", "/v1/datasets/events/published"): {"owner", "analyst", "reader", "auditor"},
    ("POST", "/v1/datasets/events/freeze"): {"owner"},
    ("PATCH", "/v1/datasets/events"): {"owner"},
    ("GET", "/v1/log?dataset=events"): {"owner", "auditor"},
    ("GET", "/v1/requests?dataset=events"): {"owner", "auditor"},
    ("POST", "/v1/requests"): {"owner", "analyst"},
    ("POST", "/v1/budget/check"): {"owner", "program"},
    ("POST", "/v1/budget/reservations"): {"owner", "program"},
    ("GET", "/v1/budget?dataset=events"): {"owner", "program", "analyst"},
}
BODIES = {
    ("POST", "/v1/queries"): TOP,
    ("RELEASE", "/v1/queries"): {**TOP, "mode": "release"},
    ("PUT", "/v1/limits"): {"dataset": "events", "analyst": "*", "releases": 8},
    ("PUT", "/v1/people/zoe"): {"role": "analyst", "dataset": "events"},
    ("POST", "/v1/datasets/events/proposals"): {},
    ("POST", "/v1/datasets/events/freeze"): {"frozen": False},
    ("PATCH", "/v1/datasets/events"): {"facts": {"country": {}}},
    ("POST", "/v1/requests"): {"dataset": "events", "releases": 1, "why": "a test"},
    ("POST", "/v1/budget/check"): RESERVE,
    ("POST", "/v1/budget/reservations"): RESERVE,
}


def called(client, deed):
    """Call a route of the tables above."""
    method, path = deed
    headers = {"Idempotency-Key": f"role-{path.strip('/').replace('/', '-')}"}
    return client.request("POST" if method == "RELEASE" else method, path, BODIES.get(deed), headers=headers)


@pytest.mark.parametrize("deed", ALLOWED, ids=" ".join)
@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_is_its_own(stage, role, deed):
    """The table of the design, route by route."""
    reply = called(stage.role(role), deed)
    if role in ALLOWED[deed]:
        assert reply.status in {200, 201}, reply.body
    else:
        assert (reply.status, reply.code) == (403, "not-permitted"), reply.body
        assert reply.form["charged"] is False


@pytest.mark.parametrize("deed", ALLOWED, ids=" ".join)
def test_to_a_stranger_what_is_there_looks_like_what_is_not(stage, deed):
    """Status, code, words and headers."""
    method, path = deed
    body = BODIES.get(deed)
    nowhere = None if body is None else {**body, **({"dataset": "nowhere"} if "dataset" in body else {})}
    there = called(stage.stranger, deed)
    other = path.replace("events", "nowhere")
    headers = {"Idempotency-Key": "nowhere"}
    missing = stage.stranger.request("POST" if method == "RELEASE" else method, other, nowhere, headers=headers)
    assert (there.status, there.code) == (missing.status, missing.code) == (404, "not-found")
    assert there.form["detail"] == missing.form["detail"]
    assert {*there.headers} == {*missing.headers}


@pytest.mark.parametrize("deed", ALLOWED, ids=" ".join)
def test_nobody_gets_anything_without_signing_in(stage, deed):
    """Whatever is asked, who asks comes first."""
    reply = called(stage.anybody, deed)
    assert (reply.status, reply.code) == (401, "not-signed-in")
    assert reply.headers["www-authenticate"].startswith('Bearer realm="hushcount"')


def test_a_stranger_sees_no_data_at_all(stage):
    """Lists are empty, the whole ledger is not there."""
    assert stage.stranger.get("/v1/datasets").form == {"data": [], "next": None}
    assert stage.stranger.get("/v1/me").form["datasets"] == {}
    assert stage.stranger.get("/v1/questions").form["data"] == []
    assert stage.stranger.get("/v1/log").code == "not-found"
    assert stage.stranger.post("/v1/log/verify", {}).code == "not-found"
    assert stage.stranger.put("/v1/groups/team", {"add": ["sam"]}).code == "not-found"


def test_a_bad_token_is_refused_and_never_taken_for_nobody(stage):
    """Otherwise somebody would wonder where their data went."""
    for header in ("Bearer hush_nonsense", "Bearer", "Basic !!", "Nonsense x"):
        reply = stage.anybody.get("/v1/datasets", Authorization=header)
        assert (reply.status, reply.code) == (401, "not-signed-in")


def test_spreadsheets_may_read_with_a_password(stage):
    """And nothing else: browsers send it along unasked."""
    import base64

    token = stage.analyst.headers["Authorization"].removeprefix("Bearer ")
    basic = "Basic " + base64.b64encode(f"x:{token}".encode()).decode()
    assert stage.anybody.get("/v1/me", Authorization=basic).form["name"] == "ana"
    reply = stage.anybody.post("/v1/queries", TOP, Authorization=basic)
    assert (reply.status, reply.code) == (401, "not-signed-in")
    assert "Basic" in stage.anybody.get("/v1/me").headers["www-authenticate"]
    assert "Basic" not in reply.headers["www-authenticate"]


def test_failed_attempts_from_one_address_are_limited(fresh):
    """Others' are not."""
    guesser = replace(fresh.anybody, peer="203.0.113.9")
    replies = [guesser.get("/v1/me", Authorization="Bearer hush_guess") for _ in range(21)]
    assert [reply.status for reply in replies] == [401] * 20 + [429]
    assert replies[-1].code == "too-many-requests"
    assert int(replies[-1].headers["retry-after"]) >= 1
    assert fresh.analyst.get("/v1/me").status == 200


def test_a_token_does_no_more_than_its_scopes_data_sets_and_cap(fresh):
    """And nothing any more once it is revoked."""
    made = fresh.owner.post(
        "/v1/tokens", {"label": "script", "scopes": ["ask"], "datasets": ["events"], "cap": {"releases": 1}}
    )
    assert made.status == 201
    script = fresh.anybody.signed(made.form["token"])
    assert script.get("/v1/datasets/hidden").code == "not-found"
    assert script.put("/v1/limits", {"releases": 1000}).status in {403, 404}
    # Its owner may; the scope does not.
    assert script.put("/v1/limits", {"dataset": "events", "releases": 1000}).code == "not-permitted"
    assert fresh.owner.put("/v1/limits", {"dataset": "events", "releases": 1000}).status == 200
    assert script.post("/v1/tokens", {"label": "wider"}).code == "not-permitted"
    refused = released(script, {**TOP, "preset": "generous"})
    assert (refused.status, refused.code) == (403, "budget-exhausted")
    assert refused.form["short"] == ["this token's cap"]
    assert released(script, {**TOP, "preset": "cautious"}, key="k2").status == 200
    listed = fresh.owner.get("/v1/tokens").form["data"]
    assert made.form["token"] not in str(listed)
    ended = fresh.owner.delete(f"/v1/tokens/{made.form['id']}")
    assert ended.form["revoked"]
    assert script.get("/v1/me").code == "not-signed-in"
    assert fresh.analyst.delete(f"/v1/tokens/{made.form['id']}").code in {"not-found", "not-permitted"}


def test_an_invitation_makes_an_owner_once(fresh):
    """The second who comes with it is nobody."""
    from hushcount.app.serving.callers.invitations import invite

    service = fresh.service
    made = invite(service.setting, service.tokens_key, person="otto", by=service.setting.analyst)
    first = fresh.anybody.post("/v1/invitations", {"invitation": made.text.text})
    assert first.status == 201, first.body
    assert fresh.anybody.signed(first.form["token"]).get("/v1/me").form["role"] == "owner"
    second = fresh.anybody.post("/v1/invitations", {"invitation": made.text.text})
    assert (second.status, second.code) == (401, "not-signed-in")


def test_a_role_is_given_and_taken_away(fresh):
    """At once, and anybody may ask why."""
    assert fresh.stranger.post("/v1/queries", COUNT).code == "not-found"
    assert fresh.owner.put("/v1/people/sam", {"role": "analyst", "dataset": "events"}).status == 200
    assert fresh.stranger.post("/v1/queries", COUNT).status == 200
    why = fresh.stranger.get("/v1/people/sam/why?dataset=events").form
    assert why["may_ask"] is True
    assert "'olga'" in why["because"][0]
    assert fresh.owner.put("/v1/people/sam", {"role": "nobody", "dataset": "events"}).status == 200
    assert fresh.stranger.post("/v1/queries", COUNT).code == "not-found"


def test_a_query_of_somebody_else_looks_like_one_that_is_not_there(stage):
    """To look at, to watch and to cancel; owners and auditors see it, and do not cancel it."""
    name = released(stage.analyst, {**TOP, "preset": "cautious"}, key="mine").form["id"]
    stage.owner.put("/v1/people/bea", {"role": "analyst", "dataset": "events"})
    bea = stage.token("bea")
    for path in ("/v1/queries/{}", "/v1/queries/{}/events"):
        for client in (bea, stage.reader, stage.program, stage.stranger):
            there, missing = client.get(path.format(name)), client.get(path.format("q_aaaaaaaaaaaaaaaaaaaaaaaa"))
            assert (there.status, there.code) == (404, "not-found")
            assert there.form["detail"] == missing.form["detail"]
        assert stage.owner.get(path.format(name)).status == stage.auditor.get(path.format(name)).status == 200
    for client in (bea, stage.owner, stage.auditor, stage.stranger):
        there, missing = client.delete(f"/v1/queries/{name}"), client.delete("/v1/queries/q_aaaaaaaaaaaaaaaaaaaaaaaa")
        assert (there.status, there.code, there.form["detail"]) == (404, "not-found", missing.form["detail"])


def test_an_owner_invites_somebody_who_then_has_the_roles_that_were_given(fresh):
    """A token once, for the named person; no role comes with it, and nobody else may invite."""
    for caller in (fresh.analyst, fresh.reader, fresh.program):
        assert caller.post("/v1/people/nina/invitation").status in {403, 404}
    made = fresh.owner.post("/v1/people/nina/invitation")
    assert made.status == 201
    token = fresh.anybody.post("/v1/invitations", {"invitation": made.form["invitation"]})
    assert token.status == 201
    nina = fresh.anybody.signed(token.form["token"])
    assert nina.get("/v1/me").form["name"] == "nina"
    assert nina.get("/v1/datasets").form["data"] == []
    fresh.owner.put("/v1/people/nina", {"role": "analyst", "dataset": "events"})

    assert [one["name"] for one in nina.get("/v1/datasets").form["data"]] == ["events"]
    assert fresh.anybody.post("/v1/invitations", {"invitation": made.form["invitation"]}).status == 401
