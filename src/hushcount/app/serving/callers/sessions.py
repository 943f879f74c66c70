"""Sessions: who signed in with a browser, for some hours. The cookie is a pass; the ledger keeps its digest.

A session made with a token is never more than that token: it ends with it, and when it is revoked. One of somebody whom
an issuer named holds what the issuer said then, and no longer than its hours. Signing out ends a session here and not
only in the browser, so that a cookie that was copied ends too.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from http.cookies import CookieError, SimpleCookie

from hushcount.app.serving.callers import passes
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import KIND as TOKEN
from hushcount.app.serving.callers.tokens import ledger_of, token_of
from hushcount.app.serving.setup.config import Config
from hushcount.app.setting import Setting
from hushcount.errors import NotSignedIn
from hushcount.ledger.records import Record

PREFIX = "hushsession_"
KIND, LETTER = "session", "s"
LIFE = timedelta(hours=12)
COOKIE = "hushcount"
_MOST_SESSIONS = 20
_OVER = "your session is over, or was ended. Sign in again. Nothing was charged."


def begin(setting: Setting, key: bytes, *, caller: Caller) -> passes.Pass:
    """A new session of somebody who is known; the oldest are ended where there are too many."""
    records, now, token = ledger_of(setting).records, setting.clock(), caller.token
    mine = sorted(records.page(KIND, owner=caller.name, size=1_000), key=lambda one: one.made, reverse=True)
    for record in [one for place, one in enumerate(mine) if place >= _MOST_SESSIONS - 1 or _ended(one, now)]:
        records.put(KIND, record.id, None, owner=record.owner, by=caller.name)
    new = passes.new_pass(PREFIX, LETTER)
    ends = min([now + LIFE, *([] if token is None else [token.expires])])
    body = {
        "digest": passes.digest(key, new.text),
        "token": None if token is None else token.id,
        "groups": list(caller.groups),
        "expires": ends.isoformat(),
    }
    records.put(KIND, new.id, body, owner=caller.name, by=caller.name, edition=0)
    return new


def know_session(setting: Setting, key: bytes, text: str) -> Caller:
    """Whose session a cookie is.

    Raises:
        NotSignedIn: there is no such session, it is over, or its token is.
    """
    record = _record(setting, key, text)
    if record is None or _ended(record, setting.clock()):
        raise NotSignedIn(_OVER)
    if record.body["token"] is None:
        return Caller(name=record.owner, groups=tuple(record.body["groups"]))
    found = ledger_of(setting).records.find(TOKEN, record.body["token"])
    token = None if found is None else token_of(found)
    if token is None or token.revoked is not None or token.expires <= setting.clock():
        raise NotSignedIn(_OVER)
    return Caller(name=token.owner, token=token)


def end(setting: Setting, key: bytes, text: str) -> None:
    """Sign out; repeating it does nothing."""
    record = _record(setting, key, text)
    if record is not None:
        ledger_of(setting).records.put(KIND, record.id, None, owner=record.owner, by=record.owner)


def is_secure(config: Config) -> bool:
    """Whether browsers come over TLS."""
    return (config.server.public_url or "").startswith("https://")


def cookie_name(config: Config, name: str = COOKIE) -> str:
    """What a cookie is called in browsers: over TLS with a prefix, so that they let no other host set it.

    They send it back over TLS alone, and to no other host and path. A page next door could set the plain one, and sign
    somebody in as itself or keep them from signing out.
    """
    return f"__Host-{name}" if is_secure(config) else name


def cookie_of(header: str | None, name: str) -> str | None:
    """What a cookie header has of this name; None if there is nothing, or no sense in it."""
    try:
        found = SimpleCookie(header or "")
    except CookieError:
        return None
    return found[name].value if name in found else None


def _record(setting: Setting, key: bytes, text: str) -> Record | None:
    name = passes.id_of(text, PREFIX, LETTER)
    record = None if name is None else ledger_of(setting).records.find(KIND, name)
    kept = None if record is None else record.body["digest"]
    return record if passes.matches(key, text, kept=kept) else None


def _ended(record: Record, now: datetime) -> bool:
    return datetime.fromisoformat(record.body["expires"]) <= now
