"""Offers: the data that a service answers questions about, each with the store that it lies in.

They are declared in the configuration, or by an owner while the service runs (records of kind "offer"). Whoever
declares one names a table of a store, never a place outside of it: connections and passwords are in the configuration
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from hushcount.app.paths import paths_of
from hushcount.app.serving.setup.config import DatasetConfig, StoreConfig
from hushcount.app.serving.setup.pinot import address_of
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.ledger.records import Records
from hushcount.model.frozen import frozen

OFFER = "offer"
# What a system takes for a path and for a name in it, in bytes: one that is longer is no file.
_LONGEST, _LONGEST_PART = 3_000, 255
_PAGE = 100


@frozen
class Offer:
    """One data set as it is served.

    Attributes:
        id: the data set's id in the catalog; empty until it was met for the first time.
        name: what people call it.
        store: where it lies.
        table: the table; for files, the path relative to the store's place.
        person: the column that says who a row belongs to; empty, for a single file only, until somebody says it.
        items: the columns that may be counted; None for all.
        people: a name that data sets about the same people share.
    """

    id: str
    name: str
    store: StoreConfig
    table: str | None
    person: str
    items: tuple[str, ...] | None = None
    people: str | None = None

    @property
    def snapshot(self) -> str:
        """The word "day" if its versions change on schedule only."""
        return self.store.snapshot

    @property
    def place(self) -> tuple[str, str]:
        """What is read: offers of one table share it."""
        return self.store.name, self.table or ""

    def registered(self, dataset: str, *, person: str | None = None) -> Offer:
        """The same, with the id under which the catalog has it, and who a person is, if only the catalog knows."""
        return replace(self, id=dataset, person=self.person or person or "")


def make_offer(given: DatasetConfig, stores: Mapping[str, StoreConfig], *, dataset: str = "") -> Offer:
    """An offer as it was declared.

    Args:
        given: the declaration.
        stores: the stores by name.
        dataset: its id in the catalog, where it is known.

    Raises:
        InvalidParameter: it names a store that the configuration does not have.
    """
    store = stores.get(given.store)
    if store is None:
        known = ", ".join(sorted(stores)) or "none"
        raise InvalidParameter("store", given.store, f"a store of the configuration: {known}")
    return Offer(
        id=dataset,
        name=given.name,
        store=store,
        table=given.table,
        person=given.person,
        items=given.items,
        people=given.people,
    )


def source_of(offer: Offer) -> str:
    """What an engine opens for an offer. An address has its password in it, and must not be shown.

    Raises:
        InvalidParameter: the store has no place, or the table leads out of it.
        UnreadableSource: the file of the password cannot be read.
    """
    store = offer.store
    if store.place is None:
        raise InvalidParameter("place", None, f"said for the store {store.name!r}", "Write it in the configuration.")
    match store.kind:
        case "files":
            # Without a table the store is the one file, folder or pattern.
            return store.place if offer.table is None else _within(store.place, offer.table)
        case "spark":
            return f"{store.place.rstrip('/')}/{_plain_table(offer.table)}"
        case "duckdb" | "sqlite":
            return store.place
        case "postgres":
            return _with_password(store)
        case "pinot":
            return address_of(store, offer.table)


def _within(place: str, table: str | None) -> str:
    """A file, folder or pattern within the store's folder, through no link that leads out of it."""
    folder = Path(place).resolve()
    source = str(folder / _plain_table(table))
    if not all(path.is_relative_to(folder) for path in paths_of(source)):
        raise _outside(table)
    return source


def _plain_table(table: str | None) -> str:
    path = Path(table or "")
    if not table or path.is_absolute() or ".." in path.parts or "://" in table or "\0" in table:
        raise _outside(table)
    if len(table.encode(errors="replace")) > _LONGEST or any(
        len(part.encode(errors="replace")) > _LONGEST_PART for part in path.parts
    ):
        raise InvalidParameter("table", table[:50], "no longer than names of files can be", "Nothing was charged.")
    return table


def _outside(table: str | None) -> InvalidParameter:
    return InvalidParameter("table", table, "a path within the store's place", "Write for example: events.parquet")


def _with_password(store: StoreConfig) -> str:
    if store.password_file is None:
        return str(store.place)
    try:
        password = store.password_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnreadableSource(
            f"the password of the store {store.name!r} cannot be read: {error.strerror}; check password_file"
        ) from None
    parts = urlsplit(str(store.place))
    user, _, host = parts.netloc.rpartition("@")
    # What the place says of a password is not used: secrets come from files only.
    who = f"{user.partition(':')[0]}:{quote(password, safe='')}@"
    return urlunsplit(parts._replace(netloc=who + host))


def keep_offer(records: Records, given: DatasetConfig, *, by: str) -> None:
    """Remember what an owner declared, for all workers and after a restart. Who may is decided above."""
    body = {"store": given.store, "table": given.table, "person": given.person, "people": given.people}
    items = None if given.items is None else list(given.items)
    records.put(OFFER, given.name, {**body, "items": items}, owner=by, by=by)


def kept_offers(records: Records) -> tuple[DatasetConfig, ...]:
    """All that owners declared while the service ran."""
    found, after = list[DatasetConfig](), ""
    while page := records.page(OFFER, after=after, size=_PAGE):
        found += [_declared(record.id, record.body) for record in page]
        after = page[-1].id
    return tuple(found)


def _declared(name: str, body: Mapping[str, Any]) -> DatasetConfig:
    items = body["items"]
    return DatasetConfig(
        name=name,
        store=body["store"],
        table=body["table"],
        person=body["person"],
        items=None if items is None else tuple(items),
        people=body["people"],
    )


def merged(configured: Iterable[DatasetConfig], kept: Iterable[DatasetConfig]) -> dict[str, DatasetConfig]:
    """All declarations by name; the configuration goes before what was declared later under the same name."""
    return {given.name: given for given in (*kept, *configured)}
