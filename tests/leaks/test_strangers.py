"""To whoever has no role, what exists and what does not are the same bytes, on every route."""

from __future__ import annotations

import json

import pytest

from tests.api.asgi import Reply
from tests.api.served import COUNT, TOP
from tests.leaks.scene import missing, set_scene

# What each route is sent; {x} stands for what is there, or for what is not.
BODIES = {
    "/v1/queries": {**COUNT, "dataset": "{dataset}"},
    "/v1/batches": {"questions": [{**TOP, "dataset": "{dataset}"}]},
    "/v1/releases/{release}/derive": {"deed": "sum", "items": ["a1"]},
    "/v1/questions": {"name": "mine", "asked": {**TOP, "dataset": "{dataset}"}},
    "/v1/requests": {"dataset": "{dataset}", "releases": "1", "why": "curious"},
    "/v1/requests/{wish}/decision": {"grant": False, "sentence": "no"},
    "/v1/datasets": {"name": "{dataset}", "store": "files", "table": "more.csv", "person": "user_id"},
    "/v1/datasets/{dataset}": {"facts": {"article": {"max_items_per_user": 1}}},
    "/v1/datasets/{dataset}/publish": {"question": "{question}", "name": "tops"},
    "/v1/datasets/{dataset}/freeze": {"frozen": True},
    "/v1/freeze": {"frozen": True},
    "/v1/limits": {"dataset": "{dataset}", "releases": "1"},
    "/v1/people/{person}": {"role": "analyst", "dataset": "{dataset}"},
    "/v1/groups/{group}": {"add": ["sam"]},
    "/v1/datasets/{dataset}/proposals": {},
    "/v1/datasets/{dataset}/check": {"mode": "release"},
    "/v1/questions/{question}": {"schedule": None},
    "/v1/log/verify": {},
    "/v1/budget/check": {"dataset": "{dataset}", "cost": {"rho": "0.01"}},
    "/v1/budget/reservations": {"dataset": "{dataset}", "cost": {"rho": "0.01"}},
    "/v1/budget/update": {"dataset": "{dataset}", "cost": {"rho": "0.01"}},
    "/v1/budget/reservations/{reservation}/settle": {"cost": {"rho": "0.01"}},
}
QUERIES = {
    "/v1/limits": "?dataset={dataset}",
    "/v1/people": "?dataset={dataset}",
    "/v1/people/{person}/why": "?dataset={dataset}",
    "/v1/requests": "?dataset={dataset}",
    "/v1/budget": "?dataset={dataset}",
    "/v1/log": "?dataset={dataset}",
}
# A stranger has these themselves, whatever else exists.
OWN = {("GET", "/v1/me"), ("POST", "/v1/tokens"), ("GET", "/v1/tokens"), ("POST", "/v1/invitations")}

# Lists of one's own, which are empty.
LISTS = {"get /v1/datasets", "get /v1/queries", "get /v1/questions"}


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """One scene for all routes: a stranger changes nothing in it."""
    with set_scene(tmp_path_factory.mktemp("scene")) as made:
        yield made


def filled(said, names):
    """A path or a body with names in their places."""
    text = said if isinstance(said, str) else json.dumps(said)
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text if isinstance(said, str) else json.loads(text)


def seen(reply, names):
    """All of a reply but for the request's own id, with the names that were sent in it taken out again."""
    own = reply.headers["request-id"]
    headers = {name: value for name, value in reply.headers.items() if name != "content-length"}
    text = json.dumps([reply.status, headers, reply.body.decode()]).replace(own, "ID")
    for name, value in sorted(names.items(), key=lambda pair: -len(pair[1])):
        if len(value) > 3:
            # A long name is shown in part.
            text = text.replace(value, "{" + name + "}").replace(value[:80], "{" + name + "}")
    return text


def test_every_route_shows_a_stranger_the_same_for_what_is_there_and_for_what_is_not(scene):
    """The same status, headers and body but for the names that were sent, which the caller knows anyway."""
    paths = scene.stage.stranger.get("/openapi.json").form["paths"]
    there = dict(scene.there)
    absent = {name: value if name == "suffix" else missing(value) for name, value in there.items()}
    stranger, differ, statuses, tried = scene.stage.stranger, {}, {}, 0
    for path, verbs in paths.items():
        for verb in verbs:
            if not path.startswith("/v1/") or (verb.upper(), path) in OWN:
                continue
            replies = []
            for names in (there, absent):
                body = BODIES.get(path) if verb in {"post", "put", "patch"} else None
                where = filled(path + (QUERIES.get(path, "") if verb == "get" else ""), names)
                sent = None if body is None else filled(body, names)
                reply = stranger.request(verb.upper(), where, sent, headers={"Idempotency-Key": "one"})
                replies.append(seen(reply, names))
                statuses.setdefault(reply.status, set()).add(f"{verb} {path}")
            tried += 1
            if replies[0] != replies[1]:
                differ[f"{verb} {path}"] = replies

    assert set(statuses) == {200, 404}, statuses
    assert statuses[200] == LISTS
    assert not differ
    assert tried > 40


def test_an_analyst_sees_nothing_of_a_colleagues_query(scene):
    """A query and a release of somebody else are, to another analyst of the same data, as if they were not."""
    owner = scene.stage.owner
    owner.put("/v1/people/bo", {"role": "analyst", "dataset": "events"})
    bo, differ = scene.stage.token("bo"), []
    for path in (
        "/v1/queries/{query}",
        "/v1/releases/{release}",
        "/v1/releases/{release}/receipt",
        "/v1/requests/{wish}",
    ):
        names = scene.there
        absent = {name: missing(value) for name, value in names.items()}
        pair = [seen(bo.get(filled(path, own)), own) for own in (names, absent)]
        if pair[0] != pair[1] or not pair[0].startswith("[404"):
            differ.append((path, *pair))

    assert differ == []


def test_the_comparison_can_fail():
    """A reply that says more about what is there is told apart, also if only its length differs."""

    def reply(text):
        return Reply(status=404, headers={"request-id": "req_1"}, body=text, parts=1)

    assert seen(reply(b"no q_aaaa"), {"query": "q_aaaa"}) == seen(reply(b"no q_bbbb"), {"query": "q_bbbb"})
    assert seen(reply(b"no q_aaaa"), {"query": "q_aaaa"}) != seen(reply(b"not yours"), {"query": "q_bbbb"})
