"""A store of Pinot: how its machines are typed, and the address of a table there, which has no password in it."""

from __future__ import annotations

from urllib.parse import quote, urlencode, urlsplit

from hushcount.app.serving.setup.config import StoreConfig
from hushcount.app.serving.setup.config_words import text
from hushcount.engines.pinot.address import parse
from hushcount.errors import InvalidParameter


def broker(value: object) -> str:
    """The broker, as it is typed: http://broker:8099, or https:// where Pinot speaks TLS."""
    given = text(value).rstrip("/")
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    more = parts.username or parts.path or parts.query or parts.fragment
    if parts.scheme not in {"http", "https"} or not parts.hostname or port is None or more:
        want = "the broker alone, such as http://broker:8099; user and password_file are keys of their own"
        raise InvalidParameter("address", "(not shown)", want)
    return given


def controller(value: object) -> str:
    """The controller, as it is typed: controller:9000, or http:// or https:// before it if the broker is otherwise."""
    given = text(value)
    if "@" in given or "?" in given:
        raise InvalidParameter("address", "(not shown)", "host:port, such as controller:9000")
    return given


def address_of(store: StoreConfig, table: str | None) -> str:
    """The address of a table, as the engine opens it; it names the file of the password.

    Raises:
        InvalidParameter: no table is named, or what the store says does not go together.
    """
    if not table:
        raise InvalidParameter("table", table, f"said for the store {store.name!r}: the name of a table of Pinot")
    parts = urlsplit(str(store.place))
    said = {
        "controller": store.controller,
        "password_file": store.password_file,
        "ca_file": store.ca_file,
        "timeout": f"{store.timeout.total_seconds():.3f}",
    }
    options = urlencode({name: str(value) for name, value in said.items() if value is not None})
    who = "" if store.user is None else f"{quote(store.user, safe='')}@"
    scheme = "pinots" if parts.scheme == "https" else "pinot"
    address = f"{scheme}://{who}{parts.netloc}/{quote(table, safe='')}?{options}"
    parse(address)
    return address
