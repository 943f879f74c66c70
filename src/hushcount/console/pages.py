"""All pages, one line each."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.console import (
    add,
    answer,
    ask,
    budget,
    data,
    enter,
    files,
    health,
    history,
    limits,
    overview,
    people,
    requests,
    running,
    setup,
    sign_in,
    tokens,
    trail,
)
from hushcount.console.views import ROOT, View, page
from hushcount.errors import NotFound

_PAGES = (sign_in, enter, data, ask, running, answer, history, budget, tokens)
_OWNERS = (overview, add, setup, limits, people, requests, trail, health)
_home = APIRouter()
_rest = APIRouter(prefix=ROOT)


@_home.get("/")
@_home.get(ROOT)
async def home() -> Response:
    """The console is what people look for here."""
    return Response(status_code=303, headers={"Location": f"{ROOT}/data"})


@page(_rest, "/{rest:path}")
async def nothing(request: Request) -> View:
    """What is not there, told as a page."""
    raise NotFound(f"there is no page {request.url.path!r} here.")


def routers() -> tuple[APIRouter, ...]:
    """Everything that browsers are shown, in the order in which it is looked for."""
    return (_home, files.router, *(one.router for one in (*_PAGES, *_OWNERS)), _rest)
