"""Ask: a sentence to fill in, with its price beside it. To price and to rehearse is free; to release is paid."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from fastapi import APIRouter, Request, Response

from hushcount.api.datasets import full_form, shared
from hushcount.api.jobs import job_form, released
from hushcount.api.problems import KNOWN, problem_form, told_of
from hushcount.api.queries import order_of
from hushcount.api.work import caller_of, heavy, light, service_of
from hushcount.app.serving.ids import new_id
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.questions import queries
from hushcount.app.serving.questions.left import left_form
from hushcount.console.asking import FIELDS, Draft, again, asked_of, example_of
from hushcount.console.reading import said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other
from hushcount.errors import NotFound
from hushcount.model.frozen import frozen

router = APIRouter(prefix=ROOT)
# So long a browser waits for an answer before it is shown how far it is.
_PATIENCE = 3.0
# So many of one's own questions are looked through for the same one.
_RECENT = 100
_AFFORDED = ("budget-exhausted", "over-max-cost")


@frozen
class _Asking:
    """A question that is being asked: what is known of its data set, and the question itself."""

    dataset: dict[str, Any]
    asked: Draft


@page(router, "/ask")
async def ask(request: Request) -> View:
    """The sentence, with its price; and what its answer would look like, if that is asked for."""
    given = said(request, *FIELDS, "rehearse")
    asking = await light(request, _read, request, given)
    try:
        priced = await light(request, _priced, request, asking) if asking.asked.complete else {}
        if "rehearse" in given and priced:
            task = _order(request, asking.asked, "rehearse").tasks[0]
            made = await heavy(request, queries.practise, service_of(request), caller_of(request), task)
            return _view(asking, **priced, rehearsal=made)
        return _view(asking, **priced)
    except KNOWN as error:
        # The page is there to put it right, also while it is being typed.
        return replace(await _refused(request, asking, error), page_status=200)


@deed(router, "/ask")
async def release(request: Request) -> View | Response:
    """Release the answer to the question whose price was shown, for at most that price."""
    given = await sent(request, *FIELDS, "key", "most")
    asking = await light(request, _read, request, given)
    try:
        order = _order(request, asking.asked, "release", most=given.get("most"))
        shown, _ = await released(request, order, key=given.get("key", new_id("k")), seconds=_PATIENCE)
    except KNOWN as error:
        return await _refused(request, asking, error)
    if shown.problem is not None:
        problem = job_form(request, shown)["problem"]
        return _view(asking, status=problem["status"], problem=problem)
    if shown.state == "done":
        return see_other(f"/answers/{order.release_of(shown.job.id, 0)}")
    return see_other(f"/queries/{shown.job.id}")


def _read(request: Request, given: dict[str, str]) -> _Asking:
    service, caller = service_of(request), caller_of(request)
    name = given.get("data") or next((one.name for one in service.served.shared_with(service, caller)), None)
    if name is None:
        raise NotFound("nothing is shared with you yet. Ask an owner of this service. Nothing was charged.")
    dataset = full_form(service, caller, shared(request, name))
    return _Asking(dataset=dataset, asked=asked_of(given, dataset))


def _priced(request: Request, asking: _Asking) -> dict[str, Any]:
    """The price as POST /v1/queries tells it, what would be left after it, and where it was answered before."""
    service, caller = service_of(request), caller_of(request)
    task = _order(request, asking.asked, "estimate").tasks[0]
    price = queries.price(service, caller, task)
    left = left_form(service, caller, service.served.find(task.dataset))
    room = None if left is None else left["releases"]
    after = None if room is None or not price["fits"] else round(max(0.0, room - price["cost"]["releases"]), 6)
    before = _answered(request, asking, task) if price["free"] else None
    # What is pressed is paid at the price that is shown, and at no other.
    most = f"{Decimal(str(price['cost']['releases'])):f}"
    return {"price": price, "left": left, "after": after, "most": most, "answered": before}


def _order(request: Request, asked: Draft, mode: str, *, most: str | None = None) -> Order:
    body = asked.body(mode, most=most)
    return order_of(caller_of(request), [body], body.max_cost)


def _answered(request: Request, asking: _Asking, task: Task) -> dict[str, Any] | None:
    """When the caller had the answer to this question, and where it is, if that is not long ago."""
    service, caller = service_of(request), caller_of(request)
    wanted = again(task.dataset, {"question": task.question, **task.said}, asking.dataset["presets"])
    for job in service.ledger.jobs.page(analyst=caller.name, before="", size=_RECENT):
        order = Order.from_json(job.body)
        if len(order.tasks) > 1 or order.tasks[0].dataset != task.dataset or queries.show(service, job).state != "done":
            continue
        before = {"question": order.tasks[0].question, **order.tasks[0].said}
        if again(task.dataset, before, asking.dataset["presets"]) == wanted:
            return {"made": job.made, "release": order.release_of(job.id, 0)}
    return None


async def _refused(request: Request, asking: _Asking, error: Exception) -> View:
    """The same page, with what went wrong and every way out."""
    told = await told_of(request, error)
    request.state.code = told.problem.code
    form = problem_form(told.problem, request_id=request.state.request_id, status=told.status)
    # What does not fit still has a price.
    priced = await light(request, _priced, request, asking) if told.problem.code in _AFFORDED else {}
    return _view(asking, status=told.status, problem=form, **priced)


def _view(asking: _Asking, *, status: int = 200, **found: Any) -> View:  # noqa: ANN401  parts of the form
    parts = {
        "price": None,
        "left": None,
        "after": None,
        "most": None,
        "answered": None,
        "rehearsal": None,
        "problem": None,
    }
    # Who sends the form twice asks once: the same key is the same question.
    form = {
        "dataset": asking.dataset,
        "asked": asking.asked.form(),
        "example": example_of(asking.dataset),
        "key": new_id("k"),
        **parts,
        **found,
    }
    return View(template="ask.html", title=f"Ask about {asking.dataset['name']}", form=form, status=status)
