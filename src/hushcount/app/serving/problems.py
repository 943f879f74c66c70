"""Problems: what went wrong, as a stable code, a title, a sentence of help, and whether anything was charged.

One table for all errors. After data was read for a question, the text of an error stays here: two failures that depend
on the data look the same to whoever asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hushcount import errors
from hushcount.accounting import zcdp
from hushcount.app.forms import refusal_form
from hushcount.app.words import in_releases, room, standard_releases
from hushcount.ledger.ledger import Refusal, Variant
from hushcount.model.budgets import STANDARD

_TITLES = {
    "invalid-parameter": "Something in the request cannot be used",
    "unknown-column": "The data has no such column",
    "unknown-option": "There is no such option",
    "unsafe-filter": "The filter uses more than the safe grammar",
    "not-signed-in": "Nobody knows who is asking",
    "not-permitted": "Your role does not allow it",
    "budget-exhausted": "This question does not fit into what is left",
    "over-max-cost": "This question may cost more than you allowed",
    "frozen": "An owner has stopped all questions here",
    "not-found": "There is nothing of that name for you",
    "reservation-closed": "The reservation is closed",
    "data-changed": "The data changed meanwhile",
    "no-such-format": "It cannot be had in that format",
    "body-too-large": "The request is too large",
    "not-json": "The request is not JSON",
    "key-reused": "The key was used for another request",
    "too-many-requests": "Too many requests in a short time",
    "store-failed": "The data store could not answer",
    "store-incomplete": "The data store could not answer completely",
    "store-timeout": "The data store took too long",
    "ledger-unavailable": "The ledger cannot be reached",
    "busy": "The server has enough to do",
    "cancelled": "It was cancelled",
    "internal": "Something failed inside",
}
CODES = tuple(_TITLES)
_WHICH: tuple[tuple[type[errors.HushcountError], str], ...] = (
    (errors.UnknownColumn, "unknown-column"),
    (errors.UnsafeFilter, "unsafe-filter"),
    (errors.InvalidParameter, "invalid-parameter"),
    (errors.UnsafeMechanism, "invalid-parameter"),
    (errors.MissingExtra, "no-such-format"),
    (errors.NotSignedIn, "not-signed-in"),
    (errors.OverMaxCost, "over-max-cost"),
    (errors.Frozen, "frozen"),
    (errors.BudgetExhausted, "budget-exhausted"),
    (errors.NotPermitted, "not-permitted"),
    (errors.JoinRefused, "not-permitted"),
    (errors.NotFound, "not-found"),
    (errors.UnknownDataset, "not-found"),
    (errors.KeyReused, "key-reused"),
    (errors.Outdated, "data-changed"),
    (errors.ReservationClosed, "reservation-closed"),
    (errors.CostOverrun, "reservation-closed"),
    (errors.Cancelled, "cancelled"),
    (errors.TooManyRequests, "too-many-requests"),
    (errors.Busy, "busy"),
    (errors.StoreIncomplete, "store-incomplete"),
    (errors.StoreTimeout, "store-timeout"),
    (errors.StoreFailed, "store-failed"),
    (errors.UnreadableSource, "store-failed"),
    (errors.InvalidInput, "store-failed"),
    (errors.OtherPerson, "store-failed"),
    (errors.SeveralDatasets, "store-failed"),
    (errors.LedgerUnavailable, "ledger-unavailable"),
    (errors.LedgerMissing, "ledger-unavailable"),
    (errors.LedgerForeign, "ledger-unavailable"),
    (errors.LedgerMismatch, "ledger-unavailable"),
    (errors.SecretUnusable, "ledger-unavailable"),
    (errors.ClockImplausible, "ledger-unavailable"),
)
# Failures of the data or of the store: after data was read for a question, nothing of their text is shown.
_OF_DATA = frozenset({"store-failed", "store-incomplete", "store-timeout", "internal"})
# What passes by itself: to try again under the same key may help.
PASSING = frozenset({"store-failed", "store-incomplete", "store-timeout", "ledger-unavailable", "busy"})
_AFTER_READING = "Data was read for it, so what was held stays charged. An owner finds more under the request's id."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong, for whoever asked.

    Attributes:
        code: stable, one of `CODES`.
        detail: what happened, why it matters, what to type.
        charged: whether anything was charged for the request; None if that is not known.
        more: further members, by code.
    """

    code: str
    detail: str
    charged: bool | None = False
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The problem in a few words."""
        return _TITLES[self.code]

    def to_form(self) -> dict[str, Any]:
        """As JSON, but for what only HTTP knows."""
        return {
            "code": self.code,
            "title": self.title,
            "detail": self.detail,
            "charged": self.charged,
            **self.more,
        }

    @staticmethod
    def from_text(text: str | None) -> Problem:
        """The problem that a job's outcome is."""
        form = json.loads(text or "{}")
        return Problem.from_form(form) if form else Problem(code="cancelled", detail="Nothing was charged.")

    @staticmethod
    def from_form(form: Mapping[str, Any]) -> Problem:
        """The problem that `to_form` told."""
        known = {"code", "title", "detail", "charged"}
        more = {name: value for name, value in form.items() if name not in known}
        return Problem(code=form["code"], detail=form["detail"], charged=form["charged"], more=more)


# With a fixed delay, of what took longer: the same words whatever it was, and whether or not it has ended since.
LATE = Problem(code="store-timeout", detail="It was not answered in time, and stays charged.", charged=True)


def problem_of(error: Exception, *, charged: bool | None = False) -> Problem:
    """The problem that an error is.

    Args:
        error: what was raised.
        charged: whether the ledger holds or has charged anything for the request.
    """
    code = next((code for kind, code in _WHICH if isinstance(error, kind)), "internal")
    if code in _OF_DATA and charged:
        return Problem(code=code, detail=_AFTER_READING, charged=True)
    if code == "internal":
        return Problem(code=code, detail="The failure was noted; nothing of it is shown.", charged=charged)
    notes = [] if charged else getattr(error, "__notes__", [])
    refusal = getattr(error, "refusal", None)
    said = refusal_sentences(refusal) if isinstance(refusal, Refusal) else str(error)
    detail = " ".join([said, *notes])
    if charged is False and "charged" not in detail:
        detail += " Nothing was charged."
    return Problem(code=code, detail=detail, charged=charged, more=_more(error))


def _more(error: Exception) -> dict[str, Any]:
    if isinstance(error, errors.InvalidParameter):
        return {"pointer": f"/{error.name.replace(' ', '_')}"}
    refusal = getattr(error, "refusal", None)
    return refusal_members(refusal) if isinstance(refusal, Refusal) else {}


def refusal_sentences(refusal: Refusal) -> str:
    """A refusal as a service says it: in standard releases, of accounts and answers as callers know them.

    The ledger's own sentences name populations, which may be called like data sets that the caller never heard of, and
    numbers of its book.
    """
    told = [f"This question may cost {standard_releases(in_releases(refusal.asked))}; nothing was charged."]
    for balance in refusal.short:
        if balance.left is not None and balance.limit is not None:
            words = _account_words(balance.account.kind)
            told.append(f"{words[0].upper()}{words[1:]}: {standard_releases(room(balance.left, balance.limit))} left.")
    if refusal.renews is not None:
        told.append(f"It renews on {refusal.renews:%Y-%m-%d %H:%M} UTC.")
    if refusal.variant is not None:
        told.append(f"This would fit: {refusal.variant}.")
    if refusal.stored:
        told.append(f"Yours already, and free: {'; '.join(what or 'a question' for _, what in refusal.stored)}.")
    if refusal.ask_whom:
        told.append(f"To have more, ask {', '.join(refusal.ask_whom)}: POST /v1/requests.")
    return " ".join(told)


def refusal_members(refusal: Refusal) -> dict[str, Any]:
    """A refusal as API part 5.4 tells it: asked, left, on what it was spent, what would fit, whom to ask."""
    form = refusal_form(refusal)
    return {
        "asked": {"releases": round(in_releases(refusal.asked), 6)},
        "left": {"releases": round(max(0.0, float(refusal.room.rho / STANDARD.rho)), 6)},
        "short": [_account_words(balance.account.kind) for balance in refusal.short],
        "renews": form["renews"],
        "spent_on": [
            {"what": one.what, "releases": round(in_releases(one.spent), 6), "when": one.when.date().isoformat()}
            for one in refusal.spenders
        ],
        "would_fit": [] if refusal.variant is None else [variant_form(refusal.variant)],
        "already_answered": [{"what": what} for _, what in refusal.stored],
        "ask": {"owners": list(refusal.ask_whom), "with": "POST /v1/requests"},
    }


def variant_form(variant: Variant) -> dict[str, Any]:
    """What to send instead, as members of the question; what it costs at most, and how accurate it would be."""
    return {
        "change": dict(variant.change),
        "releases": round(in_releases(zcdp.spent(variant.cost)), 6),
        "give_or_take": variant.give_or_take,
        "cutoff": variant.cutoff,
    }


def _account_words(kind: str) -> str:
    return {
        "analyst": "your own budget",
        "group": "your group's budget",
        "token": "this token's cap",
        "dataset": "the data's budget, which all share",
    }[kind]
