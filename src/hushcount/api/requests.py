"""Wishes for more: an analyst asks, an owner decides, both are on record."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import Query, Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer, page
from hushcount.api.datasets import shared
from hushcount.api.parameters import After, Limit, Named
from hushcount.api.problems import Refused
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners import wishes
from hushcount.app.serving.owners.wishes import OwnerAnswer, Wish, wish_form
from hushcount.errors import NotFound

router = signed_router("requests")
# Until then, if nobody says: as long as the usual window.
_USUAL = timedelta(days=31)
Dataset = Annotated[
    str | None, Query(min_length=1, max_length=200, description="Everybody's about this data set; for its owners.")
]


@router.post("/requests", **said("The wish, which waits.", *with_body("not-permitted", "not-found"), status=201))
async def made(request: Request, body: bodies.WishForMore) -> Response:
    """Ask the owners for more: how many standard releases, why, and until when."""
    return await light(request, _made, request, body)


@router.get("/requests", **said("The caller's own wishes, or those about a data set.", "not-permitted", "not-found"))
async def listed(request: Request, *, dataset: Dataset = None, limit: Limit = 100, after: After = "") -> Response:
    """The caller's own wishes; with a data set everybody's about it, for its owners and auditors."""
    return await light(request, _listed, request, dataset, limit, after)


@router.get("/requests/{wish}", **said("The wish, and what was decided.", "not-found"))
async def one(request: Request, wish: Named) -> Response:
    """One wish."""
    return await light(request, _one, request, wish)


@router.delete("/requests/{wish}", **said("The wish, taken back.", "not-permitted", "not-found"))
async def withdrawn(request: Request, wish: Named) -> Response:
    """Take back a wish of one's own that still waits."""
    found = await light(request, wishes.withdraw, service_of(request), caller_of(request), wish)
    return answer(form_of(request, found))


@router.post(
    "/requests/{wish}/decision", **said("The wish, decided.", *with_body("not-permitted", "not-found", "data-changed"))
)
async def decided(request: Request, wish: Named, body: bodies.Decision) -> Response:
    """Grant a wish until a day, or decline it, with a sentence; for owners."""
    return await light(request, decide, request, wish, body)


def wished(request: Request, body: bodies.WishForMore) -> Wish:
    """A wish of the caller's, made."""
    service, caller = service_of(request), caller_of(request)
    offer = shared(request, body.dataset)
    until = body.until or service.setting.clock() + _USUAL
    return wishes.make_wish(service, caller, offer, releases=body.releases, why=body.why, until=until)


def _made(request: Request, body: bodies.WishForMore) -> Response:
    wish = wished(request, body)
    return answer(form_of(request, wish), status=201, headers={"Location": f"/v1/requests/{wish.id}"})


def _listed(request: Request, dataset: str | None, limit: int, after: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    if dataset is None:
        if after:
            raise Refused("invalid-parameter", "One's own wishes are one page.", parameter="after")
        return page([form_of(request, wish) for wish in wishes.wishes_of(service, caller)], following=None)
    found = wishes.wishes_on(service, caller, shared(request, dataset), after=after, size=limit)
    return page([form_of(request, wish) for wish in found], following=found[-1].id if len(found) == limit else None)


def _one(request: Request, name: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    return answer(form_of(request, wishes.find_wish(service, caller, name, offer=_about(request, name))))


def decide(request: Request, name: str, body: bodies.Decision) -> Response:
    """A wish, decided."""
    service, caller = service_of(request), caller_of(request)
    offer = _about(request, name)
    # Whoever may not even see it is told that it is not there, in the words for what is not there.
    wishes.find_wish(service, caller, name, offer=offer)
    if offer is None:
        raise NotFound("the data set of this wish is not served any more. Nothing was changed.")
    given = OwnerAnswer(grant=body.grant, words=body.sentence, releases=body.releases, until=body.until, of=body.of)
    return answer(form_of(request, wishes.decide(service, caller, name, offer=offer, answer=given)))


def form_of(request: Request, wish: Wish) -> dict[str, Any]:
    """A wish, with its data set by the name that callers know."""
    try:
        name: str | None = service_of(request).served.by_id(wish.dataset).name
    except NotFound:
        name = None
    return {**wish_form(wish), "dataset": name}


def _about(request: Request, name: str) -> Offer | None:
    """The data set that a wish is about; None if there is no such wish, or the data set is no longer served."""
    service = service_of(request)
    record = service.ledger.records.find(wishes.KIND, name)
    try:
        return None if record is None else service.served.by_id(record.body["dataset"])
    except NotFound:
        return None
