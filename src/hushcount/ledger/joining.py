"""Populations that meet and part: nothing that was spent is lost on the way, and what was paid for stays free.

The book of rules says which data set is whose; the books of the populations say what became of the accounts. Both are
held while this happens: the book of rules first, the others in the order of their names, so that nobody waits in a
ring.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hushcount.errors import Frozen, InvalidParameter, JoinRefused
from hushcount.ledger import asks, cataloguing, datasets
from hushcount.ledger.accounts import (
    ACCOUNT_COLUMNS,
    AccountState,
    Payer,
    by_payer,
    from_row,
    inherit,
    merge,
    moved,
    to_row,
)
from hushcount.ledger.book import Book, lock_book, new_book
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.datasets import DatasetRow
from hushcount.ledger.names import identity_text, named
from hushcount.ledger.policy import put_dataset_role
from hushcount.ledger.settling import sweep
from hushcount.ledger.standing import require
from hushcount.ledger.store import Transaction
from hushcount.model.identities import Identity

_DEED = "change whose people a data set is about"


def join(rules: Book, name: str, other: str, *, by: str) -> Dataset:
    """Make the populations of two data sets one."""
    mine, theirs = datasets.find(rules.transaction, name), datasets.find(rules.transaction, other)
    for row in (mine, theirs):
        require(rules.transaction, by, entity=row.entity, roles=("owner",), deed=_DEED)
    if mine.entity == theirs.entity:
        raise JoinRefused(f"{mine.name!r} and {theirs.name!r} are about the same people already. Nothing was changed.")
    _refuse_other_rules(rules.transaction, mine, theirs)
    _refuse_if_frozen(rules.transaction, (mine, theirs))
    books = {entity: _locked(rules.transaction, entity) for entity in sorted({mine.entity, theirs.entity})}
    kept, closed = books[mine.entity], books[theirs.entity]
    if rules.transaction.fetch("SELECT 1 FROM asks WHERE entity = ? AND state = 'open' LIMIT 1", closed.entity):
        raise JoinRefused(
            f"a query is running on {theirs.name!r}, and its charge would go to a closed book. Try again when it has "
            "ended, or join the other way round. Nothing was changed."
        )
    _take_over(kept, closed, by=by)
    rules.append("join", by, population=kept.entity, other=closed.entity)
    for row in datasets.of_population(rules.transaction, closed.entity):
        datasets.update(rules, replace(row, entity=kept.entity))
    rules.flush()
    return datasets.to_value(mine, datasets.identities_of(rules.transaction, mine.id))


def split(rules: Book, name: str, *, by: str, new: str | None, identities: tuple[Identity, ...]) -> Dataset:
    """Let a data set, or some of its identities as a new one, leave to a population of its own."""
    row = datasets.find(rules.transaction, name)
    require(rules.transaction, by, entity=row.entity, roles=("owner",), deed=_DEED)
    _refuse_if_frozen(rules.transaction, (row,))
    leaving = [identity_text(identity) for identity in identities]
    shown = _leaver(rules, row, new=new, leaving=leaving, by=by)
    book = _locked(rules.transaction, row.entity)
    # The population that is left may be called like the data set.
    entity = cataloguing.new_id(rules.transaction, shown.id if shown.id != row.id else f"{shown.id} apart")
    population = new_book(rules.transaction, entity, now=max(book.now, rules.now))
    book.append("leave", by, dataset=shown.id, into=population.entity)
    states = _states(book)
    lines = [list(to_row(state)) for state in states]
    population.append("split", by, other=book.entity, seq_there=book.seq, hash_there=book.head, accounts=lines)
    for state in states:
        population.save(inherit(moved(state, population.entity), at=population.now))
    _adopt(population, book, only=(row.id, shown.id), by=by)
    book.flush()
    population.flush()
    return _left(rules, row, replace(shown, entity=population.entity), leaving=leaving, by=by)


def _left(rules: Book, row: DatasetRow, left: DatasetRow, *, leaving: list[str], by: str) -> Dataset:
    """Record in the catalog what left."""
    said = datasets.to_entry(left)
    rules.append("split", by, dataset=said, origin=row.id, facts=json.loads(left.facts), identities=leaving)
    _copy_rules(rules, row.entity, left.entity, by=by)
    if left.id == row.id:
        datasets.update(rules, left)
    else:
        datasets.insert(rules, left)
        datasets.bind(rules, left.id, leaving)
        _copy_dataset_roles(rules, row.id, left.id, by=by)
    rules.flush()
    return datasets.to_value(left, datasets.identities_of(rules.transaction, left.id))


def _leaver(rules: Book, row: DatasetRow, *, new: str | None, leaving: list[str], by: str) -> DatasetRow:
    """The data set that leaves: the one that is there, or a new one made of some of its identities."""
    if not leaving:
        if new is not None:
            raise InvalidParameter("new", new, "given together with the identities that are to leave")
        if len(datasets.of_population(rules.transaction, row.entity)) == 1:
            raise InvalidParameter("name", row.name, "a data set that shares its people with another one")
        return row
    has = set(datasets.identities_of(rules.transaction, row.id))
    strangers = sorted(set(leaving) - has)
    if strangers:
        raise InvalidParameter("identities", strangers[0], f"among those of the data set {row.name!r}")
    if has == set(leaving):
        raise InvalidParameter("identities", "all of them", "some of them: otherwise the data set leaves as a whole")
    if new is None:
        raise InvalidParameter("new", new, "given: the name of the new data set")
    named("new", new)
    if datasets.by_name(rules.transaction, new) is not None:
        raise InvalidParameter("new", new, "a name that no data set has or had", "Choose another.")
    return replace(row, id=cataloguing.new_id(rules.transaction, new), name=new, made=rules.now, by_whom=by)


def _take_over(kept: Book, closed: Book, *, by: str) -> None:
    """Add the accounts of one book to another, adopt its stored answers, and close it."""
    kept.now = closed.now = max(kept.now, closed.now)
    closed.merged = kept.entity
    closed.append("close", by, into=kept.entity)
    states = _states(closed)
    lines = [list(to_row(state)) for state in states]
    common = _common(kept, closed)
    there = {"other": closed.entity, "seq_there": closed.seq, "hash_there": closed.head}
    kept.append("join", by, **there, accounts=lines, common=common)
    shared = by_payer(common, kept.entity)
    for theirs in (moved(state, kept.entity) for state in states):
        (mine,) = kept.load([theirs.payer])
        kept.save(merge(mine, theirs, at=kept.now, common=shared.get(theirs.payer)))
    _adopt(kept, closed, only=None, by=by)
    closed.flush()
    kept.flush()


def _common(kept: Book, closed: Book) -> list[list[Any]]:
    """The accounts as they were when one of the two books left the other; none if neither did.

    Only that one step is looked at. What two books share by a longer way, such as two that left the same third, is
    counted in both: how much of it a window still holds could not be told from the entries alone.
    """
    for child, parent in ((kept, closed), (closed, kept)):
        ((text,),) = kept.transaction.fetch("SELECT body FROM log WHERE entity = ? AND seq = 1", child.entity)
        first = json.loads(text)
        if first["kind"] == "split" and first["other"] == parent.entity:
            return list(first["accounts"])
    return []


def _adopt(book: Book, other: Book, *, only: tuple[str, str] | None, by: str) -> None:
    """Take over stored answers with those who paid for them, so that repeats stay free.

    An answer to a question that this book has answered itself stays behind; if it is the same answer, byte for byte,
    whoever paid for it there has paid for it here. `only` names the data set whose answers are meant, and the one whose
    they become.
    """
    found = book.transaction.fetch(
        f"SELECT number, {', '.join(asks.ANSWER_COLUMNS)} FROM releases "  # noqa: S608 (names of columns)
        f"WHERE entity = ? AND canonical = 1 {'AND dataset = ? ' if only else ''}ORDER BY number",
        *(other.entity, *([only[0]] if only else [])),
    )
    for number, *columns in found:
        release = dict(zip(asks.ANSWER_COLUMNS, columns, strict=True))
        if only:
            release["dataset"] = only[1]
        own = asks.canonical_answer(book, release["version"], release["query"])
        if own is not None and own.digest != release["digest"]:
            continue
        holders = _holders(book, other.entity, number)
        here = book.seq + 1 if own is None else own.number
        said = {"other": other.entity, "number": number, "answer": here, "holders": [list(payer) for payer in holders]}
        book.append("adopt", by, **said, release=None if own is not None else release)
        if own is None:
            asks.copy_answer(book, other.entity, number, as_number=here, dataset=release["dataset"])
        asks.hold(book, here, payers=holders)


def _holders(book: Book, entity: str, number: int) -> list[Payer]:
    """Who paid for an answer in another book, as they are called in this one."""
    found = book.transaction.fetch(
        "SELECT kind, name FROM holders WHERE entity = ? AND number = ? ORDER BY kind, name", entity, number
    )
    return [(kind, book.entity if kind == "dataset" else name) for kind, name in found]


def _states(book: Book) -> list[AccountState]:
    found = book.transaction.fetch(
        f"SELECT {', '.join(ACCOUNT_COLUMNS)} FROM accounts WHERE entity = ? ORDER BY kind, name",  # noqa: S608
        book.entity,
    )
    return [from_row(row) for row in found]


def _locked(transaction: Transaction, entity: str) -> Book:
    book = lock_book(transaction, entity)
    if book is None:  # pragma: no cover (every data set has a book)
        raise LookupError(entity)
    sweep(book)
    return book


def _copy_rules(rules: Book, entity: str, leaving: str, *, by: str) -> None:
    """What was decided for a population holds for those who leave it, until an owner decides otherwise."""
    found = rules.transaction.fetch("SELECT kind, name, body FROM limits WHERE entity = ? ORDER BY kind, name", entity)
    for kind, name, body in found:
        rule = (leaving, kind, leaving if kind == "dataset" else name)
        rules.append("limit", by, rule=list(rule), limit=json.loads(body))
        rules.do("INSERT INTO limits (entity, kind, name, body) VALUES (?, ?, ?, ?)", *rule, body)
    for person, role in rules.transaction.fetch("SELECT person, role FROM roles WHERE entity = ? ORDER BY 1", entity):
        rules.append("role", by, place=leaving, person=person, role=role)
        rules.do("INSERT INTO roles (entity, person, role) VALUES (?, ?, ?)", leaving, person, role)


def _copy_dataset_roles(rules: Book, origin: str, leaving: str, *, by: str) -> None:
    """Who was what for a data set is that for the part of it that leaves."""
    found = rules.transaction.fetch("SELECT person, role FROM dataset_roles WHERE dataset = ? ORDER BY 1", origin)
    for person, role in found:
        rules.append("role", by, dataset=leaving, person=person, role=role)
        put_dataset_role(rules, person, role=role, dataset=leaving)


def _refuse_if_frozen(transaction: Transaction, rows: tuple[DatasetRow, ...]) -> None:
    """Refuse to join or split what is frozen: a freeze of one population would not hold for another."""
    for place in dict.fromkeys(place for row in rows for place in (row.entity, row.id)):
        if transaction.fetch("SELECT 1 FROM records WHERE kind = 'freeze' AND id = ?", place):
            raise Frozen(
                f"{place!r} is frozen, and whose people a data set is about cannot be changed while it is. Lift the "
                "freeze first. Nothing was changed or charged.",
                place=place,
            )


def _refuse_other_rules(transaction: Transaction, mine: DatasetRow, theirs: DatasetRow) -> None:
    """Refuse to drop a rule in silence: what was decided for the other population alone must hold here already."""
    for table, words in (("limits", "limits"), ("roles", "roles")):
        kept, lost = (set(_rules_of(transaction, table, row.entity)) for row in (mine, theirs))
        if lost - kept:
            raise JoinRefused(
                f"the data set {theirs.name!r} has {words} of its own that {mine.name!r} has not, and they would be "
                f"lost. Set the same for {mine.name!r}, or take them back from {theirs.name!r}, then join. Nothing "
                "was changed."
            )


def _rules_of(transaction: Transaction, table: str, entity: str) -> Iterable[tuple[str, ...]]:
    """The rules of one population, in a form that can be compared with another's."""
    columns = {"limits": "kind, name, body", "roles": "'', person, role"}[table]
    found = transaction.fetch(f"SELECT {columns} FROM {table} WHERE entity = ?", entity)  # noqa: S608 (own words)
    return [(kind, "" if kind == "dataset" else name, said) for kind, name, said in found]
