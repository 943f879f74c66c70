"""Tokens: what programs and spreadsheets sign in with. Shown once, kept as digests, narrow, capped and mortal.

A token acts for its owner and never does more than they may: scopes and data sets narrow what it does, a cap in
releases bounds what it spends, on each population, in all its life. The cap is a limit of the ledger, so that it is
held in the same transaction as every other account.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from hushcount.app import budgets
from hushcount.app.serving.callers import passes
from hushcount.app.setting import Setting
from hushcount.errors import InvalidParameter, NotFound, NotPermitted, NotSignedIn
from hushcount.ledger.ledger import EVERY, Account, Ledger
from hushcount.ledger.names import named
from hushcount.ledger.records import Record
from hushcount.model.frozen import frozen

Scope: TypeAlias = Literal["read", "ask", "manage", "program"]
SCOPES: tuple[str, ...] = get_args(Scope)
PREFIX = "hush_"
KIND, LETTER = "token", "t"
USUAL_LIFE = timedelta(days=90)
LONGEST_LIFE = timedelta(days=366)
_MOST_TOKENS = 100


@frozen
class Token:
    """A token as it may be shown.

    Attributes:
        id: its name; no part of its secret.
        owner: for whom it acts.
        label: what its owner calls it.
        scopes: "read" acts as a reader, "ask" as an analyst, "program" as a program, "manage" as its owner may.
        datasets: the ids of the only data sets that it reaches; None for all of its owner's.
        expires: when it ends.
        cap: how many standard releases it may ever spend on one population, as it was typed; None for no cap.
        made: when it was made.
        revoked: when it was revoked; None if it was not.
    """

    id: str
    owner: str
    label: str
    scopes: tuple[Scope, ...]
    datasets: tuple[str, ...] | None
    expires: datetime
    cap: str | None
    made: datetime
    revoked: datetime | None = None

    @property
    def whole(self) -> bool:
        """Whether it may do all that its owner may, so that a token made with it is no way around a bound."""
        return "manage" in self.scopes and self.datasets is None and self.cap is None


@frozen
class WantedToken:
    """A token as somebody wants it; see `Token`."""

    label: str
    scopes: tuple[str, ...] = ("ask",)
    datasets: tuple[str, ...] | None = None
    life: timedelta = USUAL_LIFE
    cap: str | None = None


@frozen
class NewToken:
    """A new token with its text, which is shown this once."""

    token: Token
    text: passes.Pass


def make_token(
    setting: Setting, key: bytes, *, owner: str, wanted: WantedToken, maker: Token | None = None
) -> NewToken:
    """Make a token for somebody who is signed in.

    Args:
        setting: whose ledger.
        key: the service's key of tokens.
        owner: for whom it acts.
        wanted: what it should be.
        maker: the token by which the owner signed in, if by one.

    Raises:
        NotPermitted: a narrowed token was used to make another, or the owner has too many.
        InvalidParameter: a scope, a life or a cap that cannot be.
    """
    ledger, now = ledger_of(setting), setting.clock()
    scopes, life = _scopes(wanted.scopes), _life(wanted.life)
    if maker is not None and not maker.whole:
        raise NotPermitted(
            "a token that is narrowed or capped cannot make another, or its bounds would bind nothing. Sign in as "
            "yourself, or with a token of the scope 'manage' without data sets and cap. Nothing was made."
        )
    if len(tokens_of(setting, owner)) >= _MOST_TOKENS:
        raise NotPermitted(f"{owner!r} has {_MOST_TOKENS} tokens already; revoke some first. Nothing was made.")
    ends = min([now + life, *([] if maker is None else [maker.expires])])
    new = passes.new_pass(PREFIX, LETTER)
    body = {
        "digest": passes.digest(key, new.text),
        "label": named("label", wanted.label),
        "scopes": list(scopes),
        "datasets": None if wanted.datasets is None else sorted(wanted.datasets),
        "expires": ends.isoformat(),
        "cap": wanted.cap,
        "revoked": None,
    }
    cap = None if wanted.cap is None else budgets.make_limit({"releases": wanted.cap}, window="none", mode="enforce")
    record = ledger.records.put(KIND, new.id, body, owner=owner, by=owner, edition=0)
    if record is None:  # pragma: no cover (only a body of None removes)
        raise LookupError(new.id)
    # A cap is set by whoever owns the token's record. If this breaks off, nobody has seen the text of the token.
    if cap is not None:
        ledger.set_limit(Account(kind="token", name=new.id, entity=EVERY), cap, by=owner)
    return NewToken(token=token_of(record), text=new)


def know_token(setting: Setting, key: bytes, text: str) -> Token:
    """The token that a text is.

    Raises:
        NotSignedIn: it is not one, or it has ended. Which one, is told only to who has the whole secret.
    """
    name = passes.id_of(text, PREFIX, LETTER)
    if name is None:
        raise NotSignedIn(
            "this token was mistyped or cut off: its checksum is wrong. Copy it anew. Nothing was charged."
        )
    record = ledger_of(setting).records.find(KIND, name)
    if not passes.matches(key, text, kept=None if record is None else record.body["digest"]) or record is None:
        raise NotSignedIn("nobody has this token. Make one: POST /v1/tokens, signed in. Nothing was charged.")
    token = token_of(record)
    if token.revoked is not None:
        raise NotSignedIn(f"the token {token.id} was revoked. Make a new one. Nothing was charged.")
    if token.expires <= setting.clock():
        raise NotSignedIn(
            f"the token {token.id} ended on {token.expires:%Y-%m-%d}. Make a new one. Nothing was charged."
        )
    return token


def revoke(setting: Setting, name: str, *, by: str, everybody: bool = False) -> Token:
    """End a token at once; repeating it does nothing.

    Args:
        setting: whose ledger.
        name: the token's id.
        by: who revokes it.
        everybody: whether they may revoke those of others, as owners may.

    Raises:
        NotFound: there is none, or it is somebody else's.
    """
    records = ledger_of(setting).records
    record = records.find(KIND, name)
    if record is None or (record.owner != by and not everybody):
        raise NotFound(f"there is no token {name!r} of yours. Nothing was changed.")
    if record.body["revoked"] is None:
        body = {**record.body, "revoked": setting.clock().isoformat()}
        record = records.put(KIND, name, body, owner=record.owner, by=by) or record
    return token_of(record)


def tokens_of(setting: Setting, owner: str) -> tuple[Token, ...]:
    """The tokens of a person that have not ended, by id."""
    now = setting.clock()
    found = map(token_of, ledger_of(setting).records.page(KIND, owner=owner, size=10_000))
    return tuple(token for token in found if token.revoked is None and token.expires > now)


def token_of(record: Record) -> Token:
    """The token that a record holds."""
    body = record.body
    return Token(
        id=record.id,
        owner=record.owner,
        label=body["label"],
        scopes=tuple(body["scopes"]),
        datasets=None if body["datasets"] is None else tuple(body["datasets"]),
        expires=datetime.fromisoformat(body["expires"]),
        cap=body["cap"],
        made=record.made,
        revoked=None if body["revoked"] is None else datetime.fromisoformat(body["revoked"]),
    )


def token_form(token: Token) -> dict[str, Any]:
    """A token in JSON: never its secret."""
    return {
        "id": token.id,
        "owner": token.owner,
        "label": token.label,
        "scopes": list(token.scopes),
        "datasets": None if token.datasets is None else list(token.datasets),
        "expires": token.expires.isoformat(timespec="seconds"),
        "cap": None if token.cap is None else {"releases": token.cap},
        "made": token.made.isoformat(timespec="seconds"),
        "revoked": None if token.revoked is None else token.revoked.isoformat(timespec="seconds"),
    }


def ledger_of(setting: Setting) -> Ledger:
    """The ledger of a service, which always has one."""
    if setting.ledger is None:
        raise LookupError("a service without a ledger")
    return setting.ledger


def _scopes(given: tuple[str, ...]) -> tuple[Scope, ...]:
    strange = sorted(set(given) - set(SCOPES))
    if strange or not given:
        raise InvalidParameter("scopes", ", ".join(strange) or "none", f"some of {', '.join(SCOPES)}")
    return tuple(scope for scope in get_args(Scope) if scope in given)


def _life(life: timedelta) -> timedelta:
    if not timedelta(0) < life <= LONGEST_LIFE:
        raise InvalidParameter("life", str(life), f"between a moment and {LONGEST_LIFE.days} days")
    return life
