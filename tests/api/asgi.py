"""A client of an ASGI application in this process: one request in, one whole reply out, held against the contract."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
from anyio.from_thread import BlockingPortal

from tests.api.keeping import broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply; header names are in lower case. `broken` says what it breaks of the interface's contract."""

    status: int
    headers: dict[str, str]
    body: bytes
    parts: int
    broken: str | None = None

    @property
    def form(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem."""
        assert self.headers["content-type"] == "application/problem+json", (self.status, self.body[:300])
        return str(self.form["code"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A caller of an application, with headers of their own; `portal` runs its event loop in a thread."""

    app: Any
    portal: BlockingPortal
    headers: dict[str, str] = field(default_factory=dict)
    peer: str = "127.0.0.1"
    host: str = "127.0.0.1:8443"

    def signed(self, token: str) -> Client:
        """The same client, signed in."""
        return replace(self, headers={**self.headers, "Authorization": f"Bearer {token}"})

    def get(self, path: str, **headers: str) -> Reply:
        """Read something."""
        return self.request("GET", path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a form."""
        return self.request("POST", path, body, headers=headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Reply:
        """Put a form."""
        return self.request("PUT", path, body, headers=headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Reply:
        """Change something."""
        return self.request("PATCH", path, body, headers=headers)

    def delete(self, path: str, **headers: str) -> Reply:
        """Remove something."""
        return self.request("DELETE", path, headers=headers)

    def request(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Reply:
        """One exchange, which must keep to the contract; a body of bytes is sent as it is, anything else as JSON."""
        reply = self.begin(method, path, body, headers=headers).result(60)
        assert reply.broken is None, reply.broken
        return reply

    def begin(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> Future[Reply]:
        """As `request`, under way."""
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in {**self.headers, **(headers or {})}.items()}
        lower = {"host": self.host, **{name.lower(): value for name, value in named.items()}}
        if sent:
            lower.setdefault("content-type", "application/json")
            lower.setdefault("content-length", str(len(sent)))
        return self.portal.start_task_soon(self._exchange, method, path, sent, lower)

    async def _exchange(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        parts = urlsplit(path)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": (self.peer, 50000),
            "server": ("127.0.0.1", 8443),
        }
        sent: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        got: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if sent:
                return sent.pop(0)
            # Nobody hangs up before the reply is there.
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            got.append(message)

        await self.app(scope, receive, send)
        bodies = [one.get("body", b"") for one in got if one["type"] == "http.response.body"]
        start = next(one for one in got if one["type"] == "http.response.start")
        told = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
        status, whole, route = start["status"], b"".join(bodies), getattr(scope.get("route"), "path", None)
        return Reply(
            status=status,
            headers=told,
            body=whole,
            parts=sum(1 for one in bodies if one),
            broken=broken(method, route, status, media=told.get("content-type", ""), body=whole),
        )
