"""The edge: what holds for every request, whatever it asks.

Each has an id, a bounded body, a guard against other people's web pages, headers that tell browsers to keep out, one
line in the log without anything from its body, and an end that shows nothing of what failed inside.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hushcount.api.problems import note_failure, problem_response
from hushcount.api.reading import MOST_BYTES
from hushcount.app.serving.ids import new_id
from hushcount.app.serving.problems import Problem

_log = logging.getLogger("hushcount.api")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._~-]{1,128}")
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
SECURITY = {
    "Content-Security-Policy": _CSP,
    "Strict-Transport-Security": "max-age=31536000",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TOO_LARGE = f"The body is larger than {MOST_BYTES:,} bytes, or does not say how large it is. Nothing was charged."
_INSIDE = "The failure was noted under the request's id; nothing of it is shown."
Observer = Callable[[Request, int, float], None]


def together(*observers: Observer | None) -> Observer | None:
    """Several who are told each request, as one; None if there are none."""
    told = [one for one in observers if one is not None]

    def observe(request: Request, status: int, began: float) -> None:
        for one in told:
            one(request, status, began)

    return observe if told else None


class TooLarge(HTTPException):
    """More came than a body may have. One of starlette's, since nothing else passes through the reading of a body."""

    def __init__(self) -> None:
        super().__init__(413, _TOO_LARGE)


class Edge:
    """The outermost part of the application.

    Args:
        app: what is inside.
        local: whether nobody signs in, so that only pages of this machine's own may call.
        observe: told each request, its status and when it began; None if nobody wants to know.
        leaving: whether this process is about to end.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        local: bool = False,
        observe: Observer | None = None,
        leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        self._app, self._local, self._observe, self._leaving = app, local, observe, leaving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(scope, receive, send, leaving=self._leaving)
        await passage.go(self._app, local=self._local, observe=self._observe)


class _Passage:
    """One request on its way in and out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, leaving: Callable[[], bool]) -> None:
        self._scope, self._receive, self._send, self._leaving = scope, receive, send, leaving
        self._read, self.status, self._began = 0, 0, False
        self._since = time.monotonic()
        headers = Headers(scope=scope)
        given = headers.get("request-id", "")
        scope.setdefault("state", {})
        scope["state"]["request_id"] = given if _REQUEST_ID.fullmatch(given) else new_id("req")
        trace = headers.get("traceparent", "")
        scope["state"]["trace"] = trace if _TRACE.fullmatch(trace) else None
        self._request, self._headers = Request(scope), headers

    async def go(self, app: ASGIApp, *, local: bool, observe: Observer | None) -> None:
        try:
            problem = self._too_large() or foreign(self._headers, local=local, looks=self._looks())
            if problem is not None:
                await self._refuse(problem)
            else:
                await app(self._scope, self._bounded, self._out)
        except Exception as error:  # noqa: BLE001  nothing of it may leave, and the server must go on
            note_failure(self._request, error)
            await self._refuse(Problem(code="internal", detail=_INSIDE, charged=None))
        finally:
            self._note()
            if observe is not None:
                observe(self._request, self.status, self._since)

    def _too_large(self) -> Problem | None:
        length = self._headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and len(length) < 20 and int(length) <= MOST_BYTES:
            return None
        return Problem(code="body-too-large", detail=_TOO_LARGE)

    def _looks(self) -> bool:
        """Whether a browser opens a page by itself, as from a link in a letter: whoever has the link sees nothing."""
        wanted = self._scope["method"] == "GET" and not self._scope["path"].startswith("/v1/")
        return wanted and self._headers.get("sec-fetch-mode") == "navigate"

    async def _bounded(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            if self._read > MOST_BYTES:
                raise TooLarge
        return message

    async def _out(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._began, self.status = True, message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
            headers["Request-Id"] = self._scope["state"]["request_id"]
            if self._leaving():
                # The next request belongs to another process.
                headers["Connection"] = "close"
            if self._scope["state"]["trace"] is not None:
                headers["traceparent"] = self._scope["state"]["trace"]
        await self._send(message)

    async def _refuse(self, problem: Problem) -> None:
        # What has begun cannot be taken back; the connection ends short of its Content-Length, which clients notice.
        if not self._began:
            await problem_response(self._request, problem)(self._scope, self._receive, self._out)

    def _note(self) -> None:
        """One line: who asked what kind of thing of which data set, and what became of it. Nothing of what was said."""
        state: dict[str, Any] = self._scope["state"]
        caller = state.get("caller")
        _log.info(
            "request",
            extra={
                "request_id": state["request_id"],
                "trace": state["trace"],
                "method": self._request.method,
                "route": getattr(self._scope.get("route"), "path", None),
                "status": self.status,
                "code": state.get("code"),
                "caller": None if caller is None else caller.name,
                "dataset": state.get("dataset"),
            },
        )


def foreign(headers: Headers, *, local: bool, looks: bool = False) -> Problem | None:
    """Refuse what a page of somebody else's sends through a browser: this interface is for programs.

    Where nobody signs in, being able to call is all that it takes, so the name that was called must also be this
    machine's own: another name that leads here is somebody's trick.

    Args:
        headers: of the request.
        local: whether nobody signs in.
        looks: whether it only opens a page in a window of its own, which links from anywhere may do.
    """
    host = headers.get("host", "")
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    strange = site not in {None, "same-origin", "none"} and not looks
    if strange or (origin is not None and not _is_of(origin, host)):
        return Problem(code="not-permitted", detail="A page of another site cannot call here. Nothing was charged.")
    if local and _name_of(host) not in _LOOPBACK:
        return Problem(
            code="not-permitted", detail="Here only localhost may be called, by that name. Nothing was charged."
        )
    return None


def _is_of(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
