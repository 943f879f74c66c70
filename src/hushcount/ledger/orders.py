"""The Renyi orders of a ledger: for which its costs are known, so by which alone its sums may be converted.

A ledger that was founded before there were any knows its costs for all orders, until an owner says otherwise. The
orders only ever become fewer: what was promised of a sum stays true of its parts, and whoever still takes them for
more plans for more, which is safe.
"""

from __future__ import annotations

import json
from decimal import Decimal

from hushcount.errors import InvalidParameter
from hushcount.ledger import limits
from hushcount.ledger.book import Book
from hushcount.ledger.chain import canonical
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.limits import NEW_ORDER
from hushcount.ledger.standing import require
from hushcount.ledger.store import Transaction
from hushcount.model.costs import EVERY_ORDER

# Amounts without a limit are told by these orders, whatever the ledger's are; and fewer would say next to nothing.
_FEWEST = NEW_ORDER


def order_of(transaction: Transaction) -> Decimal:
    """The largest order for which a ledger knows its costs; infinite if it knows them for all."""
    found = transaction.fetch("SELECT value FROM settings WHERE name = 'order'")
    return Decimal(str(found[0][0])) if found else EVERY_ORDER


def lower_order(book: Book, order: Decimal, *, by: str) -> None:
    """Know costs for fewer orders from now on; for owners of everything. Every limit is written anew for them.

    Args:
        book: the book of rules.
        order: the new largest order, below the present one.
        by: who says so.
    """
    require(book.transaction, by, entity=EVERY, roles=("owner",), deed="change the orders of the ledger")
    present = order_of(book.transaction)
    if not _FEWEST <= order < present:
        hint = "Orders that a ledger's sums are not known for cannot be had back."
        raise InvalidParameter("order", order, f"at least {_FEWEST} and below {present}", hint)
    book.append("order", by, order=str(order))
    book.do("DELETE FROM settings WHERE name = 'order'")
    book.do("INSERT INTO settings (name, value) VALUES ('order', ?)", str(order))
    rules = book.transaction.fetch("SELECT entity, kind, name, body FROM limits ORDER BY entity, kind, name")
    for entity, kind, name, body in rules:
        form = limits.to_json(limits.for_order(limits.from_json(json.loads(body)), order))
        book.append("limit", by, rule=[entity, kind, name], limit=form)
        place = (canonical(form), entity, kind, name)
        book.do("UPDATE limits SET body = ? WHERE entity = ? AND kind = ? AND name = ?", *place)
    book.flush()
