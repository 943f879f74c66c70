"""Values of a configuration as they are typed, each refused in words that say how it is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from difflib import get_close_matches
from ipaddress import ip_network
from urllib.parse import urlsplit

from hushcount.app.serving.setup.config import Listen, Network, Timing, is_loopback
from hushcount.errors import InvalidParameter
from hushcount.model.budgets import PRESETS

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidParameter("text", value, "a text that can be printed")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of texts; a variable may list them between commas."""
    listed = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise InvalidParameter("list", value, "a list of texts")
    return tuple(map(text, listed))


def count(value: object) -> int:
    """A number of things."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10_000:
        raise InvalidParameter("number", value, "a whole number from 1 to 10,000")
    return value


def rate(value: object) -> int:
    """A number of requests a second, or 0 for any number."""
    return 0 if value == 0 and not isinstance(value, bool) else count(value)


def span(value: object) -> timedelta:
    """A span of time as it is typed: 500ms, 30s, 15m, 2h, 1d."""
    found = _SPAN.fullmatch(value) if isinstance(value, str) else None
    if found is None or not float(found[1]) or len(found[1]) > 9:
        raise InvalidParameter("time", value, "a time such as 500ms, 30s, 15m, 2h or 1d")
    return timedelta(seconds=float(found[1]) * _UNITS[found[2]])


def one_of(*words: str) -> Callable[[object], str]:
    """Reads one of some words."""

    def read(value: object) -> str:
        if value in words:
            return str(value)
        near = get_close_matches(str(value), words, n=1)
        raise InvalidParameter(
            "word", value, f"one of {', '.join(words)}", f"Did you mean {near[0]!r}?" if near else ""
        )

    return read


def listen(value: object) -> Listen:
    """Where to listen, as it is typed: 127.0.0.1:8443, localhost:8443, [::1]:8443."""
    host, colon, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not bare or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise InvalidParameter("address", value, "host:port, such as 127.0.0.1:8443 or [::1]:8443")
    if ":" in bare and bare == host:
        raise InvalidParameter("address", value, "written as [host]:port where the host has colons")
    return Listen(host=bare, port=int(port))


def networks(value: object) -> tuple[Network, ...]:
    """A list of addresses and networks."""
    try:
        return tuple(ip_network(one) for one in texts(value))
    except ValueError:
        raise InvalidParameter("addresses", value, "a list such as ['10.0.0.0/8', '127.0.0.1']") from None


def public_url(value: object) -> str:
    """An address that callers type; plain HTTP on this machine only."""
    given = text(value).rstrip("/")
    parts = urlsplit(given)
    if parts.password or parts.query or parts.fragment or not parts.hostname:
        raise InvalidParameter("address", "an address with more than a host", "such as https://counts.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
        raise InvalidParameter("address", given, "https://..., or tokens could be read on the way")
    return given


def collector(value: object) -> str:
    """The address of a collector of traces, which is ours; without a password, which would be in every error."""
    given = text(value).rstrip("/")
    parts = urlsplit(given)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise InvalidParameter("address", "an address", "such as http://127.0.0.1:4318, and nothing but that")
    return given


def hook(value: object) -> str:
    """Where alerts go; plain HTTP on this machine only. A word within it may be a secret, so none is shown."""
    given = text(value)
    parts = urlsplit(given)
    plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or parts.username or parts.fragment or not (parts.scheme == "https" or plain):
        raise InvalidParameter("address", "(not shown)", "such as https://hooks.example.org/hushcount")
    return given


def issuer(value: object) -> str:
    """An issuer's address, as it is written: it is compared letter by letter."""
    public_url(value)
    return text(value)


def timing(value: object) -> Timing:
    """When answers become visible."""
    if value == "off":
        return Timing(kind="off")
    if isinstance(value, dict) and len(value) == 1:
        [(kind, every)] = value.items()
        if kind in {"grid", "fixed"}:
            return Timing(kind=kind, every=span(every))
    raise InvalidParameter("timing", value, "'off', { grid = '500ms' } or { fixed = '5s' }")


def presets(value: object) -> tuple[str, ...]:
    """Some of the presets."""
    return tuple(map(one_of(*PRESETS), texts(value)))
