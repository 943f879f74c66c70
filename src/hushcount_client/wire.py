"""One exchange: a request out and a whole reply back, over verified TLS, within a time and a size.

Redirects are not followed, so the token goes to the one origin of the connection and nowhere else.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from hushcount_client.origin import Origin
from hushcount_client.problems import InvalidOption, NotUnderstood, Said, Unreachable

MOST_BYTES = 64 * 2**20
_CHUNK = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request.

    Attributes:
        method: GET, POST or DELETE.
        path: below the origin, quoted.
        body: what is sent, as JSON.
        headers: beside those of every request.
        repeatable: whether it may be sent again if nobody knows what became of it.
    """

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One whole reply; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_json(self) -> bool:
        """Whether it says that it is JSON, of whatever kind."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))

    def form(self) -> dict[str, Any]:
        """The body: one JSON object.

        Raises:
            NotUnderstood: it is anything else.
        """
        try:
            form = json.loads(self.body) if self.is_json else None
        except (ValueError, RecursionError):
            form = None
        if not isinstance(form, dict):
            raise not_understood("what answered is no hushcount service, but something on the way to it", self)
        return form


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """The way to one server.

    Attributes:
        origin: the server.
        token: what signs every request; None where none is needed.
        agent: what the client calls itself.
        most_bytes: the largest body that is read.
    """

    origin: Origin
    token: str | None = field(default=None, repr=False)
    agent: str = "hushcount-client"
    most_bytes: int = MOST_BYTES

    def exchange(self, call: Call, seconds: float) -> Reply:
        """Send a request and read its whole reply.

        Args:
            call: the request.
            seconds: for connecting, and then once more for everything else.

        Raises:
            Unreachable: no connection, or no whole reply in time.
            NotUnderstood: the certificate does not hold, or the body is beyond the limit.
        """
        connection = self._connected(seconds)
        late = threading.Event()
        try:
            # A timeout of the socket begins anew with each byte: only a clock of its own ends a slow drip.
            with _ending(connection, seconds, late):
                connection.request(call.method, self.origin.prefix + call.path, call.body, self._headers(call))
                with closing(connection.getresponse()) as response:
                    reply = self._read(response)
            # What was cut within its headers looks whole: http.client takes the end of a stream for theirs.
            if late.is_set():
                raise TimeoutError
        except (OSError, http.client.HTTPException) as error:
            why = "took too long" if late.is_set() or isinstance(error, TimeoutError) else "broke off"
            raise _unreachable(f"the reply of {self.origin} {why}", sent=True) from None
        finally:
            connection.close()
        return reply

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {"Accept": "application/json, application/problem+json", "User-Agent": self.agent, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def _connected(self, seconds: float) -> http.client.HTTPConnection:
        connection = self._connection(seconds)
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            connection.close()
            said = Said(
                code="not-trusted",
                title=f"The certificate of {self.origin} does not hold ({error.verify_message})",
                detail="Nothing was sent. If it is of your own organisation, name its authority in SSL_CERT_FILE.",
                charged=False,
            )
            raise NotUnderstood(said) from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _unreachable(f"{self.origin} cannot be reached ({_reason(error)})", sent=False) from None
        return connection

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        origin = self.origin
        if not origin.secure:
            return http.client.HTTPConnection(origin.host, origin.port, timeout=seconds)
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        proxy = None if origin.loopback or proxy_bypass(origin.host) else getproxies().get("https")
        if not proxy:
            return http.client.HTTPSConnection(origin.host, origin.port, timeout=seconds, context=context)
        # Through the proxy goes a tunnel: what it carries, and the token, is sealed for the server.
        host, port = _proxy(proxy)
        tunnel = http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
        tunnel.set_tunnel(origin.host, origin.port)
        return tunnel

    def _read(self, response: http.client.HTTPResponse) -> Reply:
        headers = {name.lower(): value for name, value in response.getheaders()}
        empty = Reply(status=response.status, headers=headers, body=b"")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise not_understood("the reply is compressed, which was not asked for", empty)
        parts, size = [], 0
        while chunk := response.read(_CHUNK):
            size += len(chunk)
            if size > self.most_bytes:
                raise not_understood(f"the reply is larger than {self.most_bytes:,} bytes", empty)
            parts.append(chunk)
        # http.client says nothing if a part of the promised length is missing, or all that followed the headers.
        if response.length or (response.length is None and not response.chunked and not size):
            raise http.client.IncompleteRead(b"")
        return Reply(status=response.status, headers=headers, body=b"".join(parts))


def not_understood(why: str, reply: Reply, *, code: str = "not-understood") -> NotUnderstood:
    """The failure of a reply that is none of ours; its text is not quoted, since it may be anything."""
    said = Said(
        code=code,
        title=why[:1].upper() + why[1:],
        detail=f"Its status was {reply.status}. Check the address, and what stands between you and the server.",
        status=reply.status,
        request_id=reply.headers.get("request-id"),
    )
    return NotUnderstood(said)


def _proxy(address: str) -> tuple[str, int]:
    """Host and port of the proxy that the environment names."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host, port = None, 0
    if host is None:
        raise InvalidOption(
            "the proxy that HTTPS_PROXY names cannot be read: write it as http://proxy.example.org:3128"
        )
    return host, port


def _unreachable(why: str, *, sent: bool) -> Unreachable:
    said = Said(code="unreachable", title=why[:1].upper() + why[1:], charged=None if sent else False)
    return Unreachable(said, sent=sent)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    return getattr(error, "strerror", None) or type(error).__name__


@contextmanager
def _ending(connection: http.client.HTTPConnection, seconds: float, late: threading.Event) -> Iterator[None]:
    """Cut the connection when its time is over, whatever is being read."""
    held = connection.sock

    def cut() -> None:
        late.set()
        # The bare socket's: TLS would first say goodbye, and wait for an answer.
        with suppress(OSError):
            socket.socket.shutdown(held, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
