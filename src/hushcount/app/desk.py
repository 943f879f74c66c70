"""The desk: an open ledger at the page of one data set, and who stands before it."""

from __future__ import annotations

from collections.abc import Callable

from hushcount.app.recognising import by_name, sight
from hushcount.app.setting import Setting
from hushcount.app.wiring import open_engine
from hushcount.engines.engine import asking
from hushcount.errors import UnreadableSource
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import Ledger
from hushcount.model.frozen import frozen

# The population of data that was never asked: no book has this name, so all that it shows are the general rules.
_NOBODY = "(not asked yet)"


@frozen
class Data:
    """Data as a person names it: by its source, by its name in the catalog, or by both.

    Attributes:
        source: a file or an address; None if the name says it all.
        dataset: the data set's name.
        table: the table, where the source is a database with several.
    """

    source: str | None = None
    dataset: str | None = None
    table: str | None = None

    def __str__(self) -> str:
        return self.dataset or self.source or "all data"


@frozen
class Desk:
    """A ledger open at one data set.

    Attributes:
        setting: the ledger, and who stands before it.
        dataset: the data set; None if it is not known yet.
        title: what the data is called.
        version: its version as shown; empty where only names were looked at.
    """

    setting: Setting
    dataset: Dataset | None
    title: str
    version: str = ""

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        if self.setting.ledger is None:
            raise LookupError("a desk without a ledger")
        return self.setting.ledger

    @property
    def by(self) -> str:
        """Who is asking or acting."""
        return self.setting.analyst

    @property
    def population(self) -> str:
        """Whose account it is."""
        return _NOBODY if self.dataset is None else self.dataset.population


def open_desk(
    data: Data, setting: Setting, *, enters: bool = False, say: Callable[[str], None] = lambda _: None
) -> Desk:
    """The desk at the page of some data.

    Args:
        data: as it was named. A source that is not there any more is known by its name.
        setting: whose ledger.
        enters: enter data that is new into the catalog, so that a rule made for it binds its identity.
        say: told the name of each stage.
    """
    known = by_name(data.source, setting, data.dataset)
    if data.source is None or (known is not None and not enters):
        return _named(data, setting, known)
    try:
        engine = open_engine(data.source, table=data.table, digests=setting.digests)
    except UnreadableSource as error:
        told = str(error) if str(error).endswith("?") else f"{error}."
        raise UnreadableSource(f"{told} The ledger knows nothing of that name either: see hushcount catalog") from None
    try:
        with asking(engine, say):
            sighted = sight(engine, setting, data.dataset)
    finally:
        engine.close()
    found = sighted.dataset
    # Also where a part of it is known: a rule for a folder binds all of its files.
    if enters and sighted.sighting is not None and setting.catalog is not None:
        found = setting.catalog.register(sighted.sighting, person=None, name=data.dataset, by=setting.analyst).dataset
    title = data.source if found is None else found.name
    return Desk(setting=setting, dataset=found, title=title, version=sighted.version)


def _named(data: Data, setting: Setting, known: Dataset | None) -> Desk:
    """The desk of a data set that is known by name; refused with the nearest name if there is none."""
    catalog = setting.catalog
    if known is None and catalog is not None:
        known = catalog.find(data.dataset or "", by=setting.analyst)
    return Desk(setting=setting, dataset=known, title=str(data) if known is None else known.name)
