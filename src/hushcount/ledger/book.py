"""A data set's book, open in a transaction: its accounts in memory, its log entries and writes in the making.

Whoever opens a book for writing holds its row until the transaction ends, so all verbs on one data set happen one after
the other and everything read through the book is current. Nothing is written before `flush`: a verb that only looks
simply does not call it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from hushcount.accounting.spent import Spent
from hushcount.ledger import limits
from hushcount.ledger.chain import START, canonical, decimal_text, link
from hushcount.ledger.ledger import EVERY, Account, Balance, Kind, Proof
from hushcount.ledger.limits import Limit
from hushcount.ledger.store import Dialect, Rows, Statement, Value
from hushcount.ledger.windows import SHOWN, Window, ends, micros, moment

Clock: TypeAlias = Callable[[], datetime]
AccountKey: TypeAlias = tuple[Kind, str]
NEVER = 2**62
_ZERO = Spent()
ACCOUNT_COLUMNS = (
    *("kind", "name", "period", "opened", "until", "queries", "spent_rho", "spent_delta"),
    *("reserved_rho", "reserved_delta", "lifetime_rho", "lifetime_delta"),
)
_LIST = ", ".join(ACCOUNT_COLUMNS)
_SAVE_ACCOUNT = (
    f"INSERT INTO accounts (entity, {_LIST}) VALUES (?{', ?' * len(ACCOUNT_COLUMNS)}) "  # noqa: S608 (names from above)
    "ON CONFLICT (entity, kind, name) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in ACCOUNT_COLUMNS[2:])
)


@dataclass(slots=True)
class State:
    """One account as it stands in this transaction."""

    kind: Kind
    name: str
    period: Window = SHOWN
    opened: int = 0
    until: int = 0
    queries: int = 0
    spent: Spent = _ZERO
    reserved: Spent = _ZERO
    lifetime: Spent = _ZERO

    @property
    def key(self) -> AccountKey:
        """What tells it from the other accounts of the book."""
        return self.kind, self.name

    def roll(self, at: int, period: Window) -> None:
        """Open a new window if the last one is over. What is held stays held: it will be released in the new window.

        So a query that is running when the window changes counts in both. A changed period takes effect here, at the
        next renewal, never before: otherwise a change of period would be a renewal.
        """
        if at >= self.until:
            self.period, self.opened, self.until = period, at, micros(ends(period, moment(at)))
            self.spent = _ZERO

    def move(self, *, reserved: Spent = _ZERO, spent: Spent = _ZERO) -> list[Any]:
        """Change what is held and spent; returns the line that the log keeps of it."""
        self.reserved += reserved
        self.spent += spent
        self.lifetime += spent
        amounts = (reserved.rho, reserved.delta, spent.rho, spent.delta)
        return [self.kind, self.name, self.period, self.opened, self.until, *map(decimal_text, amounts)]

    def left(self, limit: Limit) -> Spent:
        """What a new query may cost. A limit that is never renewed is held against the lifetime total."""
        base = self.lifetime if limit.window == "none" else self.spent
        return limit.ceiling - base - self.reserved


@dataclass(slots=True)
class Book:
    """An open book; made by `lock_book`, `open_data` and `look`."""

    rows: Rows
    entity: str
    now: int
    seq: int = 0
    head: str = START
    seen: int = 0
    expiry: int = NEVER
    states: dict[AccountKey, State] = field(default_factory=dict)
    writes: list[Statement] = field(default_factory=list)
    touched: dict[AccountKey, State] = field(default_factory=dict)

    def append(self, kind: str, by: str, **body: Any) -> Proof:  # noqa: ANN401 (JSON)
        """Add an entry to the log."""
        self.seq += 1
        full = {"entity": self.entity, "seq": self.seq, "at": self.now, "kind": kind, "by": by, **body}
        text = canonical({**full, "previous": self.head})
        self.head, self.seen = link(text), self.now
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

    def load(self, keys: Iterable[AccountKey]) -> list[State]:
        """The accounts of these keys; those that were never used are new and empty."""
        wanted = list(keys)
        missing = [key for key in wanted if key not in self.states]
        if missing:
            marks = " OR ".join("(kind = ? AND name = ?)" for _ in missing)
            found = self.rows.fetch(
                f"SELECT {_LIST} FROM accounts WHERE entity = ? AND ({marks})",  # noqa: S608
                self.entity,
                *(part for key in missing for part in key),
            )
            self.states.update({(row[0], row[1]): _state(row) for row in found})
        return [self.states.setdefault(key, State(*key)) for key in wanted]

    def save(self, state: State) -> None:
        """Note that an account changed; it is written once, by `flush`."""
        self.touched[state.key] = state

    def limits(self, keys: Iterable[AccountKey]) -> dict[AccountKey, Limit]:
        """The limit in force for each account that has one: its own, else the data set's rule, else the general one."""
        wanted = list(keys)
        names = sorted({name for _, name in wanted} | {EVERY})
        marks = ", ".join("?" for _ in names)
        found = self.rows.fetch(
            f"SELECT entity, kind, name, body FROM limits WHERE entity IN (?, ?) AND name IN ({marks})",  # noqa: S608
            self.entity,
            EVERY,
            *names,
        )
        rules = {(entity, kind, name): body for entity, kind, name, body in found}
        chosen = {}
        for kind, name in wanted:
            for place in ((self.entity, name), (EVERY, name), (self.entity, EVERY), (EVERY, EVERY)):
                body = rules.get((place[0], kind, place[1]))
                if body is not None:
                    chosen[kind, name] = limits.from_json(json.loads(body))
                    break
        return chosen

    def balance(self, state: State, limit: Limit | None) -> Balance:
        """An account as people read it: a window that is over shows as renewed."""
        over = self.now >= state.until
        shown = replace_spent(state) if over else state
        return Balance(
            account=Account(kind=state.kind, name=state.name, entity=self.entity),
            limit=limit,
            spent=shown.spent,
            reserved=state.reserved,
            lifetime=state.lifetime,
            left=None if limit is None else shown.left(limit),
            opened=None if over else moment(state.opened),
            renews=None if over or (limit is not None and limit.window == "none") else moment(state.until),
            queries=state.queries,
        )

    def flush(self) -> None:
        """Write everything. The head of the book goes last, with the moment of its newest entry."""
        for state in self.touched.values():
            self.do(_SAVE_ACCOUNT, self.entity, *account_row(state))
        self.do(
            "UPDATE books SET seq = ?, head = ?, seen = ?, expiry = ? WHERE entity = ?",
            *(self.seq, self.head, self.seen, self.expiry, self.entity),
        )
        self.rows.write(self.writes)
        self.writes.clear()
        self.touched.clear()


def replace_spent(state: State) -> State:
    """The account as a new window would open it."""
    return replace(state, spent=_ZERO)


def lock_book(rows: Rows, dialect: Dialect, *, entity: str, clock: Clock) -> Book | None:
    """Open a book for writing, or None if there is none yet."""
    found = rows.fetch(
        f"SELECT entity, seq, head, seen, expiry FROM books WHERE entity = ?{dialect.lock}",  # noqa: S608
        entity,
    )
    return _book(rows, found[0], clock) if found else None


def create_book(rows: Rows, dialect: Dialect, *, entity: str, clock: Clock) -> Book:
    """Open a book for writing and make it if need be."""
    book = lock_book(rows, dialect, entity=entity, clock=clock)
    if book is None:
        rows.write(
            [
                (
                    "INSERT INTO books (entity, seq, head, seen, expiry) VALUES (?, 0, ?, 0, ?) ON CONFLICT DO NOTHING",
                    (entity, START, NEVER),
                )
            ]
        )
        book = lock_book(rows, dialect, entity=entity, clock=clock)
    if book is None:  # pragma: no cover (the row was just written)
        raise LookupError(entity)
    return book


def look(rows: Rows, entity: str, clock: Clock) -> Book:
    """A book to read from, without a lock; empty if there is none yet."""
    found = rows.fetch("SELECT entity, seq, head, seen, expiry FROM books WHERE entity = ?", entity)
    return _book(rows, found[0], clock) if found else Book(rows=rows, entity=entity, now=micros(clock()))


def _book(rows: Rows, row: tuple[Any, ...], clock: Clock) -> Book:
    entity, seq, head, seen, expiry = row
    # The clock is asked after the row is held, and never believed when it goes backwards: a window that was opened
    # stays open, a reservation that expired stays expired.
    return Book(rows=rows, entity=entity, now=max(micros(clock()), seen), seq=seq, head=head, seen=seen, expiry=expiry)


def _state(row: tuple[Any, ...]) -> State:
    kind, name, period, opened, until, queries, *amounts = row
    pairs = [Spent(rho=Decimal(amounts[i]), delta=Decimal(amounts[i + 1])) for i in (0, 2, 4)]
    return State(kind, name, period, opened, until, queries, *pairs)


def account_row(state: State) -> tuple[str | int, ...]:
    """An account as a row of its table, without the entity."""
    amounts = (a for s in (state.spent, state.reserved, state.lifetime) for a in (s.rho, s.delta))
    return (state.kind, state.name, state.period, state.opened, state.until, state.queries, *map(decimal_text, amounts))
