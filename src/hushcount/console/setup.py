"""Setup: what is known of a data set's columns, with its consequence in people; then limits, and it goes live.

It goes live with limits that are tracked: nobody is stopped until an owner has seen what people need.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies
from hushcount.api.datasets import full_form
from hushcount.api.limits import put_limit
from hushcount.api.owners import declare
from hushcount.api.people import put_role
from hushcount.api.problems import Refused
from hushcount.api.work import caller_of, heavy, light, service_of
from hushcount.app.serving.callers.callers import GROUP, require
from hushcount.app.serving.callers.invitations import refuse_reserved
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.jobs.tasks import Task
from hushcount.app.serving.owners.limits import limit_form, typed_limit
from hushcount.app.serving.questions import queries
from hushcount.console.overseen import data_of, overseen
from hushcount.console.reading import made, said, sent, whole
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.errors import HushcountError, NotFound
from hushcount.model.frozen import frozen

router = APIRouter(prefix=ROOT)
# Bounds that are priced beside the one that is declared.
_TRIED = (1, 10, 100)
_MOST_NAMES = 100


@frozen
class Preset:
    """Limits to begin with, in standard releases a month: for each analyst, and for the data."""

    name: str
    each: int
    data: int
    words: str


PRESETS = (
    Preset(name="cautious", each=1, data=5, words="health, money, small groups"),
    Preset(name="standard", each=3, data=10, words="most logs of what people did"),
    Preset(name="generous", each=10, data=30, words="data that could nearly be public"),
)


@page(router, "/setup")
async def asked(request: Request) -> View:
    """What is declared of one column, what could be, and what each would do to an answer."""
    given = said(request, "data", "column", "most")
    return await heavy(request, _asked, request, given)


@deed(router, "/setup/facts")
async def declared(request: Request) -> Response:
    """Declare facts about one column; empty ones are taken back."""
    given = await sent(request, "data", "column", "most", "cap", "list")
    facts: dict[str, Any] = {}
    if "most" in given:
        facts["max_items_per_user"] = whole(given["most"], "most")
    if "cap" in given:
        facts["per_item_cap"] = whole(given["cap"], "cap")
    if "list" in given:
        facts["public_items"] = [line for line in given["list"].split("\n") if line]
    body = made(bodies.DatasetChange, {"facts": {given.get("column", ""): facts}})
    await light(request, declare, request, given.get("data", ""), body)
    return see_other("/setup", data=given.get("data", ""), column=given.get("column", ""))


@deed(router, "/setup/live")
async def live(request: Request) -> Response:
    """Let people ask, with limits that are tracked."""
    given = await sent(request, "data", "preset", "people")
    await light(request, _live, request, given)
    return see_other("/limits", data=given.get("data", ""), done="live")


def _asked(request: Request, given: dict[str, str]) -> View:
    service, caller = service_of(request), caller_of(request)
    seen = overseen(request, given.get("data"))
    if seen.chosen is None:
        raise NotFound("there is no data set yet. Add one first. Nothing was changed.")
    require(service, caller, seen.chosen, "owner", deed="set up data")
    full = full_form(service, caller, seen.chosen)
    columns = full["items"] or [one["name"] for one in full["columns"] or () if one["name"] != full["person"]]
    column = given.get("column") or next(iter(columns), None)
    most = whole(given["most"], "most") if "most" in given else None
    form = {
        **seen.form(),
        "data": full,
        "columns": columns,
        "column": column,
        "most": most,
        "choices": [] if column is None else _choices(request, seen.chosen, column, most=most),
        "presets": [_preset_form(preset) for preset in PRESETS],
    }
    return View(template="setup.html", title="Set up", form=form)


def _choices(request: Request, offer: Offer, column: str, *, most: int | None) -> list[dict[str, Any]]:
    """What a count of a column would be like under each bound, as a standard release. Nothing is charged."""
    bounds: list[int | None] = [None, *sorted({*_TRIED, *([] if most is None else [most])})]
    return [{"most": bound, **_expected(request, offer, column, bound)} for bound in bounds]


def _expected(request: Request, offer: Offer, column: str, bound: int | None) -> dict[str, Any]:
    said_of_it: dict[str, Any] = {"item": column, "preset": "standard"}
    if bound is not None:
        said_of_it["max_items_per_user"] = bound
    task = Task(dataset=offer.name, question="count", said=said_of_it)
    try:
        price = queries.price(service_of(request), caller_of(request), task)
    except HushcountError as error:
        return {"expected": None, "method": None, "problem": str(error)}
    return {"expected": price["expected"], "method": price["method"], "problem": None}


def _preset_form(preset: Preset) -> dict[str, Any]:
    limits = {"each": preset.each, "data": preset.data}
    told = {name: limit_form(typed_limit({"releases": count}, mode="track")) for name, count in limits.items()}
    return {"name": preset.name, "words": preset.words, **told}


def _live(request: Request, given: dict[str, str]) -> None:
    preset = next((one for one in PRESETS if one.name == given.get("preset")), None)
    if preset is None:
        raise Refused("invalid-parameter", "Choose one of the limits.", parameter="preset")
    names = [name.strip() for name in given.get("people", "").replace("\n", ",").split(",") if name.strip()]
    if len(names) > _MOST_NAMES:
        raise Refused("invalid-parameter", f"At most {_MOST_NAMES} names at once.", parameter="people")
    for name in names:
        # All of them before anything changes: one that cannot be must not leave the half of it done.
        refuse_reserved(name.removeprefix(GROUP))
    dataset = data_of(given)
    tracked = {"dataset": dataset, "mode": "track"}
    put_limit(request, made(bodies.Limit, {**tracked, "releases": preset.data}))
    put_limit(request, made(bodies.Limit, {**tracked, "analyst": "*", "releases": preset.each}))
    for name in names:
        put_role(request, name, made(bodies.Person, {"role": "analyst", "dataset": dataset}))
