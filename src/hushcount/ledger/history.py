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
_OF_QUESTIONS = frozenset(
    {"reserve", "repeat", "touch", "keep", "unveil", "settle", "late", "expire", "refund", "overrun"}
)


def entries(transaction: Transaction, page: Page, *, by: str) -> tuple[Entry, ...]:
    """One page of a book's log. Owners and auditors see everything, all others what they did."""
    size = whole("size", page.size, most=_LARGEST_PAGE)
    analyst = page.analyst
    if not standing(transaction, by, page.entity, dataset=page.dataset).sees_all:
        if analyst not in {None, by}:
            raise NotPermitted(f"{by!r} may see their own history only; owners and auditors see everybody's.")
        analyst = by
    if page.dataset is None:
        return _entries(transaction, page.entity, after=page.after, size=size, analyst=analyst)
    found, after = list[Entry](), page.after
    while len(found) < size and (some := _entries(transaction, page.entity, after=after, size=size, analyst=analyst)):
        found += _about(transaction, some, page.dataset)
        after = some[-1].seq
    return tuple(found[:size])


def _entries(transaction: Transaction, entity: str, *, after: int, size: int, analyst: str | None) -> tuple[Entry, ...]:
    condition, values = "", list[Value]([entity, after])
    if analyst is not None:
        condition, values = "AND by_whom = ? ", [*values, analyst]
    found = transaction.fetch(
        f"SELECT body, hash FROM log WHERE entity = ? AND seq > ? {condition}ORDER BY seq LIMIT ?",  # noqa: S608
        *values,
        size,
    )
    return tuple(_entry(body, digest) for body, digest in found)


def _about(transaction: Transaction, entries: tuple[Entry, ...], dataset: str) -> list[Entry]:
    """Those of the entries that are about questions on one data set.

    What is about the people as a whole is not: how accounts were joined or parted tells of their other data sets.
    """
    number_of = {one.seq: one.body.get("ask", one.body).get("number") for one in entries if one.kind in _OF_QUESTIONS}
    numbers = sorted({number for number in number_of.values() if isinstance(number, int)})
    marks = ", ".join("?" for _ in numbers) or "NULL"
    found = transaction.fetch(
        f"SELECT number FROM asks WHERE entity = ? AND dataset = ? AND number IN ({marks})",  # noqa: S608 (own words)
        entries[0].entity,
        dataset,
        *numbers,
    )
    own = {number for (number,) in found}
    return [one for one in entries if number_of.get(one.seq) in own]


def uses(transaction: Transaction, entity: str, *, dataset: str | None = None) -> tuple[Use, ...]:
    """Every charge to an analyst of this population, oldest first; also of those that were joined to it."""
    found: list[Row] = []
    only, values = ("", ()) if dataset is None else ("AND dataset = ? ", (dataset,))
    for book in _books_of(transaction, entity):
        found += transaction.fetch(
            "SELECT made, analyst, charged_rho, charged_delta FROM asks "  # noqa: S608 (own words)
            f"WHERE entity = ? AND state IN ('settled', 'expired', 'overrun') {only}ORDER BY made, number",
            book,
            *values,
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
