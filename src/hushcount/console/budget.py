"""Budget: what is left, in plain words; what it went to; and a way to ask for more."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.datasets import shared
from hushcount.api.requests import form_of, wished
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.owners import wishes
from hushcount.app.serving.questions.left import budget_form
from hushcount.console.history import costed
from hushcount.console.reading import made, said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other

router = APIRouter(prefix=ROOT)


@page(router, "/budget")
async def budget(request: Request) -> View:
    """What is left of one data set, or of the first that is shared."""
    given = said(request, "data", "more")
    return await light(request, _budget, request, given)


@deed(router, "/budget/more")
async def more(request: Request) -> Response:
    """Ask the owners for more."""
    given = await sent(request, "data", "releases", "why", "until")
    named = {"dataset": given.get("data", ""), **{name: given[name] for name in given if name != "data"}}
    body = made(bodies.WishForMore, named)
    await light(request, wished, request, body)
    return see_other("/budget", data=body.dataset)


@deed(router, "/budget/withdraw")
async def withdrawn(request: Request) -> Response:
    """Take a wish back."""
    given = await sent(request, "data", "wish")
    await light(request, wishes.withdraw, service_of(request), caller_of(request), given.get("wish", ""))
    return see_other("/budget", data=given.get("data", ""))


def _budget(request: Request, given: dict[str, str]) -> View:
    service, caller = service_of(request), caller_of(request)
    names = [offer.name for offer in service.served.shared_with(service, caller)]
    chosen = given.get("data") or next(iter(names), None)
    if chosen is None:
        return View(template="budget.html", title="Budget", form={"datasets": [], "budget": None})
    form = {
        "datasets": names,
        "budget": budget_form(service, caller, shared(request, chosen)),
        "wishes": [
            form for wish in wishes.wishes_of(service, caller) if _is_of(form := form_of(request, wish), chosen)
        ],
        "spent": [one for one in costed(request, "")[0] if _is_of(one, chosen)],
        "more": given.get("more"),
    }
    return View(template="budget.html", title="Budget", form=form)


def _is_of(form: dict[str, object], name: str) -> bool:
    return form["dataset"] == name
