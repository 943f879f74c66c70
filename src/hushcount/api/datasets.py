"""Data sets: those that are shared with the caller, what is protected in them, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response

from hushcount.api.answers import answer, page
from hushcount.api.parameters import After, Limit, Named
from hushcount.api.routes import said, signed_router
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.forms import dataset_form
from hushcount.app.serving.callers.callers import Caller, role_on
from hushcount.app.serving.data.access import as_of
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners.rules import dataset_of
from hushcount.app.serving.questions.left import budget_form
from hushcount.app.serving.service import Service
from hushcount.errors import HushcountError
from hushcount.ledger.ledger import Role

router = signed_router("datasets")
ANYBODY: tuple[Role, ...] = ("owner", "auditor", "analyst", "program", "reader")


@router.get("/datasets", **said("Those that are shared with the caller, by name."))
async def listed(request: Request, limit: Limit = 100, after: After = "") -> Response:
    """The data sets that are shared with the caller."""
    return await light(request, _listed, request, limit, after)


@router.get("/datasets/{dataset}", **said("Columns, facts, presets, what is protected, examples.", "not-found"))
async def one(request: Request, dataset: Named) -> Response:
    """One data set: what may be asked of it, and whom it is about."""
    return await light(request, _one, request, dataset)


@router.get("/datasets/{dataset}/budget", **said("What is left, in words and numbers.", "not-found"))
async def left(request: Request, dataset: Named) -> Response:
    """What is left for the caller: LinkedIn's `getBudget`, and how many more questions that is."""
    return await light(request, _budget, request, dataset)


def shared(request: Request, name: str) -> Offer:
    """A data set for which the caller has any role."""
    service = service_of(request)
    request.state.dataset = name
    return service.served.granted(service, caller_of(request), name, *ANYBODY, deed="see it")


def _listed(request: Request, limit: int, after: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    found = [offer for offer in service.served.shared_with(service, caller) if offer.name > after]
    forms = [brief_form(service, caller, offer) for offer in found[:limit]]
    return page(forms, following=found[limit - 1].name if len(found) > limit else None)


def _one(request: Request, name: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    offer = shared(request, name)
    return answer(full_form(service, caller, offer))


def _budget(request: Request, name: str) -> Response:
    service, caller, offer = service_of(request), caller_of(request), shared(request, name)
    return answer(budget_form(service, caller, offer))


def brief_form(service: Service, caller: Caller, offer: Offer) -> dict[str, Any]:
    """A data set in a few words."""
    return {
        "name": offer.name,
        "role": role_on(service, caller, offer),
        "protects": protected(offer),
        "snapshot": offer.snapshot,
    }


def protected(offer: Offer) -> str:
    """What is protected, in words."""
    if not offer.person:
        return "nobody yet, and so nothing can be asked: who a person is was not said"
    return f"everything that any one {offer.person} did in {offer.name}"


def full_form(service: Service, caller: Caller, offer: Offer) -> dict[str, Any]:
    """A data set with all that its callers may know: nothing of it is a value of the data."""
    known = dataset_of(service.setting, offer)
    columns, available = _columns(service, offer)
    return {
        **brief_form(service, caller, offer),
        "available": available,
        "as_of": as_of(service.setting, offer),
        "person": offer.person,
        "people": known.population,
        "items": None if offer.items is None else list(offer.items),
        "columns": columns,
        "facts": dataset_form(known)["facts"],
        "presets": list(service.config.privacy.presets),
        "analysts": service.config.privacy.analysts,
        "timing": service.config.privacy.timing.kind,
        "examples": _examples(offer, columns, known.facts),
    }


def _examples(offer: Offer, columns: list[dict[str, str]] | None, facts: Mapping[str, object]) -> list[dict[str, Any]]:
    """Questions to begin with, of a column that may be named: one that owners declared, or that the data itself tells.

    None where neither is so: the keys of JSON, and of CSV the first line, may be somebody's values.
    """
    named = offer.items or [one["name"] for one in columns or ()] or sorted(facts)
    item = next((name for name in named if name != offer.person), None)
    if item is None:
        return []
    return [
        {"dataset": offer.name, "question": "count", "item": item},
        {"dataset": offer.name, "question": "top", "item": item, "k": 10},
    ]


def _columns(service: Service, offer: Offer) -> tuple[list[dict[str, str]] | None, bool]:
    """Names and kinds, if the data tells them; and whether the data can be read at all."""
    try:
        described = service.stores.describe(offer)
    except HushcountError:
        return None, False
    if not described.listed or not described.told:
        return None, True
    return [{"name": column.name, "kind": column.kind} for column in described.columns], True
