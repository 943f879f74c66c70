"""Crash points: named steps between a question and its response at which a process is made to die.

The product has no hook for it: its functions are wrapped from outside, in processes that a test has started.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hushcount.api import edge
from hushcount.app.serving.data.loans import LentEngine
from hushcount.ledger.postgres import PostgresTransaction
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.sql_jobs import SqlJobs
from hushcount.ledger.sqlite import SqliteTransaction

# Each is one transaction: a process can die before it, in it (its rows written, not yet committed) and after it.
VERBS: dict[str, tuple[type, str]] = {
    "begin": (SqlJobs, "begin"),
    "reserve": (SqlLedger, "reserve"),
    "touch": (SqlLedger, "touch"),
    "settle": (SqlLedger, "settle"),
    "finish": (SqlJobs, "finish"),
}
# All steps in their order; `send` is the response's way out.
POINTS = (
    *(f"{when} begin" for when in ("before", "in", "after")),
    *(f"{when} reserve" for when in ("before", "in", "after")),
    *(f"{when} touch" for when in ("in", "after")),
    *(f"{when} count" for when in ("before", "after")),
    *(f"{when} settle" for when in ("before", "in", "after")),
    *(f"{when} finish" for when in ("before", "in", "after")),
    *(f"{when} send" for when in ("before", "after")),
)
# Those that need no response: the sweep without HTTP goes through these.
WITHIN = tuple(point for point in POINTS if not point.endswith("send"))


@dataclass(slots=True)
class Doom:
    """When this process dies.

    Attributes:
        point: the step.
        nth: at which time that it is reached.
        told: a file that gets a line for each death, before it happens.
    """

    point: str
    nth: int
    told: Path
    _reached: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def reach(self, point: str) -> None:
        """Die, if it is time."""
        if point != self.point:
            return
        with self._lock:
            self._reached += 1
            if self._reached < self.nth:
                return
            handle = os.open(self.told, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(handle, f"{point}\n".encode())
            os.close(handle)
            os.kill(os.getpid(), signal.SIGKILL)


def arm(doom: Doom) -> None:
    """Wrap every step, so that this process dies at one of them."""
    inside = threading.local()
    for verb, (owner, name) in VERBS.items():
        setattr(owner, name, _verb(getattr(owner, name), verb, doom=doom, inside=inside))
    for kind in (SqliteTransaction, PostgresTransaction):
        for name in ("write", "fetch"):
            setattr(kind, name, _writing(getattr(kind, name), doom, inside))
    for name in ("histogram", "incidence"):
        setattr(LentEngine, name, _around(getattr(LentEngine, name), "count", doom))
    edge._Passage._out = _sending(edge._Passage._out, doom)  # type: ignore[method-assign]  # noqa: SLF001


def _around(function: Callable[..., Any], step: str, doom: Doom) -> Callable[..., Any]:
    @functools.wraps(function)
    def stepped(*given: Any, **named: Any) -> Any:
        doom.reach(f"before {step}")
        made = function(*given, **named)
        doom.reach(f"after {step}")
        return made

    return stepped


def _verb(function: Callable[..., Any], verb: str, *, doom: Doom, inside: threading.local) -> Callable[..., Any]:
    whole = _around(function, verb, doom)

    @functools.wraps(function)
    def marked(*given: Any, **named: Any) -> Any:
        inside.verb = verb
        try:
            return whole(*given, **named)
        finally:
            inside.verb = None

    return marked


def _writing(write: Callable[..., Any], doom: Doom, inside: threading.local) -> Callable[..., Any]:
    """Rows are written and not committed; some statements that write return rows."""

    @functools.wraps(write)
    def written(transaction: Any, said: Any, *values: Any) -> Any:
        made = write(transaction, said, *values)
        verb = getattr(inside, "verb", None)
        if verb is not None and (not isinstance(said, str) or said.startswith(("UPDATE", "INSERT"))):
            doom.reach(f"in {verb}")
        return made

    return written


def _sending(send: Callable[..., Any], doom: Doom) -> Callable[..., Any]:
    """Of responses only those to questions: others hold nothing that was paid for."""

    @functools.wraps(send)
    async def sent(passage: Any, message: Any) -> None:
        asked = passage._request.method == "POST" and passage._request.url.path == "/v1/queries"  # noqa: SLF001
        if asked and message["type"] == "http.response.start" and message["status"] == 200:
            passage.paid = b"hushcount-cost" in {name.lower() for name, _ in message["headers"]}
            if passage.paid:
                doom.reach("before send")
        await send(passage, message)
        if getattr(passage, "paid", False) and message["type"] == "http.response.body":
            doom.reach("after send")

    return sent
