"""Usage: what limits would have done to those who asked, as numbers and as a picture; and a proposed limit."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer
from hushcount.api.datasets import shared
from hushcount.api.parameters import Accept, Named
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, heavy, service_of
from hushcount.app.serving.owners import usage

router = signed_router("usage")
_SVG = "image/svg+xml"
Limits = Annotated[
    str, Query(pattern=r"^[0-9.]{1,20}(,[0-9.]{1,20}){0,9}$", description="Standard releases, as `1,3,10`.")
]
Window = Annotated[Literal["day", "week", "month"], Query()]


@router.get(
    "/datasets/{dataset}/usage",
    **said(
        "The share of analysts over each limit, by days.",
        *("not-permitted", "not-found", "no-such-format"),
        media=("application/json", _SVG),
    ),
)
async def tried(
    request: Request, dataset: Named, *, limits: Limits = "1,3,10", window: Window = "month", accept: Accept = None
) -> Response:
    """Figure 5 of LinkedIn's paper: what limits would have done so far, and who would have been stopped."""
    return await heavy(request, _tried, request, dataset, limits, window, accept)


@router.post("/datasets/{dataset}/proposals", **said("A proposed limit.", *with_body("not-permitted", "not-found")))
async def proposed(request: Request, dataset: Named, body: bodies.Proposal) -> Response:
    """A limit for every analyst that would have left a share of them alone. Nothing is set."""
    return await heavy(request, _proposed, request, dataset, body)


def _tried(
    request: Request, name: str, limits: str, window: Literal["day", "week", "month"], accept: str | None
) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = shared(request, name)
    found = usage.try_limits(service, caller, offer, limits=limits.split(","), window=window)
    if (accept or "").partition(",")[0].partition(";")[0].strip().lower() == _SVG:
        return Response(usage.tried_picture(service, caller, offer, tried=found), media_type=_SVG)
    return answer(usage.tried_form(found))


def _proposed(request: Request, name: str, body: bodies.Proposal) -> Response:
    service, caller = service_of(request), caller_of(request)
    found = usage.propose(service, caller, shared(request, name), share=body.share, window=body.window)
    return answer(usage.proposal_form(found))
