"""Reading the log back: pages of entries, and every charge for proposals."""

from __future__ import annotations

import json
from decimal import Decimal

from hushcount.accounting.spent import Spent
from hushcount.errors import LedgerMismatch, NotPermitted
from hushcount.ledger.ledger import Entry, Page, Use
from hushcount.ledger.standing import standing
from hushcount.ledger.store import Row, Transaction, Value
from hushcount.ledger.windows import moment
from hushcount.model.amounts import whole

_LARGEST_PAGE = 10_000


def entries(transaction: Transaction, page: Page, *, by: str) -> tuple[Entry, ...]:
    """One page of a book's log. Owners and auditors see everything, all others what they did."""
    size = whole("size", page.size, most=_LARGEST_PAGE)
    analyst = page.analyst
    if not standing(transaction, by, page.entity).sees_all:
        if analyst not in {None, by}:
            raise NotPermitted(f"{by!r} may see their own history only; owners and auditors see everybody's.")
        analyst = by
    condition, values = "", list[Value]([page.entity, page.after])
    if analyst is not None:
        condition, values = "AND by_whom = ? ", [*values, analyst]
    found = transaction.fetch(
        f"SELECT body, hash FROM log WHERE entity = ? AND seq > ? {condition}ORDER BY seq LIMIT ?",  # noqa: S608
        *values,
        size,
    )
    return tuple(_entry(body, digest) for body, digest in found)


def uses(transaction: Transaction, entity: str) -> tuple[Use, ...]:
    """Every charge to an analyst of this population, oldest first; also of those that were joined to it."""
    found: list[Row] = []
    for book in _books_of(transaction, entity):
        found += transaction.fetch(
            "SELECT made, analyst, charged_rho, charged_delta FROM asks "
            "WHERE entity = ? AND state IN ('settled', 'expired', 'overrun') ORDER BY made, number",
            book,
        )
    return tuple(
        Use(analyst=analyst, at=moment(made), spent=Spent(rho=Decimal(rho), delta=Decimal(delta)))
        for made, analyst, rho, delta in sorted(found, key=lambda row: row[0])
    )


def _books_of(transaction: Transaction, entity: str) -> list[str]:
    """The book of a population and all that it took over, directly or by way of others."""
    books = [entity]
    for book in books:
        books += [name for (name,) in transaction.fetch("SELECT entity FROM books WHERE merged = ? ORDER BY 1", book)]
    return books


def _entry(text: str, digest: str) -> Entry:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise LedgerMismatch("an entry of the log cannot be read; run: hushcount ledger verify") from None
    return Entry(
        entity=body["entity"],
        seq=body["seq"],
        at=moment(body["at"]),
        kind=body["kind"],
        by=body["by"],
        body=body,
        hash=digest,
    )
