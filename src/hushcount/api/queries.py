"""Questions: priced, rehearsed, released; looked at, watched, cancelled."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer, page, to_json
from hushcount.api.jobs import job_answer, job_form, released
from hushcount.api.listeners import EventStream
from hushcount.api.parameters import After, Key, Limit, Named, Prefer, require_key, seconds_to_wait
from hushcount.api.readable import own_query, reaches
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.waiting import ENDED, look, waited, watched
from hushcount.api.work import caller_of, heavy, light, service_of, worker_of
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.questions import queries
from hushcount.app.serving.questions.queries import ShownJob

router = signed_router("queries")
OF_QUESTIONS = (
    "unknown-column",
    "unsafe-filter",
    "not-permitted",
    "not-found",
    "store-failed",
    "store-timeout",
    "busy",
)
OF_RELEASES = (
    *OF_QUESTIONS,
    *(
        "budget-exhausted",
        "over-max-cost",
        "frozen",
        "key-reused",
        "reservation-closed",
        "cancelled",
        "store-incomplete",
    ),
)
# A stream of events ends by itself after so long; the browser opens it again.
_LONGEST_WATCH = 600.0
# So long a wish to cancel waits for its effect.
_CANCEL_WAIT = 2.0
# So many questions are read at once for a page, which ends when they were so long together.
_STEP, _LONG_PAGE = 20, 2**20


@router.post(
    "/queries", **said("A price, a rehearsal, or an answer; 202 while it is not there.", *with_body(*OF_RELEASES))
)
async def ask(request: Request, body: bodies.Query, *, key: Key = None, prefer: Prefer = None) -> Response:
    """Price a question (the default, free), rehearse it on a made-up table (free), or release its answer."""
    service, caller = service_of(request), caller_of(request)
    request.state.dataset = body.dataset
    order = order_of(caller, [body], body.max_cost)
    if body.mode == "estimate":
        return answer(await light(request, queries.price, service, caller, order.tasks[0]))
    if body.mode == "rehearse":
        form = await heavy(request, queries.practise, service, caller, order.tasks[0])
        return answer(form)
    _, reply = await released(request, order, key=require_key(key), seconds=seconds_to_wait(prefer))
    return reply


@router.get("/queries", **said("The caller's questions, newest first."))
async def history(request: Request, limit: Limit = 100, after: After = "") -> Response:
    """The caller's own questions, newest first."""
    return await light(request, _history, request, limit, after)


@router.get("/queries/{query}", **said("A question; with its answer once it is done, 202 before.", "not-found"))
async def one(request: Request, query: Named, prefer: Prefer = None) -> Response:
    """One question: how far it is, or its answer. Waits only if `Prefer: wait` says so."""
    shown = await look(request, query)
    if prefer is not None and shown.state not in ENDED:
        shown = await waited(request, shown, seconds_to_wait(prefer))
    return await job_answer(request, shown, asked=False)


@router.get(
    "/queries/{query}/events",
    **said("Each change as a server-sent event, to the end.", "not-found", "busy", media=("text/event-stream",)),
)
async def events(request: Request, query: Named) -> Response:
    """Watch a question: its stages, then its end. The answer itself is fetched, not streamed."""
    shown = await look(request, query)

    async def lines() -> AsyncIterator[bytes]:
        async for seen in watched(request, shown, _LONGEST_WATCH):
            yield b": still there\n\n" if seen is None else _event(request, seen)

    listeners, caller = worker_of(request).listeners, caller_of(request).name
    listeners.enter(caller)
    return EventStream(lines(), listeners, caller=caller)


@router.delete("/queries/{query}", **said("What became of it, and whether it was free.", "not-found"))
async def cancel(request: Request, query: Named) -> Response:
    """Cancel a question of one's own. Free if no data was read for it yet; else it is answered and stays charged."""
    form, ended = await cancelled(request, query)
    return answer(form, status=200 if ended else 202)


async def cancelled(request: Request, query: str) -> tuple[dict[str, Any], bool]:
    """What became of a question that the caller wants to end, and whether it has."""
    shown = await waited(request, await light(request, own_query, request, query), _CANCEL_WAIT)
    charged = {"cancelled": False, "done": True}.get(shown.state)
    if shown.problem is not None:
        charged = shown.problem.charged
    return {**job_form(request, shown), "charged": charged, "detail": _CANCELLED[charged]}, shown.state in ENDED


_CANCELLED = {
    False: "It was cancelled before data was read. Nothing was charged.",
    True: "Data had been read for it already, so it stays charged.",
    None: "It ends as soon as it can; look at it again to see whether that was free.",
}


def order_of(caller: Caller, asked: list[bodies.Asked] | list[bodies.Query], most: bodies.Most | None) -> Order:
    """What was sent, as the service takes it."""
    without = ("dataset", "question", "mode", "max_cost")
    return Order(
        tasks=tuple(Task(dataset=one.dataset, question=one.question, said=one.given(*without)) for one in asked),
        token=None if caller.token is None else caller.token.id,
        most=None if most is None else most.releases,
    )


def own_queries(request: Request, limit: int, after: str) -> tuple[list[tuple[ShownJob, dict[str, Any]]], str | None]:
    """A page of the caller's questions, and where the next begins.

    Short where questions are long, so that nobody's lists of items fill the memory.
    """
    service, caller = service_of(request), caller_of(request)
    forms: list[tuple[ShownJob, dict[str, Any]]] = []
    seen = size = 0
    while seen < limit and size < _LONG_PAGE:
        found = service.ledger.jobs.page(analyst=caller.name, before=after, size=min(_STEP, limit - seen))
        if not found:
            return forms, None
        # What a token does not reach is passed over, so a page may be short and still have one after it.
        mine = [queries.show(service, job) for job in found if reaches(caller, job.dataset)]
        forms += [(shown, job_form(request, shown)) for shown in mine]
        seen, size, after = seen + len(found), size + sum(len(job.body) for job in found), found[-1].id
    more = service.ledger.jobs.page(analyst=caller.name, before=after, size=1)
    return forms, after if more else None


def _history(request: Request, limit: int, after: str) -> Response:
    found, following = own_queries(request, limit, after)
    return page([form for _, form in found], following=following)


def _event(request: Request, shown: ShownJob) -> bytes:
    form = json.loads(to_json(job_form(request, shown)))
    told = {name: form[name] for name in ("id", "status", "stage", "releases", "problem") if name in form}
    name = "end" if shown.state in ENDED else "stage"
    return b"event: " + name.encode() + b"\ndata: " + to_json(told) + b"\n\n"
