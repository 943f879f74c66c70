"""What an owner says of a clock that is not believed: that it is right, or that an earlier one was wrong."""

from __future__ import annotations

from hushcount.errors import ClockImplausible, InvalidParameter
from hushcount.ledger import asks
from hushcount.ledger.accounts import AccountState, to_row
from hushcount.ledger.book import NEVER, Book, lock_book, rule_book
from hushcount.ledger.ledger import EVERY, ClockDeed
from hushcount.ledger.replay import replay_book
from hushcount.ledger.standing import require
from hushcount.ledger.store import Transaction
from hushcount.ledger.windows import moment


def set_clock(transaction: Transaction, deed: ClockDeed, *, by: str) -> str:
    """Accept the clock as it is, or repair what one in the future did."""
    rules = rule_book(transaction, moment=_as_it_is)
    require(transaction, by, entity=EVERY, roles=("owner",), deed="set the clock")
    if deed == "accept":
        return _accept(rules, by=by)
    if deed == "repair":
        return _repair(rules, by=by)
    raise InvalidParameter("deed", deed, "accept or repair")


def _accept(rules: Book, *, by: str) -> str:
    if rules.now < rules.seen:
        raise ClockImplausible(
            f"the clock says {_words(rules.now)}, before the newest rule of the ledger ({_words(rules.seen)}). If the "
            "clock is right, take back what the wrong one did.",
            deed="repair",
        )
    rules.append("clock", by, deed="accept")
    rules.flush()
    return f"The clock was accepted: it is {_words(rules.now)}."


def _repair(rules: Book, *, by: str) -> str:
    """Date every book of the future back to now. The book of rules records it in any case."""
    transaction, now = rules.transaction, rules.now
    ahead = transaction.fetch("SELECT entity FROM books WHERE seen > ? AND entity <> ? ORDER BY entity", now, EVERY)
    for (entity,) in ahead:
        book = lock_book(transaction, entity, moment=_as_it_is)
        if book is not None and book.seen > now:
            book.now = now
            _date_back(book, by=by)
    rules.append("clock", by, deed="repair", accounts=[], asks=[])
    rules.flush()
    return (
        f"{len(ahead)} books had entries dated after {_words(now)}. Their windows that were opened then are open from "
        "now on, with everything that was spent in them; nothing was freed."
    )


def _date_back(book: Book, *, by: str) -> None:
    replayed = replay_book(book.transaction, book.entity)
    # A book that was taken over has no accounts any more: they go on in another one.
    states: list[AccountState] = [] if book.merged is not None else replayed.reopened(book.now)
    lives = {} if book.merged is not None else replayed.restarted(book.now)
    book.append(
        *("clock", by),
        deed="repair",
        accounts=[list(to_row(state)) for state in states],
        asks=[[number, expires] for number, expires in lives.items()],
    )
    for state in states:
        book.save(state)
    for number, expires in lives.items():
        asks.expire_at(book, number, expires)
    book.expiry = min(replayed.expiries(lives), default=NEVER)
    book.flush()


def _as_it_is(transaction: Transaction, _seen: int) -> int:
    return transaction.now()


def _words(microseconds: int) -> str:
    return f"{moment(microseconds):%Y-%m-%d %H:%M} UTC"
