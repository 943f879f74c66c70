"""The catalog over a SQL database: each verb is one transaction on the book of rules. The same for every store."""

from __future__ import annotations

from collections.abc import Mapping

from hushcount.errors import InvalidParameter
from hushcount.ledger import cataloguing, datasets, joining
from hushcount.ledger.book import rule_book
from hushcount.ledger.catalog import ColumnFacts, Dataset, Registered
from hushcount.ledger.datasets import DatasetRow
from hushcount.ledger.names import column, named
from hushcount.ledger.standing import standing, standing_statement
from hushcount.ledger.store import Database, Transaction, run
from hushcount.model.identities import Identity, Sighting


class SqlCatalog:
    """The catalog of a ledger in a database; implements `Catalog`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def lookup(self, sighting: Sighting, *, name: str | None = None) -> Dataset | None:
        """See `Catalog.lookup`."""
        _checked_name(name)
        with self._database.reading() as transaction:
            found = datasets.recognise(transaction, sighting, name)
            row = found.chosen
            return None if row is None else datasets.to_value(row, sorted(found.bound))

    def register(self, sighting: Sighting, *, person: str | None, name: str | None, by: str) -> Registered:
        """See `Catalog.register`."""
        _checked_name(name)
        named("analyst", by)
        if person is not None:
            column("person", person)
        if not sighting.finds and name is None:
            hint = "Give it a name that stays the same."
            raise InvalidParameter("data", sighting.title, "recognisable the next time it is met", hint)
        with self._database.reading() as transaction:
            known = cataloguing.known(transaction, sighting, person=person, name=name)
        if known is not None:
            return known
        return run(
            self._database,
            lambda open_: cataloguing.register(rule_book(open_), sighting, person=person, name=name, by=by),
        )

    def datasets(self, *, by: str) -> tuple[Dataset, ...]:
        """See `Catalog.datasets`."""
        with self._database.reading() as transaction:
            rows = datasets.every_dataset(transaction)
            transaction.send([standing_statement(by, row.entity, row.id) for row in rows])
            return tuple(_as_seen(transaction, row, by=by) for row in rows)

    def find(self, name: str, *, by: str) -> Dataset:
        """See `Catalog.find`."""
        with self._database.reading() as transaction:
            return _as_seen(transaction, datasets.find(transaction, name), by=by)

    def rename(self, name: str, new: str, *, by: str) -> Dataset:
        """See `Catalog.rename`."""
        return run(self._database, lambda open_: cataloguing.rename(rule_book(open_), name, new, by=by))

    def join(self, name: str, other: str, *, by: str) -> Dataset:
        """See `Catalog.join`."""
        return run(self._database, lambda open_: joining.join(rule_book(open_), name, other, by=by))

    def split(self, name: str, *, by: str, new: str | None = None, identities: tuple[Identity, ...] = ()) -> Dataset:
        """See `Catalog.split`."""
        return run(
            self._database,
            lambda open_: joining.split(rule_book(open_), name, by=by, new=new, identities=identities),
        )

    def repin(self, name: str, person: str, *, by: str) -> Dataset:
        """See `Catalog.repin`."""
        return run(self._database, lambda open_: cataloguing.repin(rule_book(open_), name, person, by=by))

    def declare(self, name: str, facts: Mapping[str, ColumnFacts], *, by: str) -> Dataset:
        """See `Catalog.declare`."""
        return run(self._database, lambda open_: cataloguing.declare(rule_book(open_), name, facts, by=by))


def _as_seen(transaction: Transaction, row: DatasetRow, *, by: str) -> Dataset:
    """A data set as this person may see it: paths and digests tell where data lies, which is not for analysts."""
    full = standing(transaction, by, row.entity, dataset=row.id).sees_all
    return datasets.to_value(row, datasets.identities_of(transaction, row.id) if full else [])


def _checked_name(name: str | None) -> None:
    if name is not None:
        named("name", name)
