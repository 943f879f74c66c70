"""The interface as it is written down: docs/openapi.json is what the service says, and says all that it does."""

from __future__ import annotations

import json
from pathlib import Path

from hushcount.api.reference import render
from hushcount.app.serving.problems import CODES

KEPT = Path(__file__).parents[2] / "docs" / "openapi.json"
# What may go wrong with any request; the others are told by their routes.
ALWAYS = {"400", "401", "429", "500", "503"}


def written(stage):
    """The interface as the service tells it."""
    return stage.anybody.get("/openapi.json").form


def test_what_is_kept_is_what_the_service_says(stage):
    """A change of the interface is a change of this file, which is looked at."""
    hint = "write it anew: python -m tests.api.test_openapi"
    assert json.loads(KEPT.read_text(encoding="utf-8")) == written(stage), hint


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


def test_bodies_refuse_what_they_do_not_know(stage):
    """Every one of them, also within others."""
    schemas = written(stage)["components"]["schemas"]
    assert [
        name for name, one in schemas.items() if name != "Problem" and one.get("additionalProperties") is not False
    ] == []


def test_pages_that_load_scripts_from_elsewhere_are_off(stage):
    """FastAPI's own would."""
    assert [stage.anybody.get(path).status for path in ("/docs", "/redoc", "/docs/oauth2-redirect")] == [404] * 3


if __name__ == "__main__":
    import tempfile

    from tests.api.served import staged

    with tempfile.TemporaryDirectory() as folder, staged(Path(folder)) as made:
        KEPT.write_text(json.dumps(written(made), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def test_the_reference_is_made_from_it():
    """Whoever changes a route writes the page anew: python -m hushcount.api.reference docs/openapi.json."""
    page = KEPT.parent / "serve" / "api.md"

    assert page.read_text(encoding="utf-8") == render(json.loads(KEPT.read_text(encoding="utf-8")))
