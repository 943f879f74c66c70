"""Changes of the catalog that concern one data set: registered, renamed, repinned, declared. Each is a log entry.

All of it is written to the book of rules, because names and identities are unique in the whole ledger. A question to
data that is known never comes here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from hushcount.errors import InvalidParameter, OtherPerson
from hushcount.ledger import datasets
from hushcount.ledger.book import Book, new_book
from hushcount.ledger.catalog import ColumnFacts, Dataset, Registered
from hushcount.ledger.chain import canonical
from hushcount.ledger.datasets import NO_FACTS, DatasetRow, Recognised
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.names import column, identity_text, name_identity, named, titled, unique
from hushcount.ledger.standing import require
from hushcount.ledger.store import Transaction
from hushcount.model.amounts import whole
from hushcount.model.identities import Sighting

_LARGEST_BOUND = 2**31


def known(transaction: Transaction, sighting: Sighting, *, person: str | None, name: str | None) -> Registered | None:
    """The data set, if registering would change nothing; None if there is something to write."""
    found = datasets.recognise(transaction, sighting, name)
    _refuse_other_person(found, person)
    row = found.chosen
    if row is None or _new_identities(found, sighting, name) or (row.person is None and person is not None):
        return None
    return Registered(dataset=datasets.to_value(row, _texts(sighting)), new=False)


def register(rules: Book, sighting: Sighting, *, person: str | None, name: str | None, by: str) -> Registered:
    """Bind a sighting to its data set, or make a new one with a population of its own."""
    done = known(rules.transaction, sighting, person=person, name=name)
    if done is not None:
        # Somebody else met the same data at the same moment, and was first.
        return done
    found = datasets.recognise(rules.transaction, sighting, name)
    row = found.chosen
    if row is None:
        row = _new_row(rules, name or titled(sighting.title), person=person, by=by)
        population = new_book(rules.transaction, row.entity, now=rules.now)
        population.append("open", by, dataset=row.id)
        population.flush()
        datasets.insert(rules, row)
    elif row.person is None and person is not None:
        row = replace(row, person=person)
        datasets.update(rules, row)
    identities = _new_identities(found, sighting, name)
    rules.append("register", by, dataset=datasets.to_entry(row), identities=identities)
    datasets.bind(rules, row.id, identities)
    rules.flush()
    return Registered(dataset=datasets.to_value(row, _texts(sighting)), new=found.chosen is None)


def rename(rules: Book, name: str, new: str, *, by: str) -> Dataset:
    """Call a data set something else. The old name stays known as an identity."""
    row = _owned(rules, name, by=by, deed="rename data sets")
    named("name", new)
    other = datasets.by_name(rules.transaction, new)
    if other is not None and other.id != row.id:
        raise InvalidParameter("name", new, "a name that no other data set has or had", "Choose another.")
    old, row = name_identity(row.name), replace(row, name=new)
    rules.append("rename", by, dataset=row.id, name=new, identities=[old])
    datasets.bind(rules, row.id, [old])
    return _changed(rules, row)


def repin(rules: Book, name: str, person: str, *, by: str) -> Dataset:
    """Pin another person column."""
    row = replace(_owned(rules, name, by=by, deed="say who a person is"), person=column("person", person))
    rules.append("repin", by, dataset=row.id, person=person)
    return _changed(rules, row)


def declare(rules: Book, name: str, facts: Mapping[str, ColumnFacts], *, by: str) -> Dataset:
    """Declare facts about columns."""
    row = _owned(rules, name, by=by, deed="declare facts")
    for item, said in facts.items():
        column("column", item)
        for bound in ("max_items", "per_item_cap"):
            if getattr(said, bound) is not None:
                whole(bound, getattr(said, bound), most=_LARGEST_BOUND)
    merged = {**datasets.facts_from(json.loads(row.facts)), **facts}
    row = replace(row, facts=canonical(datasets.facts_form({k: v for k, v in merged.items() if v != ColumnFacts()})))
    rules.append("declare", by, dataset=row.id, facts=json.loads(row.facts))
    return _changed(rules, row)


def new_id(transaction: Transaction, name: str) -> str:
    """An id that no data set and no population has or had."""
    taken = transaction.fetch("SELECT id FROM datasets UNION SELECT entity FROM books")
    return unique(name, {text for (text,) in taken} | {EVERY})


def new_name(transaction: Transaction, name: str) -> str:
    """The name, with a number if another data set has or had it."""
    number, found = 1, name
    while datasets.by_name(transaction, found) is not None:
        number += 1
        found = f"{name}-{number}"
    return found


def _new_row(rules: Book, name: str, *, person: str | None, by: str) -> DatasetRow:
    shown = new_name(rules.transaction, name)
    identifier = new_id(rules.transaction, shown)
    return DatasetRow(
        id=identifier, name=shown, entity=identifier, person=person, facts=NO_FACTS, made=rules.now, by_whom=by
    )


def _texts(sighting: Sighting) -> list[str]:
    return list(dict.fromkeys(identity_text(identity) for identity in (*sighting.finds, *sighting.binds)))


def _new_identities(found: Recognised, sighting: Sighting, name: str | None) -> list[str]:
    """What is to be bound: what nobody knows yet, and what is remembered of the data but does not find it.

    An identity that finds data belongs to a data set of this very population, and stays there.
    """
    finds = {identity_text(identity) for identity in sighting.finds}
    chosen = found.chosen.id if found.chosen is not None else None
    new = [
        text
        for text in _texts(sighting)
        if text not in found.bound or (text not in finds and found.bound[text] != chosen)
    ]
    # A new data set takes a declared name as its own.
    if name is not None and not found.declared and chosen is not None:
        new.append(name_identity(name))
    return new


def _refuse_other_person(found: Recognised, person: str | None) -> None:
    for row in found.datasets:
        if person is not None and row.person not in {None, person}:
            raise OtherPerson(row.name, pinned=str(row.person), asked=person)


def _owned(rules: Book, name: str, *, by: str, deed: str) -> DatasetRow:
    row = datasets.find(rules.transaction, name)
    require(rules.transaction, by, entity=row.entity, roles=("owner",), deed=deed)
    return row


def _changed(rules: Book, row: DatasetRow) -> Dataset:
    datasets.update(rules, row)
    rules.flush()
    return datasets.to_value(row, datasets.identities_of(rules.transaction, row.id))
