"""A service in this process with something of everything in it: what the tests of leaks look at from all sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.api.asgi import Client, Reply
from tests.api.served import TOP, Stage, released, staged


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A service, and what is there: by the name of a path's part, something that exists."""

    stage: Stage
    there: Mapping[str, str]


@contextmanager
def set_scene(folder: Path, change: Any = None) -> Iterator[Scene]:
    """One of everything: a query with its release, a saved and published question, a wish, a token, a reservation."""
    with staged(folder, change) as stage:
        owner, analyst = stage.owner, stage.analyst
        query = done(released(analyst, TOP, key="scene"))
        question = done(owner.post("/v1/questions", {"name": "tops", "asked": TOP}))
        done(owner.post("/v1/datasets/events/publish", {"question": question["id"], "name": "tops"}))
        wish = done(analyst.post("/v1/requests", {"dataset": "events", "releases": "1", "why": "curious"}))
        token = done(analyst.post("/v1/tokens", {"label": "mine"})) if _may_make(analyst) else {"id": ""}
        held = done(
            stage.program.post(
                "/v1/budget/reservations", {"dataset": "events", "cost": {"rho": "0.01"}}, Idempotency_Key="held"
            )
        )
        yield Scene(
            stage=stage,
            there={
                "dataset": "events",
                "query": query["id"],
                "release": query["release"]["id"],
                "question": question["id"],
                "wish": wish["id"],
                "token": token["id"],
                "reservation": held.get("id", ""),
                "person": "ana",
                "group": "team",
                "suffix": "csv",
            },
        )


def _may_make(client: Client) -> bool:
    return client.post("/v1/tokens", {"label": "try"}).status < 300


def done(reply: Reply) -> Any:
    """What a request gave that must work."""
    assert reply.status < 300, (reply.status, reply.body[:500])
    return reply.form


def missing(name: str) -> str:
    """Something of the same shape that does not exist: every letter behind the prefix is another one."""
    prefix, mark, rest = name.rpartition("_") if "_" in name else ("", "", name)
    return prefix + mark + "".join("b" if letter == "a" else "a" for letter in rest)
