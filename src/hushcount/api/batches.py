"""Batches: several questions about one data set, one price, all answered or none."""

from __future__ import annotations

from fastapi import Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer
from hushcount.api.jobs import released
from hushcount.api.parameters import Key, Prefer, require_key, seconds_to_wait
from hushcount.api.queries import OF_RELEASES, order_of
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, light, service_of
from hushcount.app.serving.questions.together import price_together

router = signed_router("batches")


@router.post("/batches", **said("One price, or all answers; 202 while they are not there.", *with_body(*OF_RELEASES)))
async def ask(request: Request, body: bodies.Batch, *, key: Key = None, prefer: Prefer = None) -> Response:
    """Price several questions together (the default, free), or release all of their answers or none."""
    caller = caller_of(request)
    request.state.dataset = body.questions[0].dataset
    order = order_of(caller, body.questions, body.max_cost)
    if body.mode == "estimate":
        return answer(await light(request, price_together, service_of(request), caller, order))
    _, reply = await released(request, order, key=require_key(key), seconds=seconds_to_wait(prefer))
    return reply
