"""Rows of the catalog: data sets and the identities by which they are known, read and made into values."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hushcount.errors import SeveralDatasets, UnknownDataset
from hushcount.ledger.book import Book, lock_book_of, look, look_book_of
from hushcount.ledger.catalog import ColumnFacts, Dataset
from hushcount.ledger.chain import canonical
from hushcount.ledger.clocks import checked_now
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.names import identity_from, identity_text, name_identity
from hushcount.ledger.store import Conflict, Statement, Transaction
from hushcount.ledger.windows import moment
from hushcount.model.frozen import frozen
from hushcount.model.identities import Sighting

DATASET_COLUMNS = ("id", "name", "entity", "person", "facts", "made", "by_whom")
_LIST = ", ".join(DATASET_COLUMNS)
_NAMED = "name = ?"
_ENTITY_OF = "SELECT entity FROM datasets WHERE id = ?"
# Identities that are looked up with one statement; a folder of many files has many.
_AT_ONCE = 400


@frozen
class DatasetRow:
    """One row of `datasets`; the fields are its columns."""

    id: str
    name: str
    entity: str
    person: str | None
    facts: str
    made: int
    by_whom: str


@frozen
class Recognised:
    """What the catalog knows of a sighting.

    Attributes:
        datasets: the data sets it is known as, oldest first, all of one population.
        chosen: the one that is meant: the one of the declared name, or else the oldest.
        declared: whether that was found by the declared name.
        bound: for each of its identities that is known, the data set it belongs to.
    """

    datasets: tuple[DatasetRow, ...]
    chosen: DatasetRow | None
    declared: bool
    bound: Mapping[str, str]


def recognise(transaction: Transaction, sighting: Sighting, name: str | None) -> Recognised:
    """What the catalog knows of a sighting.

    Raises:
        SeveralDatasets: it is known as data sets of more than one population.
    """
    finds = {identity_text(identity) for identity in sighting.finds}
    every = finds | {identity_text(identity) for identity in sighting.binds}
    named = [] if name is None else [_of(_NAMED, name)]
    transaction.send([*named, *_bound(every), *_found(finds)])
    declared = None if name is None else by_name(transaction, name)
    bound = bindings(transaction, every)
    found = {row.id: row for one in _found(finds) for row in _rows(transaction, one)}
    if declared is not None:
        found[declared.id] = declared
    rows = tuple(sorted(found.values(), key=lambda row: (row.made, row.id)))
    if len({row.entity for row in rows}) > 1:
        raise SeveralDatasets(tuple(row.name for row in rows))
    chosen = declared or (rows[0] if rows else None)
    return Recognised(datasets=rows, chosen=chosen, declared=declared is not None, bound=bound)


def bindings(transaction: Transaction, identities: Iterable[str]) -> dict[str, str]:
    """Those of the identities that are known, each with its data set."""
    found = dict[str, str]()
    for sql, values in _bound(identities):
        found.update(transaction.fetch(sql, *values))
    return found


def by_ids(transaction: Transaction, ids: Iterable[str]) -> list[DatasetRow]:
    """The data sets of these ids."""
    return [row for one in sorted(ids) for row in _rows(transaction, _of("id = ?", one))]


def by_name(transaction: Transaction, name: str) -> DatasetRow | None:
    """The data set that has this name, or else the one that was once declared under it."""
    found = _rows(transaction, _of(_NAMED, name))
    if not found:
        known = bindings(transaction, [name_identity(name)])
        found = by_ids(transaction, known.values())
    return found[0] if found else None


def find(transaction: Transaction, name: str) -> DatasetRow:
    """The data set of this name.

    Raises:
        UnknownDataset: there is none.
    """
    found = by_name(transaction, name)
    if found is None:
        names = [known for (known,) in transaction.fetch("SELECT name FROM datasets ORDER BY name")]
        nearest = difflib.get_close_matches(name, names, n=1)
        raise UnknownDataset(name, nearest[0] if nearest else None)
    return found


def of_population(transaction: Transaction, entity: str) -> list[DatasetRow]:
    """The data sets of one population, oldest first."""
    return _rows(transaction, _of("entity = ? ORDER BY made, id", entity))


def every_dataset(transaction: Transaction) -> list[DatasetRow]:
    """All data sets by name."""
    return _rows(transaction, _of("1 = 1 ORDER BY name"))


def identities_of(transaction: Transaction, dataset: str) -> list[str]:
    """Everything that a data set was ever known by."""
    found = transaction.fetch("SELECT identity FROM identities WHERE dataset = ? ORDER BY identity", dataset)
    return [identity for (identity,) in found]


def open_population(transaction: Transaction, dataset: str, *, following: Sequence[Statement] = ()) -> Book:
    """The book of a data set's population, for writing; `following` is what is fetched next.

    Raises:
        Conflict: the data set moved to another population meanwhile; start again.
        UnknownDataset: it was never registered.
    """
    book = lock_book_of(transaction, dataset, following=[(_ENTITY_OF, (dataset,)), *following])
    if book is None:
        raise UnknownDataset(dataset)
    # Whoever joins or splits populations holds their books, so now that this one is held the answer cannot change; but
    # it may have while we waited.
    if _entity_of(transaction, dataset) != book.entity:
        raise Conflict(dataset)
    return book


def look_population(transaction: Transaction, dataset: str, *, following: Sequence[Statement] = ()) -> Book:
    """The book of a data set's population to read from; an empty one if the data set was never registered."""
    return look_book_of(transaction, dataset, following=following) or look(transaction, dataset, moment=checked_now)


def require_population(transaction: Transaction, entity: str) -> None:
    """Refuse what is no population, or one no longer."""
    if not is_population(transaction, entity):
        found = transaction.fetch("SELECT merged FROM books WHERE entity = ?", entity)
        raise UnknownDataset(entity, found[0][0] if found else None)


def is_population(transaction: Transaction, entity: str) -> bool:
    """Whether it is a population whose book is open, or all of them."""
    if entity == EVERY:
        return True
    return bool(transaction.fetch("SELECT 1 FROM books WHERE entity = ? AND merged IS NULL", entity))


def to_value(row: DatasetRow, identities: Iterable[str]) -> Dataset:
    """A data set as it crosses folders."""
    return Dataset(
        id=row.id,
        name=row.name,
        population=row.entity,
        person=row.person,
        facts=facts_from(json.loads(row.facts)),
        identities=tuple(identity_from(text) for text in identities),
        made=moment(row.made),
        by=row.by_whom,
    )


def to_entry(row: DatasetRow) -> dict[str, Any]:
    """A data set as log entries tell it, apart from its facts."""
    return {name: getattr(row, name) for name in DATASET_COLUMNS if name != "facts"}


def facts_form(facts: Mapping[str, ColumnFacts]) -> dict[str, Any]:
    """Facts as JSON, for the log and the table."""
    return {
        column: {
            "max_items": said.max_items,
            "per_item_cap": said.per_item_cap,
            "public_items": None if said.public_items is None else list(said.public_items),
        }
        for column, said in facts.items()
    }


def facts_from(form: Mapping[str, Any]) -> dict[str, ColumnFacts]:
    """The facts that `facts_form` wrote."""
    return {
        column: ColumnFacts(
            max_items=said["max_items"],
            per_item_cap=said["per_item_cap"],
            public_items=None if said["public_items"] is None else tuple(said["public_items"]),
        )
        for column, said in form.items()
    }


def insert(book: Book, row: DatasetRow) -> None:
    """Write a new data set."""
    marks = ", ".join("?" for _ in DATASET_COLUMNS)
    values = tuple(getattr(row, name) for name in DATASET_COLUMNS)
    book.do(f"INSERT INTO datasets ({_LIST}) VALUES ({marks})", *values)  # noqa: S608


def update(book: Book, row: DatasetRow) -> None:
    """Write what changed in a data set."""
    book.do(
        "UPDATE datasets SET name = ?, entity = ?, person = ?, facts = ? WHERE id = ?",
        *(row.name, row.entity, row.person, row.facts, row.id),
    )


def bind(book: Book, dataset: str, identities: Iterable[str]) -> None:
    """Bind identities to a data set; one that belonged to another now belongs to this one."""
    for identity in identities:
        book.do(
            "INSERT INTO identities (identity, dataset) VALUES (?, ?) "
            "ON CONFLICT (identity) DO UPDATE SET dataset = excluded.dataset",
            *(identity, dataset),
        )


NO_FACTS = canonical({})


def _entity_of(transaction: Transaction, dataset: str) -> str | None:
    found = transaction.fetch(_ENTITY_OF, dataset)
    return str(found[0][0]) if found else None


def _of(condition: str, *values: str) -> Statement:
    """What fetches the data sets of which something holds."""
    return f"SELECT {_LIST} FROM datasets WHERE {condition}", values  # noqa: S608 (own words)


def _bound(identities: Iterable[str]) -> list[Statement]:
    """What `bindings` fetches."""
    return [
        (f"SELECT identity, dataset FROM identities WHERE identity IN ({marks})", part)  # noqa: S608
        for marks, part in _marked(identities)
    ]


def _found(identities: Iterable[str]) -> list[Statement]:
    """The data sets that these identities belong to, as statements."""
    inner = "SELECT dataset FROM identities WHERE identity IN"
    return [_of(f"id IN ({inner} ({marks}))", *part) for marks, part in _marked(identities)]


def _marked(texts: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Marks for these texts, as many at a time as one statement takes."""
    wanted = sorted(texts)
    some = [tuple(wanted[start : start + _AT_ONCE]) for start in range(0, len(wanted), _AT_ONCE)]
    return [(", ".join("?" for _ in part), part) for part in some]


def _rows(transaction: Transaction, statement: Statement) -> list[DatasetRow]:
    sql, values = statement
    found = transaction.fetch(sql, *values)
    return [DatasetRow(**dict(zip(DATASET_COLUMNS, row, strict=True))) for row in found]
