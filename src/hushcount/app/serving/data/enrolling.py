"""Enrolling: an offer meets the catalog, so that it has an id, its person is pinned and its people are known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hushcount.app.recognising import sight
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.data.stores import Stores
from hushcount.app.setting import Setting
from hushcount.engines.engine import asking
from hushcount.errors import InvalidParameter, LedgerUnavailable, UnknownColumn, UnknownDataset
from hushcount.ledger.catalog import Catalog
from hushcount.model.queries import Description


def enrol(offer: Offer, stores: Stores, setting: Setting) -> Offer:
    """The offer with its id. A name that the catalog knows needs no data; else the data is read once and registered.

    A question names the data set by the offer's name: if the data is that of another one, it is refused there.

    Raises:
        UnreadableSource: it was never met, and cannot be read now.
        SeveralDatasets: it is known as several data sets.
        UnknownColumn: the data has no such person column.
        OtherPerson: another column is pinned as the one that says who a person is.
    """
    catalog = _catalog(setting)
    try:
        known = catalog.find(offer.name, by=setting.analyst)
        return offer.registered(known.id, person=known.person)
    except UnknownDataset:
        pass
    with stores.lend(offer) as engine, asking(engine, lambda _: None):
        _refuse_unknown(offer, engine.describe())
        sighted = sight(engine, setting, offer.name)
    if sighted.sighting is None:  # pragma: no cover (a ledger has a catalog)
        raise LookupError("data that was not sighted")
    # For a single file nobody may have said yet who a person is; then `pin` does.
    person = offer.person or None
    found = catalog.register(sighted.sighting, person=person, name=offer.name, by=setting.analyst)
    return offer.registered(found.dataset.id, person=found.dataset.person)


def pin(offer: Offer, person: str, *, stores: Stores, setting: Setting) -> Offer:
    """Say who a person is in data of which nobody did yet: from then on it stays.

    Raises:
        InvalidParameter: somebody did.
        UnknownColumn: the data has no such column.
    """
    catalog = _catalog(setting)
    known = catalog.find(offer.name, by=setting.analyst).person
    if offer.person or known:
        want = f"left as it is: {offer.person or known!r}"
        raise InvalidParameter("person", person, want, "Who a person is was said before. Nothing was changed.")
    named = replace(offer, person=person)
    with stores.lend(offer) as engine, asking(engine, lambda _: None):
        _refuse_unknown(named, engine.describe())
    catalog.repin(offer.name, person, by=setting.analyst)
    return named


def _refuse_unknown(offer: Offer, data: Description) -> None:
    """Refuse a person who is no column: whom a data set is about is pinned, and a wrong one would keep out the right.

    Raises:
        UnknownColumn: so it is.
    """
    if offer.person and data.listed and offer.person not in {column.name for column in data.columns}:
        raise UnknownColumn(offer.person, (), None)


def join_people(offers: Iterable[Offer], setting: Setting) -> None:
    """Make one population of all enrolled offers that say they are about the same people.

    Raises:
        JoinRefused: two populations cannot be made one as they stand.
        NotPermitted: who opened the ledger is not its owner.
    """
    catalog, first = _catalog(setting), dict[str, str]()
    for offer in offers:
        if offer.people is None:
            continue
        name = first.setdefault(offer.people, offer.name)
        by = setting.analyst
        if catalog.find(name, by=by).population != catalog.find(offer.name, by=by).population:
            catalog.join(name, offer.name, by=setting.analyst)


def _catalog(setting: Setting) -> Catalog:
    if setting.catalog is None:
        raise LedgerUnavailable("a service offers nothing without a ledger; name one in the configuration.")
    return setting.catalog
