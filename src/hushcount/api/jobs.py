"""A job as it leaves: its state, and once it is done its answer, its price and what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import Request, Response

from hushcount.api.answers import joined, to_json
from hushcount.api.problems import problem_form, problem_response
from hushcount.api.rendering import rendered
from hushcount.api.waiting import ENDED, waited
from hushcount.api.work import caller_of, light, service_of, taking, worker_of
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.questions import queries
from hushcount.app.serving.questions.left import left_form
from hushcount.app.serving.questions.queries import ShownJob
from hushcount.app.serving.questions.refusals import seen_problem
from hushcount.app.serving.questions.releases import answered, cost_form
from hushcount.errors import Busy

_AGAIN = "1"


async def released(request: Request, order: Order, *, key: str, seconds: float) -> tuple[ShownJob, Response]:
    """A question that is taken, or joined if its key came before, and its answer, waited for at most so many seconds.

    An answer is made ready in the thread that saw that it is there: every further one would have to wait for its turn.

    Raises:
        Busy: the process is about to end; another one takes it.
    """
    replies: list[Response] = []

    def seen(shown: ShownJob) -> ShownJob:
        if shown.state == "done":
            replies.append(_done(request, shown))
        return shown

    shown = await waited(request, await _taken(request, order, key=key, seen=seen), seconds, seen=seen)
    return shown, replies[0] if replies else await job_answer(request, shown, asked=True)


async def _taken(request: Request, order: Order, *, key: str, seen: Callable[[ShownJob], ShownJob]) -> ShownJob:
    """The question, taken, as it may be seen now."""
    if worker_of(request).stopping:
        raise Busy("the server is stopping and takes no new questions; another one does. Nothing was charged.")
    service, caller = service_of(request), caller_of(request)

    def deed() -> ShownJob:
        return seen(queries.show(service, queries.release(service, caller, order, key=key)))

    return await taking(request, order.tasks[0].dataset, deed)


async def job_answer(request: Request, shown: ShownJob, *, asked: bool) -> Response:
    """A job for whoever asked it, or looks at it.

    Args:
        request: the request.
        shown: the job.
        asked: whether this request asks the question: then a failure is its status, and not only told.
    """
    if shown.problem is not None and asked:
        return problem_response(
            request,
            seen_problem(service_of(request), caller_of(request), shown.problem),
            headers={"Location": f"/v1/queries/{shown.job.id}"},
        )
    if shown.state == "done":
        return await light(request, _done, request, shown)
    if shown.state in ENDED:
        return Response(to_json(job_form(request, shown)), media_type="application/json")
    headers = {"Location": f"/v1/queries/{shown.job.id}", "Retry-After": _AGAIN}
    return Response(to_json(job_form(request, shown)), status_code=202, headers=headers, media_type="application/json")


def job_form(request: Request, shown: ShownJob) -> dict[str, Any]:
    """A job without its answer. When it ended is not told: that would show how long it took."""
    job = shown.job
    order = Order.from_json(job.body)
    tasks = order.tasks
    form: dict[str, Any] = {
        "id": job.id,
        "status": shown.state,
        "dataset": tasks[0].dataset,
        "questions": [{"question": task.question, **task.said} for task in tasks],
        "analyst": job.analyst,
        "made": job.made,
    }
    if shown.state == "done":
        form["releases"] = [f"/v1/releases/{order.release_of(job.id, place)}" for place in range(len(tasks))]
    elif shown.problem is not None:
        form["problem"] = problem_form(
            seen_problem(service_of(request), caller_of(request), shown.problem), request_id=request.state.request_id
        )
    elif shown.state not in ENDED:
        form["stage"] = shown.stage
        form["stopping"] = job.stop
    return form


def _done(request: Request, shown: ShownJob) -> Response:
    """A job with its answers, and what they cost whoever asked."""
    service, caller = service_of(request), caller_of(request)
    found = answered(service, shown.job)
    cost = _sum([cost_form(one) for one in found])
    left = left_form(service, caller, service.served.by_id(shown.job.dataset))
    bodies = [rendered(request, one, "json").body for one in found]
    several = len(found) > 1
    parts = {
        "id": to_json(shown.job.id),
        "status": b'"done"',
        "releases" if several else "release": b"[" + b",".join(bodies) + b"]" if several else bodies[0],
        "cost": to_json(cost),
        "left": to_json(left),
    }
    mode = "track" if any(one.stored.mode == "track" for one in found) else "enforce"
    headers = cost_headers(cost, left, mode=mode)
    if not several:
        headers["Content-Location"] = f"/v1/releases/{found[0].id}"
    return Response(joined(parts), headers=headers, media_type="application/json")


def _sum(costs: list[dict[str, Any]]) -> dict[str, Any]:
    """What several answers cost together."""
    if len(costs) == 1:
        return costs[0]
    total = {name: round(sum(one[name] for one in costs), 6) for name in ("releases", "held", "given_back")}
    return {**total, "repeated": all(one["repeated"] for one in costs), "each": costs}


def cost_headers(cost: dict[str, Any], left: dict[str, Any] | None, *, mode: str) -> dict[str, str]:
    """Price, rest and whether limits are only tracked, for those who look at headers alone."""
    headers = {"Hushcount-Cost": f"releases={cost['releases']:.6g}"}
    if mode == "track":
        headers["Hushcount-Mode"] = mode
    if left is not None and left.get("releases") is not None:
        renews = left.get("renews")
        until = f'; renews="{str(renews)[:10]}"' if renews else ""
        headers["Hushcount-Left"] = f"releases={left['releases']:.6g}{until}"
    return headers
