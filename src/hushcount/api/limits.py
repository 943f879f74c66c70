"""Limits: what data sets, analysts and groups may spend; for owners, and to read for auditors."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer, page
from hushcount.api.datasets import shared
from hushcount.api.problems import Refused
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.owners import limits
from hushcount.app.serving.owners.limits import Target, limit_form
from hushcount.app.words import limit_note, whose

router = signed_router("limits")
_WHOSE = ("dataset", "analyst", "group", "window", "mode", "enforced_from")
Dataset = Annotated[str | None, Query(min_length=1, max_length=200, description="Only what concerns this data set.")]


@router.get("/limits", **said("Every limit, general ones first.", "not-permitted", "not-found"))
async def listed(request: Request, dataset: Dataset = None) -> Response:
    """The limits in force, each with who set it and when."""
    return await light(request, _listed, request, dataset)


@router.put("/limits", **said("The limit as it is now.", *with_body("not-permitted", "not-found")))
async def put(request: Request, body: bodies.Limit) -> Response:
    """Set a limit, or lift it with `none`: in releases, rho and delta, epsilon and delta, or information and calls.

    With `enforced_from` it is tracked until then.
    """
    return await light(request, put_limit, request, body)


def _listed(request: Request, dataset: str | None) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = None if dataset is None else shared(request, dataset)
    return page(limits.limits_in_force(service, caller, offer), following=None)


def put_limit(request: Request, body: bodies.Limit) -> Response:
    """A limit, set or lifted."""
    service, caller = service_of(request), caller_of(request)
    offer = None if body.dataset is None else shared(request, body.dataset)
    if body.analyst is not None and body.group is not None:
        raise Refused(
            "invalid-parameter", "A limit is for an analyst or for a group: set one, then both.", pointer="/group"
        )
    target = Target(offer=offer)
    if body.analyst is not None:
        target = Target(offer=offer, kind="analyst", name=body.analyst)
    elif body.group is not None:
        target = Target(offer=offer, kind="group", name=body.group)
    made = limits.typed_limit(body.given(*_WHOSE), window=body.window, mode=body.mode)
    if body.enforced_from is not None:
        made = limits.tracked_until(made, body.enforced_from, now=service.setting.clock())
    account = limits.set_limit(service, caller, target, limit=made)
    return answer({"whose": whose(account), **limit_form(made), "note": limit_note(made) or None})
