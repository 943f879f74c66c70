"""The ledger over a SQL database: each verb is one transaction on one book. The same for every store."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from hushcount.errors import CostOverrun, LedgerUnavailable, ReservationClosed
from hushcount.ledger import history, policy, replay, reserving, settling
from hushcount.ledger.book import Book, Clock, lock_book, look
from hushcount.ledger.identity import entity_of, look_data, open_data
from hushcount.ledger.ledger import (
    EVERY,
    Account,
    Ask,
    Balance,
    Entry,
    Page,
    Proof,
    Quote,
    Reservation,
    Role,
    StoredRelease,
    Use,
    Verdict,
)
from hushcount.ledger.limits import Limit
from hushcount.ledger.standing import require
from hushcount.ledger.store import Conflict, Database
from hushcount.model.costs import Cost

_T = TypeVar("_T")
_TRIES = 20


def utc_now() -> datetime:
    """The clock on the wall."""
    return datetime.now(UTC)


class SqlLedger:
    """A ledger in a database; implements `Ledger`. Safe to share between threads if the database is.

    Args:
        database: where it is kept.
        clock: tells the time; going backwards, it is not believed.
    """

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database, self._clock = database, clock
        # Whoever forgets to close it lets go of the database when the ledger is forgotten; not at exit, where a forked
        # process could end a conversation that is its parent's.
        weakref.finalize(self, database.close).atexit = False

    def check(self, ask: Ask) -> Quote:
        """See `Ledger.check`."""
        reserving.validate(ask)
        with self._database.reading() as rows:
            book = look_data(rows, ask.dataset, version=ask.version, clock=self._clock)
            return reserving.quote(book, ask)

    def reserve(self, ask: Ask) -> Reservation | StoredRelease:
        """See `Ledger.reserve`."""
        reserving.validate(ask)
        for _ in range(_TRIES):
            try:
                with self._database.writing() as rows:
                    book = open_data(
                        rows, self._database.dialect, dataset=ask.dataset, version=ask.version, clock=self._clock
                    )
                    settling.sweep(book)
                    return reserving.reserve(book, ask)
            except Conflict:
                # Another transaction bound this version, name or key at the same moment. It has committed, so what is
                # decided now is decided with it in sight.
                continue
        raise LedgerUnavailable("the ledger is too busy: the same data was bound again and again; try again.")

    def touch(self, reservation: Reservation) -> None:
        """See `Ledger.touch`."""
        _on_book(self._database, self._clock, entity=reservation.entity, verb=lambda b: settling.touch(b, reservation))

    def settle(self, reservation: Reservation, cost: Cost, *, payload: bytes) -> StoredRelease:
        """See `Ledger.settle`."""
        release, problem = _on_book(
            self._database,
            self._clock,
            entity=reservation.entity,
            verb=lambda b: settling.settle(b, reservation, cost=cost, payload=payload),
        )
        if release is None:
            raise CostOverrun(problem)
        return release

    def refund(self, reservation: Reservation) -> None:
        """See `Ledger.refund`."""
        _on_book(self._database, self._clock, entity=reservation.entity, verb=lambda b: settling.refund(b, reservation))

    def balance(self, account: Account) -> Balance:
        """See `Ledger.balance`."""
        with self._database.reading() as rows:
            book = look(rows, account.entity, self._clock)
        if book.now >= book.expiry:
            _on_book(self._database, self._clock, entity=account.entity, verb=lambda _: None)
        with self._database.reading() as rows:
            book = look(rows, account.entity, self._clock)
            key = (account.kind, account.entity if account.kind == "dataset" else account.name)
            (state,) = book.load([key])
            return book.balance(state, book.limits([key]).get(key))

    def entity_of(self, dataset: str, version: str) -> str | None:
        """See `Ledger.entity_of`."""
        with self._database.reading() as rows:
            return entity_of(rows, dataset, version)

    def history(self, page: Page, *, by: str) -> tuple[Entry, ...]:
        """See `Ledger.history`."""
        with self._database.reading() as rows:
            return history.entries(rows, page, by=by)

    def usage(self, entity: str, *, by: str) -> tuple[Use, ...]:
        """See `Ledger.usage`."""
        with self._database.reading() as rows:
            require(rows, by, entity=entity, roles=("owner", "auditor"), deed="see what everybody spent")
            return history.uses(rows, entity)

    def set_limit(self, account: Account, limit: Limit | None, *, by: str) -> None:
        """See `Ledger.set_limit`."""
        with self._database.writing() as rows:
            policy.set_limit(policy.rule_book(rows, self._database.dialect, self._clock), account, limit=limit, by=by)

    def grant(self, person: str, role: Role | None, *, entity: str = EVERY, by: str) -> None:
        """See `Ledger.grant`."""
        with self._database.writing() as rows:
            book = policy.rule_book(rows, self._database.dialect, self._clock)
            policy.grant(book, person, role=role, entity=entity, by=by)

    def enroll(self, analyst: str, group: str, *, by: str, member: bool = True) -> None:
        """See `Ledger.enroll`."""
        with self._database.writing() as rows:
            book = policy.rule_book(rows, self._database.dialect, self._clock)
            policy.enroll(book, analyst, group=group, by=by, member=member)

    def verify(self, anchors: Mapping[str, Proof] | None = None) -> Verdict:
        """See `Ledger.verify`."""
        with self._database.reading() as rows:
            return replay.verify(rows, anchors or {})

    def close(self) -> None:
        """See `Ledger.close`."""
        self._database.close()


def _on_book(database: Database, clock: Clock, *, entity: str, verb: Callable[[Book], _T]) -> _T:
    """Run a verb on a book, locked, with all expired reservations charged."""
    with database.writing() as rows:
        book = lock_book(rows, database.dialect, entity=entity, clock=clock)
        if book is None:
            raise ReservationClosed("this ledger does not know the reservation; it was made in another ledger.")
        settling.sweep(book)
        return verb(book)
