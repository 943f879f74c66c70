"""The application: all routes, behind one edge, on one service."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from hushcount.api import (
    batches,
    budget,
    datasets,
    invitations,
    limits,
    log,
    me,
    operator,
    owners,
    people,
    problems,
    queries,
    questions,
    releases,
    requests,
    tokens,
    usage,
)
from hushcount.api.contract import complete
from hushcount.api.edge import Edge, Observer
from hushcount.api.life import life_of
from hushcount.api.work import Worker
from hushcount.app.serving.callers.rates import Rates
from hushcount.app.serving.callers.signing import open_door
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config import Config

# The version of the interface: /v1 only grows.
VERSION = "1.0"
# In the order in which a request looks for its route: what is asked most often comes first.
_GROUPS = (
    releases,
    queries,
    datasets,
    me,
    batches,
    questions,
    requests,
    tokens,
    invitations,
    owners,
    limits,
    people,
    usage,
    log,
    budget,
    operator,
)
_WHAT = (
    "Which items are there, and how many people have each, without exposing any person. Questions are priced before "
    "they are paid; what was paid for is kept and free."
)


def make_app(service: Service, *, observe: Observer | None = None, pages: Sequence[APIRouter] = ()) -> FastAPI:
    """The application of a service that is open, with the pages for browsers; whoever opened it closes it."""
    rates = Rates(each=service.config.server.rate)
    worker = Worker(service=service, door=open_door(service.config), rates=rates)
    return _made(worker, service.config, observe=observe, pages=pages)


def opening_app(
    config: Config,
    opening: Callable[[], Service],
    *,
    observe: Observer | None = None,
    opened: Callable[[Worker], None] = lambda _: None,
    pages: Sequence[APIRouter] = (),
) -> FastAPI:
    """The application of a service that is opened when the server starts and closed when it stops.

    Args:
        config: how it is set up.
        opening: opens the service; runs in a thread, so that the server can be stopped meanwhile.
        observe: told each request.
        opened: called once the service is open, in the thread that hears signals.
        pages: the pages for browsers; they are no part of the interface that is written down.
    """
    worker = Worker(door=open_door(config), rates=Rates(each=config.server.rate))
    return _made(worker, config, observe=observe, pages=pages, life=life_of(worker, opening, opened))


def _made(
    worker: Worker,
    config: Config,
    *,
    observe: Observer | None,
    pages: Sequence[APIRouter],
    life: Any = None,  # noqa: ANN401
) -> FastAPI:
    app = FastAPI(
        title="hushcount",
        version=VERSION,
        description=_WHAT,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.worker = worker
    for group in _GROUPS:
        app.include_router(group.router)
    for router in pages:
        app.include_router(router, include_in_schema=False)
    problems.install(app)
    app.add_middleware(Edge, local=config.auth.local, observe=observe, leaving=lambda: worker.stopping)
    # FastAPI's own way to say more.
    setattr(app, "openapi", lambda: described(app))  # noqa: B010
    return app


def described(app: FastAPI) -> dict[str, Any]:
    """The interface as OpenAPI 3.1, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            openapi_version="3.1.0",
        )
        parts = made.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, verbs in made["paths"].items():
            for verb in verbs.values():
                # FastAPI's own validation error is never sent: ours are 400.
                if "HTTPValidationError" in json.dumps(verb["responses"].get("422", {})):
                    del verb["responses"]["422"]
                if path.startswith("/v1/") and path != "/v1/invitations":
                    verb["security"] = [{"token": []}]
        complete(made)
        app.openapi_schema = made
    return app.openapi_schema
