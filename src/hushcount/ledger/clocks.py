"""The clock: windows go by the store's own, and one that is far from what the ledger has seen is not believed.

A clock that jumps ahead would renew every window at once; one answer dated far in the future would stop a data set for
ever. So both are refused until an owner says what is right.
"""

from __future__ import annotations

from hushcount.errors import ClockImplausible
from hushcount.ledger.store import Transaction
from hushcount.ledger.windows import moment

_HOUR = 60 * 60 * 1_000_000
_DAY = 24 * _HOUR
_LONGEST_PAUSE = 366 * _DAY
_LARGEST_STEP_BACK = _LARGEST_LEAD = _DAY


def newest(transaction: Transaction) -> int:
    """The moment of the newest entry of the whole ledger; 0 if it has none."""
    return int(transaction.fetch("SELECT MAX(seen) FROM books")[0][0] or 0)


def checked_now(transaction: Transaction, seen: int) -> int:
    """The moment at which a verb on a book happens, never before its newest entry.

    The clock is asked after the book is held, and not believed when it goes back a little: a window that was opened
    stays open, a reservation that expired stays expired.

    Raises:
        ClockImplausible: it is more than a day behind the book, or more than 366 days ahead of the whole ledger, or ran
            more than a day ahead of the machine since the newest entry.
    """
    now = transaction.now()
    if seen - now > _LARGEST_STEP_BACK:
        raise ClockImplausible(
            f"the clock says {_words(now)}, but the ledger has an entry of {_words(seen)}: one of them is wrong. Set "
            "the clock; or, if it is right and that entry was made under a wrong one, an owner takes that back. "
            "Nothing was charged.",
            deed="repair",
        )
    lead = transaction.ahead()
    if lead > _LARGEST_LEAD:
        raise ClockImplausible(
            f"the clock says {_words(now)}, {lead // _HOUR} hours more than this machine has run since the newest "
            "entry of the ledger: it was set ahead, and windows would be renewed before their time. Set the clock; or, "
            "if it is right now, an owner says so. Nothing was charged.",
            deed="accept",
        )
    # The book's own newest entry is not after the ledger's, so most calls need not look.
    if now - seen > _LONGEST_PAUSE:
        last = newest(transaction)
        if last and now - last > _LONGEST_PAUSE:
            raise ClockImplausible(
                f"the clock says {_words(now)}, more than a year after the newest entry of the ledger "
                f"({_words(last)}): every window would be renewed. If it is right, an owner says so. Nothing was "
                "charged.",
                deed="accept",
            )
    return max(now, seen)


def shown_now(transaction: Transaction, seen: int) -> int:
    """The moment as far as it is believed, for those who only look."""
    try:
        return checked_now(transaction, seen)
    except ClockImplausible:
        return seen


def _words(microseconds: int) -> str:
    return f"{moment(microseconds):%Y-%m-%d %H:%M} UTC"
