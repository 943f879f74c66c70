"""Every exception of the client, in one tree.

ServiceError
├── BudgetExhausted  the question does not fit into what is left; says what would fit
├── NotSignedIn      the token is missing, wrong or over
├── InvalidOption    an option that no server would take, or an address that is none; nothing was sent
├── Unreachable      no whole reply came, however often it was tried
├── StillRunning     the answer is not there yet and patience is over; the question goes on at the server
└── NotUnderstood    what answered does not speak this protocol: a proxy's page, a redirect, a body beyond the limit

All others are told apart by `code`, which is the server's own (`over-max-cost`, `not-found`, `unsafe-filter`, ...).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LONGEST = 4000
_CHARGED = {True: "It was charged.", False: "Nothing was charged."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is known of a failure.

    Attributes:
        code: a stable word for programs.
        title: what happened.
        detail: why it matters and what to do.
        status: the status of the reply; None if there was none.
        charged: whether anything was charged; None if that is not known.
        request_id: the name under which the server's owner finds it.
        members: everything else that the server said.
    """

    code: str
    title: str
    detail: str = ""
    status: int | None = None
    charged: bool | None = None
    request_id: str | None = None
    members: Mapping[str, Any] = field(default_factory=dict)


class ServiceError(Exception):
    """The service refused, failed or could not be reached.

    Attributes:
        code: a stable word for programs.
        title: what happened.
        detail: why it matters and what to do.
        status: the status of the reply; None if there was none.
        charged: whether anything was charged; None if that is not known.
        would_fit: cheaper ways to ask that fit, each with its change, its price and its accuracy.
        members: everything that the server said.
        key: the key under which it was asked: the same question under it is never paid twice.
    """

    def __init__(self, said: Said) -> None:
        super().__init__(said)
        self.said = said
        self.code, self.title, self.detail = said.code, said.title, said.detail
        self.status, self.charged, self.request_id = said.status, said.charged, said.request_id
        self.members = said.members
        fits = said.members.get("would_fit")
        self.would_fit: tuple[Mapping[str, Any], ...] = (
            tuple(one for one in fits if isinstance(one, dict)) if isinstance(fits, list) else ()
        )
        self.key: str | None = None

    def __str__(self) -> str:
        words = [_sentence(self.title), _sentence(self.detail)]
        if self.charged is not None and "charged" not in self.detail:
            words.append(_CHARGED[self.charged])
        if self.would_fit and "would fit" not in self.detail:
            words.append(f"This would fit: {'; '.join(map(_offer, self.would_fit))}.")
        return plain(" ".join(word for word in words if word))


class BudgetExhausted(ServiceError):
    """The question does not fit into what is left. Nothing was charged; `would_fit` says what would."""


class NotSignedIn(ServiceError):
    """The token is missing, wrong or over."""


class InvalidOption(ServiceError, ValueError):
    """What was said cannot be asked of any server. Nothing was sent."""

    def __init__(self, said: Said | str) -> None:
        if isinstance(said, str):
            said = Said(code="invalid-option", title=said, charged=False)
        super().__init__(said)


class Unreachable(ServiceError):
    """No whole reply came. `sent` says whether the request may have arrived."""

    def __init__(self, said: Said, *, sent: bool = True) -> None:
        super().__init__(said)
        self.sent = sent


class StillRunning(ServiceError):
    """Patience is over before the answer. The question goes on; the same call with `key` joins it, and pays once."""

    def __init__(self, said: Said, *, query: str = "") -> None:
        super().__init__(said)
        self.query = query


class NotUnderstood(ServiceError):
    """What answered does not speak this protocol."""


_KINDS = {"budget-exhausted": BudgetExhausted, "not-signed-in": NotSignedIn}


def problem(status: int, members: Mapping[str, Any], *, request_id: str | None = None) -> ServiceError:
    """The exception of a problem that the server stated (RFC 9457)."""
    code = members.get("code") or str(members.get("type", "")).rpartition("/")[2] or f"status-{status}"
    charged = members.get("charged")
    said = Said(
        code=plain(str(code)),
        title=str(members.get("title") or f"The server answered with status {status}"),
        detail=str(members.get("detail") or ""),
        status=status,
        # Only true and false are a word about money; anything else, also a missing member, is none.
        charged=charged if isinstance(charged, bool) else None,
        request_id=str(members["request_id"]) if members.get("request_id") else request_id,
        members=members,
    )
    return _KINDS.get(said.code, ServiceError)(said)


def plain(text: str) -> str:
    """A text that does nothing to a terminal or a log: a server, or what stands before it, may send anything."""
    shown = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text[:_LONGEST])
    return shown + (" ..." if len(text) > _LONGEST else "")


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?" else f"{text}."


def _offer(offer: Mapping[str, Any]) -> str:
    """One way to ask that fits, in a few words: preset=cautious (0.1 releases, give or take 76)."""
    change = offer.get("change")
    words = ", ".join(f"{name}={value}" for name, value in change.items()) if isinstance(change, dict) else str(change)
    parts = [f"{offer['releases']} releases"] if "releases" in offer else []
    if offer.get("give_or_take") is not None:
        parts.append(f"give or take {offer['give_or_take']}")
    return words + (f" ({', '.join(parts)})" if parts else "")
