"""Entering by an issuer: a browser is sent there and comes back with a code, which becomes a known person.

OpenID Connect's code flow (Core 1.0, section 3.1) with PKCE (RFC 7636). What binds the way back to the way there is
kept in a cookie of the browser that went, under a MAC of ours: the state, which no other page can know; the nonce,
which must be in the issuer's word; and the verifier, without which the code is worth nothing to whoever else sees it.
The issuer's word comes from the issuer itself, over TLS, is checked like every JWT, and must be made out to this
service.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, field
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.issuers import Issuer, fetch
from hushcount.app.serving.callers.signing import by_claims
from hushcount.app.serving.setup.keyfiles import read_password
from hushcount.errors import NotSignedIn
from hushcount.model.frozen import frozen
from hushcount.noise.source import new_secret

LIFE = timedelta(minutes=10)
_AGAIN = "Sign in again from the start. Nothing was charged."


@frozen
class Redirect:
    """One way there and back.

    Attributes:
        onward: where whoever comes back wanted to go.
        until: when it is over.
        state: what the issuer hands back with the code.
        nonce: what the issuer's word must hold.
        verifier: what proves that who went is who came back.
    """

    onward: str
    until: str
    state: str = field(default_factory=lambda: _letters(new_secret()))
    nonce: str = field(default_factory=lambda: _letters(new_secret()), repr=False)
    verifier: str = field(default_factory=lambda: _letters(new_secret()), repr=False)

    def kept(self, key: bytes) -> str:
        """As it is kept in the browser's cookie."""
        body = _letters(json.dumps(asdict(self)).encode())
        return f"{body}.{_mac(key, body)}"


def new_entry(onward: str, now: datetime) -> Redirect:
    """A way there, which begins now."""
    return Redirect(onward=onward, until=(now + LIFE).isoformat())


def entry_of(key: bytes, kept: str | None, now: datetime) -> Redirect:
    """The way on which a browser comes back.

    Raises:
        NotSignedIn: it never went, or too long ago.
    """
    body, _, mac = (kept or "").partition(".")
    try:
        known = hmac.compare_digest(mac.encode(), _mac(key, body).encode())
        entry = Redirect(**json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))) if known else None
    except (ValueError, TypeError, binascii.Error):
        entry = None
    if entry is None or datetime.fromisoformat(entry.until) <= now:
        raise NotSignedIn(f"this browser did not begin to sign in here, or too long ago. {_AGAIN}")
    return entry


def way_there(issuer: Issuer, entry: Redirect, *, back: str) -> str:
    """Where a browser is sent; `back` is where the issuer sends it then."""
    challenge = _letters(hashlib.sha256(entry.verifier.encode()).digest())
    asked = {
        "response_type": "code",
        "client_id": issuer.config.client_id,
        "redirect_uri": back,
        "scope": "openid profile email",
        "state": entry.state,
        "nonce": entry.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    place = issuer.place("authorization_endpoint")
    return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"


def came_back(issuer: Issuer, entry: Redirect, told: Mapping[str, str], *, back: str, now: datetime) -> Caller:
    """Who comes back.

    Args:
        issuer: from where.
        entry: the way on which they went.
        told: what the address says with which they come: `code`, `state`, perhaps `iss` or `error`.
        back: the address without that, as it was said on the way there.
        now: the time.

    Raises:
        NotSignedIn: it is not their way back, or the issuer names nobody.
        Busy: the issuer cannot be asked now.
    """
    mine = hmac.compare_digest(told.get("state", "").encode(), entry.state.encode())
    if not mine or told.get("iss", issuer.config.issuer) != issuer.config.issuer:
        raise NotSignedIn(f"this is not the way back of what began in this browser. {_AGAIN}")
    if "code" not in told:
        raise NotSignedIn(f"{issuer.config.issuer} did not sign you in. {_AGAIN}")
    claims = issuer.claims(_word(issuer, entry, told["code"], back=back), now=now, audience=issuer.config.client_id)
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), entry.nonce.encode()):
        raise issuer.refused("a word for another way in")
    return by_claims(issuer, claims)


def _word(issuer: Issuer, entry: Redirect, code: str, *, back: str) -> str:
    """The issuer's word on who has this code."""
    config = issuer.config
    secret = "" if config.client_secret_file is None else read_password(config.client_secret_file)
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": entry.verifier}
    # RFC 6749, 2.3.1: both parts are encoded before they are joined.
    both = f"{quote(config.client_id, safe='')}:{quote(secret, safe='')}".encode()
    headers = {
        "Authorization": f"Basic {base64.b64encode(both).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    place = issuer.place("token_endpoint")
    try:
        told = fetch(place, sent=urlencode(sent).encode(), headers=headers)
    except (OSError, ValueError, RecursionError):
        told = {}
    word = told.get("id_token")
    if not isinstance(word, str):
        raise issuer.refused("a code that its issuer does not know")
    return word


def _mac(key: bytes, body: str) -> str:
    return hmac.digest(key, b"hushcount entry\0" + body.encode(), hashlib.sha256).hex()


def _letters(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
