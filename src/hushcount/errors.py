"""Every exception of hushcount, in one tree.

HushcountError
├── InvalidParameter   a parameter is outside its range; nothing was read, nothing was spent
├── InvalidInput       the data handed over breaks a stated bound; carries no value from the data
├── UnreadableSource   a file, table or frame cannot be opened or read
├── UnknownColumn      a column is named that the data does not have; lists the columns and the nearest name
├── UnsafeFilter       a filter uses more than the safe grammar
├── MissingExtra       an optional package is not installed; the text says which and how to get it
├── UnsafeMechanism    the mechanism asked for is not private; the text names the reference
├── UnsupportedCost    an accountant was given a cost it has no theorem for; it refuses instead of guessing
├── BudgetExhausted    the next step does not fit into what is left; asked and left are attributes
├── LedgerUnavailable  the ledger cannot be reached or written; what it holds is safe, and a retry with the key is safe
├── LedgerMissing      there is no ledger at that place, and opening never makes one
├── LedgerForeign      the file or schema holds something that is not our ledger; it was not written to
├── LedgerMismatch     the ledger's log does not add up to what the ledger says; somebody edited it
├── SecretUnusable     the secret is not the one that the ledger was founded with, or cannot be kept
├── ClockImplausible   the clock is far from what the ledger has seen; an owner must say which is right
├── UnknownDataset     no data set has that name; the nearest is named
├── SeveralDatasets    the data is known as more than one data set; the text has the command to join them
├── OtherPerson        another column is pinned as the one that says who a person is
├── JoinRefused        two populations cannot be made one as they stand; the text says what to do first
├── KeyReused          an idempotency key came back with another request
├── ReservationClosed  a reservation can no longer be settled or refunded; the text says what was charged
├── CostOverrun        a mechanism used more than was reserved: all of it was charged, nothing was released
├── OverMaxCost        the worst case is above what the caller said it may cost; nothing was charged
├── Frozen             an owner stopped all questions about this data; nothing was charged
├── Cancelled          the question was stopped before data was read; nothing was charged
├── Outdated           a record was changed by somebody else meanwhile; nothing was written
├── NotPermitted       the person's role does not allow it
├── NotSignedIn        nobody knows who calls; the text says how to sign in
├── NotFound           there is no such thing, or not for this caller: the two look the same
├── TooManyRequests    more requests than are allowed in this time; `after` says how many seconds to wait
├── Busy               all places are taken, or the service is about to stop; `after` says how many seconds to wait
├── StoreFailed        the store that holds the data failed; carries none of its words
├── StoreIncomplete    the store gave a part of the answer only, so there is none
└── StoreTimeout       the store took longer than it may

Each message says what was asked, why it cannot be, and what to write instead. Errors raised after data was read
carry no item, no person and no true count: messages are an output channel too.
"""

from __future__ import annotations

import re
import shlex
from decimal import Decimal

# Facts that are said under another name: as a user writes them.
SAID = {
    "max_items": "max_items_per_user",
    "public_items": "keys",
    "relative_error": "error",
    "with_counts": "counts",
}
# What looks like a part of a moment.
_PART = re.compile(r"\w+\(.+\)", re.DOTALL)
# Beyond these an error shows a number in short, and only the beginning of a text.
_MANY_DIGITS, _LONGEST = 60, 300


class HushcountError(Exception):
    """Base of all errors raised on purpose by hushcount."""


def brief(value: object) -> str:
    """A value as errors show it: a number of hundreds of digits, or a text that fills the screen, is cut short."""
    text = repr(value)
    if isinstance(value, int | Decimal) and len(text) > _MANY_DIGITS:
        return f"{Decimal(value):.3g}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class InvalidParameter(HushcountError, ValueError):
    """A parameter is outside its range. Nothing was read and nothing was spent.

    `value` is None where it is missing.
    """

    def __init__(self, name: str, value: object, want: str, hint: str = "") -> None:
        self.name, self.value, self.want, self.hint = SAID.get(name, name), value, want, hint
        super().__init__(self.words(self.name if value is None else f"{self.name} = {brief(value)}"))

    def words(self, said: str) -> str:
        """What is wrong with a parameter that was said so."""
        wrong = "must be" if self.value is None else "cannot be used: it must be"
        return f"{said} {wrong} {self.want}.{f' {self.hint}' if self.hint else ''}"


class InvalidInput(HushcountError, ValueError):
    """The data handed over breaks a bound that the guarantee rests on. The text carries no value from the data."""


class UnreadableSource(HushcountError):
    """A file, table or frame cannot be opened or read. The text never quotes a value from it."""


class UnknownColumn(HushcountError, LookupError):
    """A column is named that the data does not have."""

    def __init__(self, name: str, columns: tuple[str, ...], nearest: str | None) -> None:
        self.name, self.columns, self.nearest = name, columns, nearest
        guess = f" Did you mean {nearest!r}?" if nearest else ""
        if _PART.fullmatch(name):
            guess += " Of a moment there are hour(COLUMN), day(COLUMN), week(COLUMN) and month(COLUMN)."
        listed = f"; the columns are {', '.join(columns)}" if columns else ""
        super().__init__(f"there is no column {name!r}{listed}.{guess}")


class UnsafeFilter(HushcountError, ValueError):
    """A filter uses more than columns, literals, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and IS NULL."""


class MissingExtra(HushcountError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, command: str) -> None:
        self.package, self.command = package, command
        super().__init__(f"this needs the package '{package}', which is not installed; get it with: {command}")


class UnsafeMechanism(HushcountError):
    """The mechanism asked for is known not to be private, or not private for these facts."""


class UnsupportedCost(HushcountError):
    """An accountant was asked about a cost for which it has no theorem."""


class BudgetExhausted(HushcountError):
    """The next step does not fit into what is left of the budget. A ledger adds all it knows as `refusal`."""

    def __init__(self, what: str, *, asked: Decimal, left: Decimal, refusal: object = None, text: str = "") -> None:
        self.what, self.asked, self.left, self.refusal = what, asked, left, refusal
        super().__init__(text or f"{what}: asked for {asked}, {left} left; ask for less or raise the limit.")


class LedgerUnavailable(HushcountError):
    """The ledger cannot be reached or written. Nothing that was charged is lost; repeat the call with the same key.

    `passes` if it is only away or busy: a server waits for that. Nothing else becomes right by waiting.
    """

    def __init__(self, text: str, *, passes: bool = False) -> None:
        self.passes = passes
        super().__init__(text)


class LedgerMismatch(HushcountError):
    """The log of a ledger does not add up to its balances, or a link of its chain is broken."""


class LedgerMissing(HushcountError, LookupError):
    """There is no ledger at that place. Nothing was made: an empty ledger would be a forgotten budget."""


class LedgerForeign(HushcountError):
    """What is at that place is not a ledger of ours. It was left as it is, byte for byte."""


class SecretUnusable(HushcountError):
    """The secret is not the one of this ledger, or cannot be kept. Nothing was charged."""


class ClockImplausible(HushcountError):
    """The clock is so far from what the ledger has seen that windows cannot be told by it. Nothing was charged.

    `deed` is what an owner would say if the clock is right: "accept" it, or "repair" what an earlier one did.
    """

    def __init__(self, text: str, *, deed: str) -> None:
        self.deed = deed
        super().__init__(text)


class UnknownDataset(HushcountError, LookupError):
    """No data set has that name. Nothing was charged."""

    def __init__(self, name: str, nearest: str | None = None) -> None:
        self.name, self.nearest = name, nearest
        guess = f" Did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"the ledger knows no data set {name!r}.{guess} Nothing was charged.")


class SeveralDatasets(HushcountError):
    """The identities of the data belong to several data sets. Nothing was bound and nothing charged."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        shown = ", ".join(repr(name) for name in names)
        joins = "; ".join(f"hushcount catalog join {shlex.quote(names[0])} {shlex.quote(name)}" for name in names[1:])
        super().__init__(
            f"this data is known as several data sets: {shown}. A question about all of them must be charged to all of "
            f"them. If they are about the same people, an owner makes them one: {joins}. If not, ask each on its own. "
            "Nothing was charged."
        )


class OtherPerson(HushcountError):
    """Another column is pinned as the one that says who a person is. Nothing was bound and nothing charged."""

    def __init__(self, dataset: str, *, pinned: str, asked: str) -> None:
        self.dataset, self.pinned, self.asked = dataset, pinned, asked
        super().__init__(
            f"in the data set {dataset!r} the column {pinned!r} says who a person is, not {asked!r}: what is spent is "
            f"added up for one kind of person only. Ask by {pinned!r}; if that is wrong, an owner changes it in the "
            "catalog. Nothing was charged."
        )


class JoinRefused(HushcountError):
    """Two populations cannot be made one as they stand. Nothing was changed."""


class KeyReused(HushcountError):
    """An idempotency key was used before, for another request."""


class ReservationClosed(HushcountError):
    """The reservation can no longer be settled or refunded."""


class CostOverrun(HushcountError):
    """A mechanism used more than was reserved for it. All of it was charged; the answer must not leave."""


class NotPermitted(HushcountError):
    """The role of the person does not allow this."""


class OverMaxCost(HushcountError):
    """The worst case is above the most that the caller allowed. Nothing was charged."""

    def __init__(self, what: str, *, asked: Decimal, most: Decimal) -> None:
        self.what, self.asked, self.most = what, asked, most
        super().__init__(
            f"this question may cost {what} = {asked}, and at most {most} was allowed for it. Allow more, or ask for "
            "less. Nothing was charged."
        )


class Frozen(HushcountError):
    """An owner stopped all questions about this data, its people or everything. Nothing was charged."""

    def __init__(self, text: str, *, place: str) -> None:
        self.place = place
        super().__init__(text)


class Cancelled(HushcountError):
    """The question was stopped before data was read for it. Nothing was charged."""


class Outdated(HushcountError):
    """A record is no longer as it was when the caller read it. Nothing was written."""

    def __init__(self, kind: str, name: str, *, edition: int, present: int) -> None:
        self.kind, self.name, self.edition, self.present = kind, name, edition, present
        was = f"edition {edition}" if edition else "new"
        now = f"it is edition {present}" if present else "there is none"
        super().__init__(
            f"the {kind} {name!r} was to be changed as {was}, but {now}: somebody else was first. Read it again, then "
            "repeat the change. Nothing was written or charged."
        )


class NotSignedIn(HushcountError):
    """Nobody knows who calls. Nothing was charged."""


class NotFound(HushcountError, LookupError):
    """There is no such thing, or it is not for this caller; which of the two is not told. Nothing was charged."""


class TooManyRequests(HushcountError):
    """More requests came than are allowed in this time. Nothing was charged."""

    def __init__(self, text: str, *, after: float | None = None) -> None:
        self.after = after
        super().__init__(text)


class Busy(HushcountError):
    """All places are taken, or the service is about to stop. Nothing was charged for a question that was not begun."""

    def __init__(self, text: str, *, after: float | None = None) -> None:
        self.after = after
        super().__init__(text)


class StoreFailed(HushcountError):
    """The store that holds the data failed. The text has none of the store's words, which may quote data."""


class StoreIncomplete(HushcountError):
    """The store gave a part of the answer only; a part is not private by the same proof, so there is no answer.

    `point` is the point of its checklist that failed, where the store has one.
    """

    def __init__(self, text: str, *, point: int | None = None) -> None:
        self.point = point
        super().__init__(text)


class StoreTimeout(HushcountError):
    """The store took longer than it may."""
