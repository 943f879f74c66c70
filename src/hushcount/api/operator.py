"""For those who run the service: whether it lives, whether it is ready, what it speaks, what its problems mean."""

from __future__ import annotations

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from hushcount.api.answers import answer, to_json
from hushcount.api.parameters import Named
from hushcount.api.problems import MEDIA, problem_page, problem_response
from hushcount.api.routes import OpenRoute
from hushcount.api.work import worker_of
from hushcount.app.serving.problems import Problem
from hushcount.app.serving.readiness import unready
from hushcount.errors import NotFound

router = APIRouter(route_class=OpenRoute, tags=["operator"])
_READY_WITHIN = 5.0
_PROBLEM = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}


@router.get("/healthz", responses={200: {"description": "The process answers."}})
async def health() -> Response:
    """Whether the process answers."""
    return answer({"status": "ok"})


@router.get(
    "/readyz",
    responses={
        200: {"description": "Ready."},
        503: {"description": "`ledger-unavailable`, `busy`", "content": _PROBLEM},
    },
)
async def ready(request: Request) -> Response:
    """Whether questions can be taken: the ledger is reached, as it should be, and the server is not about to stop."""
    worker = worker_of(request)
    if worker.service is None and not worker.stopping:
        return problem_response(request, Problem(code="ledger-unavailable", detail="The ledger is not there yet."))
    if worker.service is None or worker.stopping or worker.service.runner.leaving:
        return problem_response(request, Problem(code="busy", detail="The server starts or stops."))
    with anyio.move_on_after(_READY_WITHIN):
        problem = await anyio.to_thread.run_sync(unready, worker.service, abandon_on_cancel=True)
        return answer({"status": "ready"}) if problem is None else problem_response(request, problem)
    return problem_response(request, Problem(code="ledger-unavailable", detail="The ledger takes too long to answer."))


@router.get("/openapi.json", responses={200: {"description": "This interface as OpenAPI 3.1."}})
async def interface(request: Request) -> Response:
    """This interface, for programs."""
    app = request.app
    return Response(to_json(app.openapi()), media_type="application/json", headers={"Cache-Control": "max-age=300"})


@router.get(
    "/problems/{code}",
    response_class=HTMLResponse,
    responses={200: {"description": "What a problem means."}, 404: {"description": "`not-found`", "content": _PROBLEM}},
)
async def problem(code: Named) -> Response:
    """What a problem means, and what to do about it."""
    found = problem_page(code)
    if found is None:
        raise NotFound("there is no problem of that name. Nothing was charged.")
    return HTMLResponse(found, headers={"Cache-Control": "max-age=86400"})
