"""Running: a question that is under way, how far it is, and a way to stop it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushcount.api.jobs import job_form
from hushcount.api.queries import cancelled
from hushcount.api.waiting import look
from hushcount.app.serving.jobs.tasks import Order
from hushcount.console.reading import said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other

router = APIRouter(prefix=ROOT)


@page(router, "/queries/{query}")
async def running(request: Request) -> View | Response:
    """How far a question is; once it is answered, its answer."""
    said(request)
    name = _name(request)
    shown = await look(request, name)
    twin = request.url.path.endswith(".json")
    if shown.state == "done" and not twin:
        return see_other(f"/answers/{Order.from_json(shown.job.body).release_of(name, 0)}")
    return View(template="running.html", title="Under way", form=job_form(request, shown))


@deed(router, "/queries/{query}/cancel")
async def stopped(request: Request) -> View:
    """Stop a question of one's own, and say whether that was free."""
    await sent(request)
    form, _ = await cancelled(request, _name(request))
    return View(template="running.html", title="Stopped", form=form)


def _name(request: Request) -> str:
    return str(request.path_params["query"])
