"""What a database must offer to hold a ledger: transactions and statements. Both stores run the same SQL through it.

Statements are written once, with `?` for parameters, in the SQL that SQLite and PostgreSQL share; the words in which
the two differ are the few fields of `Dialect`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias, TypeVar

from hushcount.errors import LedgerUnavailable
from hushcount.ledger.records import ShownTable
from hushcount.model.frozen import frozen

Clock: TypeAlias = Callable[[], datetime]
Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[str, tuple[Value, ...]]
_T = TypeVar("_T")
_TRIES = 20


@frozen
class Dialect:
    """The words in which stores differ.

    Attributes:
        blob: the type of stored bytes.
        lock: what a SELECT on `books` ends with to hold that row until the transaction ends; nothing where a writing
            transaction is alone anyway.
        queue: asks for that row's turn before: a SELECT with a hole for what the row is called. Whoever waits for a row
            of PostgreSQL's is woken by every change of it and may lose it to another; here each is woken once, in turn.
        clock: asks a server for its time, in microseconds since 1970; None where it is the machine's own.
    """

    blob: str
    lock: str
    queue: str | None = None
    clock: Statement | None = None


class Transaction(Protocol):
    """An open transaction."""

    dialect: Dialect

    def fetch(self, sql: str, *values: Value) -> list[Row]:
        """Run one statement and return its rows."""

    def write(self, statements: Sequence[Statement]) -> None:
        """Run statements that return nothing, in order; at the latest before the next fetch or the end."""

    def send(self, statements: Sequence[Statement]) -> None:
        """Say what is fetched next, in any order, so that a server is asked for all of it at once.

        What is sent is as of now; a write in between forgets it.
        """

    def now(self) -> int:
        """The moment by the store's own clock, in microseconds since 1970."""

    def ahead(self) -> int:
        """How far the clock ran ahead of the machine since the newest entry, in microseconds.

        Zero where that cannot be told, and where the clock is that of a server, which is not ours to doubt.
        """

    def anchor(self) -> None:
        """Note that an entry is written: `ahead` tells from here on. Part of this transaction."""

    def let_go(self) -> None:
        """Let whoever waits for the book have it before the disk has what is committed; the end waits for that still.

        Never for what is handed out on the strength of what is written here: others may see that before it is durable.
        What they write themselves comes later, and is never durable without it.
        """

    def show(self, shown: ShownTable) -> None:
        """Write a table for other programs, or take it away; nothing where there is no place for one."""


class Database(Protocol):
    """A database that holds one ledger, or may come to hold one."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that is durable once the block was left, and leaves no trace if the block raises."""

    def jotting(self) -> AbstractContextManager[Transaction]:
        """As `writing`, but a machine that loses its power may forget it, unless something was written after it.

        For what can be done again, such as jobs: it need not wait for the disk. Never for what is charged.
        """

    def reading(self) -> AbstractContextManager[Transaction]:
        """One consistent view of everything; locks nothing and changes nothing."""

    def glancing(self) -> AbstractContextManager[Transaction]:
        """As `reading`, for one statement, which is a view by itself: nothing is begun or ended for it."""

    def upgrading(self) -> AbstractContextManager[Transaction]:
        """As `writing`, and alone: nobody else founds or migrates meanwhile."""

    def await_disk(self) -> None:
        """Wait until all that can be seen is on the disk: a transaction that lets go early is seen before it is."""

    def scrub(self) -> None:
        """Write everything anew, so that what was taken out does not stay on the disk."""

    def version(self, transaction: Transaction) -> int:
        """The schema version of the ledger that is here; 0 if there is none.

        Raises:
            LedgerForeign: something else is here.
        """

    def set_version(self, transaction: Transaction, version: int) -> None:
        """Note the schema version."""

    def close(self) -> None:
        """Let go of the database."""


class Conflict(Exception):
    """A unique row exists already, or a book moved: another transaction was first."""


def run(database: Database, verb: Callable[[Transaction], _T], *, durable: bool = True) -> _T:
    """Run a verb in a writing transaction of its own; where another transaction was first, again with it in sight.

    Args:
        database: where.
        verb: what is done; may be called more than once.
        durable: whether it must be on the disk when this returns.
    """
    for _ in range(_TRIES):
        try:
            with database.writing() if durable else database.jotting() as transaction:
                return verb(transaction)
        except Conflict:
            continue
    raise LedgerUnavailable(
        "the ledger is too busy: others changed the same rows again and again; try again.", passes=True
    )


def utc_now() -> datetime:
    """The clock on the wall."""
    return datetime.now(UTC)
