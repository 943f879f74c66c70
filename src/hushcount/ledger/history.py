"""Reading the log back: pages of entries, and every charge for proposals."""

from __future__ import annotations

import json
from decimal import Decimal

from hushcount.accounting.spent import Spent
from hushcount.errors import NotPermitted
from hushcount.ledger.ledger import Entry, Page, Use
from hushcount.ledger.standing import standing
from hushcount.ledger.store import Rows, Value
from hushcount.ledger.windows import moment
from hushcount.model.amounts import whole

_LARGEST_PAGE = 10_000


def entries(rows: Rows, page: Page, *, by: str) -> tuple[Entry, ...]:
    """One page of a book's log. Analysts see what they did; owners and auditors see everything."""
    size = whole("size", page.size, most=_LARGEST_PAGE)
    analyst = page.analyst
    if standing(rows, by, page.entity).role == "analyst":
        if analyst not in {None, by}:
            raise NotPermitted(f"{by!r} may see their own history only; owners and auditors see everybody's.")
        analyst = by
    condition, values = "", list[Value]([page.entity, page.after])
    if analyst is not None:
        condition, values = "AND by_whom = ? ", [*values, analyst]
    found = rows.fetch(
        f"SELECT body, hash FROM log WHERE entity = ? AND seq > ? {condition}ORDER BY seq LIMIT ?",  # noqa: S608
        *values,
        size,
    )
    return tuple(_entry(body, digest) for body, digest in found)


def uses(rows: Rows, entity: str) -> tuple[Use, ...]:
    """Every charge to an analyst of this data set, oldest first."""
    found = rows.fetch(
        "SELECT analyst, made, charged_rho, charged_delta FROM asks "
        "WHERE entity = ? AND state IN ('settled', 'expired', 'overrun') ORDER BY made, number",
        entity,
    )
    return tuple(
        Use(analyst=analyst, at=moment(made), spent=Spent(rho=Decimal(rho), delta=Decimal(delta)))
        for analyst, made, rho, delta in found
    )


def _entry(text: str, digest: str) -> Entry:
    body = json.loads(text)
    return Entry(
        entity=body["entity"],
        seq=body["seq"],
        at=moment(body["at"]),
        kind=body["kind"],
        by=body["by"],
        body=body,
        hash=digest,
    )
