"""One account as it stands: its window, what it spent and holds, and what becomes of it when populations meet or part.

All of it is pure: a verb and the replay of its log entry call the same function on the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

from hushcount.accounting.spent import Spent
from hushcount.ledger.chain import decimal_text
from hushcount.ledger.ledger import Kind
from hushcount.ledger.limits import Limit
from hushcount.ledger.windows import SHOWN, Window, ends, micros, moment

# Who pays: the kind and the name of an account within one book.
Payer: TypeAlias = tuple[Kind, str]
# One window of an account: when it opened, when it ends, what was spent in it.
Past: TypeAlias = tuple[int, int, Spent]
ACCOUNT_COLUMNS = (
    *("kind", "name", "period", "opened", "until", "queries", "spent_rho", "spent_delta"),
    *("reserved_rho", "reserved_delta", "lifetime_rho", "lifetime_delta"),
)
_ZERO = Spent()


@dataclass(slots=True)
class AccountState:
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
    def payer(self) -> Payer:
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


def to_row(state: AccountState) -> tuple[str | int, ...]:
    """An account as a row of its table, without the entity; also its form in log entries."""
    amounts = (a for s in (state.spent, state.reserved, state.lifetime) for a in (s.rho, s.delta))
    return (state.kind, state.name, state.period, state.opened, state.until, state.queries, *map(decimal_text, amounts))


def from_row(row: Iterable[Any]) -> AccountState:
    """The account that `to_row` wrote."""
    kind, name, period, opened, until, queries, *amounts = row
    pairs = [Spent(rho=Decimal(amounts[i]), delta=Decimal(amounts[i + 1])) for i in (0, 2, 4)]
    return AccountState(kind, name, period, opened, until, queries, *pairs)


def moved(state: AccountState, entity: str) -> AccountState:
    """The account under the name that it has in the book of `entity`: a data set's account is called like its book."""
    return replace(state, name=entity) if state.kind == "dataset" else replace(state)


def merge(mine: AccountState, theirs: AccountState, *, at: int, common: AccountState | None = None) -> AccountState:
    """Two accounts as one, when populations are joined at a moment: nothing that was spent is lost or freed.

    Totals add up. What was spent in windows that are still open adds up, and the later end wins. If only the other
    one's window is open it counts from now on, so that nothing which an earlier window of ours paid for seems to be
    paid by this one.

    `common` is the account that one of the two was copied from, as it was then. Totals only ever grow, so both still
    hold all of it, and it counts once. Of windows that is known only while neither was renewed since; and what was held
    then is left in twice, since the copy took it for spent and the other one may have settled for less.
    """
    shared = common or AccountState(*mine.payer)
    both = replace(
        mine,
        queries=mine.queries + theirs.queries - shared.queries,
        reserved=mine.reserved + theirs.reserved,
        lifetime=mine.lifetime + theirs.lifetime - shared.lifetime,
    )
    if at >= theirs.until:
        return both
    if at >= mine.until:
        return replace(both, period=theirs.period, opened=at, until=theirs.until, spent=theirs.spent)
    last = mine if mine.until >= theirs.until else theirs
    twice = shared.spent if mine.opened == theirs.opened == shared.opened else _ZERO
    return replace(both, period=last.period, until=last.until, spent=mine.spent + theirs.spent - twice)


def by_payer(rows: Iterable[Iterable[Any]], entity: str) -> dict[Payer, AccountState]:
    """The accounts that an entry of the log tells, as they are called in the book of `entity`."""
    return {state.payer: state for state in (moved(from_row(row), entity) for row in rows)}


def inherit(state: AccountState, *, at: int) -> AccountState:
    """The account of a population that leaves: all that was spent so far, and all that is held as if it were spent.

    The same people are in the answers that are on their way, and those will be settled where they were asked.
    """
    copy = replace(state, reserved=_ZERO)
    if state.reserved != _ZERO:
        copy.roll(at, copy.period)
        copy.spent += state.reserved
        copy.lifetime += state.reserved
    return copy


def reopen(state: AccountState, past: Iterable[Past], *, at: int) -> AccountState:
    """An account whose window a clock in the future opened, with its window opened now.

    Everything counts in it that was spent in windows that are not over: the one that should be open, and those of the
    future. A renewal that should not have been is so taken back.
    """
    spent = sum((spent for _, until, spent in past if until > at), _ZERO)
    return replace(state, opened=at, until=micros(ends(state.period, moment(at))), spent=spent)
