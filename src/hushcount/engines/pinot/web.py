"""HTTP to the machines of a cluster: connections are kept and used again, by any number of threads.

The standard library does it: the program that Pinot offers for Python calls an answer complete that was cut, so what
it answers would have to be checked all the same. Whatever fails is told without the machine's own words, which may
quote values.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, TypeVar

from hushcount.engines.pinot.address import Address, Machine
from hushcount.errors import StoreFailed, StoreTimeout, UnreadableSource

_T = TypeVar("_T")
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_DENIED = (401, 403)
_FINE, _UNKNOWN = 200, 404
# So many requests are under way for one look at a table.
_AT_ONCE = 6


class Web:
    """Connections under one address: one user, one set of trusted certificates."""

    def __init__(self, address: Address) -> None:
        self._timeout = address.timeout
        self._trusted = _trusted(address) if address.broker.tls or address.controller.tls else None
        self._sign_in = _sign_in(address)
        self._lock = threading.Lock()
        self._idle: defaultdict[Machine, list[HTTPConnection]] = defaultdict(list)
        self._closed = False

    def get(self, machine: Machine, path: str) -> Any:  # noqa: ANN401  whatever JSON it is
        """What a machine says under a path; None if it knows nothing of it.

        Raises:
            StoreFailed: it cannot be reached, denies it, or says something else than JSON.
            StoreTimeout: it takes too long.
        """
        return self._ask(machine, "GET", path, None)

    def post(self, machine: Machine, path: str, body: object) -> Any:  # noqa: ANN401  as above
        """What a machine answers to a body; raises as `get`."""
        return self._ask(machine, "POST", path, json.dumps(body).encode())

    def get_all(self, asked: Sequence[tuple[Machine, str]]) -> list[Any]:
        """What several machines say, asked at the same time; raises as `get`."""
        return self.together([partial(self.get, *one) for one in asked])

    def together(self, asks: Sequence[Callable[[], _T]]) -> list[_T]:
        """What several requests give, under way at the same time."""
        if len(asks) <= 1:
            return [ask() for ask in asks]
        with ThreadPoolExecutor(max_workers=min(len(asks), _AT_ONCE)) as pool:
            return [answer.result() for answer in [pool.submit(ask) for ask in asks]]

    def close(self) -> None:
        """Close what nobody uses, and the rest when it is given back."""
        with self._lock:
            self._closed = True
            idle = [one for kept in self._idle.values() for one in kept]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _ask(self, machine: Machine, verb: str, path: str, body: bytes | None) -> Any:  # noqa: ANN401  as above
        status, told = self._exchange(machine, verb, path, body)
        if status in _DENIED:
            raise StoreFailed(f"{machine.role} of Pinot denies access; check user and password_file, and their rights.")
        if status == _UNKNOWN:
            return None
        if status != _FINE:
            raise StoreFailed(f"{machine.role} of Pinot answered with HTTP {status}; look into its log.")
        try:
            return json.loads(told)
        except ValueError:
            pass
        raise StoreFailed(f"{machine.role} of Pinot did not answer with JSON; is it another program's port?")

    def _exchange(self, machine: Machine, verb: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Status and body. A kept connection that the other side has closed meanwhile is replaced, once."""
        kept = self._take(machine)
        if kept is not None:
            try:
                return self._once(machine, kept, (verb, path), body)
            except (ConnectionError, HTTPException):
                kept.close()
        fresh = self._connection(machine)
        why: StoreFailed | StoreTimeout
        try:
            return self._once(machine, fresh, (verb, path), body)
        except ssl.SSLCertVerificationError:
            why = StoreFailed(f"the certificate of {machine.role} of Pinot is not trusted; check ca_file.")
        except TimeoutError:
            why = StoreTimeout(f"{machine.role} of Pinot did not answer within {self._timeout:g} s.")
        except (OSError, HTTPException):
            why = StoreFailed(f"{machine.role} of Pinot cannot be reached; check that it runs, and its address.")
        fresh.close()
        # Outside of the handlers: what was raised there may quote more than is ours to tell.
        raise why

    def _once(
        self, machine: Machine, connection: HTTPConnection, what: tuple[str, str], body: bytes | None
    ) -> tuple[int, bytes]:
        # Servers are found by the controller's word: to one that cannot be reached safely nobody signs in.
        headers = {**_HEADERS, **(self._sign_in if machine.is_safe else {})}
        connection.request(*what, body=body, headers=headers)
        answer = connection.getresponse()
        told = answer.read()
        self._give_back(machine, connection)
        return answer.status, told

    def _take(self, machine: Machine) -> HTTPConnection | None:
        with self._lock:
            if self._closed:
                raise UnreadableSource("the Pinot table was closed; open it again")
            kept = self._idle[machine]
            return kept.pop() if kept else None

    def _give_back(self, machine: Machine, connection: HTTPConnection) -> None:
        with self._lock:
            if not self._closed:
                self._idle[machine].append(connection)
                return
        connection.close()

    def _connection(self, machine: Machine) -> HTTPConnection:
        if not machine.tls:
            return HTTPConnection(machine.host, machine.port, timeout=self._timeout)
        return HTTPSConnection(machine.host, machine.port, timeout=self._timeout, context=self._trusted)


def _trusted(address: Address) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=address.ca_file)
    except (OSError, ssl.SSLError):
        pass
    raise UnreadableSource(f"{address.name} cannot be reached: ca_file cannot be read as certificates; check it")


def _sign_in(address: Address) -> dict[str, str]:
    if address.user is None or address.password_file is None:
        return {}
    try:
        password = address.password_file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        password = ""
    if not password:
        raise UnreadableSource(f"{address.name} cannot be reached: its password cannot be read; check password_file")
    told = base64.b64encode(f"{address.user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {told}"}
