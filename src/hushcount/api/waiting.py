"""Waiting for the end of what was asked, and for the moment at which it may be seen.

A job: woken by this worker's own runner, and by looking at its row where another worker has it. A check of facts is no
job: it runs in its request, and whoever asked waits for the same moments.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

from fastapi import Request

from hushcount.api.readable import readable_query
from hushcount.api.work import heavy, light, service_of, worker_of
from hushcount.app.serving.jobs.timing import remaining
from hushcount.app.serving.problems import LATE, Problem
from hushcount.app.serving.questions.checking import Checked
from hushcount.app.serving.questions.queries import ShownJob
from hushcount.errors import Busy, HushcountError

ENDED = ("done", "failed", "cancelled")
# How often a row is looked at that another worker writes, and the longest pause between two looks at one of our own.
_POLL = 0.1
_SOON = 0.002
_LOOK = 5.0
# After so many seconds at the latest whoever waits is let go when the process is asked to end.
_STEP = 0.2


async def waited(
    request: Request, shown: ShownJob, seconds: float, *, seen: Callable[[ShownJob], ShownJob] = lambda shown: shown
) -> ShownJob:
    """A job as it may be seen when it has ended, or when so many seconds are over.

    Args:
        request: the request.
        shown: the job.
        seconds: how long to wait.
        seen: what is done, in the same thread, with what each look sees.
    """
    until = time.monotonic() + seconds
    while shown.state not in ENDED and (left := until - time.monotonic()) > 0 and not worker_of(request).stopping:
        await pause(request, shown, left)
        shown = await light(request, lambda name: seen(readable_query(request, name)), shown.job.id)
    return shown


async def watched(request: Request, shown: ShownJob, seconds: float) -> AsyncIterator[ShownJob | None]:
    """A job each time that it looks different, to its end; None now and then, so that the line is not cut."""
    until = time.monotonic() + seconds
    yield shown
    told = time.monotonic()
    while shown.state not in ENDED and time.monotonic() < until and not worker_of(request).stopping:
        await pause(request, shown, _POLL)
        seen = await look(request, shown.job.id)
        if (seen.state, seen.stage) != (shown.state, shown.stage):
            yield seen
            told = time.monotonic()
        elif time.monotonic() - told > 15:
            yield None
            told = time.monotonic()
        shown = seen


async def look(request: Request, name: str) -> ShownJob:
    """A job as it stands, and as it may be seen."""
    return await light(request, readable_query, request, name)


async def pause(request: Request, shown: ShownJob, most: float) -> None:
    """Wait until something may have changed, at most so long."""
    if shown.moment is not None:
        # It has ended, and may be seen at the next tick of the grid.
        await _rest(request, min(most, (shown.moment - shown.job.read).total_seconds()))
        return
    running = service_of(request).runner.under_way(shown.job.id)
    if running is None:
        # One of our own has ended since it was looked at; one of another worker's is looked at now and then.
        ours = shown.job.worker == service_of(request).runner.worker
        await asyncio.sleep(min(most, _SOON if ours else _POLL))
        return
    await _rest(request, min(most, _LOOK), asyncio.wrap_future(running))


async def on_grid(request: Request, deed: Callable[[], Checked]) -> dict[str, Any] | Problem:
    """Do something that depends on data in a thread; what came of it, or its failure, at a moment of the grid."""
    timing, began = service_of(request).config.privacy.timing, time.monotonic()
    work = asyncio.ensure_future(heavy(request, deed))
    # With a fixed delay whoever asked is told at that moment, whether it has ended or not; then it goes on by itself.
    await asyncio.wait({work}, timeout=timing.every.total_seconds() if timing.kind == "fixed" else None)
    if not work.done():
        work.add_done_callback(_let_go)
        return LATE
    try:
        checked = await work
    except HushcountError:
        await _until(request, remaining(timing, timedelta(seconds=time.monotonic() - began)))
        raise
    await _until(request, checked.wait)
    return checked.found


async def _until(request: Request, wait: timedelta) -> None:
    """Wait so long; refused if the process is asked to end meanwhile."""
    if not await _rest(request, wait.total_seconds()):
        raise Busy("the server is stopping; ask again with the same key, which is never paid twice.")


async def _rest(request: Request, seconds: float, work: asyncio.Future[None] | None = None) -> bool:
    """Wait so long, or until some work has ended; False if the process was asked to end first."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not (work is not None and work.done()):
        if worker_of(request).stopping:
            return False
        step = min(left, _STEP)
        # `wait` leaves what it waits for alone, also when the caller hangs up: the job is everybody's.
        await (asyncio.sleep(step) if work is None else asyncio.wait({work}, timeout=step))
    return True


def _let_go(work: asyncio.Future[Checked]) -> None:
    """Whoever asked was told already. What it raised is none of theirs, and what it found is in the ledger."""
    if not work.cancelled():
        work.exception()
