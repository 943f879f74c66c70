"""Issuers: the keys that an OpenID provider publishes, and the JWTs that it signed.

Keys come from the issuer's own address and are kept; a JWT under a key that is not known makes us look again, at most
once a minute, so that strangers cannot make us call. The algorithm is decided by the key that we hold and never by the
JWT alone: "none", and a public key used as a shared secret, are refused before anything is computed.

Every JWT that is refused is refused in the same words: which check failed would help whoever forges more than whoever
signs in. The log says which, and nothing of the JWT.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from hushcount.app.serving.setup.config import Oidc, is_loopback
from hushcount.errors import Busy, MissingExtra, NotSignedIn

# The algorithms that are taken, and the kind of key that each needs.
ALGORITHMS: Final = {"RS256": "RSA", "ES256": "EC"}
AGAIN = 60.0
# Without any keys nobody can sign in, so the issuer is asked sooner.
SOON = 5.0
_TIMEOUT = 5.0
_MOST_BYTES = 1_000_000
_LONGEST_JWT = 16_384
_LEEWAY = 30
_log = logging.getLogger("hushcount.serving")


class _NoRedirects(HTTPRedirectHandler):
    """An issuer's keys are where it says; whoever could send us elsewhere could choose the keys."""

    def redirect_request(self, *_args: object, **_more: object) -> None:
        """Refuse to go elsewhere."""


@dataclass(slots=True)
class Issuer:
    """An issuer with the keys that it last published.

    Attributes:
        config: which, and what its JWTs must say.
        seconds: a clock that only goes forward.
    """

    config: Oidc
    seconds: Callable[[], float] = time.monotonic
    _keys: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _asked: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def claims(self, text: str, *, now: datetime, audience: str | None = None) -> Mapping[str, Any]:
        """What a JWT of this issuer says, once all of it is checked.

        Args:
            text: the JWT.
            now: the time.
            audience: whom it must be made out to, if not to the audience of the configuration.

        Raises:
            NotSignedIn: it is not theirs, not for us, over, not valid yet, or signed in a way that is not taken.
            Busy: the issuer's keys cannot be had now.
            MissingExtra: the package for it is not installed.
        """
        try:
            from joserfc import jwt
            from joserfc.errors import JoseError
            from joserfc.jwk import import_key
        except ImportError:
            raise MissingExtra("joserfc", "pip install 'hushcount[oidc]'") from None
        header = _header(text)
        if header is None:
            raise self.refused("not a JWT")
        key = self._key(header)
        wants = jwt.JWTClaimsRegistry(
            now=int(now.timestamp()),
            leeway=_LEEWAY,
            iss={"essential": True, "value": self.config.issuer},
            aud={"essential": True, "value": audience or self.config.audience},
            sub={"essential": True},
            exp={"essential": True},
        )
        try:
            token = jwt.decode(text, import_key(dict(key)), algorithms=[_algorithm_of(key)])
            wants.validate(token.claims)
        except (JoseError, ValueError, TypeError):
            raise self.refused("signed by somebody else, for another service, or over") from None
        return token.claims

    def refused(self, why: str) -> NotSignedIn:
        """The one refusal of all JWTs that name nobody here.

        Args:
            why: for the log, in words that stand in the code.
        """
        _log.info("a JWT was refused", extra={"kind": why})
        return NotSignedIn(
            f"what was sent is neither a token of this service nor a JWT by which {self.config.issuer} names somebody "
            "to it. Sign in anew and send the new token. Nothing was charged."
        )

    def _key(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        """The published key that a JWT names; looked for again if it is not known."""
        algorithm, name = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise self.refused("an algorithm that is not taken")
        found = self._named(name)
        if found is None:
            self._look_again()
            found = self._named(name)
        if found is None or _algorithm_of(found) != algorithm:
            raise self.refused("a key that its issuer does not publish")
        return found

    def _named(self, name: object) -> Mapping[str, Any] | None:
        # A reference to the mapping: another thread puts a whole new one in its place.
        keys = self._keys
        if name is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        return keys.get(name) if isinstance(name, str) else None

    def _look_again(self) -> None:
        """Fetch the keys, unless that was done a short while ago."""
        with self._lock:
            now = self.seconds()
            wait = AGAIN if self._keys else SOON
            if self._asked is None or now - self._asked >= wait:
                self._asked = now
                found = self._fetched()
                self._keys = found if found is not None else self._keys
            if not self._keys:
                raise Busy(
                    f"the keys of {self.config.issuer} cannot be had now, so nobody can sign in by it. Try again soon, "
                    "or use a token. Nothing was charged.",
                    after=SOON,
                )

    def place(self, name: str) -> str:
        """An address that the issuer tells of itself, such as where people sign in.

        Raises:
            Busy: the issuer cannot be asked now, or tells no such address.
        """
        try:
            about = self._about()
        except (OSError, URLError, ValueError, RecursionError):
            about = {}
        found = about.get(name) if about.get("issuer") == self.config.issuer else None
        if not isinstance(found, str) or not is_safe(found):
            raise Busy(
                f"{self.config.issuer} cannot be asked now. Try again soon, or use a token. Nothing was charged.",
                after=SOON,
            )
        return found

    def _about(self) -> Mapping[str, Any]:
        return fetch(f"{self.config.issuer.rstrip('/')}/.well-known/openid-configuration")

    def _fetched(self) -> dict[str, Mapping[str, Any]] | None:
        """The keys as the issuer publishes them now; None if it cannot be reached or says something else."""
        try:
            about = self._about()
            place = about.get("jwks_uri")
            if about.get("issuer") != self.config.issuer or not isinstance(place, str):
                return None
            listed = fetch(place).get("keys")
        except (OSError, URLError, ValueError, RecursionError):
            return None
        keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
        usable = [key for key in keys if _algorithm_of(key) is not None and key.get("use", "sig") == "sig"]
        return {str(key.get("kid", "")): _public(key) for key in usable}


def _public(key: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parts of a key that check a signature, and no more."""
    return {name: key[name] for name in ("kty", "kid", "n", "e", "crv", "x", "y") if name in key}


def _algorithm_of(key: Mapping[str, Any]) -> Any:  # noqa: ANN401  a text, or None for keys that are not taken
    """The one algorithm that a key is good for."""
    if key.get("kty") == "RSA":
        return "RS256" if key.get("alg", "RS256") == "RS256" else None
    if key.get("kty") == "EC" and key.get("crv") == "P-256":
        return "ES256" if key.get("alg", "ES256") == "ES256" else None
    return None


def _header(text: str) -> Mapping[str, Any] | None:
    """The header of a JWT: not believed, only used to choose among the keys that we hold. None if it is no JWT."""
    first = text.split(".", 1)[0] if len(text) <= _LONGEST_JWT and text.count(".") == 2 else ""
    try:
        header = json.loads(base64.b64decode(first + "=" * (-len(first) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        header = None
    return header if isinstance(header, dict) else None


def is_safe(place: str) -> bool:
    """Whether nobody can change on the way what is said to an address and by it."""
    parts = urlsplit(place)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


def fetch(place: str, *, sent: bytes | None = None, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """A small JSON object from an address of the issuer, without following it elsewhere; empty if it is none.

    Args:
        place: the address.
        sent: a form that is sent there; None to read.
        headers: further headers.

    Raises:
        OSError, ValueError: it cannot be had.
    """
    if not is_safe(place):
        raise ValueError("not an address that nobody can change on the way")
    asked = Request(place, data=sent, headers={"Accept": "application/json", **(headers or {})})  # noqa: S310
    with _opener().open(asked, timeout=_TIMEOUT) as answer:
        if answer.status != HTTPStatus.OK:
            raise ValueError("no answer")
        content = answer.read(_MOST_BYTES + 1)
    found = json.loads(content) if len(content) <= _MOST_BYTES else None
    return found if isinstance(found, dict) else {}


def _opener() -> OpenerDirector:
    # Without the proxies that the environment names: nothing here reads the environment.
    return build_opener(ProxyHandler({}), _NoRedirects())
