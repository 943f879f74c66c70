"""People: who may do what, what they have left, and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.people import new_invitation, put_group, put_role
from hushcount.api.work import caller_of, light, service_of
from hushcount.app import budgets
from hushcount.app.forms import balance_form
from hushcount.app.serving.callers.callers import GROUP
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners import people
from hushcount.app.serving.owners.limits import limit_form
from hushcount.app.serving.owners.people import Person, person_form
from hushcount.app.serving.owners.rules import dataset_of, desk_of
from hushcount.console.overseen import Overseen, data_of, overseen
from hushcount.console.reading import made, said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.ledger.ledger import Account

router = APIRouter(prefix=ROOT)
_PAGE = 20
_ASKING = {"owner", "analyst"}


@page(router, "/people")
async def listed(request: Request) -> View:
    """Everybody with a role for a data set, or, with `all`, everybody; and why one of them may ask."""
    given = said(request, "data", "all", "who", "after")
    return await light(request, _listed, request, given)


@deed(router, "/people/role")
async def role(request: Request) -> Response:
    """Give somebody a role, or take theirs away."""
    given = await sent(request, "data", "person", "role", "where")
    name = given.get("person", "")
    dataset = None if given.get("where") == "everything" else data_of(given)
    body = made(bodies.Person, {"role": given.get("role", ""), "dataset": dataset})
    await light(request, put_role, request, name, body)
    return see_other("/people", data=given.get("data", ""), who=name)


@deed(router, "/people/group")
async def group(request: Request) -> Response:
    """Put somebody into a group, or take them out."""
    given = await sent(request, "data", "person", "group", "deed")
    way = "remove" if given.get("deed") == "remove" else "add"
    body = made(bodies.Group, {way: [given.get("person", "")]})
    await light(request, put_group, request, given.get("group", ""), body)
    return see_other("/people", data=given.get("data", ""), who=given.get("person", ""))


@deed(router, "/people/invitation")
async def invited(request: Request) -> View:
    """Invite somebody: the link is shown this once."""
    given = await sent(request, "data", "person")
    found = await light(request, new_invitation, request, given.get("person", ""))
    view = await light(request, _listed, request, {"data": given["data"]} if "data" in given else {})
    base = service_of(request).config.server.public_url or str(request.base_url).rstrip("/")
    link = {"name": found.person, "link": found.link(base), "expires": found.expires.isoformat(timespec="seconds")}
    return View(template=view.template, title=view.title, form={**view.form, "invitation": link}, status=201)


def _listed(request: Request, given: dict[str, str]) -> View:
    service, caller = service_of(request), caller_of(request)
    seen = overseen(request, given.get("data"))
    everybody = "all" in given and seen.form()["sees_all"] is True
    offer = None if everybody else seen.chosen
    found = _found(request, seen, offer)
    after = given.get("after", "")
    shown = [person for person in found if person.name > after][:_PAGE]
    names = {one.id: one.name for one in service.served.shared_with(service, caller)}
    who = given.get("who")
    entity = None if offer is None else dataset_of(service.setting, offer).population
    asked = {} if offer is None else {use.analyst: use.at for use in budgets.uses_of(desk_of(service, caller, offer))}
    form = {
        **seen.form(),
        "all": everybody,
        "people": [
            {**person_form(one, names=names), "account": _account(request, one, entity), "asked": _day(asked, one.name)}
            for one in shown
        ],
        "count": len(found),
        "next": shown[-1].name if shown and found[-1].name > shown[-1].name else None,
        "why": None if who is None or seen.chosen is None else _why(request, who, seen.chosen),
        "invitation": None,
        "tokens": service.config.auth.tokens,
    }
    return View(template="people.html", title="People", form=form)


def _found(request: Request, seen: Overseen, offer: Offer | None) -> tuple[Person, ...]:
    if offer is None and not seen.form()["sees_all"]:
        return ()
    return people.people(service_of(request), caller_of(request), offer)


def _account(request: Request, person: Person, entity: str | None) -> dict[str, Any] | None:
    """What somebody spent on the people of a data set, and may; None for whoever does not ask."""
    asks = any(role in _ASKING for _, role, _ in person.roles)
    if entity is None or not asks or person.name.startswith(GROUP):
        return None
    balance = service_of(request).ledger.balance(Account(kind="analyst", name=person.name, entity=entity))
    return {**balance_form(balance), "words": limit_form(balance.limit)["words"]}


def _day(asked: Mapping[str, datetime], name: str) -> str | None:
    """When somebody was last charged for a question: what they only read is not on record."""
    return asked[name].isoformat(timespec="seconds") if name in asked else None


def _why(request: Request, who: str, offer: Offer) -> dict[str, Any]:
    found = people.why(service_of(request), caller_of(request), who, offer=offer)
    return {"name": who, "may_ask": found.may, "role": found.role, "because": list(found.because)}
