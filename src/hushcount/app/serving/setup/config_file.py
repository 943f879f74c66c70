"""The configuration as it is written: TOML, and variables that override it, into the values of `config`.

A key that is not known is an error that names the nearest right one: a misspelt limit would be no limit. Secrets are
named by their file and never typed here, where backups, version control and error texts would carry them.

A variable overrides a key by its path in capitals, with two underscores between the parts:
HUSHCOUNT_SERVER__LISTEN=127.0.0.1:9000, HUSHCOUNT_STORES__EVENTS__TIMEOUT=30s.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

from hushcount.app.serving.setup.config import (
    STORE_KINDS,
    AlertsTo,
    Analysts,
    Config,
    DatasetConfig,
    KeyFiles,
    LedgerPlace,
    Observe,
    Oidc,
    Privacy,
    Proxy,
    Server,
    SignIn,
    Snapshot,
    StoreConfig,
    StoreKind,
    Timing,
    refuse_open,
)
from hushcount.app.serving.setup.config_words import (
    collector,
    count,
    hook,
    issuer,
    listen,
    networks,
    one_of,
    presets,
    public_url,
    rate,
    span,
    text,
    texts,
    timing,
)
from hushcount.app.serving.setup.keyfiles import read_key, read_password
from hushcount.app.serving.setup.pinot import address_of, broker, controller
from hushcount.engines.sources import is_address
from hushcount.errors import InvalidParameter
from hushcount.ledger.names import named
from hushcount.model.budgets import PRESETS

PREFIX: Final = "HUSHCOUNT_"
_T = TypeVar("_T")
# What looks like a key and not like the name of a file.
_TYPED_KEY = re.compile(r"[0-9a-fA-F]{32,}|[A-Za-z0-9+_-][A-Za-z0-9+/_-]{39,}={0,2}|[^/.].*\s.*", re.DOTALL)
_SECRETS = ("password", "secret", "client_secret", "passwd", "token", "key", "api_key", "noise_key", "token_key")
# Other words for the same thing, that no spelling would lead to.
_ALIKE = {
    "broker": "place",
    "place": "broker",
    "address": "place",
    "path": "place",
    "url": "place",
    "file": "place",
    "user": "person",
}


@dataclass(slots=True)
class _Table:
    """One table of the file, from which each key is taken once; what is left at the end is not known."""

    title: str
    values: Mapping[str, Any]
    folder: Path
    taken: set[str] = field(default_factory=set)

    def take(self, key: str, read: Callable[[Any], _T], default: _T) -> _T:
        """The value of a key, or the default."""
        self.taken.add(key)
        if key not in self.values:
            return default
        try:
            return read(self.values[key])
        except InvalidParameter as error:
            raise InvalidParameter(f"{key} in {self.title}", error.value, error.want, error.hint) from None

    def need(self, key: str, read: Callable[[Any], _T]) -> _T:
        """The value of a key that must be there."""
        if key not in self.values:
            self.taken.add(key)
            self._refuse_secrets()
            raise InvalidParameter(f"{key} in {self.title}", None, "given")
        return self.take(key, read, cast("_T", None))

    def part(self, key: str) -> _Table | None:
        """A table within this one."""
        self.taken.add(key)
        return self.table(key) if key in self.values else None

    def table(self, key: str) -> _Table:
        """A table within this one, that is there."""
        title = f"[{key}]" if self.title == "the file" else f"{self.title[:-1]}.{key}]"
        if not isinstance(self.values[key], dict):
            raise InvalidParameter(title, "a value", "a table of keys", f"Write: {title} on a line of its own.")
        return _Table(title, self.values[key], self.folder)

    def close(self) -> None:
        """Refuse the keys that nobody took."""
        self._refuse_secrets()
        for key in self.values.keys() - self.taken:
            near = [_ALIKE[key]] if _ALIKE.get(key) in self.taken else get_close_matches(key, self.taken, n=1)
            hint = f"Did you mean {near[0]!r}? Nothing was started." if near else "Nothing was started."
            # The value is not shown: it may be a secret under a misspelt name.
            raise InvalidParameter(f"a key in {self.title}", key, f"one of {', '.join(sorted(self.taken))}", hint)

    def _refuse_secrets(self) -> None:
        for key in sorted((self.values.keys() - self.taken) & set(_SECRETS)):
            near = get_close_matches(f"{key}_file", self.taken, n=1)
            right = near[0] if near else f"{key}_file"
            raise _typed(f"{key} in {self.title}", right)


def read_config(path: Path, environment: Mapping[str, str]) -> Config:
    """The configuration in a file, with what the environment overrides. The files of secrets are looked at too.

    Args:
        path: the file; names of files within it start from its folder.
        environment: variables; those of `HUSHCOUNT_` with two underscores in their name count.

    Raises:
        InvalidParameter: a key is not known, a value cannot be used, a secret was typed, or whoever reaches the
            service would own it.
        SecretUnusable: the file of a secret cannot be used.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidParameter("config", str(path), f"a file that can be read ({error.strerror})") from None
    except ValueError as error:
        # The decoder quotes the line and column, not what stands there; other errors of text are as harmless.
        raise InvalidParameter("config", str(path), f"TOML: {error}", "Nothing was started.") from None
    return _config(_Table("the file", overridden(values, environment), path.parent.resolve()))


def overridden(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """The values of a file with those of the environment in their places."""
    result = _copy(values)
    for name in sorted(environment):
        if name.startswith(PREFIX) and "__" in name:
            *folders, key = name.removeprefix(PREFIX).split("__")
            place = result
            for folder in folders:
                found = _alike(folder, place)
                if not isinstance(place.get(found), dict):
                    place[found] = {}
                place = place[found]
            place[_alike(key, place)] = _plain(environment[name])
    return result


def _copy(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, dict) else value for key, value in values.items()}


def _alike(word: str, place: Mapping[str, Any]) -> str:
    """The key that a variable means: names of stores and data sets may have capitals and hyphens of their own."""
    return next((key for key in place if key.upper().replace("-", "_") == word.upper()), word.lower())


def _plain(text: str) -> object:
    """A variable's value: a number, a list or a truth value as TOML writes it, or else the text itself."""
    try:
        found = tomllib.loads(f"value = {text}")
    except ValueError:
        return text
    return found["value"] if found.keys() == {"value"} and not isinstance(found["value"], dict) else text


def _config(file: _Table) -> Config:
    sections = {name: file.part(name) for name in ("server", "keys", "ledger", "auth", "privacy", "observe")}
    parts = {name: part or _Table(f"[{name}]", {}, file.folder) for name, part in sections.items()}
    stores, datasets, alerts = file.part("stores"), file.part("datasets"), file.part("alerts")
    file.close()
    server = _server(parts["server"])
    keys = _keys(parts["keys"])
    config = Config(
        server=server,
        keys=keys,
        ledger=_ledger(parts["ledger"]),
        stores=tuple(_store(name, stores.table(name)) for name in stores.values) if stores else (),
        datasets=tuple(_dataset(name, datasets.table(name)) for name in datasets.values) if datasets else (),
        auth=_sign_in(parts["auth"], server, keys),
        privacy=_privacy(parts["privacy"]),
        observe=_observe(parts["observe"]),
        alerts=None if alerts is None else _alerts(alerts),
    )
    _refuse_strays(config)
    return refuse_open(config)


def _server(table: _Table) -> Server:
    usual = Server()
    server = Server(
        listen=table.take("listen", listen, usual.listen),
        public_url=table.take("public_url", public_url, None),
        workers=table.take("workers", count, usual.workers),
        trusted_proxies=table.take("trusted_proxies", networks, ()),
        graceful=table.take("graceful", span, usual.graceful),
        rate=table.take("rate", rate, usual.rate),
        state=table.take("state", lambda value: table.folder / text(value), table.folder / "state"),
    )
    table.close()
    return server


def _keys(table: _Table) -> KeyFiles:
    keys = KeyFiles(
        noise=table.need("noise", _file_of(table, "noise")),
        tokens=table.take("tokens", _file_of(table, "tokens"), None),
    )
    table.close()
    for key in (keys.noise, keys.tokens):
        if key is not None:
            read_key(key)
    return keys


def _ledger(table: _Table) -> LedgerPlace:
    place = LedgerPlace(
        address=table.need("address", _place_of(table, "address")),
        password_file=_password_file(table),
    )
    table.close()
    return place


def _store(name: str, table: _Table) -> StoreConfig:
    usual = StoreConfig(name=named("store", name), kind=cast("StoreKind", table.need("kind", one_of(*STORE_KINDS))))
    store = StoreConfig(
        name=usual.name,
        kind=usual.kind,
        **(_of_pinot(table) if usual.kind == "pinot" else _of_others(table)),
        password_file=_password_file(table),
        snapshot=cast("Snapshot", table.take("snapshot", one_of("none", "day"), "none")),
        timeout=table.take("timeout", span, usual.timeout),
        max_running=table.take("max_running", count, usual.max_running),
        max_waiting=table.take("max_waiting", count, usual.max_waiting),
    )
    table.close()
    if store.place is None and store.kind != "spark":
        raise InvalidParameter(f"place in {table.title}", None, f"given for {store.kind}")
    if store.master is not None and store.kind != "spark":
        raise InvalidParameter(f"master in {table.title}", store.master, "left out unless the kind is spark")
    if store.kind == "pinot":
        # Whether its keys go together; no machine is asked.
        address_of(store, "any")
    return store


def _of_others(table: _Table) -> dict[str, Any]:
    return {
        "place": table.take("place", _place_of(table, "place"), None),
        "master": table.take("master", text, None),
    }


def _of_pinot(table: _Table) -> dict[str, Any]:
    return {
        "place": table.need("broker", broker),
        "controller": table.take("controller", controller, None),
        "user": table.take("user", text, None),
        "ca_file": table.take("ca_file", lambda value: table.folder / text(value), None),
    }


def _dataset(name: str, table: _Table) -> DatasetConfig:
    dataset = DatasetConfig(
        name=named("data set", name),
        store=table.need("store", text),
        table=table.take("table", text, None),
        person=table.need("person", text),
        items=table.take("items", texts, None),
        people=table.take("people", text, None),
    )
    table.close()
    return dataset


def _sign_in(table: _Table, server: Server, keys: KeyFiles) -> SignIn:
    oidc, proxy = table.part("oidc"), table.part("proxy")
    local = table.take("local", text, None)
    table.close()
    found = SignIn(
        tokens=keys.tokens is not None,
        oidc=None if oidc is None else _oidc(oidc),
        proxy=None if proxy is None else _proxy(proxy, server),
        person=local,
    )
    if found.local and local is None:
        want = "given, or nobody could sign in"
        hint = "If only you, at this machine, use it, write under [auth]: local = 'your name'. Nothing was started."
        raise InvalidParameter("tokens in [keys]", None, want, hint)
    if not found.local and local is not None:
        raise InvalidParameter("local in [auth]", local, "left out where callers sign in", "Nothing was started.")
    return found


def _oidc(table: _Table) -> Oidc:
    client = table.need("client_id", text)
    oidc = Oidc(
        issuer=table.need("issuer", issuer),
        client_id=client,
        audience=table.take("audience", text, client),
        client_secret_file=_password_file(table, "client_secret_file"),
        name_claim=table.take("name_claim", text, "sub"),
        groups_claim=table.take("groups_claim", text, None),
    )
    table.close()
    return oidc


def _proxy(table: _Table, server: Server) -> Proxy:
    secret = _password_file(table, "secret_file")
    proxy = Proxy(
        header=table.need("header", text),
        secret_header=table.take("secret_header", text, "Hushcount-Proxy-Secret"),
        secret_file=secret or table.need("secret_file", _file_of(table, "secret_file")),
        addresses=table.take("addresses", networks, server.trusted_proxies),
        groups_header=table.take("groups_header", text, None),
    )
    table.close()
    if not proxy.addresses:
        hint = "Its header is believed from listed addresses only. Nothing was started."
        raise InvalidParameter(f"addresses in {table.title}", "none", "where the proxy calls from", hint)
    return proxy


def _privacy(table: _Table) -> Privacy:
    analysts = cast("Analysts", table.take("analysts", one_of("colleagues", "separate"), "colleagues"))
    # Whoever must not learn of others must not learn how long their questions took.
    usual = Timing(kind="grid", every=timedelta(milliseconds=500)) if analysts == "separate" else Timing(kind="off")
    privacy = Privacy(
        analysts=analysts,
        timing=table.take("timing", timing, usual),
        presets=table.take("presets", presets, tuple(PRESETS)),
    )
    table.close()
    return privacy


def _observe(table: _Table) -> Observe:
    observe = Observe(
        metrics=table.take("metrics", listen, None),
        otlp=table.take("otlp", collector, None),
        logs=cast("Any", table.take("logs", one_of("text", "json"), "text")),
    )
    table.close()
    return observe


def _alerts(table: _Table) -> AlertsTo:
    secret = _password_file(table, "secret_file")
    alerts = AlertsTo(
        to=table.need("to", hook), secret_file=secret or table.need("secret_file", _file_of(table, "secret_file"))
    )
    table.close()
    return alerts


def _refuse_strays(config: Config) -> None:
    """Every data set's store is there, and no place listens twice."""
    names = [store.name for store in config.stores]
    for dataset in config.datasets:
        if dataset.store not in names:
            near = get_close_matches(dataset.store, names, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Write it as [stores.{dataset.store}]."
            raise InvalidParameter(f"store in [datasets.{dataset.name}]", dataset.store, "a store of this file", hint)
    if config.observe.metrics == config.server.listen:
        raise InvalidParameter("metrics in [observe]", str(config.server.listen), "an address of its own")


def _file_of(table: _Table, key: str) -> Callable[[object], Path]:
    """Reads the name of a secret's file; the secret itself in its place is refused without being shown."""

    def read(value: object) -> Path:
        given = value if isinstance(value, str) else ""
        # Not Path.is_file, which fails on a name that is too long.
        if not given or (_TYPED_KEY.fullmatch(given) and not os.path.isfile(table.folder / given)):  # noqa: PTH113
            raise _typed(f"{key} in {table.title}", key)
        return table.folder / given

    return read


def _password_file(table: _Table, key: str = "password_file") -> Path | None:
    path = table.take(key, cast("Callable[[object], Path | None]", _file_of(table, key)), None)
    if path is not None:
        read_password(path)
    return path


def _place_of(table: _Table, key: str) -> Callable[[object], str]:
    """Reads a file, a folder, a pattern or an address; relative to the configuration, and without a password."""

    def read(value: object) -> str:
        given = text(value)
        if "://" not in given and not is_address(given):
            return str(table.folder / given)
        try:
            parts = urlsplit(given)
            # A parameter may name the folder of a socket; none may be a password, or hold one behind a space.
            said = parse_qsl(parts.query)
            typed = parts.password is not None or any("pass" in name.lower() or is_address(word) for name, word in said)
        except ValueError:
            raise InvalidParameter("address", "an address", "one such as postgresql://user@host/name") from None
        if typed or is_address(given.partition("?")[0]):
            raise _typed(f"a password within {key} in {table.title}", "password_file")
        return given

    return read


def _typed(name: str, right: str) -> InvalidParameter:
    return InvalidParameter(
        name,
        "(not shown)",
        "the name of a file: a secret that is typed into a configuration gets into backups and logs",
        f"Put it into a file, (umask 077; cat > FILE), and write: {right} = 'FILE'. Nothing was started.",
    )
