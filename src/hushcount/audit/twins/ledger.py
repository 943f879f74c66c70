"""Twins of how answers are paid for: a limit that two questions at once exceed, and an answer that nobody paid for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from hushcount.audit.finding import Finding, Step
from hushcount.audit.system.product import workspace
from hushcount.errors import BudgetExhausted
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import Account, Ask, Ledger, StoredRelease
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.sqlite import found_sqlite
from hushcount.model.costs import Concentrated, Cost
from hushcount.model.frozen import frozen
from hushcount.model.identities import Sighting

_LIMIT, _EACH = Decimal(1), Decimal("0.6")
_ANSWER = b"answer"
_FINGERPRINT = "00"


class Till(Protocol):
    """How one question is paid for: before its answer is made, and when it is."""

    def begin(self, ledger: Ledger, ask: Ask) -> object:
        """What must happen before data is read; raises BudgetExhausted if it may not be."""
        ...

    def end(self, ledger: Ledger, begun: Any, ask: Ask) -> bytes:  # noqa: ANN401  whatever `begin` gave
        """What must happen before the answer leaves."""
        ...


class ReserveThenSettle:
    """As the product: the worst case is held before data is read."""

    def begin(self, ledger: Ledger, ask: Ask) -> object:
        """Hold the worst case."""
        return ledger.reserve(ask)

    def end(self, ledger: Ledger, begun: Any, ask: Ask) -> bytes:  # noqa: ANN401  as the protocol
        """Charge what was used; a stored answer was charged when it was found."""
        if not isinstance(begun, StoredRelease):
            ledger.touch(begun)
            begun = ledger.settle(begun, ask.cost, payload=_ANSWER)
        return bytes(begun.payload)


class CheckThenUpdate(ReserveThenSettle):
    """Whether it fits is looked up first, and written down when the answer is there (erratum 8)."""

    def begin(self, ledger: Ledger, ask: Ask) -> object:
        """Look, and hold nothing."""
        if ledger.check(ask).refusal is not None:
            raise BudgetExhausted("it does not fit", asked=_EACH, left=Decimal(0))
        return None

    def end(self, ledger: Ledger, begun: Any, ask: Ask) -> bytes:  # noqa: ANN401  as the protocol
        """Write down what still fits; the answer leaves either way."""
        try:
            return super().end(ledger, ledger.reserve(ask), ask) if begun is None else _ANSWER
        except BudgetExhausted:
            return _ANSWER


class CacheForAll(ReserveThenSettle):
    """An answer that was given once is given to everybody, and the ledger does not hear of it (erratum 41)."""

    def __init__(self) -> None:
        self._given: dict[str, bytes] = {}

    def begin(self, ledger: Ledger, ask: Ask) -> object:
        """Nothing, if the question was answered before."""
        return self._given.get(ask.query) or super().begin(ledger, ask)

    def end(self, ledger: Ledger, begun: Any, ask: Ask) -> bytes:  # noqa: ANN401  as the protocol
        """Remember the answer."""
        if not isinstance(begun, bytes):
            self._given[ask.query] = super().end(ledger, begun, ask)
        return self._given[ask.query]


def look_at_two_at_once(till: Till, folder: Path) -> tuple[str, str]:
    """Two questions of which only one fits, the second begun before the first has ended; what is wrong, and where."""
    ledger = _open(folder)
    begun = []
    for analyst in ("one", "two"):
        ask = _ask(analyst, f"question of {analyst}")
        try:
            begun.append((till.begin(ledger, ask), ask))
        except BudgetExhausted:
            continue
    answers = [till.end(ledger, held, ask) for held, ask in begun]
    ledger.close()
    spent = _EACH * len(answers)
    wrong = f"answers of rho {spent} left under a limit of {_LIMIT}" if spent > _LIMIT else ""
    return wrong, "two questions at once, of which only one fits"


def look_at_two_owners(till: Till, folder: Path) -> tuple[str, str]:
    """The same question of two people; what is wrong, and where."""
    ledger = _open(folder)
    for analyst in ("one", "two"):
        ask = replace(_ask(analyst, "the same question"), cost=_cost(_LIMIT / 10))
        till.end(ledger, till.begin(ledger, ask), ask)
    spent = ledger.balance(Account(kind="analyst", name="two", entity="data")).lifetime.rho
    ledger.close()
    wrong = "" if spent > 0 else "the second person has the answer, and their account shows no loss"
    return wrong, "a question that somebody else has asked before"


@frozen
class LedgerTwin:
    """A till with one mistake, and how it is attacked.

    Attributes:
        name: what it is called in the report.
        erratum: which erratum it breaks.
        what: what is wrong, in one sentence.
        claimed: what a sound till keeps to.
        broken: makes the twin.
        look: attacks a till in an empty folder.
    """

    name: str
    erratum: str
    what: str
    claimed: str
    broken: Callable[[], Till]
    look: Callable[[Till, Path], tuple[str, str]]
    caught_by: Step = "system"

    def attack(self, *, quick: bool) -> Finding | None:  # noqa: ARG002  it takes no time either way
        """The finding if the mistake is caught; None if it goes unseen."""
        return self._found(self.broken())

    def acquit(self, *, quick: bool) -> Finding | None:  # noqa: ARG002  as above
        """The same attack on the product's own way: a finding would be a false accusation."""
        return self._found(ReserveThenSettle())

    def _found(self, till: Till) -> Finding | None:
        began = time.perf_counter()
        with workspace() as folder:
            wrong, where = self.look(till, folder)
        if not wrong:
            return None
        return Finding(
            subject=self.name,
            step="system",
            holds=False,
            claimed=self.claimed,
            measured=wrong,
            where=where,
            looked="two questions to a ledger of their own",
            seconds=time.perf_counter() - began,
        )


def _open(folder: Path) -> Ledger:
    founding = Founding(owner="owner", limit=rho_limit(_LIMIT, "1e-5"), secret=_FINGERPRINT)
    ledger = found_sqlite(folder / "ledger.sqlite", founding)
    ledger.catalog.register(Sighting(title="data", finds=(), binds=()), person="person", name="data", by="owner")
    return ledger


def _ask(analyst: str, query: str) -> Ask:
    return Ask(
        analyst=analyst, dataset="data", version="version 1", query=query, cost=_cost(_EACH), key=query + analyst
    )


def _cost(rho: Decimal) -> Cost:
    return Cost.of(Concentrated(rho=rho))


LEDGER_TWINS: tuple[LedgerTwin, ...] = (
    LedgerTwin(
        name="check, then update",
        erratum="erratum 8",
        what="The budget is checked before and written down after an answer, so two questions at once overspend it.",
        claimed="all answers together stay within the limit",
        broken=CheckThenUpdate,
        look=look_at_two_at_once,
    ),
    LedgerTwin(
        name="stored answer for another owner",
        erratum="erratum 41",
        what="A stored answer is given to another person, and the ledger does not say whose loss it was.",
        claimed="whoever gets an answer has the loss in their account",
        broken=CacheForAll,
        look=look_at_two_owners,
    ),
)
