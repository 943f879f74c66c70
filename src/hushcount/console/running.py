"""Running: a question that is under way, how far it is, and a way to stop it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from hushcount.api.jobs import job_form
from hushcount.api.queries import cancelled
from hushcount.api.waiting import look
from hushcount.api.work import light, service_of
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.console.reading import said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.console.wording import worded

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
    form = await light(request, _worded, request, job_form(request, shown))
    return View(template="running.html", title="Under way", form=form)


@deed(router, "/queries/{query}/cancel")
async def stopped(request: Request) -> View | Response:
    """Stop a question of one's own, and say whether that was free; as long as it is not known, the page that waits."""
    await sent(request)
    form, ended = await cancelled(request, _name(request))
    if not ended:
        return see_other(f"/queries/{_name(request)}")
    return View(template="running.html", title="Stopped", form=await light(request, _worded, request, form))


def _worded(request: Request, form: dict[str, Any]) -> dict[str, Any]:
    """A job as the interface has it, with each of its questions in words."""
    tasks = [
        Task(
            dataset=form["dataset"],
            question=one["question"],
            said={name: one[name] for name in one if name != "question"},
        )
        for one in form["questions"]
    ]
    return {**form, "words": [worded(service_of(request), task) for task in tasks]}


def _name(request: Request) -> str:
    return str(request.path_params["query"])
