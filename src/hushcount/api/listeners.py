"""Listeners: how many streams of events one caller, and all callers of a worker, may have open at once.

Each looks at the ledger some times a second, so that a script which opens them without end would keep everybody out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from hushcount.errors import Busy, TooManyRequests

# Seconds after which it is worth to come again.
_AGAIN = 5.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(slots=True, kw_only=True)
class Listeners:
    """The open streams of one worker. Only its event loop uses it.

    Attributes:
        each: how many one caller may have.
        most: how many all may have.
    """

    each: int = 10
    most: int = 200
    _open: Counter[str] = field(default_factory=Counter)

    @property
    def load(self) -> int:
        """How many are open."""
        return self._open.total()

    def enter(self, caller: str) -> None:
        """One more.

        Raises:
            TooManyRequests: the caller has enough of them.
            Busy: all have, together.
        """
        if self._open[caller] >= self.each:
            raise TooManyRequests(
                f"you watch {self.each} questions here already. Close a stream first; or wait for an answer with "
                "Prefer: wait, which needs none. Nothing was charged.",
                after=_AGAIN,
            )
        if self.load >= self.most:
            raise Busy(
                "too many questions are being watched here. Ask for the question itself with Prefer: wait, or watch it "
                "again in a while. Nothing was charged.",
                after=_AGAIN,
            )
        self._open[caller] += 1

    def leave(self, caller: str) -> None:
        """One less."""
        self._open[caller] -= 1
        if not self._open[caller]:
            del self._open[caller]


class EventStream(StreamingResponse):
    """A stream of events that has entered, and leaves however it ends: also if whoever listens has hung up."""

    def __init__(self, lines: AsyncIterator[bytes], listeners: Listeners, *, caller: str) -> None:
        super().__init__(lines, media_type="text/event-stream", headers=_HEADERS)
        self._listeners, self._caller = listeners, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._listeners.leave(self._caller)
