"""Routes: every one of `/v1` asks first who calls, then whether it knows all that was said, and only then is run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from hushcount.api.problems import MEDIA, STATUS, Refused
from hushcount.api.reading import StrictRequest, refusal_in
from hushcount.api.work import light, service_of, worker_of
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.signing import Knock, sign_in

_ALWAYS = (
    "invalid-parameter",
    "unknown-option",
    "not-signed-in",
    "too-many-requests",
    "ledger-unavailable",
    "internal",
)
_WITH_BODY = ("body-too-large", "not-json")
_PROBLEM = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}


class SignedRoute(APIRoute):
    """A route for callers who are known."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the two questions."""
        run = super().get_route_handler()
        known = frozenset(_query_names(self))

        async def signed(request: Request) -> Response:
            caller = request.state.caller = await _signed_in(request)
            worker_of(request).rates.take(caller.name)
            _refuse_unknown(request, known)
            return await _read_strictly(run, request)

        return signed


class OpenRoute(APIRoute):
    """A route for anybody: it shows nothing of data or people."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler; what it does not know is refused here too."""
        run = super().get_route_handler()
        known = frozenset(_query_names(self))

        async def opened(request: Request) -> Response:
            _refuse_unknown(request, known)
            return await _read_strictly(run, request)

        return opened


def signed_router(tag: str) -> APIRouter:
    """A group of routes for callers who are known."""
    return APIRouter(prefix="/v1", route_class=SignedRoute, tags=[tag])


def said(what: str, *codes: str, status: int = 200, media: tuple[str, ...] = ("application/json",)) -> dict[str, Any]:
    """What a route answers, for `openapi.json`: its answer, and each problem that it may have by its status.

    Args:
        what: the answer in words.
        codes: the problems of this route, beside those of every route.
        status: the status of the answer.
        media: what the answer may be.
    """
    found: dict[int | str, Any] = {status: {"description": what}}
    if media:
        found[status]["content"] = {one: {"schema": _schema(one)} for one in media}
    by_status: dict[int, list[str]] = {}
    for code in (*_ALWAYS, *codes):
        by_status.setdefault(STATUS[code], []).append(code)
    for number, own in sorted(by_status.items()):
        found[number] = {"description": ", ".join(f"`{code}`" for code in own), "content": _PROBLEM}
    return {"responses": found, "status_code": status}


def with_body(*codes: str) -> tuple[str, ...]:
    """The problems of a route that has a body."""
    return (*_WITH_BODY, *codes)


async def _signed_in(request: Request) -> Caller:
    service, knock, door = service_of(request), knock_of(request), worker_of(request).door
    if service.config.auth.local:
        # Headers alone decide; a thread would take longer.
        return sign_in(service, knock, door=door)
    return await light(request, sign_in, service, knock, door=door)


async def _read_strictly(run: Callable[[Request], Coroutine[Any, Any, Response]], request: Request) -> Response:
    """Run a handler on a body that is read in our way; a refusal comes back through FastAPI's own error."""
    try:
        return await run(StrictRequest(request.scope, request.receive))
    except RequestValidationError as error:
        refused = refusal_in(error.__cause__)
        if refused is not None:
            raise refused from None
        raise


def _schema(media: str) -> dict[str, Any]:
    if media == "application/json":
        return {"type": "object"}
    return {"type": "string"} if media.startswith(("text/", "image/")) else {"type": "string", "format": "binary"}


def _query_names(route: APIRoute) -> list[str]:
    """All names that the query of a route may have: of single parameters and of the members of models."""
    names: list[str] = []
    for field in route.dependant.query_params:
        members = getattr(field.field_info.annotation, "model_fields", None)
        names += [field.alias] if members is None else [one.alias or name for name, one in members.items()]
    return names


def _refuse_unknown(request: Request, known: frozenset[str]) -> None:
    """Refuse a parameter that is not known, or that stands twice: passed over, it would silently not happen."""
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise Refused("unknown-option", f"There is no parameter {name[:80]!r} here.{guess}", parameter=name[:80])
        if name in seen:
            raise Refused("invalid-parameter", f"The parameter {name!r} stands twice.", parameter=name)
        seen.add(name)


def knock_of(request: Request) -> Knock:
    """What is known of a call before anybody is believed."""
    peer = "" if request.client is None else request.client.host
    return Knock(method=request.method, peer=peer, headers=tuple(request.headers.items()))
