"""A job as it leaves: its state, and once it is done its answer, its price and what is left."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from hushcount.api.answers import joined, to_json
from hushcount.api.left import left_form
from hushcount.api.problems import problem_form, problem_response
from hushcount.api.rendering import json_of
from hushcount.api.waiting import ENDED
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.ids import with_prefix
from hushcount.app.serving.queries import Shown
from hushcount.app.serving.releases import answered, cost_form
from hushcount.app.serving.tasks import Order

_AGAIN = "1"


async def job_answer(request: Request, shown: Shown, *, asked: bool) -> Response:
    """A job for whoever asked it, or looks at it.

    Args:
        request: the request.
        shown: the job.
        asked: whether this request asks the question: then a failure is its status, and not only told.
    """
    if shown.problem is not None and asked:
        return problem_response(request, shown.problem, headers={"Location": f"/v1/queries/{shown.job.id}"})
    if shown.state == "done":
        return await light(request, _done, request, shown)
    if shown.state in ENDED:
        return Response(to_json(job_form(request, shown)), media_type="application/json")
    headers = {"Location": f"/v1/queries/{shown.job.id}", "Retry-After": _AGAIN}
    return Response(
        to_json(job_form(request, shown)), status_code=202, headers=headers, media_type="application/json"
    )


def job_form(request: Request, shown: Shown) -> dict[str, Any]:
    """A job without its answer. When it ended is not told: that would show how long it took."""
    job = shown.job
    task = Order.from_json(job.body).tasks[0]
    form: dict[str, Any] = {
        "id": job.id,
        "status": shown.state,
        "dataset": task.dataset,
        "question": task.question,
        "said": dict(task.said),
        "analyst": job.analyst,
        "made": job.made,
    }
    if shown.state == "done":
        form["release"] = f"/v1/releases/{with_prefix(job.id, 'r')}"
    elif shown.problem is not None:
        form["problem"] = problem_form(shown.problem, request_id=request.state.request_id)
    elif shown.state not in ENDED:
        form["stage"] = shown.stage
        form["stopping"] = job.stop
    return form


def _done(request: Request, shown: Shown) -> Response:
    service = service_of(request)
    found = answered(service, shown.job)
    cost = cost_form(found)
    left = left_form(service, caller_of(request), shown.job.dataset)
    rendering = json_of(request, found)
    body = joined(
        {
            "id": to_json(shown.job.id),
            "status": b'"done"',
            "release": rendering.body,
            "cost": to_json(cost),
            "left": to_json(left),
        }
    )
    headers = {"Content-Location": f"/v1/releases/{found.id}", **cost_headers(cost, left, mode=found.stored.mode)}
    return Response(body, headers=headers, media_type="application/json")


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
