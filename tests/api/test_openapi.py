"""The interface as it is written down: docs/openapi.json is what the service says, and says all that it does."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from hushcount.api import bodies
from hushcount.api.contract import ANSWERS
from hushcount.api.forms import amounts, owners, questions, service
from hushcount.api.reference import render
from hushcount.app.serving.problems import CODES
from tests.api.keeping import KEPT, broken

# What may go wrong with any request; the others are told by their routes.
# A problem has further members by its code; an OpenAPI document is what OpenAPI says.
OPEN = {"Problem", "Interface"}
ALWAYS = {"400", "401", "429", "500", "503"}

# /v1 only grows: what callers were once given stays. By whom each is for, as the design lists them.
PROMISED = {
    "anyone": ("GET /v1/me", "GET /v1/datasets", "GET /v1/datasets/{dataset}", "GET /v1/datasets/{dataset}/budget"),
    "analysts": (
        *("POST /v1/queries", "GET /v1/queries", "GET /v1/queries/{query}", "DELETE /v1/queries/{query}"),
        *("GET /v1/queries/{query}/events", "POST /v1/batches", "POST /v1/releases/{release}/derive"),
        *("GET /v1/releases/{release}", "GET /v1/releases/{release}/receipt"),
        *("POST /v1/questions", "GET /v1/questions/{question}/latest.{suffix}", "POST /v1/requests"),
        *("GET /v1/tokens", "POST /v1/tokens", "DELETE /v1/tokens/{token}"),
    ),
    "owners": (
        *("POST /v1/datasets", "PATCH /v1/datasets/{dataset}", "POST /v1/datasets/{dataset}/check"),
        *("PUT /v1/limits", "GET /v1/limits", "GET /v1/datasets/{dataset}/usage"),
        *("POST /v1/datasets/{dataset}/proposals", "PUT /v1/people/{person}", "PUT /v1/groups/{group}"),
        *("POST /v1/requests/{wish}/decision", "POST /v1/datasets/{dataset}/publish"),
        *("POST /v1/datasets/{dataset}/freeze", "POST /v1/freeze", "GET /v1/log", "POST /v1/log/verify"),
    ),
    "programs": (
        *("POST /v1/budget/check", "POST /v1/budget/update", "POST /v1/budget/reservations", "GET /v1/budget"),
        *("POST /v1/budget/reservations/{reservation}/settle", "DELETE /v1/budget/reservations/{reservation}"),
    ),
    "operators": ("GET /healthz", "GET /readyz", "GET /openapi.json", "GET /problems/{code}"),
}


def written(stage):
    """The interface as the service tells it."""
    reply = stage.anybody.get("/openapi.json")
    assert reply.status == 200, reply.body
    return reply.form


def test_what_is_kept_is_what_the_service_says(stage):
    """A change of the interface is a change of this file, which is looked at."""
    hint = "write it anew: python -m tests.api.test_openapi"
    assert json.loads(KEPT.read_text(encoding="utf-8")) == written(stage), hint


@pytest.mark.parametrize("who", PROMISED)
def test_what_was_promised_is_there(stage, who):
    """Every resource that callers were once given."""
    there = {f"{verb.upper()} {path}" for path, verbs in written(stage)["paths"].items() for verb in verbs}

    assert set(PROMISED[who]) <= there


def test_every_route_tells_its_problems_and_its_answer(stage):
    """By status, each as a problem."""
    for path, verbs in written(stage)["paths"].items():
        for verb, told in verbs.items():
            assert told["summary"], (verb, path)
            assert told["description"], (verb, path)
            if not path.startswith("/v1/"):
                continue
            assert set(told["responses"]) >= ALWAYS, (verb, path)
            for status, response in told["responses"].items():
                if status.startswith(("4", "5")):
                    assert "application/problem+json" in response["content"], (verb, path, status)
            if "requestBody" in told:
                assert {"413", "415"} <= set(told["responses"]), (verb, path)
            assert told.get("security") or path == "/v1/invitations", (verb, path)


def test_every_code_is_told_by_some_route(stage):
    """None is there for nothing, and none is a surprise."""
    text = json.dumps(written(stage)["paths"])
    assert {code for code in CODES if f"`{code}`" in text} == set(CODES)


def test_bodies_and_answers_are_closed(stage):
    """Every one of them, also within others: what is not known is refused, and what is not told is not sent."""
    schemas = written(stage)["components"]["schemas"]
    assert {name for name, one in schemas.items() if one.get("additionalProperties") is not False} == OPEN


def test_every_answer_of_json_has_a_form(stage):
    """None is any object, and no form is there for nothing."""
    told = {
        (f"{verb.upper()} {path}", int(status)): reply.get("content", {}).get("application/json", {}).get("schema")
        for path, verbs in written(stage)["paths"].items()
        for verb, route in verbs.items()
        for status, reply in route["responses"].items()
        if status < "4"
    }
    formed = {place for place, schema in told.items() if schema is not None}

    for place in formed:
        kinds = told[place].get("anyOf", [told[place]])
        assert all(set(kind) == {"$ref"} for kind in kinds), place
    assert formed == {(route, status) for route, by in ANSWERS.items() for status, form in by.items() if form}


def test_no_answer_has_the_name_of_a_body():
    """One would be told as the other."""
    sent = _classes(bodies)
    left = _classes(amounts) | _classes(owners) | _classes(questions) | _classes(service)

    assert {"Query", "Freeze"} <= sent
    assert {"Release", "Frozen"} <= left
    assert sent & left == set()


def _classes(part):
    return {name for name, kind in vars(part).items() if getattr(kind, "__module__", "") == part.__name__}


TWINS = {
    "a member more": {"fits": True, "more": 1, "who": "ana"},
    "a member less": {"fits": True},
    "another kind": {"fits": "yes", "more": 1},
    "a number below its least": {"fits": True, "more": -1},
}


@pytest.mark.parametrize("form", TWINS.values(), ids=TWINS)
def test_an_answer_that_breaks_its_form_is_noticed(form):
    """The check of every reply can fail."""
    told = {"media": "application/json", "body": json.dumps(form).encode()}
    good = {**told, "body": b'{"fits":true,"more":null}'}

    assert broken("POST", "/v1/budget/check", 200, **good) is None
    assert broken("POST", "/v1/budget/check", 200, **told) is not None
    assert broken("POST", "/v1/budget/check", 201, **good) is not None
    assert broken("POST", "/v1/budget/check", 200, media="text/html", body=b"") is not None
    assert broken("POST", "/v1/budget/nothing", 200, **good) is not None


def test_exact_amounts_are_texts_and_others_are_numbers():
    """As the forms say it: a sum of floats is no charge."""
    proof = {"seq": 1, "hash": "a"}
    good = {"charged": {"rho": "1E-7", "delta": "0"}, "proof": proof}
    floats = {"charged": {"rho": 1e-7, "delta": 0}, "proof": proof}
    found = [
        broken("POST", "/v1/budget/update", 200, media="application/json", body=json.dumps(form).encode())
        for form in (good, floats)
    ]

    assert [why is None for why in found] == [True, False]


def test_half_a_sign_does_not_hide_what_is_wrong():
    """An item may hold one; the validator cannot read it."""
    body = b'{"id":"h_x","detail":"\\ud800 and \\\\ud800"'
    whole, more = body + b"}", body + b',"more":1}'
    found = [
        broken("DELETE", "/v1/budget/reservations/{reservation}", 200, media="application/json", body=one)
        for one in (whole, more)
    ]

    assert [why is None for why in found] == [True, False]


def test_pages_that_load_scripts_from_elsewhere_are_off(stage):
    """FastAPI's own would."""
    assert [stage.anybody.get(path).status for path in ("/docs", "/redoc", "/docs/oauth2-redirect")] == [404] * 3


if __name__ == "__main__":
    from tests.api.served import staged

    with tempfile.TemporaryDirectory() as folder, staged(Path(folder)) as made:
        KEPT.write_text(json.dumps(written(made), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def test_the_reference_is_made_from_it():
    """Whoever changes a route writes the page anew: python -m hushcount.api.reference docs/openapi.json."""
    page = KEPT.parent / "serve" / "api.md"

    assert page.read_text(encoding="utf-8") == render(json.loads(KEPT.read_text(encoding="utf-8")))
