"""A population's book, open in a transaction: its accounts in memory, its log entries and writes in the making.

Whoever opens a book for writing holds its row until the transaction ends, so all verbs on one population happen one
after the other and everything read through the book is current. Nothing is written before `flush`: a verb that only
looks simply does not call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from hushcount.accounting.spent import Spent
from hushcount.ledger import limits, windows
from hushcount.ledger.accounts import ACCOUNT_COLUMNS, AccountState, Payer, from_row, to_row
from hushcount.ledger.chain import START, canonical, link
from hushcount.ledger.clocks import checked_now, shown_now
from hushcount.ledger.ledger import EVERY, Account, Balance, Proof
from hushcount.ledger.limits import Limit
from hushcount.ledger.store import Row, Statement, Transaction, Value

NEVER = 2**62
_AT_ONCE = 100
_T = TypeVar("_T")
# Tells the moment of a verb from the transaction and the newest entry of the book.
Moment: TypeAlias = Callable[[Transaction, int], int]
_HOME = "(SELECT entity FROM datasets WHERE id = ?)"
_HEAD = "entity, seq, head, seen, expiry, merged"
_LIST = ", ".join(ACCOUNT_COLUMNS)
_MARKS = f"(?{', ?' * len(ACCOUNT_COLUMNS)})"
_REPLACED = ", ".join(f"{name} = excluded.{name}" for name in ACCOUNT_COLUMNS[2:])


@dataclass(slots=True)
class Book:
    """An open book; made by the functions below.

    Attributes:
        now: the moment at which the verb happens.
        seq: the number of its newest entry.
        head: that entry's hash.
        seen: that entry's moment.
        expiry: a lower bound of when the next reservation expires.
        merged: the population that took it over; None while it is open.
        states: accounts that were read.
        writes: statements in the making.
        touched: accounts that changed.
        appended: whether entries are among the statements in the making.
    """

    transaction: Transaction
    entity: str
    now: int
    seq: int = 0
    head: str = START
    seen: int = 0
    expiry: int = NEVER
    merged: str | None = None
    states: dict[Payer, AccountState] = field(default_factory=dict)
    writes: list[Statement] = field(default_factory=list)
    touched: dict[Payer, AccountState] = field(default_factory=dict)
    appended: bool = False

    def append(self, kind: str, by: str, **body: Any) -> Proof:  # noqa: ANN401 (JSON)
        """Add an entry to the log."""
        self.seq += 1
        full = {"entity": self.entity, "seq": self.seq, "at": self.now, "kind": kind, "by": by, **body}
        text = canonical({**full, "previous": self.head})
        self.head, self.seen, self.appended = link(text), self.now, True
        self.do(
            "INSERT INTO log (entity, seq, by_whom, body, hash) VALUES (?, ?, ?, ?, ?)",
            *(self.entity, self.seq, by, text, self.head),
        )
        return self.proof

    def do(self, sql: str, *values: Value) -> None:
        """Note a statement for `flush`."""
        self.writes.append((sql, values))

    @property
    def proof(self) -> Proof:
        """The newest link."""
        return Proof(entity=self.entity, seq=self.seq, hash=self.head)

    def load(self, payers: Iterable[Payer]) -> list[AccountState]:
        """The accounts of these payers; those that were never used are new and empty."""
        wanted = list(payers)
        missing = [payer for payer in wanted if payer not in self.states]
        if missing:
            sql, values = accounts(self.entity, missing)
            found = self.transaction.fetch(sql, *values)
            self.states.update({(row[0], row[1]): from_row(row) for row in found})
        return [self.states.setdefault(payer, AccountState(*payer)) for payer in wanted]

    def save(self, state: AccountState) -> None:
        """Note that an account changed; it is written once, by `flush`."""
        self.states[state.payer] = self.touched[state.payer] = state

    def limits(self, payers: Iterable[Payer]) -> dict[Payer, Limit]:
        """The limit in force for each account that has one: its own, else the data set's rule, else the general one."""
        wanted = list(payers)
        sql, values = rules(self.entity, wanted)
        found = self.transaction.fetch(sql, *values)
        bodies = {(entity, kind, name): body for entity, kind, name, body in found}
        chosen = {}
        for kind, name in wanted:
            for place in ((self.entity, name), (EVERY, name), (self.entity, EVERY), (EVERY, EVERY)):
                body = bodies.get((place[0], kind, place[1]))
                limit = None if body is None else limits.in_force(limits.from_text(body), self.now)
                if limit is not None:
                    chosen[kind, name] = limit
                    break
        return chosen

    def balance(self, state: AccountState, limit: Limit | None) -> Balance:
        """An account as people read it: a window that is over shows as renewed."""
        over, shown = self.now >= state.until, self._shown(state)
        return Balance(
            account=Account(kind=state.kind, name=state.name, entity=self.entity),
            limit=limit,
            spent=shown.spent,
            reserved=state.reserved,
            lifetime=state.lifetime,
            left=None if limit is None else shown.left(limit),
            opened=None if over else windows.moment(state.opened),
            renews=None if over or (limit is not None and limit.window == "none") else windows.moment(state.until),
            queries=state.queries,
        )

    def left(self, state: AccountState, limit: Limit) -> Spent:
        """What a new query may cost an account: a window that is over holds nothing."""
        return self._shown(state).left(limit)

    def _shown(self, state: AccountState) -> AccountState:
        return replace(state, spent=Spent()) if self.now >= state.until else state

    def flush(self) -> None:
        """Write everything. The head of the book goes last, with the moment of its newest entry."""
        for some in parts(list(self.touched.values())):
            self.do(_saved(len(some)), *(value for state in some for value in (self.entity, *to_row(state))))
        self.do(
            "UPDATE books SET seq = ?, head = ?, seen = ?, expiry = ?, merged = ? WHERE entity = ?",
            *(self.seq, self.head, self.seen, self.expiry, self.merged, self.entity),
        )
        self.transaction.write(self.writes)
        if self.appended:
            self.transaction.anchor()
        self.appended = False
        self.writes.clear()
        self.touched.clear()


def accounts(entity: str, payers: Sequence[Payer]) -> Statement:
    """What `Book.load` fetches."""
    return _loaded(len(payers)), (entity, *(part for payer in payers for part in payer))


def rules(entity: str, payers: Sequence[Payer]) -> Statement:
    """What `Book.limits` fetches. All columns of the key are named, so that the rules of other people are not read."""
    names = sorted({name for _, name in payers} | {EVERY})
    return _ruled(len(names)), (entity, EVERY, *names)


# Statements by the number of rows or names that they are for: made once, and not while a book is held.
@lru_cache
def _saved(rows: int) -> str:
    return (
        f"INSERT INTO accounts (entity, {_LIST}) VALUES {', '.join(_MARKS for _ in range(rows))} "  # noqa: S608
        f"ON CONFLICT (entity, kind, name) DO UPDATE SET {_REPLACED}"
    )


@lru_cache
def _loaded(payers: int) -> str:
    marks = " OR ".join("(kind = ? AND name = ?)" for _ in range(payers))
    return f"SELECT {_LIST} FROM accounts WHERE entity = ? AND ({marks})"  # noqa: S608 (names from above)


@lru_cache
def _ruled(names: int) -> str:
    return (
        "SELECT entity, kind, name, body FROM limits WHERE entity IN (?, ?) "  # noqa: S608 (marks alone)
        f"AND kind IN ('analyst', 'group', 'token', 'dataset') AND name IN ({', '.join('?' for _ in range(names))})"
    )


def parts(rows: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """As many rows at a time as one statement takes: a join may change thousands."""
    return (rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE))


def lock_book(
    transaction: Transaction, entity: str, *, moment: Moment = checked_now, following: Sequence[Statement] = ()
) -> Book | None:
    """Open a book for writing, or None if there is none; `following` is what is fetched next."""
    found = _asked(transaction, "?", entity, following, held=True)
    return _book(transaction, found[0], moment) if found else None


def lock_book_of(transaction: Transaction, dataset: str, *, following: Sequence[Statement] = ()) -> Book | None:
    """Open the book of a data set's population for writing, as `lock_book`; None if there is no such data set."""
    found = _asked(transaction, _HOME, dataset, following, held=True)
    return _book(transaction, found[0], checked_now) if found else None


def look_book_of(transaction: Transaction, dataset: str, *, following: Sequence[Statement] = ()) -> Book | None:
    """As `lock_book_of`, to read from, without a lock."""
    found = _asked(transaction, _HOME, dataset, following)
    return _book(transaction, found[0], checked_now) if found else None


def _asked(
    transaction: Transaction, entity: str, name: str, following: Sequence[Statement], *, held: bool = False
) -> list[Row]:
    """Ask for a book, and in the same breath for the time and for what follows: if it is held, all of it from then."""
    dialect = transaction.dialect
    sql = f"SELECT {_HEAD} FROM books WHERE entity = {entity}{dialect.lock if held else ''}"  # noqa: S608 (own words)
    turn: list[Statement] = [(dialect.queue.format(entity), (name,))] if held and dialect.queue else []
    transaction.send([*turn, (sql, (name,)), *([] if dialect.clock is None else [dialect.clock]), *following])
    return transaction.fetch(sql, name)


def new_book(transaction: Transaction, entity: str, *, now: int) -> Book:
    """Make a book; nobody else has it until the transaction ends.

    Raises:
        Conflict: there is one already.
    """
    transaction.write(
        [("INSERT INTO books (entity, seq, head, seen, expiry) VALUES (?, 0, ?, 0, ?)", (entity, START, NEVER))]
    )
    return Book(transaction=transaction, entity=entity, now=now)


def rule_book(transaction: Transaction, *, moment: Moment = checked_now) -> Book:
    """The book of rules and of the catalog, locked: what holds for the whole ledger changes one after the other."""
    book = lock_book(transaction, EVERY, moment=moment)
    if book is None:  # pragma: no cover (founding makes it first)
        raise LookupError(EVERY)
    return book


def look(
    transaction: Transaction,
    entity: str,
    *,
    moment: Moment = shown_now,
    follow: bool = True,
    following: Sequence[Statement] = (),
) -> Book:
    """A book to read from, without a lock; empty if there is none. `following` is what is fetched next.

    If it is closed, the one that took it over is meant, unless `follow` is False.
    """
    found = _asked(transaction, "?", entity, following)
    while follow and found and found[0][5] is not None:
        found = transaction.fetch(f"SELECT {_HEAD} FROM books WHERE entity = ?", found[0][5])  # noqa: S608
    row = found[0] if found else (entity, 0, START, 0, NEVER, None)
    return _book(transaction, row, moment)


def _book(transaction: Transaction, row: Row, moment: Moment) -> Book:
    entity, seq, head, seen, expiry, merged = row
    # The clock is asked after the row is held.
    now = moment(transaction, seen)
    return Book(
        transaction=transaction, entity=entity, now=now, seq=seq, head=head, seen=seen, expiry=expiry, merged=merged
    )
