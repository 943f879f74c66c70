"""Rules: limits, roles and groups. Kept in a book of their own, so that who changed what, and when, is in the chain."""

from __future__ import annotations

from hushcount.errors import InvalidParameter, NotPermitted
from hushcount.ledger import limits
from hushcount.ledger.book import Book
from hushcount.ledger.chain import canonical
from hushcount.ledger.datasets import require_population
from hushcount.ledger.ledger import EVERY, ROLES, Account, Role
from hushcount.ledger.limits import Limit
from hushcount.ledger.names import named
from hushcount.ledger.standing import require


def set_limit(book: Book, account: Account, *, limit: Limit | None, by: str) -> None:
    """Set or lift a limit; for the owner of that population or of everything.

    A limit on what nobody has registered would bind nothing, so it is refused.
    """
    require(book.transaction, by, entity=account.entity, roles=("owner",), deed="change limits")
    require_population(book.transaction, account.entity)
    name = account.entity if account.kind == "dataset" else account.name
    if name not in {EVERY, account.entity}:
        named("account", name)
    rule = (account.entity, account.kind, name)
    form = None if limit is None else limits.to_json(limit)
    book.append("limit", by, rule=list(rule), limit=form)
    book.do("DELETE FROM limits WHERE entity = ? AND kind = ? AND name = ?", *rule)
    if form is not None:
        book.do("INSERT INTO limits (entity, kind, name, body) VALUES (?, ?, ?, ?)", *rule, canonical(form))
    book.flush()


def grant(book: Book, person: str, *, role: Role | None, entity: str, by: str) -> None:
    """Give or take a role."""
    named("person", person)
    if role is not None and role not in ROLES:
        raise InvalidParameter("role", role, f"one of {', '.join(ROLES)}")
    require(book.transaction, by, entity=entity, roles=("owner",), deed="give roles")
    require_population(book.transaction, entity)
    if entity == EVERY and role != "owner":
        others = book.transaction.fetch(
            "SELECT 1 FROM roles WHERE role = 'owner' AND entity = ? AND person <> ? LIMIT 1", EVERY, person
        )
        # Without an owner nobody could ever change a rule again.
        if not others:
            raise NotPermitted(f"{person!r} is the only owner; make somebody else an owner first.")
    book.append("role", by, place=entity, person=person, role=role)
    book.do("DELETE FROM roles WHERE entity = ? AND person = ?", entity, person)
    if role is not None:
        book.do("INSERT INTO roles (entity, person, role) VALUES (?, ?, ?)", entity, person, role)
    book.flush()


def enroll(book: Book, analyst: str, *, group: str, by: str, member: bool) -> None:
    """Put an analyst into a group, or take them out."""
    named("analyst", analyst)
    named("group", group)
    require(book.transaction, by, entity=EVERY, roles=("owner",), deed="change groups")
    book.append("member", by, analyst=analyst, group=group, member=member)
    book.do("DELETE FROM members WHERE analyst = ? AND name = ?", analyst, group)
    if member:
        book.do("INSERT INTO members (analyst, name) VALUES (?, ?)", analyst, group)
    book.flush()
