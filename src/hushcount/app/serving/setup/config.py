"""The configuration of a service as frozen values, what it means in sentences, and the one for a single file.

`config_file.read_config` makes it from TOML; nothing here reads a file that somebody wrote.
"""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from hushcount.app.setting import Places
from hushcount.app.wiring import find_ledger, shown_place
from hushcount.engines.sources import DatabaseTable, recognise
from hushcount.errors import InvalidParameter
from hushcount.model.budgets import PRESETS
from hushcount.model.frozen import frozen

StoreKind: TypeAlias = Literal["files", "duckdb", "sqlite", "postgres", "spark", "pinot"]
Snapshot: TypeAlias = Literal["none", "day"]
Analysts: TypeAlias = Literal["colleagues", "separate"]
Network: TypeAlias = IPv4Network | IPv6Network
STORE_KINDS: tuple[str, ...] = get_args(StoreKind)

_LOOPBACK_NAMES = ("localhost",)
_PORT = 8443


@frozen
class Listen:
    """Where to listen: a host and a port; port 0 takes any that is free."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@frozen
class Server:
    """The process that listens.

    Attributes:
        listen: where.
        public_url: what callers type, without a slash at its end; None where it is the address itself.
        workers: how many processes.
        trusted_proxies: from whom a forwarded address or name is believed.
        graceful: how long running questions get when the service stops.
        rate: how many requests a second one caller may send to one worker, after a burst; 0 for any number.
        state: a private folder of this machine: copies of the day, and the newest links of the ledger, by which one
            that was put back from a copy is noticed. None keeps neither.
    """

    listen: Listen = Listen(host="127.0.0.1", port=_PORT)
    public_url: str | None = None
    workers: int = 1
    trusted_proxies: tuple[Network, ...] = ()
    graceful: timedelta = timedelta(seconds=30)
    rate: int = 200
    state: Path | None = None


@frozen
class KeyFiles:
    """The files of the keys; see `keyfiles.read_key`.

    Attributes:
        noise: the key of noise, versions and identities; its fingerprint is in the ledger.
        tokens: the key under which tokens are kept; None where there are none.
    """

    noise: Path
    tokens: Path | None = None


@frozen
class LedgerPlace:
    """Where the ledger is: a file, or an address without its password, which is in a file."""

    address: str
    password_file: Path | None = None


@frozen
class StoreConfig:
    """A place where data is kept.

    Attributes:
        name: what data sets call it.
        kind: what it is.
        place: its file, folder or address, without any password; of Pinot the broker's; None where `master` says it
            all.
        password_file: the file of its password.
        master: where Spark runs.
        controller: Pinot's controller, as host:port; None for the broker's machine.
        user: who asks Pinot, with `password_file`; None where nobody signs in.
        ca_file: the certificates that are trusted where Pinot speaks TLS, instead of the system's.
        snapshot: "day" lets versions of its data change once a day only.
        timeout: how long a question may take there.
        max_running: how many questions run there at once.
        max_waiting: how many may wait; more are refused as busy.
    """

    name: str
    kind: StoreKind
    place: str | None = None
    password_file: Path | None = None
    master: str | None = None
    controller: str | None = None
    user: str | None = None
    ca_file: Path | None = None
    snapshot: Snapshot = "none"
    timeout: timedelta = timedelta(seconds=60)
    max_running: int = 2
    max_waiting: int = 100


@frozen
class DatasetConfig:
    """A data set that is served.

    Attributes:
        name: what callers call it.
        store: the name of its store.
        table: the table there; None if the store is one table.
        person: the column that says who a row belongs to; empty, for a single file only, until somebody says it.
        items: the columns that may be counted; None for all.
        people: the population, where several data sets are about the same people.
    """

    name: str
    store: str
    table: str | None = None
    person: str
    items: tuple[str, ...] | None = None
    people: str | None = None


@frozen
class Oidc:
    """An issuer of identities.

    Attributes:
        issuer: its address, letter by letter as its JWTs name it; where its keys are, it says there itself.
        client_id: what the issuer calls this service.
        audience: what a token must be made out to; the client id, if nothing else is said.
        client_secret_file: the file of the secret for signing in by browser; None where only tokens are sent.
        name_claim: the claim that is taken as the person's name.
        groups_claim: the claim that holds their groups; None if it is not looked at.
    """

    issuer: str
    client_id: str
    audience: str
    client_secret_file: Path | None = None
    name_claim: str = "sub"
    groups_claim: str | None = None


@frozen
class Proxy:
    """A proxy that signs people in and says who they are.

    Attributes:
        header: the header with the person's name.
        secret_header: the header with the secret that it shares with us.
        secret_file: the file of that secret.
        addresses: where it calls from; its header is dropped from anywhere else.
        groups_header: the header with their groups, between commas; None if it is not looked at.
    """

    header: str
    secret_header: str
    secret_file: Path
    addresses: tuple[Network, ...]
    groups_header: str | None = None


@frozen
class SignIn:
    """How callers say who they are; with none of the three, the one person at this machine owns everything.

    Attributes:
        tokens: whether tokens are taken.
        oidc: whose JWTs are taken.
        proxy: whose header is taken.
        person: the name of the one person, where nobody signs in.
    """

    tokens: bool = False
    oidc: Oidc | None = None
    proxy: Proxy | None = None
    person: str | None = None

    @property
    def local(self) -> bool:
        """Whether nobody signs in."""
        return not self.tokens and self.oidc is None and self.proxy is None


@frozen
class Timing:
    """When answers become visible: at the next tick of a grid, after a fixed time, or at once ("off")."""

    kind: Literal["grid", "fixed", "off"]
    every: timedelta = timedelta(0)


@frozen
class Privacy:
    """What callers learn of one another, and what they may choose.

    Attributes:
        analysts: "colleagues" see each other's names and questions where it helps, "separate" ones nothing.
        timing: when answers become visible.
        presets: the presets that analysts may choose.
    """

    analysts: Analysts = "colleagues"
    timing: Timing = Timing(kind="off")
    presets: tuple[str, ...] = tuple(PRESETS)


@frozen
class Observe:
    """What those who run the service see: where metrics are served, where traces are sent, and the form of logs."""

    metrics: Listen | None = None
    otlp: str | None = None
    logs: Literal["text", "json"] = "text"


@frozen
class AlertsTo:
    """Where alerts are sent: one address, and the file of the secret that its receiver shares with us."""

    to: str
    secret_file: Path


@frozen
class Config:
    """All of it. Stores and data sets are by name."""

    server: Server
    keys: KeyFiles
    ledger: LedgerPlace
    stores: tuple[StoreConfig, ...] = ()
    datasets: tuple[DatasetConfig, ...] = ()
    auth: SignIn = field(default_factory=SignIn)
    privacy: Privacy = field(default_factory=Privacy)
    observe: Observe = field(default_factory=Observe)
    alerts: AlertsTo | None = None

    def store(self, name: str) -> StoreConfig:
        """The store of this name; there is one for every data set."""
        return next(store for store in self.stores if store.name == name)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nothing else."""
    if host.lower() in _LOOPBACK_NAMES:
        return True
    address = address_of(host)
    return address is not None and address.is_loopback


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a text is, an IPv4 one also where it is dressed up as IPv6; None if it is a name."""
    # Whoever calls again does so from the same address. What is longer is somebody's text, and not kept.
    return _kept_address(host) if len(host) <= _LONGEST_KEPT else _address_of(host)


def _address_of(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


_LONGEST_KEPT = 64
_kept_address = lru_cache(maxsize=1024)(_address_of)


def is_within(host: str, networks: tuple[Network, ...]) -> bool:
    """Whether an address is in one of the networks."""
    address = address_of(host)
    return address is not None and any(address in network for network in networks)


def single(path: str, *, places: Places, person: str = "", listen: Listen | None = None) -> Config:
    """The configuration of `hushcount serve FILE`: loopback, nobody signs in, the ledger that a question would find.

    Args:
        path: a file, a folder or a pattern, or a database with one table.
        places: where the secret and the ledger are, and who sits at this machine.
        person: the column that says who a row belongs to; empty if it is not said yet.
        listen: where, if not at the usual port.
    """
    found = recognise(path)
    name = Path(path).name.split(".")[0] or "data"
    store = StoreConfig(name=name, kind=found.program if isinstance(found, DatabaseTable) else "files", place=path)
    return refuse_open(
        Config(
            server=Server(listen=listen or Server().listen, rate=0, state=places.home / "state"),
            keys=KeyFiles(noise=places.home / "secret"),
            ledger=LedgerPlace(address=find_ledger(places, path)),
            stores=(store,),
            datasets=(DatasetConfig(name=name, store=name, person=person),),
            auth=SignIn(person=places.analyst),
        )
    )


def refuse_open(config: Config) -> Config:
    """The configuration, unless whoever reaches it would be taken for its owner."""
    server = config.server
    if not config.auth.local:
        return config
    hint = "Nothing was started. Give callers a way to sign in: tokens = FILE under [keys], or [auth.oidc]."
    if not server.listen.loopback:
        want = "this machine (127.0.0.1 or localhost), since nobody signs in and whoever reaches it owns everything"
        raise InvalidParameter("listen", str(server.listen), want, hint)
    if server.public_url is not None or server.trusted_proxies:
        # Whatever a proxy passes on comes from loopback too.
        want = "left out where nobody signs in: whoever a proxy lets through would own everything"
        raise InvalidParameter("public_url or trusted_proxies", "given", want, hint)
    return config


def explain(config: Config) -> list[str]:
    """What the service would do, in sentences. They hold no secret: passwords are only ever in files."""
    server, privacy = config.server, config.privacy
    who = "only this machine can reach it" if server.listen.loopback else "other machines can reach it"
    told = [
        f"It listens at {server.listen} with {server.workers} worker{'s'[: server.workers > 1]}: {who}.",
        f"Callers type {server.public_url}." if server.public_url else "It has no public address.",
        f"When it stops, running questions get {_seconds(server.graceful)}.",
        *_sign_in_words(config.auth),
        f"Spending is kept in {shown_place(config.ledger.address)}.",
        f"Noise is drawn under the key in {config.keys.noise}.",
        *(_store_words(store) for store in config.stores),
        *(_dataset_words(dataset) for dataset in config.datasets),
        _analysts_words(privacy.analysts),
        _timing_words(privacy.timing),
        f"Analysts may choose {', '.join(privacy.presets)}.",
        f"Metrics are served at {config.observe.metrics}." if config.observe.metrics else "No metrics are served.",
        f"Traces are sent to {config.observe.otlp}." if config.observe.otlp else "No traces are sent.",
        f"Alerts are sent to {config.alerts.to}." if config.alerts else "No alerts are sent.",
        f"Logs are written as {config.observe.logs}.",
    ]
    if not server.listen.loopback:
        told.append("It speaks plain HTTP: put a proxy with TLS before it, or tokens can be read on the way.")
    return told


def _sign_in_words(auth: SignIn) -> list[str]:
    if auth.local:
        return [f"Nobody signs in: whoever sits at this machine is {auth.person} and owns everything."]
    told = ["Callers sign in by token."] if auth.tokens else []
    if auth.oidc is not None:
        told.append(
            f"Callers sign in by a JWT of {auth.oidc.issuer} made out to {auth.oidc.audience}; their name is its "
            f"claim {auth.oidc.name_claim!r}."
        )
    if auth.proxy is not None:
        listed = ", ".join(map(str, auth.proxy.addresses))
        told.append(f"A proxy at {listed} that knows the shared secret names callers in {auth.proxy.header!r}.")
    return [*told, "Whoever has no role sees nothing."]


def _store_words(store: StoreConfig) -> str:
    where = shown_place(store.place) if store.place else store.master or "its usual place"
    often = "change once a day only" if store.snapshot == "day" else "change with the data"
    return (
        f"The store {store.name!r} is {store.kind} at {where}: {store.max_running} questions at once, "
        f"{store.max_waiting} waiting, {_seconds(store.timeout)} each; versions {often}."
    )


def _dataset_words(dataset: DatasetConfig) -> str:
    table = f", table {dataset.table!r}" if dataset.table else ""
    person = f"a person is who stands in {dataset.person!r}" if dataset.person else "nobody said yet who a person is"
    items = f"; counted may be {', '.join(dataset.items)}" if dataset.items is not None else ""
    people = f"; its people are {dataset.people!r}" if dataset.people else ""
    return f"The data set {dataset.name!r} is in store {dataset.store!r}{table}; {person}{items}{people}."


def _analysts_words(analysts: Analysts) -> str:
    if analysts == "separate":
        return "Analysts are separate: none learns what another asked or spent."
    return "Analysts are colleagues: what the data's account has left is shown to all who may ask."


def _timing_words(timing: Timing) -> str:
    if timing.kind == "grid":
        return f"Answers become visible at ticks of {_seconds(timing.every)} since they were asked."
    if timing.kind == "fixed":
        return f"Answers become visible {_seconds(timing.every)} after they were asked; what takes longer is lost."
    return "Answers become visible as soon as they are there: how long one took can be seen."


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():g} s"
