"""Work: what takes longer than a moment is done in threads, so that one caller's question never holds up another's.

Light work reads the ledger for some milliseconds. Heavy work computes, and new questions are priced, planned and
written down before they are taken; both have few places, so that they cannot take all of the processor from what is
light: many who ask at once must not keep anybody from looking at a balance. Questions themselves run in the threads of
the runner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from hushcount.api.kept import Kept, Rendering
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.rates import Rates
from hushcount.app.serving.callers.signing import Door
from hushcount.app.serving.questions.releases import Answered
from hushcount.app.serving.service import Service

P = ParamSpec("P")
T = TypeVar("T")
_LIGHT, _HEAVY, _TAKING = 16, 2, 2
_LINES = 16


@dataclass(slots=True, kw_only=True)
class Worker:
    """What the handlers of one process share.

    Attributes:
        service: the service; None until it is open.
        door: what signing in remembers.
        rates: how many requests each caller may send.
        light: places for light work. Each place has its own connection to the ledger, so they are bounded.
        heavy: places for what computes.
        taking: places for new questions, in several lines: a data set whose store is slow to open holds up few others.
        answers: stored answers, by the name of their release. Who may read one is asked each time.
        renderings: the same as the bytes that leave.
        stopping: whether the process was asked to end: then nobody waits any more, and no question is taken.
    """

    service: Service | None = None
    door: Door = field(default_factory=Door)
    rates: Rates = field(default_factory=lambda: Rates(each=0))
    light: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_LIGHT))
    heavy: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_HEAVY))
    taking: tuple[anyio.CapacityLimiter, ...] = field(
        default_factory=lambda: tuple(anyio.CapacityLimiter(_TAKING) for _ in range(_LINES))
    )
    answers: Kept[Answered] = field(default_factory=lambda: Kept(lambda one: len(one.stored.payload)))
    renderings: Kept[Rendering] = field(default_factory=lambda: Kept(lambda one: len(one.body)))
    stopping: bool = False


def worker_of(request: Request) -> Worker:
    """What this process's handlers share."""
    worker: Worker = request.app.state.worker
    return worker


def service_of(request: Request) -> Service:
    """The service, open."""
    service = worker_of(request).service
    if service is None:
        raise LookupError("a service that is not open yet")
    return service


def caller_of(request: Request) -> Caller:
    """Who calls; every route of `/v1` has asked before its handler runs."""
    caller: Caller = request.state.caller
    return caller


async def light(request: Request, deed: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Do something short in a thread."""
    return await anyio.to_thread.run_sync(partial(deed, *given, **named), limiter=worker_of(request).light)


async def taking(request: Request, dataset: str, deed: Callable[[], T]) -> T:
    """Take a question about a data set in a thread."""
    line = worker_of(request).taking[hash(dataset) % _LINES]
    return await anyio.to_thread.run_sync(deed, limiter=line)


async def heavy(request: Request, deed: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Do something in a thread that computes for a while."""
    return await anyio.to_thread.run_sync(partial(deed, *given, **named), limiter=worker_of(request).heavy)
