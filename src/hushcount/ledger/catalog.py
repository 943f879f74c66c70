"""The catalog port: which data there is, by what it is recognised, who a person is in it, and whose people they are.

A *data set* is the set of identities that it was ever known by. A *population* is the people whose privacy one account
adds up; data sets about the same people share one. Every identity belongs to exactly one data set, every data set to
exactly one population, and the book of a population is where all that was learnt about its people is charged.

Promises of every store:

* Data that is known by any identity is never taken for new data, whatever it is called; a declared name is one more
  identity, never one instead of another.
* The column that says who a person is was pinned when the data set was first asked; only an owner changes it.
* Nothing that was spent disappears: joined populations add up, and what leaves takes a copy of all that was spent.
* Every change is an entry in the log, which `Ledger.verify` replays.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from hushcount.model.frozen import frozen
from hushcount.model.identities import Identity, Sighting


@frozen
class ColumnFacts:
    """What an owner declared about one item column, for every question about it; None where nothing was declared.

    Attributes:
        max_items: at most this many items for each person.
        per_item_cap: how much one person may add to one count.
        public_items: the public list of items.
    """

    max_items: int | None = None
    per_item_cap: int | None = None
    public_items: tuple[str, ...] | None = None


@frozen
class Dataset:
    """One entry of the catalog.

    Attributes:
        id: what questions name it by (`Ask.dataset`); never changes.
        name: what people call it; unique.
        population: the entity of the book that its questions are charged to.
        person: the column that says who a row belongs to; None until the first question.
        facts: what was declared, by item column.
        identities: everything that it was ever known by. From `lookup` and `register`: those of the sighting alone.
        made: when it was registered.
        by: who registered it.
    """

    id: str
    name: str
    population: str
    person: str | None
    facts: Mapping[str, ColumnFacts]
    identities: tuple[Identity, ...]
    made: datetime
    by: str


@frozen
class Registered:
    """A data set as it stands after `register`, and whether this was its first registration."""

    dataset: Dataset
    new: bool


class Catalog(Protocol):
    """The data sets of a ledger; see the promises on top of this file. Each verb is one transaction."""

    def lookup(self, sighting: Sighting, *, name: str | None = None) -> Dataset | None:
        """The data set that this is; None if neither the identities nor the name are known. Changes nothing.

        Raises:
            SeveralDatasets: the identities and the name do not all belong to one data set.
        """

    def register(self, sighting: Sighting, *, person: str | None, name: str | None, by: str) -> Registered:
        """The data set that this is, or a new one, with everything of the sighting bound to it: durable and logged.

        A question may be reserved only after this, so that a refusal binds identities like an answer does. If all of
        the sighting is known already, nothing is written.

        Args:
            sighting: the data as it was met.
            person: the column that says who a row belongs to; pinned if none is. None pins nothing, as for a limit on
                data that nobody has asked yet.
            name: what the caller says it is called. If a data set has that name, the identities are bound to that one.
            by: who asks.

        Raises:
            SeveralDatasets: as `lookup`. Nothing was bound, nothing charged.
            OtherPerson: another column is pinned. Nothing was bound, nothing charged.
        """

    def datasets(self, *, by: str) -> tuple[Dataset, ...]:
        """All data sets by name; those that are not the owner's or auditor's to see in full, without identities."""

    def find(self, name: str, *, by: str) -> Dataset:
        """The data set of this name, or that was once declared under it; its identities as in `datasets`.

        Raises:
            UnknownDataset: there is none; the text has the nearest name.
        """

    def rename(self, name: str, new: str, *, by: str) -> Dataset:
        """Call a data set something else; owners only, as all that follow."""

    def join(self, name: str, other: str, *, by: str) -> Dataset:
        """Make the populations of two data sets one: what was spent on either adds up, stored answers stay free.

        The population of `name` stays, with its limits and roles; that of `other` is closed and its data sets move. If
        one of them left the other, what they shared then counts once; what they share by a longer way counts twice.

        Raises:
            JoinRefused: a query is running on `other`, or it has limits or roles of its own that `name` has not.
        """

    def split(self, name: str, *, by: str, new: str | None = None, identities: tuple[Identity, ...] = ()) -> Dataset:
        """Let a data set, or a new one made of some of its identities, leave to a population of its own.

        Its accounts start with a copy of everything that was spent or is held so far: the same people were in those
        answers. Stored answers, limits and roles go with it.

        Args:
            name: the data set.
            by: an owner.
            new: the name of the new data set, if only some identities leave.
            identities: those that leave; none for the data set as a whole.
        """

    def repin(self, name: str, person: str, *, by: str) -> Dataset:
        """Pin another column as the one that says who a person is."""

    def declare(self, name: str, facts: Mapping[str, ColumnFacts], *, by: str) -> Dataset:
        """Declare facts about columns: those of the columns named are replaced, empty facts are taken back."""
