"""The life of a worker: its service is opened as soon as the ledger can be reached, and closed at the end.

A ledger that is only away is waited for, alive and not ready: to end would take the other workers along, and nobody
starts the server again. A ledger that is wrong ends it at once, since waiting makes nothing right.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI

from hushcount.api.work import Worker
from hushcount.app.serving.service import Service
from hushcount.errors import LedgerUnavailable

# Seconds between two tries: more and more, up to the last.
_FIRST_PAUSE, _LAST_PAUSE = 1.0, 15.0
_log = logging.getLogger("hushcount.serving")


def life_of(
    worker: Worker, opening: Callable[[], Service], opened: Callable[[Worker], None]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """What a server does before the first request and after the last.

    Args:
        worker: whose service it is.
        opening: opens the service; runs in a thread.
        opened: called once the service is open, in the thread that hears signals.
    """

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        del app
        patient = None
        if not await _tried(worker, opening, opened):
            patient = asyncio.create_task(_opened_later(worker, opening, opened))
        try:
            yield
            if patient is not None and patient.done():
                # What was wrong with the ledger once it was there: the server ended for it.
                patient.result()
        finally:
            if patient is not None:
                patient.cancel()
                await asyncio.wait({patient})
            if worker.service is not None:
                # Questions under way get their time; what is left is taken up elsewhere.
                await anyio.to_thread.run_sync(worker.service.close)

    return life


async def _opened_later(worker: Worker, opening: Callable[[], Service], opened: Callable[[Worker], None]) -> None:
    """Try until the service is open; end the process if the ledger is wrong."""
    pause = _FIRST_PAUSE
    try:
        await asyncio.sleep(pause)
        while not await _tried(worker, opening, opened):
            pause = min(2 * pause, _LAST_PAUSE)
            await asyncio.sleep(pause)
        _log.warning("the ledger is there now; ready")
    except Exception:
        signal.raise_signal(signal.SIGTERM)
        raise


async def _tried(worker: Worker, opening: Callable[[], Service], opened: Callable[[Worker], None]) -> bool:
    """Open the service; False if its ledger is only away."""

    def open_it() -> None:
        # Here and not where it is waited for: also what is opened while the server stops is closed.
        worker.service = opening()

    try:
        await anyio.to_thread.run_sync(open_it)
    except LedgerUnavailable as error:
        if not error.passes:
            raise
        _log.warning("the ledger cannot be reached; not ready, trying again", extra={"kind": _kind(error)})
        return False
    opened(worker)
    return True


def _kind(error: LedgerUnavailable) -> str:
    """The driver's name for what happened; its words may tell of the address."""
    return type(error.__cause__ or error).__name__
