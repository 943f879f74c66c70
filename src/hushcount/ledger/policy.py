"""Rules: limits, roles and groups. Kept in a book of their own, so that who changed what, and when, is in the chain."""

from __future__ import annotations

from hushcount.errors import InvalidParameter, NotPermitted
from hushcount.ledger import limits
from hushcount.ledger.book import Book, Clock, create_book
from hushcount.ledger.chain import canonical
from hushcount.ledger.identity import named
from hushcount.ledger.ledger import EVERY, ROLES, Account, Role
from hushcount.ledger.limits import Limit
from hushcount.ledger.standing import require
from hushcount.ledger.store import Dialect, Rows


def rule_book(rows: Rows, dialect: Dialect, clock: Clock) -> Book:
    """The book of rules, locked: rules change one after the other."""
    return create_book(rows, dialect, entity=EVERY, clock=clock)


def set_limit(book: Book, account: Account, *, limit: Limit | None, by: str) -> None:
    """Set or lift a limit; for the owner of that data set or of everything."""
    require(book.rows, by, entity=account.entity, roles=("owner",), deed="change limits")
    name = account.entity if account.kind == "dataset" else account.name
    key = (account.entity, account.kind, name)
    form = None if limit is None else limits.to_json(limit)
    book.append("limit", by, rule=list(key), limit=form)
    book.do("DELETE FROM limits WHERE entity = ? AND kind = ? AND name = ?", *key)
    if form is not None:
        book.do("INSERT INTO limits (entity, kind, name, body) VALUES (?, ?, ?, ?)", *key, canonical(form))
    book.flush()


def grant(book: Book, person: str, *, role: Role | None, entity: str, by: str) -> None:
    """Give or take a role. A ledger without any owner is claimed by the first who makes themselves owner of all."""
    named("person", person)
    if role is not None and role not in ROLES:
        raise InvalidParameter("role", role, f"one of {', '.join(ROLES)}")
    claimed = book.rows.fetch("SELECT 1 FROM roles WHERE role = 'owner' AND entity = ? LIMIT 1", EVERY)
    claims = not claimed and role == "owner" and entity == EVERY and person == by
    if not claims:
        require(book.rows, by, entity=entity, roles=("owner",), deed="give roles")
    if claimed and entity == EVERY and role != "owner":
        others = book.rows.fetch(
            "SELECT 1 FROM roles WHERE role = 'owner' AND entity = ? AND person <> ? LIMIT 1", EVERY, person
        )
        # Without an owner the ledger could be claimed by anybody.
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
    require(book.rows, by, entity=EVERY, roles=("owner",), deed="change groups")
    book.append("member", by, analyst=analyst, group=group, member=member)
    book.do("DELETE FROM members WHERE analyst = ? AND name = ?", analyst, group)
    if member:
        book.do("INSERT INTO members (analyst, name) VALUES (?, ?)", analyst, group)
    book.flush()
