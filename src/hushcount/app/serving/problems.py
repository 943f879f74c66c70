"""Problems: what went wrong, as a stable code, a title, a sentence of help, and whether anything was charged.

One table for all errors. After data was read for a question, the text of an error stays here: two failures that depend
on the data look the same to whoever asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hushcount import errors
from hushcount.app.words import standard_releases
from hushcount.model.budgets import STANDARD
from hushcount.model.frozen import frozen

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
# What one standard release has of each.
_UNITS = {"rho": STANDARD.rho, "delta": STANDARD.delta}
_HELD = "The store gave a part only, so nothing was drawn; ask again with the same key, for what is held already."
# Not to owners either: it may quote rows.
_WHERE = "Why, is shown to nobody; whoever runs the service finds when and how in its log, by the request's id."
_AFTER_READING = f"Data was read for it, so what was held stays charged. {_WHERE}"
# Where the ledger does not tell whether anything is held, it may be, and data may have been read.
_PERHAPS_AFTER_READING = (
    "It failed, and nobody can tell now whether anything was charged: ask again with the same key, which never charges "
    f"twice. {_WHERE}"
)


@frozen
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
        more = f" {_HELD}" if code == "store-incomplete" else ""
        return Problem(code=code, detail=_AFTER_READING + more, charged=True)
    if code == "internal":
        return Problem(code=code, detail="The failure was noted; nothing of it is shown.", charged=charged)
    if code in _OF_DATA and charged is None:
        return Problem(code=code, detail=_PERHAPS_AFTER_READING, charged=None)
    notes = [] if charged else getattr(error, "__notes__", [])
    detail = " ".join([_words(error), *notes])
    if charged is False and "charged" not in detail:
        detail += " Nothing was charged."
    return Problem(code=code, detail=detail, charged=charged, more=_more(error))


def _more(error: Exception) -> dict[str, Any]:
    return {"pointer": f"/{error.name.replace(' ', '_')}"} if isinstance(error, errors.InvalidParameter) else {}


def _words(error: Exception) -> str:
    """What an error says; amounts of the ledger's own in standard releases, as everywhere in a service."""
    if isinstance(error, errors.BudgetExhausted):
        # Why, is told to whom it was refused, by `refusals.refusal_problem`.
        return "It does not fit into what is left. Nothing was charged."
    if not isinstance(error, errors.OverMaxCost) or error.what not in _UNITS:
        return str(error)
    asked, most = (float(amount / _UNITS[error.what]) for amount in (error.asked, error.most))
    return (
        f"this question may cost {standard_releases(asked)}, and at most {most:.3g} was allowed for it. Allow more, or "
        "ask for less. Nothing was charged."
    )
