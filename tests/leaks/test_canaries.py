"""Marked names of rare items, of columns and of filters show up nowhere but where they belong."""

from __future__ import annotations

import io
import json
import logging
from contextlib import contextmanager
from dataclasses import replace

import pytest
from anyio.from_thread import start_blocking_portal
from prometheus_client import CollectorRegistry, generate_latest

from hushcount.api import metrics as counters
from hushcount.api.app import make_app
from hushcount.api.logs import JsonLines, TextLines
from hushcount.app.serving.data.loans import LentEngine
from tests.api.asgi import Client, Reply
from tests.api.served import CANARY, TOP, released
from tests.leaks.scene import set_scene

# Items that five people have, one each; see `make_files`.
RARE = CANARY
LITERAL = "Quatermain-the-filter"
# A column and the values of a data set for which only its owner has a role.
HIDDEN = ("hidden_column", "hidden-value")
ROLES = ("owner", "analyst", "reader", "auditor", "program", "stranger", "anybody")


@contextmanager
def watched(stage):
    """The same service with its logs and its metrics in our hands: the application, both logs, the registry."""
    texts = [io.StringIO(), io.StringIO()]
    handlers = [logging.StreamHandler(text) for text in texts]
    for handler, form in zip(handlers, (JsonLines(), TextLines()), strict=True):
        handler.setFormatter(form)
    loggers = [logging.getLogger(name) for name in ("hushcount", "uvicorn", "asyncio")]
    registry = CollectorRegistry()
    really, counters._package = counters._package, lambda: _Package(registry)  # noqa: SLF001
    try:
        app = make_app(stage.service, observe=counters.make_metrics().observe)
    finally:
        counters._package = really  # noqa: SLF001
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        for handler in handlers:
            logger.addHandler(handler)
    try:
        yield app, lambda: "".join(text.getvalue() for text in texts), lambda: generate_latest(registry).decode()
    finally:
        for logger in loggers:
            for handler in handlers:
                logger.removeHandler(handler)


class _Package:
    """The package of metrics, with all counters in one registry of ours."""

    def __init__(self, registry: CollectorRegistry) -> None:
        import prometheus_client

        self.CollectorRegistry = lambda: registry
        self.Counter, self.Histogram = prometheus_client.Counter, prometheus_client.Histogram


def text_of(reply: Reply) -> str:
    """All of a reply."""
    return json.dumps(reply.headers) + reply.body.decode("utf-8", "replace")


def said_by(client: Client, there) -> dict[str, str]:
    """Everything that can be read by somebody, and what is said to them about what is wrong."""
    replies = {}
    for path, verbs in client.get("/openapi.json").form["paths"].items():
        where = path
        for name, value in there.items():
            where = where.replace("{" + name + "}", value)
        if "get" in verbs and not path.endswith("/events"):
            replies[f"get {path}"] = client.get(where.replace("{code}", "busy"))
    release = f"/v1/releases/{there['release']}"
    for form in ("json", "csv", "svg", "html", "parquet", "arrow"):
        replies[f"get {form}"] = client.get(f"{release}.{form}")
    bodies = {
        "estimate": TOP,
        "rehearse": {**TOP, "mode": "rehearse"},
        "rehearse others": {**TOP, "mode": "rehearse", "where": "country = 'NZ'"},
        "unknown column": {**TOP, "item": "artcle"},
        "unsafe": {**TOP, "where": "article = (select 1)"},
        "hidden": {**TOP, "dataset": "hidden"},
        "not a number": {**TOP, "where": "country > 3"},
        "too dear": {**TOP, "rho": "1000"},
    }
    for what, body in bodies.items():
        replies[what] = client.post("/v1/queries", body)
    replies["verify"] = client.post("/v1/log/verify", {})
    replies["derive"] = client.post(f"{release}/derive", {"deed": "sum", "items": ["a1", "nothing"]})
    return {what: text_of(reply) for what, reply in replies.items()}


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Everything that anybody saw of one service, by role; its logs, its metrics, its jobs and who asked them."""
    folder = tmp_path_factory.mktemp("canaries")
    with set_scene(folder) as scene, watched(scene.stage) as (app, logs, metrics), start_blocking_portal() as portal:
        stage = scene.stage
        hidden = folder / "data" / "hidden.csv"
        hidden.write_text(f"user_id,{HIDDEN[0]}\nv1,{HIDDEN[1]}\nv2,{HIDDEN[1]}\n", encoding="utf-8")
        clients = {role: replace(stage.role(role), app=app, portal=portal) for role in ROLES}
        own = {
            "asked": text_of(released(clients["analyst"], {**TOP, "where": f"article = '{LITERAL}'"}, key="literal")),
            "refused": text_of(clients["analyst"].post("/v1/queries", {**TOP, "where": f"artcle = '{LITERAL}'"})),
            "mistyped": text_of(clients["analyst"].post("/v1/queries", {**TOP, "where": f"'{LITERAL}' ="})),
            "odd path": text_of(clients["analyst"].get(f"/v1/releases/{LITERAL}")),
        }
        fail_inside(clients["analyst"])
        said = {role: said_by(client, scene.there) for role, client in clients.items()}
        jobs = stage.service.ledger.jobs.page(analyst=None)
        yield {"said": said, "own": own, "logs": logs(), "metrics": metrics(), "jobs": jobs}


def fail_inside(client: Client) -> None:
    """A failure whose text quotes data, before and after data was read."""
    really = LentEngine.histogram

    def broken(*_given, **_named):
        raise ValueError(f"cannot add {RARE}-1 to {LITERAL}")

    LentEngine.histogram = broken
    try:
        reply = released(client, {**TOP, "k": 9}, key="broken")
    finally:
        LentEngine.histogram = really
    assert reply.status >= 500
    assert RARE not in text_of(reply)
    assert LITERAL not in text_of(reply)


def test_rare_items_are_nowhere(seen):
    """What one person has is in no reply to anybody, owners included, in no log, metric, or row of a job."""
    shown = [
        f"{role}: {what}" for role, all_of in seen["said"].items() for what, text in all_of.items() if RARE in text
    ]

    assert shown == []
    assert RARE not in "".join(seen["own"].values())
    assert RARE not in seen["logs"]
    assert RARE not in seen["metrics"]
    assert RARE not in str(seen["jobs"])


def test_a_filter_is_with_whoever_wrote_it(seen):
    """A filter's literal is read by whoever wrote it and by those who oversee the data; not by others, not in a log."""
    others = {role: all_of for role, all_of in seen["said"].items() if role not in {"analyst", "owner", "auditor"}}
    shown = [f"{role}: {what}" for role, all_of in others.items() for what, text in all_of.items() if LITERAL in text]

    assert shown == []
    assert LITERAL not in seen["logs"]
    assert LITERAL not in seen["metrics"]
    assert [job.key for job in seen["jobs"] if LITERAL in f"{job.stage}{job.outcome}{job.question}"] == []
    assert [job.key for job in seen["jobs"] if LITERAL in job.body] == ["literal"]


def test_columns_of_hidden_data_are_with_its_owner(seen):
    """Whoever has no role for a data set meets neither its columns nor its values; nor does any log."""
    others = {role: all_of for role, all_of in seen["said"].items() if role not in {"owner", "auditor"}}
    for word in HIDDEN:
        shown = [f"{role}: {what}" for role, all_of in others.items() for what, text in all_of.items() if word in text]

        assert shown == []
        assert word not in seen["logs"]
        assert word not in seen["metrics"]


def test_the_canaries_would_be_heard(seen):
    """Logs, metrics and replies are really there, and a canary that was released would be found in them."""
    assert seen["logs"].count('"event": "request"') > 100
    assert "failed inside" in seen["logs"]
    assert "hushcount_requests_total" in seen["metrics"]
    assert all(len(all_of) > 30 for all_of in seen["said"].values())
    # What is frequent is released, in every format that is text; a picture draws its letters.
    first = seen["said"]["analyst"]["get csv"].partition(",count,low,high")[2].split(",")[0].strip()
    assert all(first in seen["said"]["analyst"][f"get {form}"] for form in ("json", "csv", "html"))
    assert first.startswith("a")
    assert LITERAL in seen["own"]["refused"] + seen["own"]["mistyped"] + str(seen["jobs"])
