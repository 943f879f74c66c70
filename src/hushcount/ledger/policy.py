"""Rules: limits, roles and groups. Kept in a book of their own, so that who changed what, and when, is in the chain."""

from __future__ import annotations

from hushcount.errors import InvalidParameter, NotPermitted, UnknownDataset
from hushcount.ledger import limits
from hushcount.ledger.book import Book
from hushcount.ledger.chain import canonical
from hushcount.ledger.datasets import by_ids, is_population, require_population
from hushcount.ledger.ledger import EVERY, KINDS, ROLES, Account, Role
from hushcount.ledger.limits import Limit
from hushcount.ledger.names import named
from hushcount.ledger.orders import order_of
from hushcount.ledger.standing import require, standing


def set_limit(book: Book, account: Account, *, limit: Limit | None, by: str) -> None:
    """Set or lift a limit; for the owner of that population or of everything.

    A limit on what nobody has registered would bind nothing, so it is refused.
    """
    if account.kind not in KINDS:
        raise InvalidParameter("kind", account.kind, f"one of {', '.join(KINDS)}")
    if not _is_own_cap(book, account, by):
        require(book.transaction, by, entity=account.entity, roles=("owner",), deed="change limits")
    require_population(book.transaction, account.entity)
    name = account.entity if account.kind == "dataset" else account.name
    if name not in {EVERY, account.entity}:
        named("account", name)
    rule = (account.entity, account.kind, name)
    form = None if limit is None else limits.to_json(limits.for_order(limit, order_of(book.transaction)))
    book.append("limit", by, rule=list(rule), limit=form)
    book.do("DELETE FROM limits WHERE entity = ? AND kind = ? AND name = ?", *rule)
    if form is not None:
        book.do("INSERT INTO limits (entity, kind, name, body) VALUES (?, ?, ?, ?)", *rule, canonical(form))
    book.flush()


def grant(book: Book, person: str, *, role: Role | None, entity: str, by: str) -> None:
    """Give or take a role for a population or for all; or for a data set, if no population is called so."""
    if not is_population(book.transaction, entity) and by_ids(book.transaction, [entity]):
        grant_for_dataset(book, person, role=role, dataset=entity, by=by)
        return
    _checked(person, role)
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


def grant_for_dataset(book: Book, person: str, *, role: Role | None, dataset: str, by: str) -> None:
    """Give or take a role for one data set; for its own owner, or that of its population or of everything."""
    _checked(person, role)
    found = by_ids(book.transaction, [named("dataset", dataset)])
    if not found:
        raise UnknownDataset(dataset)
    entity = found[0].entity
    # Who owns the population is not shut out of one of its data sets by what they are called there.
    if standing(book.transaction, by, entity).role != "owner":
        require(book.transaction, by, entity=entity, roles=("owner",), deed="give roles", dataset=dataset)
    book.append("role", by, dataset=dataset, person=person, role=role)
    put_dataset_role(book, person, role=role, dataset=dataset)
    book.flush()


def put_dataset_role(book: Book, person: str, *, role: str | None, dataset: str) -> None:
    """Write a person's role for one data set."""
    book.do("DELETE FROM dataset_roles WHERE dataset = ? AND person = ?", dataset, person)
    if role is not None:
        book.do("INSERT INTO dataset_roles (dataset, person, role) VALUES (?, ?, ?)", dataset, person, role)


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


def _checked(person: str, role: Role | None) -> None:
    named("person", person)
    if role is not None and role not in ROLES:
        raise InvalidParameter("role", role, f"one of {', '.join(ROLES)}")


def _is_own_cap(book: Book, account: Account, by: str) -> bool:
    """Whether it is the cap of a token of their own: it only holds back what their own account may spend anyway."""
    if (account.kind, account.entity) != ("token", EVERY):
        return False
    found = book.transaction.fetch("SELECT owner FROM records WHERE kind = 'token' AND id = ?", account.name)
    return bool(found) and found[0][0] == by
