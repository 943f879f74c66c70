"""Answer: the released rows as a table and a picture, what is missing, and what can be reckoned of them for nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request

from hushcount.api.problems import Refused
from hushcount.api.readable import readable_release
from hushcount.api.rendering import rendered
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.deriving import LEVEL, Deed, derive
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.questions.releases import Answered, cost_form, receipt_form
from hushcount.console.onward import Found, onward
from hushcount.console.reading import said, said_often, whole
from hushcount.console.views import ROOT, View, page, site_of
from hushcount.console.wording import worded
from hushcount.model.tuples import join

router = APIRouter(prefix=ROOT)
# So many rows are on a page.
MOST = 100


@page(router, "/answers/{release}")
async def answer(request: Request) -> View:
    """A release, for ever at this address."""
    return await light(request, _answer, request)


@page(router, "/answers/{release}/receipt")
async def receipt(request: Request) -> View:
    """What is protected, by what, at what price."""
    return await light(request, _receipt, request)


def _receipt(request: Request) -> View:
    said(request)
    found = readable_release(request, _name(request))
    form = {"id": found.id, "dataset": found.dataset, "receipt": receipt_form(found.release)}
    return View(template="receipt.html", title="Receipt", form=form)


def _answer(request: Request) -> View:
    given = said(request, "from", "a", "b", often="sum")
    found = readable_release(request, _name(request))
    request.state.dataset = found.dataset
    # As GET /v1/releases/{release}.json has it, letter by letter.
    release = json.loads(rendered(request, found, "json").body)
    rows, start = release["rows"], whole(given.get("from", "0"), "from")
    order = Order.from_json(found.job.body)
    task = order.tasks[int(found.id.partition("-")[2] or 1) - 1]
    cut = task.question != "people" and bool(release["notes"])
    finding = Found(task=task, rows=rows, counted=release["interval"] is not None, cut=cut)
    form = {
        "release": release,
        "question": {"question": task.question, **task.said},
        "words": worded(service_of(request), task),
        "protection": found.release.receipt.to_text(numbers=False),
        "url": f"{site_of(request)}{ROOT}/answers/{found.id}",
        "mine": found.job.analyst == caller_of(request).name,
        "cost": cost_form(found),
        "from": start,
        "until": min(len(rows), start + MOST),
        "compared": _compared(found, rows, given.get("a"), given.get("b")),
        "added": _added(found, rows, said_often(request, "sum")),
        **onward(request, finding),
    }
    return View(template="answer.html", title=f"Answer about {found.dataset}", form=form)


def _compared(found: Answered, rows: Sequence[dict[str, Any]], a: str | None, b: str | None) -> dict[str, Any] | None:
    """How much more one row is than another, as POST /v1/releases/{release}/derive tells it."""
    if a is None or b is None:
        return None
    first, second = _row(rows, a, "a"), _row(rows, b, "b")
    return {"a": whole(a, "a"), "b": whole(b, "b"), **_derived(found, "difference", [first], [second])}


def _added(found: Answered, rows: Sequence[dict[str, Any]], places: list[str]) -> dict[str, Any] | None:
    """What some rows add up to, likewise."""
    if not places:
        return None
    chosen = list(dict.fromkeys(places))
    items = [_row(rows, place, "sum") for place in chosen]
    return {"rows": [whole(place, "sum") for place in chosen], **_derived(found, "sum", items, [])}


def _derived(found: Answered, deed: Deed, items: list[str], against: list[str]) -> dict[str, Any]:
    made = derive(found.release, deed, items, against=against)
    return {"deed": deed, **asdict(made), "interval": {"level": LEVEL}, "cost": {"releases": 0}}


def _row(rows: Sequence[dict[str, Any]], place: str, name: str) -> str:
    """The item of a row, which is named by its place: an address holds no text of the data."""
    number = whole(place, name)
    if number >= len(rows):
        raise Refused("invalid-parameter", f"There is no row {number} here.", parameter=name)
    item = rows[number]["item"]
    return item if isinstance(item, str) else join(item)


def _name(request: Request) -> str:
    return str(request.path_params["release"])
