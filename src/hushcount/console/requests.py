"""Requests: who wants more, why and how much; granted until a day, or declined with a sentence."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.problems import Refused
from hushcount.api.requests import decide, form_of
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.forms import balance_form
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners import wishes
from hushcount.app.serving.owners.rules import dataset_of
from hushcount.console.overseen import overseen
from hushcount.console.reading import made, said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.ledger.ledger import Account

router = APIRouter(prefix=ROOT)
_MOST = 1_000
_MOST_DECIDED = 30


@page(router, "/requests")
async def listed(request: Request) -> View:
    """What waits for the caller's decision, and what was decided lately."""
    said(request)
    return await light(request, _listed, request)


@deed(router, "/requests")
async def decided(request: Request) -> Response:
    """Grant a wish until a day, or decline it, with a sentence."""
    given = await sent(request, "wish", "decision", "sentence", "releases", "until", "of")
    if given.get("decision") not in {"grant", "decline"}:
        raise Refused("invalid-parameter", "A request is granted or declined.", parameter="decision")
    grant = given["decision"] == "grant"
    terms = ("releases", "until", "of") if grant else ()
    body = made(
        bodies.Decision,
        {
            "grant": grant,
            "sentence": given.get("sentence", ""),
            **{name: given[name] for name in terms if name in given},
        },
    )
    await light(request, decide, request, given.get("wish", ""), body)
    return see_other("/requests")


def _listed(request: Request) -> View:
    service, caller = service_of(request), caller_of(request)
    seen = overseen(request)
    found = [
        _form(request, wish, offer)
        for offer in seen.offers
        for wish in wishes.wishes_on(service, caller, offer, size=_MOST)
    ]
    decided = sorted((one for one in found if one["decision"] is not None), key=_when, reverse=True)
    form = {
        **seen.form(),
        "waiting": sorted((one for one in found if one["state"] == "waiting"), key=lambda one: str(one["made"])),
        "decided": decided[:_MOST_DECIDED],
    }
    return View(template="requests.html", title="Requests", form=form)


def _when(one: dict[str, Any]) -> str:
    return str(one["decision"]["at"])


def _form(request: Request, wish: wishes.Wish, offer: Offer) -> dict[str, Any]:
    """A wish; while it waits, with what whoever asks has left, and the data."""
    service = service_of(request)
    form = {**form_of(request, wish), "account": None, "data": None}
    if wish.state != "waiting":
        return form
    population = dataset_of(service.setting, offer).population
    own = Account(kind="analyst", name=wish.who, entity=population)
    data = Account(kind="dataset", name=population, entity=population)
    balances = {"account": service.ledger.balance(own), "data": service.ledger.balance(data)}
    return form | {name: balance_form(balance) for name, balance in balances.items()}
