"""History: the caller's own questions, newest first; those under way with how far they are."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request

from hushcount.api.queries import own_queries
from hushcount.api.work import light, service_of
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.questions.queries import ShownJob
from hushcount.app.serving.questions.releases import answered, cost_form
from hushcount.app.serving.service import Service
from hushcount.console.reading import said
from hushcount.console.views import ROOT, View, page
from hushcount.console.wording import worded
from hushcount.errors import HushcountError

router = APIRouter(prefix=ROOT)
_PAGE = 25


@page(router, "/history")
async def history(request: Request) -> View:
    """What was asked, what it cost, and what is under way."""
    after = said(request, "after").get("after", "")
    return await light(request, _history, request, after)


def _history(request: Request, after: str) -> View:
    data, following = costed(request, after)
    return View(template="history.html", title="History", form={"data": data, "next": following, "after": after})


def costed(request: Request, after: str) -> tuple[list[dict[str, Any]], str | None]:
    """A page of questions as GET /v1/queries has them, each that is done with its cost as its own page has it."""
    found, following = own_queries(request, _PAGE, after)
    service = service_of(request)
    return [
        {**form, "words": _words(service, shown), "costs": _costs(service, shown)} for shown, form in found
    ], following


def _words(service: Service, shown: ShownJob) -> list[str | None]:
    return [worded(service, task) for task in Order.from_json(shown.job.body).tasks]


def _costs(service: Service, shown: ShownJob) -> list[dict[str, Any]]:
    if shown.state != "done":
        return []
    # A data set that is not served any more has no answers to show.
    with suppress(HushcountError):
        return [cost_form(one) for one in answered(service, shown.job)]
    return []
