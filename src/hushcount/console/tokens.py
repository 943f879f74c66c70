"""Tokens: what programs sign in with. Made with a cap and an end, shown once, ended at once."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.tokens import ended, made_for
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.callers.tokens import token_form, tokens_of
from hushcount.app.serving.jobs.tasks import Order
from hushcount.console.reading import made, said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other, site_of

router = APIRouter(prefix=ROOT)
# So many of one's own questions are looked through for those of a token.
_RECENT = 200


@page(router, "/tokens")
async def tokens(request: Request) -> View:
    """The caller's tokens that have not ended."""
    said(request)
    return await light(request, _view, request)


@deed(router, "/tokens")
async def new(request: Request) -> View:
    """Make a token, and show it, this once."""
    given = await sent(request, "label", "scope", "data", "days", "cap")
    wanted: dict[str, object] = {"label": given.get("label", ""), "scopes": [given.get("scope", "ask")]}
    if "data" in given:
        wanted["datasets"] = [given["data"]]
    if "days" in given:
        wanted["life"] = f"{given['days']}d"
    if "cap" in given:
        wanted["cap"] = {"releases": given["cap"]}
    form = await light(request, made_for, request, made(bodies.NewToken, wanted))
    return await light(request, _view, request, new=form)


@deed(router, "/tokens/{token}/revoke")
async def revoked(request: Request) -> Response:
    """End a token at once."""
    await sent(request)
    await light(request, ended, request, str(request.path_params["token"]))
    return see_other("/tokens")


def _view(request: Request, new: dict[str, object] | None = None) -> View:
    service, caller = service_of(request), caller_of(request)
    names = {offer.id: offer.name for offer in service.served.shared_with(service, caller)}
    found = [token_form(token) for token in tokens_of(service.setting, caller.name)]
    recent = service.ledger.jobs.page(analyst=caller.name, size=_RECENT)
    asked = {Order.from_json(job.body).token: job.made.isoformat(timespec="seconds") for job in reversed(recent)}
    form = {
        "data": sorted(found, key=lambda one: str(one["made"]), reverse=True),
        "names": names,
        "asked": {str(one["id"]): asked[one["id"]] for one in found if one["id"] in asked},
        "new": new,
        "local": caller.local,
        "whole": caller.token is None or caller.token.whole,
        "by": None if caller.token is None else caller.token.id,
        "url": site_of(request),
    }
    return View(template="tokens.html", title="Tokens", form=form, status=200 if new is None else 201)
