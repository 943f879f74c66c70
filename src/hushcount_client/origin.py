"""The origin: scheme, host, port and prefix of the one server that a connection speaks to."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from hushcount_client.problems import InvalidOption


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One server.

    Attributes:
        secure: whether it is spoken to over TLS.
        host: its name or address.
        port: its port.
        prefix: what comes before /v1, where a proxy serves several things; no slash at its end.
    """

    secure: bool
    host: str
    port: int
    prefix: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.prefix}"

    @property
    def loopback(self) -> bool:
        """Whether it is on this computer, so that nobody on the way can read along."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def read_origin(url: str) -> Origin:
    """The origin that an address names.

    Raises:
        InvalidOption: it is no address of a server, or holds a password. The text never quotes it.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise InvalidOption("the server's address cannot be read: write it as https://counts.example.org") from None
    _require_plain(parts)
    secure = parts.scheme == "https"
    return Origin(
        secure=secure,
        host=str(parts.hostname),
        port=port or (443 if secure else 80),
        prefix=parts.path.rstrip("/").removesuffix("/v1"),
    )


def _require_plain(parts: SplitResult) -> None:
    if parts.username is not None or parts.password is not None:
        raise InvalidOption(
            "the server's address holds a name or a password, which ends up in logs: hand over the token as "
            "token=... or in HUSHCOUNT_TOKEN"
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise InvalidOption("the server's address must be like https://counts.example.org, without ? and #")
    if not (parts.netloc + parts.path).isascii() or any(sign <= " " for sign in parts.netloc + parts.path):
        raise InvalidOption("the server's address must be plain ASCII; write other names in their xn-- form")
