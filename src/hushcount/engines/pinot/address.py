"""Addresses: where a table of Pinot is, and how it is reached.

    pinot://[user@]broker[:8099]/table[?controller=host:9000&password_file=FILE&ca_file=FILE&timeout=SECONDS]
    pinots://...        the same over TLS

Without a controller it is asked for on the broker's machine, at its usual port. It is reached as the broker is, unless
it says otherwise: controller=http://host:9000 or https://...; servers are reached over TLS if they and the controller
speak it. A password is in a file, never in the address, and goes over TLS only, or to this very machine.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from hushcount.errors import InvalidParameter
from hushcount.model.frozen import frozen

_EXAMPLE = "such as pinot://broker:8099/events?controller=controller:9000"
_BROKER_PORT, _CONTROLLER_PORT = 8099, 9000
_OPTIONS = ("controller", "password_file", "ca_file", "timeout")
_TABLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_OFFLINE = "_OFFLINE"
_TIMEOUT = 60.0


@frozen
class Machine:
    """A host and a port, whether it speaks TLS, and what runs there, for messages."""

    role: str
    host: str
    port: int
    tls: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether nobody reads on the way to it: it speaks TLS, or is this very machine."""
        return self.tls or _is_here(self.host)


@lru_cache
def _is_here(host: str) -> bool:
    """Whether a name is that of this very machine; asked for every request."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@frozen
class Address:
    """A table and the way to it.

    Attributes:
        broker: who is asked.
        controller: who knows of which segments the table is made.
        table: its name, without the ending of its type.
        user: who asks; None where nobody signs in.
        password_file: the file of the password.
        ca_file: the certificates that are trusted, instead of the system's.
        timeout: how many seconds one request may take.
    """

    broker: Machine
    controller: Machine
    table: str
    user: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    timeout: float = _TIMEOUT

    def __post_init__(self) -> None:
        if not _TABLE.fullmatch(self.table) or self.table.endswith("_REALTIME"):
            raise InvalidParameter("table", self.table, "the name of an OFFLINE table", _hint())
        if (self.user is None) != (self.password_file is None):
            raise InvalidParameter("user and password_file", "one of them", "said together, or both left out")
        if self.ca_file is not None and not (self.broker.tls or self.controller.tls):
            raise InvalidParameter("ca_file", str(self.ca_file), "left out unless the address begins with pinots://")
        if self.user is not None and not (self.broker.is_safe and self.controller.is_safe):
            want = "sent over TLS, or to this machine only: anybody on the way could read it"
            raise InvalidParameter("password_file", "(not shown)", want, "Write pinots:// and let Pinot speak TLS.")

    @property
    def name(self) -> str:
        """How the table is called in messages."""
        return f"the Pinot table {self.table!r}"


def parse(given: str, table: str | None = None) -> Address:
    """The address that a text is.

    Args:
        given: the text.
        table: the table, if the text names none.

    Raises:
        InvalidParameter: it is none; what it says is not shown, since a password may have been typed into it.
    """
    try:
        parts = urlsplit(given)
        port, said = parts.port, parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _no_address() from None
    if parts.password is not None or any("password" in name and name != "password_file" for name, _ in said):
        want = "in a file: what is typed gets into histories and logs"
        raise InvalidParameter("password", "(not shown)", want, "Write: ?password_file=FILE")
    named = unquote(parts.path.strip("/"))
    if not parts.hostname or parts.fragment or (named and table and named != table):
        raise _no_address()
    options = dict(said)
    strays = sorted(options.keys() - set(_OPTIONS))
    if strays or len(options) < len(said):
        raise InvalidParameter("an option of the address", ", ".join(strays), f"one of {', '.join(_OPTIONS)}, once")
    tls = parts.scheme == "pinots"
    broker = Machine(role="the broker", host=parts.hostname, port=port or _BROKER_PORT, tls=tls)
    return Address(
        broker=broker,
        controller=_controller(options.get("controller"), broker),
        table=(named or table or "").removesuffix(_OFFLINE),
        user=None if parts.username is None else unquote(parts.username),
        password_file=_path(options.get("password_file")),
        ca_file=_path(options.get("ca_file")),
        timeout=_seconds(options.get("timeout")),
    )


def _controller(said: str | None, broker: Machine) -> Machine:
    given = broker.host if said is None else said
    scheme, mark, rest = given.rpartition("://")
    try:
        # A host of colons has brackets only where it was typed.
        parts = urlsplit(f"//[{given}]" if said is None and ":" in given else f"//{rest}")
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if host is None or "@" in given or parts.path or (mark and scheme not in {"http", "https"}):
        raise InvalidParameter("controller", "(not shown)", "host:port, such as controller:9000")
    tls = scheme == "https" if mark else broker.tls
    return Machine(role="the controller", host=host, port=port or _CONTROLLER_PORT, tls=tls)


def _path(said: str | None) -> Path | None:
    return None if said is None else Path(said)


def _seconds(said: str | None) -> float:
    if said is None:
        return _TIMEOUT
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,3})?", said) or not float(said):
        raise InvalidParameter("timeout", said, "a number of seconds above zero")
    return float(said)


def _no_address() -> InvalidParameter:
    return InvalidParameter("source", "pinot://...", "the address of a broker and a table", _hint())


def _hint() -> str:
    return f"Write it {_EXAMPLE}."
