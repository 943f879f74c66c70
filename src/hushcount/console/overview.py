"""Overview: what was spent, who waits for an answer, what wants attention; of all that the caller oversees."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.owners import stop
from hushcount.api.requests import form_of
from hushcount.api.work import caller_of, light, service_of
from hushcount.app import budgets
from hushcount.app.forms import balance_form
from hushcount.app.serving.alerts.alerts import KIND as ALERT
from hushcount.app.serving.alerts.noticing import step_of
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners import wishes
from hushcount.app.serving.owners.freezing import FREEZE
from hushcount.app.serving.owners.limits import limit_form
from hushcount.app.serving.owners.rules import desk_of
from hushcount.app.serving.owners.usage import spent_since_midnight
from hushcount.console.overseen import data_of, overseen
from hushcount.console.reading import made, said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.ledger.ledger import EVERY, Account, Balance

router = APIRouter(prefix=ROOT)
_LATELY = timedelta(days=31)
# Of those who spent most; the others are on the page of people.
_MOST_ANALYSTS = 10
_MOST_ALERTS, _MOST_SHOWN = 10, 4


@page(router, "/overview")
async def overview(request: Request) -> View:
    """All that the caller oversees, at a glance."""
    said(request)
    return await light(request, _overview, request)


@deed(router, "/overview/freeze")
async def frozen(request: Request) -> Response:
    """Stop all questions about a data set or everything, or let them go on."""
    given = await sent(request, "data", "where", "frozen", "why")
    name = None if given.get("where") == "everything" else data_of(given)
    body = made(bodies.Freeze, {"frozen": given.get("frozen") == "yes", "why": given.get("why", "")})
    await light(request, stop, request, name, body)
    return see_other("/overview")


def _overview(request: Request) -> View:
    service, caller = service_of(request), caller_of(request)
    seen = overseen(request)
    # What is asked most comes first.
    datasets = [_dataset(request, offer) for offer in seen.offers]
    datasets.sort(key=lambda one: -float(one["account"]["releases"]["spent"]))
    waiting = [
        form_of(request, wish)
        for offer in seen.offers
        for wish in wishes.wishes_on(service, caller, offer, size=100)
        if wish.state == "waiting"
    ]
    alerts = sorted((alert for one in datasets for alert in one.pop("alerts")), key=lambda one: -int(one["percent"]))
    form = {
        **seen.form(),
        "datasets": datasets,
        "requests": waiting,
        "alerts": alerts[:_MOST_SHOWN],
        "more_alerts": max(0, len(alerts) - _MOST_SHOWN),
        "frozen": _freeze(request, EVERY),
        "told": _told(request) if seen.general is not None else [],
    }
    return View(template="overview.html", title="Overview", form=form)


def _dataset(request: Request, offer: Offer) -> dict[str, Any]:
    service, caller = service_of(request), caller_of(request)
    desk = desk_of(service, caller, offer)
    uses, now = budgets.uses_of(desk), service.setting.clock()
    lately: dict[str, Any] = {}
    for use in uses:
        if use.at > now - _LATELY:
            lately[use.analyst] = lately.get(use.analyst, 0) + use.spent.rho
    names = sorted(lately, key=lambda name: (-lately[name], name))[:_MOST_ANALYSTS]
    own = desk.ledger.balance(Account(kind="dataset", name=desk.population, entity=desk.population))
    analysts = [desk.ledger.balance(Account(kind="analyst", name=one, entity=desk.population)) for one in names]
    return {
        "name": offer.name,
        "account": balance_form(own),
        "limit": limit_form(own.limit),
        "today": spent_since_midnight(uses, now),
        "analysts": len(lately),
        "more_analysts": len(lately) - len(analysts),
        "spenders": [{**balance_form(one), "over": _over(one)} for one in analysts],
        "over": _over(own),
        "alerts": list(_alerts(offer, (own, *analysts))),
        "frozen": _freeze(request, offer.id),
    }


def _over(balance: Balance) -> bool:
    """Whether more was spent than a limit that is only tracked allows."""
    limit, left = balance.limit, balance.left
    return limit is not None and left is not None and limit.mode == "track" and (left.rho < 0 or left.delta < 0)


def _alerts(offer: Offer, balances: tuple[Balance, ...]) -> Iterator[dict[str, Any]]:
    """What would be told by a web hook, as it stands now."""
    for balance in balances:
        step = step_of(balance)
        if step is not None and balance.limit is not None:
            yield {
                "kind": "budget",
                "of": balance.account.kind,
                "analyst": balance.account.name if balance.account.kind == "analyst" else None,
                "dataset": offer.name,
                "percent": step,
                "mode": balance.limit.mode,
            }


def _freeze(request: Request, place: str) -> dict[str, Any] | None:
    record = service_of(request).ledger.records.find(FREEZE, place)
    if record is None:
        return None
    return {"why": record.body.get("why") or "", "by": record.owner, "since": record.changed.isoformat()}


def _told(request: Request) -> list[dict[str, Any]]:
    """The last alerts that were sent, or wait to be: of stores that failed, and of a ledger that was put back."""
    found = service_of(request).ledger.records.page(ALERT, size=1_000)
    told = [{**record.body["told"], "state": record.body["state"]} for record in found]
    rare = [one for one in told if one["kind"] in {"store", "chain", "frozen"}]
    return sorted(rare, key=lambda one: str(one["at"]), reverse=True)[:_MOST_ALERTS]
