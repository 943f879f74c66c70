"""Limits: what a limit would have done to whom, what it promises, and one button that sets it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal, cast

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.limits import put_limit
from hushcount.api.problems import Refused
from hushcount.api.work import caller_of, heavy, light, service_of
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners import limits, usage
from hushcount.console.overseen import data_of, overseen
from hushcount.console.reading import made, said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.errors import InvalidParameter
from hushcount.ledger.ledger import EVERY
from hushcount.model.amounts import positive

router = APIRouter(prefix=ROOT)
_WINDOWS = ("day", "week", "month")
_USUAL = Decimal(5)
_SHARES = ("0.9", "0.95", "0.99")
_MOST = Decimal(1000)
# Of those who would be stopped, so many at once; the others can be opened.
_SHOWN = 10
# Time enough for everybody to hear of it.
_NOTICE = timedelta(days=7)


@page(router, "/limits")
async def tried(request: Request) -> View:
    """Figure 5 of a data set for a limit that is tried, the proposed limit, and those in force."""
    given = said(request, "data", "releases", "window", "share", "done")
    return await heavy(request, _tried, request, given)


@deed(router, "/limits")
async def changed(request: Request) -> Response:
    """Set a limit, or lift it."""
    given = await sent(request, "data", "whose", "name", "releases", "window", "mode", "enforced_from")
    body = made(bodies.Limit, _body(given))
    await light(request, put_limit, request, body)
    return see_other("/limits", data=data_of(given), done="yes")


def _body(given: dict[str, str]) -> dict[str, Any]:
    said_of_it: dict[str, Any] = {name: given[name] for name in ("window", "enforced_from") if name in given}
    mode = given.get("mode", "enforce")
    said_of_it |= {"none": True} if mode == "none" else {"releases": given.get("releases", ""), "mode": mode}
    said_of_it["dataset"] = data_of(given)
    whose = given.get("whose", "each")
    if whose == "each":
        return {**said_of_it, "analyst": "*"}
    if whose in {"analyst", "group"}:
        return {**said_of_it, whose: given.get("name", "")}
    if whose != "data":
        raise Refused("invalid-parameter", "A limit is for each analyst, for one, for a group or for the data.")
    return said_of_it


def _tried(request: Request, given: dict[str, str]) -> View:
    service, caller = service_of(request), caller_of(request)
    seen = overseen(request, given.get("data"))
    window = given.get("window", "month")
    if window not in _WINDOWS:
        raise Refused("invalid-parameter", "'window' must be day, week or month.", parameter="window")
    form: dict[str, Any] = {**seen.form(), "window": window, "done": "done" in given, "tried": None}
    if seen.chosen is None:
        return View(template="limits.html", title="Limits", form={**form, "limits": [], "replaced": []})
    share = given.get("share", _SHARES[1])
    if share not in _SHARES:
        raise Refused("invalid-parameter", f"'share' must be one of {', '.join(_SHARES)}.", parameter="share")
    proposal = _proposal(request, seen.chosen, window, share=share)
    in_force = limits.limits_in_force(service, caller, seen.chosen)
    releases = _releases(given.get("releases"), in_force, proposal)
    tried = usage.try_limits(
        service,
        caller,
        seen.chosen,
        limits=[str(releases / 2), str(releases), str(2 * releases)],
        window=cast("Literal['day', 'week', 'month']", window),
    )
    form |= {
        "limits": in_force,
        "replaced": _replaced(in_force),
        "share": share,
        "shares": list(_SHARES),
        "releases": str(releases),
        "least": "0.5",
        "most": str(_slider_end(releases, proposal)),
        "proposal": proposal,
        "from": (service.setting.clock() + _NOTICE).date().isoformat(),
        "tried": usage.tried_form(tried),
        "shown": _SHOWN,
        "more": max(0, len(tried.stopped[1]) - _SHOWN),
    }
    return View(template="limits.html", title="Limits", form=form)


def _proposal(request: Request, offer: Offer, window: str, *, share: str) -> dict[str, Any] | None:
    """A limit that would have left such a share of analysts alone; None where nobody asked yet."""
    service, caller = service_of(request), caller_of(request)
    try:
        found = usage.propose(
            service, caller, offer, share=share, window=cast("Literal['day', 'week', 'month']", window)
        )
    except InvalidParameter:
        return None
    return {**usage.proposal_form(found), "alone": found.proposal.analysts - len(found.proposal.stopped)}


def _releases(typed: str | None, in_force: list[dict[str, Any]], proposal: dict[str, Any] | None) -> Decimal:
    """What is tried: what was typed, else what holds for each analyst, else what is proposed."""
    if typed is None:
        holds = [one["releases"] for one in in_force if (one["kind"], one["name"]) == ("analyst", EVERY)]
        usual = _USUAL if proposal is None else Decimal(proposal["releases"])
        typed = str(min(_MOST, round(Decimal(holds[-1]), 2) if holds and holds[-1] else usual))
    found = positive("releases", typed)
    if found > _MOST or found != round(found, 2):
        raise InvalidParameter("releases", typed[:20], f"at most {_MOST}, with two digits behind the point")
    return found.normalize() if found != found.to_integral() else found.quantize(Decimal(1))


def _replaced(in_force: list[dict[str, Any]]) -> list[int]:
    """Which of the rules, by their places, are general ones that do not hold here: the data has a rule of its own."""
    own = {
        (one["kind"], EVERY if one["kind"] == "dataset" else one["name"]) for one in in_force if one["people"] != EVERY
    }
    return [place for place, one in enumerate(in_force) if one["people"] == EVERY and (one["kind"], one["name"]) in own]


def _slider_end(releases: Decimal, proposal: dict[str, Any] | None) -> int:
    """Far enough for twice what is proposed, and for what is tried."""
    most = max(releases, Decimal(10) if proposal is None else 2 * Decimal(proposal["releases"]), Decimal(10))
    return int(-(-most // 10) * 10)
