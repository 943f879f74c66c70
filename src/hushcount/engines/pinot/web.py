"""HTTP to the machines of a cluster: connections are kept and used again, by any number of threads.

No package does it: the program that Pinot offers for Python calls an answer complete that was cut, so what it answers
would have to be checked all the same. Whatever fails is told without the machine's own words, which may quote values.
"""

from __future__ import annotations

import base64
import gc
import json
import ssl
import threading
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from hushcount.engines.pinot.address import Address, Machine
from hushcount.engines.pinot.wire import Garbled, HttpWire
from hushcount.errors import StoreFailed, StoreTimeout, UnreadableSource
from hushcount.model.frozen import frozen

_DENIED = (401, 403)
_FINE, _UNKNOWN = 200, 404
# So many requests are under way at the same time: a table may have thousands of segments.
AT_ONCE: Final = 32
_MUCH = 1_000_000
# A name that is none and a port that is none, too: the controller says where servers are.
_UNREACHED = (OSError, Garbled, UnicodeError, OverflowError)


@frozen
class WebRequest:
    """What is asked of whom; with a body it is posted."""

    machine: Machine
    path: str
    body: object = None


@frozen
class WebAnswer:
    """What a machine said, JSON or None if it knows nothing of what was asked; or why there is nothing."""

    said: Any = None
    failure: StoreFailed | StoreTimeout | None = None

    def told(self) -> Any:  # noqa: ANN401  whatever JSON it is
        """What it said.

        Raises:
            StoreFailed: it cannot be reached, denies it, or says something else than JSON.
            StoreTimeout: it takes too long.
        """
        if self.failure is not None:
            raise self.failure
        return self.said


@dataclass(slots=True, kw_only=True)
class _UnderWay:
    """A request and the connection that it has to itself until it is over; whether that was kept, and what failed."""

    request: WebRequest
    wire: HttpWire
    kept: bool
    failed: Exception | None = None
    is_over: bool = False


class Sent:
    """Requests that were sent, all that go at once, and whose answers are still to be read."""

    def __init__(self, web: Web, requests: Sequence[WebRequest]) -> None:
        self._web, self._rest = web, requests[AT_ONCE:]
        self._under_way = list[_UnderWay]()
        try:
            for request in requests[:AT_ONCE]:
                self._under_way.append(web.begin(request))
        except BaseException:
            self.close()
            raise

    def answers(self) -> list[WebAnswer]:
        """What is answered to each, in their order; those that did not go at once are sent now."""
        found = [self._web.finish(one) for one in self._under_way]
        return found + self._web.ask(self._rest) if self._rest else found

    def close(self) -> None:
        """Close what was not read: an answer may still come over it, and must not meet another question."""
        for one in self._under_way:
            if not one.is_over:
                one.wire.close()


class Web:
    """Connections under one address: one user, one set of trusted certificates."""

    def __init__(self, address: Address) -> None:
        self._timeout = address.timeout
        self._trusted = _trusted(address) if address.broker.tls or address.controller.tls else None
        self._sign_in = _sign_in(address)
        self._lock = threading.Lock()
        self._idle: defaultdict[Machine, list[HttpWire]] = defaultdict(list)
        self._closed = False

    def get(self, machine: Machine, path: str) -> Any:  # noqa: ANN401  as above
        """What a machine says under a path; raises as `WebAnswer.told`."""
        [answer] = self.ask([WebRequest(machine=machine, path=path)])
        return answer.told()

    def ask(self, requests: Sequence[WebRequest]) -> list[WebAnswer]:
        """What is answered to several requests. All are sent, on connections of their own, before any answer is read.

        So they take as long as the slowest of them, without a thread for each; a great many go in parts.
        """
        with closing(self.send(requests)) as sent:
            return sent.answers()

    def send(self, requests: Sequence[WebRequest]) -> Sent:
        """The same, for whoever has something else to do until the answers come; to be closed."""
        return Sent(self, requests)

    def each(self, requests: Iterable[WebRequest]) -> Generator[WebAnswer]:
        """What is answered to each of several requests. The next is sent before an answer is read, and no more."""
        under_way: Sent | None = None
        try:
            for request in requests:
                last, under_way = under_way, self.send([request])
                if last is not None:
                    with closing(last):
                        yield last.answers()[0]
            if under_way is not None:
                yield under_way.answers()[0]
        finally:
            if under_way is not None:
                under_way.close()

    def close(self) -> None:
        """Close what nobody uses, and the rest when it is given back."""
        with self._lock:
            self._closed = True
            idle = [one for kept in self._idle.values() for one in kept]
            self._idle.clear()
        for wire in idle:
            wire.close()

    def begin(self, request: WebRequest) -> _UnderWay:
        """A request that was sent; one over a kept connection that the other side has closed is not, yet."""
        kept = self._take(request.machine)
        one = _UnderWay(request=request, wire=kept or self._wire(request.machine), kept=kept is not None)
        try:
            self._send(one)
        except _UNREACHED as error:
            one.failed = error
        return one

    def finish(self, one: _UnderWay) -> WebAnswer:
        """What is answered to it."""
        role = one.request.machine.role
        why: StoreFailed | StoreTimeout | None = None
        try:
            status, told = self._exchanged(one)
        except ssl.SSLCertVerificationError:
            why = StoreFailed(f"the certificate of {role} of Pinot is not trusted; check ca_file.")
        except TimeoutError:
            why = StoreTimeout(f"{role} of Pinot did not answer within {self._timeout:g} s.")
        except _UNREACHED:
            why = _unreached(role)
        # Outside of the handlers: what was raised there may quote more than is ours to tell.
        return _read(role, status, told) if why is None else WebAnswer(failure=why)

    def _exchanged(self, one: _UnderWay) -> tuple[int, bytes]:
        """Status and body. A kept connection that the other side has closed meanwhile is replaced, once."""
        try:
            return self._received(one)
        except (ConnectionError, Garbled):
            if not one.kept:
                raise
        one.wire.close()
        one.wire, one.failed = self._wire(one.request.machine), None
        self._send(one)
        return self._received(one)

    def _send(self, one: _UnderWay) -> None:
        request = one.request
        body = b"" if request.body is None else json.dumps(request.body).encode()
        # Servers are found by the controller's word: to one that cannot be reached safely nobody signs in.
        one.wire.send(request.path, body, self._sign_in if request.machine.is_safe else "")

    def _received(self, one: _UnderWay) -> tuple[int, bytes]:
        if one.failed is not None:
            raise one.failed
        status, told = one.wire.receive()
        one.is_over = True
        self._give_back(one.request.machine, one.wire)
        return status, told

    def _take(self, machine: Machine) -> HttpWire | None:
        with self._lock:
            if self._closed:
                raise UnreadableSource("the Pinot table was closed; open it again")
            kept = self._idle[machine]
            return kept.pop() if kept else None

    def _give_back(self, machine: Machine, wire: HttpWire) -> None:
        if wire.stays:
            with self._lock:
                if not self._closed:
                    self._idle[machine].append(wire)
                    return
        wire.close()

    def _wire(self, machine: Machine) -> HttpWire:
        # A server may speak TLS alone where neither broker nor controller does: then the system says whom to trust.
        trusted = (self._trusted or ssl.create_default_context()) if machine.tls else None
        return HttpWire(machine.host, machine.port, timeout=self._timeout, trusted=trusted)


def _unreached(role: str) -> StoreFailed:
    return StoreFailed(f"{role} of Pinot cannot be reached; check that it runs, and its address.")


@contextmanager
def _unburdened(told: bytes) -> Iterator[None]:
    """Read much JSON without the garbage collector, which would look through its lists again and again as they come."""
    paused = len(told) > _MUCH and gc.isenabled()
    if paused:
        gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _read(role: str, status: int, told: bytes) -> WebAnswer:
    if status in _DENIED:
        words = f"{role} of Pinot denies access; check user and password_file, and their rights."
    elif status == _UNKNOWN:
        return WebAnswer()
    elif status != _FINE:
        words = f"{role} of Pinot answered with HTTP {status}; look into its log."
    else:
        with suppress(ValueError, RecursionError), _unburdened(told):
            return WebAnswer(said=json.loads(told))
        words = f"{role} of Pinot did not answer with JSON; is it another program's port?"
    return WebAnswer(failure=StoreFailed(words))


def _trusted(address: Address) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=address.ca_file)
    except (OSError, ssl.SSLError):
        pass
    raise UnreadableSource(f"{address.name} cannot be reached: ca_file cannot be read as certificates; check it")


def _sign_in(address: Address) -> str:
    """The line of a request that signs in; empty where nobody does."""
    if address.user is None or address.password_file is None:
        return ""
    try:
        password = address.password_file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        password = ""
    if not password:
        raise UnreadableSource(f"{address.name} cannot be reached: its password cannot be read; check password_file")
    told = base64.b64encode(f"{address.user}:{password}".encode()).decode()
    return f"Authorization: Basic {told}\r\n"
