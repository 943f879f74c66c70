"""Signing in: who calls, told from a token, a JWT, a proxy's header, a browser's session, or from sitting here.

`Authorization`, if it is there, decides alone: one that fails is not made good by another way. A header that names a
person is believed from a listed proxy with the shared secret only, and dropped from everybody else. Comparisons take
the same time whatever is compared. Failed attempts are limited for each address, in each worker.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_network
from typing import Any, Protocol

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.invitations import refuse_reserved
from hushcount.app.serving.callers.issuers import Issuer
from hushcount.app.serving.callers.sessions import cookie_name, cookie_of, know_session
from hushcount.app.serving.callers.tokens import PREFIX, know_token
from hushcount.app.serving.setup.config import Config, Network, Proxy, address_of, is_loopback, is_within
from hushcount.app.serving.setup.keyfiles import read_password
from hushcount.app.setting import Setting
from hushcount.errors import InvalidParameter, NotPermitted, NotSignedIn, TooManyRequests
from hushcount.model.frozen import frozen

# So many failed attempts of an address within so many seconds; a script with an old token is told soon, not at once.
MOST_FAILURES = 20
WITHIN = 60.0
_MOST_ADDRESSES = 10_000
_MOST_GROUPS = 200
# Whoever forwards says so in one of these: then it is not the person at this machine who calls.
_FORWARDED = ("forwarded", "via", "x-forwarded-", "x-real-ip", "x-original-", "cf-connecting-ip", "true-client-ip")
_READING = ("GET", "HEAD")
_HOW = "Send 'Authorization: Bearer TOKEN', or sign in where your owners say. Nothing was charged."


@frozen
class Knock:
    """What is known of a call before anybody is believed.

    Attributes:
        method: GET, POST and so on.
        peer: the address at the other end of the connection itself, before anything that was forwarded.
        headers: all of them, in the order and number in which they came: twice the same is told apart from once.
    """

    method: str
    peer: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)

    def header(self, name: str) -> str | None:
        """The value of a header.

        Raises:
            NotSignedIn: it came more than once, so that two readers could take two different ones.
        """
        found = [value for given, value in self.headers if given.lower() == name.lower()]
        if len(found) > 1:
            raise NotSignedIn(f"the header {name!r} came more than once. {_HOW}")
        return found[0] if found else None


@dataclass(slots=True)
class Attempts:
    """Failed attempts, by address; the oldest addresses are forgotten when there are too many."""

    seconds: Callable[[], float] = time.monotonic
    _failed: OrderedDict[str, list[float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, address: str) -> None:
        """Refuse an address that failed too often lately.

        Raises:
            TooManyRequests: with the time after which to try again.
        """
        with self._lock:
            recent = self._recent(address)
            if len(recent) >= MOST_FAILURES:
                wait = max(1.0, recent[0] + WITHIN - self.seconds())
                raise TooManyRequests(
                    f"too many failed attempts to sign in from this address. Wait {wait:.0f} seconds, and look whether "
                    "a program sends an old token. Nothing was charged.",
                    after=wait,
                )

    def failed(self, address: str) -> None:
        """Note a failed attempt."""
        with self._lock:
            self._failed[address] = [*self._recent(address), self.seconds()][-MOST_FAILURES:]
            self._failed.move_to_end(address)
            while len(self._failed) > _MOST_ADDRESSES:
                self._failed.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self.seconds() - WITHIN
        return [moment for moment in self._failed.get(address, ()) if moment > since]


@frozen
class Door:
    """What signing in remembers from call to call, once for each worker.

    Attributes:
        attempts: failed attempts.
        issuer: the OpenID provider with its keys; None if there is none.
        proxy_secret: what a proxy must know; None if there is none.
    """

    attempts: Attempts = field(default_factory=Attempts)
    issuer: Issuer | None = None
    proxy_secret: str | None = field(default=None, repr=False)


class Guarded(Protocol):
    """What is needed of a service to sign callers in."""

    @property
    def config(self) -> Config:
        """Its configuration."""

    @property
    def setting(self) -> Setting:
        """Its secret and its ledger."""

    @property
    def tokens_key(self) -> bytes:
        """The key of tokens."""


def open_door(config: Config) -> Door:
    """The door of a service; reads the secret that is shared with a proxy."""
    auth = config.auth
    return Door(
        issuer=None if auth.oidc is None else Issuer(auth.oidc),
        proxy_secret=None if auth.proxy is None else read_password(auth.proxy.secret_file),
    )


def sign_in(service: Guarded, knock: Knock, *, door: Door) -> Caller:
    """Who calls.

    Raises:
        NotSignedIn: nobody knows.
        TooManyRequests: this address failed too often.
        Busy: the issuer of the caller's JWT cannot be asked now.
    """
    if service.config.auth.local:
        return _local(service.config, knock)
    address = caller_address(knock, service.config.server.trusted_proxies)
    door.attempts.check(address)
    try:
        given = knock.header("authorization")
        caller = _by_authorization(service, knock, given, door) if given is not None else None
        caller = caller or _by_proxy(service.config.auth.proxy, knock, door)
        caller = caller or _by_session(service, knock)
    except NotSignedIn:
        door.attempts.failed(address)
        raise
    if caller is None:
        # Nothing was tried, so nothing failed: a browser asks once without knowing.
        raise NotSignedIn(f"nobody knows who calls. {_HOW}")
    return caller


def caller_address(knock: Knock, trusted: tuple[Network, ...]) -> str:
    """The address that failures are counted for: the nearest one that is not a proxy of ours; IPv6 by network."""
    address = knock.peer
    if is_within(address, trusted):
        chain = [value for name, value in knock.headers if name.lower() == "x-forwarded-for"]
        hops = [hop.strip() for value in chain for hop in value.split(",")]
        address = next((hop for hop in reversed(hops) if not is_within(hop, trusted)), address)
    found = address_of(address)
    if found is None:
        # Whatever is no address is one address: made-up ones must not be as many fresh starts.
        return "unknown"
    return str(ip_network(f"{found}/64", strict=False)) if isinstance(found, IPv6Address) else str(found)


def _local(config: Config, knock: Knock) -> Caller:
    """The person at this machine: on a loopback connection, to a loopback name, with nobody in between."""
    host = knock.header("host") or ""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    # A web page elsewhere can make a browser call us under its own name: then the name is not ours.
    mine = is_loopback(knock.peer) and is_loopback(name.strip("[]"))
    if not mine or any(given.lower().startswith(_FORWARDED) for given, _ in knock.headers):
        raise NotSignedIn(
            "this service is for the person at its machine alone: open it as http://127.0.0.1 or http://localhost, "
            "without a proxy. To serve others, give them a way to sign in. Nothing was charged."
        )
    _refuse_other_sites(knock)
    return Caller(name=config.auth.person or "somebody", local=True)


def _by_authorization(service: Guarded, knock: Knock, given: str, door: Door) -> Caller:
    kind, _, text = given.partition(" ")
    text = text.strip()
    if kind.lower() == "basic":
        return _by_token(service, _password(knock, text))
    if kind.lower() != "bearer" or not text:
        raise NotSignedIn(f"only Bearer is taken, and Basic to read. {_HOW}")
    if text.startswith(PREFIX) or door.issuer is None:
        return _by_token(service, text)
    return by_claims(door.issuer, door.issuer.claims(text, now=service.setting.clock()))


def _by_token(service: Guarded, text: str) -> Caller:
    if not service.config.auth.tokens:
        raise NotSignedIn(f"this service takes no tokens of its own. {_HOW}")
    token = know_token(service.setting, service.tokens_key, text)
    return Caller(name=token.owner, token=token)


def _password(knock: Knock, text: str) -> str:
    """The password of Basic, which spreadsheets know: taken to read only, since browsers send it along unasked."""
    if knock.method.upper() not in _READING:
        raise NotSignedIn(f"Basic is taken to read only (GET). {_HOW}")
    try:
        _, colon, password = base64.b64decode(text, validate=True).decode("utf-8").partition(":")
    except (ValueError, binascii.Error):
        colon, password = "", ""
    if not colon:
        raise NotSignedIn(f"the Basic header cannot be read: the token goes where the password is. {_HOW}")
    return password


def by_claims(issuer: Issuer, claims: Mapping[str, Any]) -> Caller:
    """Whom an issuer names.

    Raises:
        NotSignedIn: nobody who can be known here.
    """
    name_claim, groups_claim = issuer.config.name_claim, issuer.config.groups_claim
    name = claims.get(name_claim)
    if name_claim == "email" and claims.get("email_verified") is not True:
        raise issuer.refused("an e-mail address that the issuer did not verify")
    groups = claims.get(groups_claim) if groups_claim is not None else None
    listed = [group for group in groups if isinstance(group, str)] if isinstance(groups, list) else []
    try:
        return _named(name, tuple(listed[:_MOST_GROUPS]))
    except NotSignedIn:
        raise issuer.refused("a name that cannot be used here") from None


def _by_proxy(proxy: Proxy | None, knock: Knock, door: Door) -> Caller | None:
    """Whom a proxy of ours names; None if it is no proxy of ours, whatever its headers say."""
    if proxy is None or door.proxy_secret is None or not is_within(knock.peer, proxy.addresses):
        return None
    given = knock.header(proxy.secret_header)
    if given is None:
        return None
    if not hmac.compare_digest(given.encode(), door.proxy_secret.encode()):
        # It is dropped like any other, and counts as a failure: a secret must not be guessed in peace.
        raise NotSignedIn(f"nobody knows who calls. {_HOW}")
    groups = knock.header(proxy.groups_header) if proxy.groups_header is not None else None
    listed = [group.strip() for group in (groups or "").split(",")]
    name = knock.header(proxy.header)
    if name is None:
        return None
    _refuse_other_sites(knock)
    return _named(name, tuple(filter(None, listed))[:_MOST_GROUPS])


def _by_session(service: Guarded, knock: Knock) -> Caller | None:
    """Whom a browser's session is of; None if it sent none. Browsers send it unasked, so only their own pages may."""
    text = cookie_of(knock.header("cookie"), cookie_name(service.config))
    if text is None:
        return None
    _refuse_other_sites(knock)
    caller = know_session(service.setting, service.tokens_key, text)
    auth = service.config.auth
    if not (auth.tokens if caller.token is not None else auth.oidc is not None):
        raise NotSignedIn(f"this service does not take the way in which you signed in any more. {_HOW}")
    return caller


def _refuse_other_sites(knock: Knock) -> None:
    """Refuse a change that another site's page makes a browser ask for, where the browser is signed in by itself."""
    if knock.method.upper() in _READING:
        return
    site, origin, host = (knock.header(name) for name in ("sec-fetch-site", "origin", "host"))
    if site not in {None, "same-origin", "none"} or (origin is not None and origin.partition("://")[2] != host):
        raise NotPermitted("a page of another site may not change anything here. Nothing was charged.")


def _named(name: object, groups: tuple[str, ...]) -> Caller:
    try:
        return Caller(name=refuse_reserved(name if isinstance(name, str) else ""), groups=groups)
    except InvalidParameter:
        raise NotSignedIn(f"who signed in has no name that can be used here. {_HOW}") from None
