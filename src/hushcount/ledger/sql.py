"""The ledger over a SQL database: each verb is one transaction on one book. The same for every store."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from hushcount.accounting.filters import refuse_lower_order
from hushcount.errors import ClockImplausible, CostOverrun, InvalidParameter, ReservationClosed
from hushcount.ledger import reserving, settling, timekeeping
from hushcount.ledger.accounts import Payer
from hushcount.ledger.asks import by_key, of_key, of_number
from hushcount.ledger.book import Book, accounts, lock_book, look, rules
from hushcount.ledger.catalog import Catalog
from hushcount.ledger.datasets import look_population, open_population
from hushcount.ledger.jobs import Jobs
from hushcount.ledger.ledger import (
    Account,
    Ask,
    Balance,
    ClockDeed,
    Quote,
    Reservation,
    Shows,
    StoredRelease,
)
from hushcount.ledger.records import Records
from hushcount.ledger.sql_catalog import SqlCatalog
from hushcount.ledger.sql_history import SqlHistory
from hushcount.ledger.sql_jobs import SqlJobs
from hushcount.ledger.sql_records import SqlRecords
from hushcount.ledger.sql_rules import SqlRules
from hushcount.ledger.sql_watch import SqlWatch
from hushcount.ledger.store import Database, Statement, Transaction, run
from hushcount.ledger.watch import Watch
from hushcount.model.costs import EVERY_ORDER, Cost

_T = TypeVar("_T")


class SqlLedger(SqlRules, SqlHistory):
    """A ledger in a database; implements `Ledger`. Safe to share between threads if the database is.

    Args:
        database: where it is kept; a ledger was founded there.
        founded: whether that was just now.
        migrated: what opening it changed.
    """

    def __init__(self, database: Database, *, founded: bool = False, migrated: str = "") -> None:
        super().__init__(database)
        self.catalog: Catalog = SqlCatalog(database)
        self.records: Records = SqlRecords(database)
        self.jobs: Jobs = SqlJobs(database)
        self.watch: Watch = SqlWatch(database)
        self.founded, self.migrated = founded, migrated
        # The population in which each data set was met last.
        self._homes: dict[str, str] = {}
        # Whoever forgets to close it lets go of the database when the ledger is forgotten; not at exit, where a forked
        # process could end a conversation that is its parent's.
        weakref.finalize(self, database.close).atexit = False

    def check(self, ask: Ask) -> Quote:
        """See `Ledger.check`."""
        wanted = reserving.wanted(ask)
        self._refuse_lower_order(ask.cost)
        home = self._homes.get(ask.dataset)
        following = [] if home is None else reserving.looked_up(home, wanted)
        return _on_look(
            self._database,
            lambda transaction: look_population(transaction, ask.dataset, following=following),
            lambda book: reserving.quote(book, wanted),
        )

    def reserve(self, ask: Ask) -> Reservation | StoredRelease:
        """See `Ledger.reserve`."""
        (found,) = self.reserve_all((ask,))
        return found

    def reserve_all(self, asks: Sequence[Ask]) -> tuple[Reservation | StoredRelease, ...]:
        """See `Ledger.reserve_all`."""
        wanted = [reserving.wanted(ask) for ask in asks]
        for ask in asks:
            self._refuse_lower_order(ask.cost)
        datasets = {ask.dataset for ask in asks}
        if len(datasets) != 1:
            raise InvalidParameter("asks", f"about {len(datasets)} data sets", "about one data set")
        dataset = datasets.pop()
        following = [of_key(ask.analyst, ask.key) for ask in asks]
        if dataset in self._homes:
            # Most likely the data set is still where it was; if not, what is asked for here is not looked at.
            following += reserving.looked_up(self._homes[dataset], wanted[0])

        def verb(transaction: Transaction) -> tuple[Reservation | StoredRelease, ...]:
            book = open_population(transaction, dataset, following=following)
            self._homes[dataset] = book.entity
            settling.sweep(book)
            made = tuple(reserving.reserve(book, one) for one in wanted)
            if all(isinstance(one, Reservation) for one in made):
                transaction.let_go()
            return made

        return run(self._database, verb)

    def recall(self, analyst: str, key: str) -> StoredRelease | Reservation | None:
        """See `Ledger.recall`."""
        with self._database.reading() as transaction:
            return reserving.recall(transaction, analyst, key)

    def touch(self, reservation: Reservation) -> None:
        """See `Ledger.touch`."""
        _on_reservation(self._database, reservation, lambda book: settling.touch(book, reservation))

    def settle(self, reservation: Reservation, cost: Cost, *, payload: bytes, veiled: bool = False) -> StoredRelease:
        """See `Ledger.settle`."""
        self._refuse_lower_order(cost)
        made = settling.outcome(cost, payload)
        release, problem = _on_reservation(
            self._database,
            reservation,
            lambda book: settling.settle(book, reservation, made, veiled=veiled),
            following=settling.looked_up(reservation),
        )
        if release is None:
            raise CostOverrun(problem)
        return release

    def unveil(self, analyst: str, keys: Sequence[str], shows: Shows) -> datetime | None:
        """See `Ledger.unveil`."""
        with self._database.reading() as transaction:
            found = [by_key(transaction, analyst, key) for key in keys]
        books = sorted({one[0] for one in found if one is not None})
        moments = [
            _on_book(self._database, entity, lambda book: settling.unveil(book, analyst, keys, shows=shows))
            for entity in books
        ]
        return max((at for at in moments if at is not None), default=None)

    def refund(self, reservation: Reservation) -> None:
        """See `Ledger.refund`."""
        _on_reservation(self._database, reservation, lambda book: settling.refund(book, reservation))

    def balance(self, account: Account) -> Balance:
        """See `Ledger.balance`."""

        def payer_in(entity: str) -> Payer:
            return (account.kind, entity if account.kind == "dataset" else account.name)

        def balance(book: Book) -> Balance:
            payer = payer_in(book.entity)
            (state,) = book.load([payer])
            return book.balance(state, book.limits([payer]).get(payer))

        # Most likely the population is still by itself; if not, what is asked for here is not looked at.
        likely = [payer_in(account.entity)]
        following = [accounts(account.entity, likely), rules(account.entity, likely)]
        return _on_look(
            self._database, lambda transaction: look(transaction, account.entity, following=following), balance
        )

    def set_clock(self, deed: ClockDeed, *, by: str) -> str:
        """See `Ledger.set_clock`."""
        return run(self._database, lambda open_: timekeeping.set_clock(open_, deed, by=by))

    def _refuse_lower_order(self, cost: Cost) -> None:
        if cost.order != EVERY_ORDER:
            refuse_lower_order(cost, self.order)

    def close(self) -> None:
        """See `Ledger.close`."""
        self._database.close()


def _on_look(database: Database, opened: Callable[[Transaction], Book], verb: Callable[[Book], _T]) -> _T:
    """Run a verb that only looks at a book, with all expired reservations charged."""
    with database.reading() as transaction:
        book = opened(transaction)
        if book.now < book.expiry:
            return verb(book)
    _charge_due(database, book.entity)
    with database.reading() as transaction:
        return verb(opened(transaction))


def _charge_due(database: Database, entity: str) -> None:
    """Charge what is due in a book that one only looks at, so that whoever comes first sees it as all will."""
    # Under a clock that is not believed nothing expires; one can still look. Of data that was never registered there
    # is no book.
    with suppress(ClockImplausible, ReservationClosed):
        _on_book(database, entity, lambda _: None)


def _on_reservation(
    database: Database, held: Reservation, verb: Callable[[Book], _T], *, following: Sequence[Statement] = ()
) -> _T:
    """As `_on_book`, for a verb about one ask. Its worst case is held durably, whatever becomes of this."""

    def brief(book: Book) -> _T:
        book.transaction.let_go()
        return verb(book)

    return _on_book(database, held.entity, brief, following=[of_number(held.entity, held.number), *following])


def _on_book(database: Database, entity: str, verb: Callable[[Book], _T], *, following: Sequence[Statement] = ()) -> _T:
    """Run a verb on a book, locked, with all expired reservations charged; `following` is what it fetches first."""

    def swept(transaction: Transaction) -> _T:
        book = lock_book(transaction, entity, following=following)
        if book is None:
            raise ReservationClosed("this ledger does not know the reservation; it was made in another ledger.")
        settling.sweep(book)
        return verb(book)

    return run(database, swept)
