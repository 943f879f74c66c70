"""Recognising data: which data set of the catalog it is and which version of it, before anything is charged.

Identity is a set: the files' paths, the keyed digest of their bytes and of their rows, a server's table. Whatever of it
is known leads to the data set, and what is new is remembered with it: so no other name, copy, link, pattern or
encoding opens a second budget.
"""

from __future__ import annotations

from dataclasses import replace

from hushcount.app.items import listed
from hushcount.app.paths import paths_exist, paths_of
from hushcount.app.request import Request
from hushcount.app.setting import Setting
from hushcount.engines.engine import Engine
from hushcount.ledger.catalog import ColumnFacts, Dataset
from hushcount.mechanisms.chooser import choose
from hushcount.mechanisms.table import find
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.identities import Identity, Sighting


@frozen
class Sighted:
    """Data as it was met.

    Attributes:
        version: names what will be read; a keyed digest, so that it may be shown.
        sighting: what it is found and remembered by; None where nobody keeps count.
        dataset: the data set, if it is known already.
    """

    version: str
    sighting: Sighting | None = None
    dataset: Dataset | None = None


def sight(engine: Engine, setting: Setting, name: str | None = None) -> Sighted:
    """Look at data. A version that was never seen is read once from end to end: what cannot be parsed costs nothing.

    Args:
        engine: the data.
        setting: whose catalog is asked.
        name: the data set that it is said to belong to.

    Raises:
        SeveralDatasets: it is known as another data set, or as several.
        UnreadableSource: it cannot be read to its end.
    """
    secret, catalog = setting.secret, setting.catalog
    version = secret.version(engine.fingerprint(secret.row_key))
    if catalog is None:
        return Sighted(version=version)
    own = Identity(kind="version", value=version)
    sighting = _with_identity(engine.sighting(secret.identity_key), own)
    dataset = catalog.lookup(sighting, name=name)
    if dataset is None or own not in dataset.identities:
        sighting = _with_identity(sighting, engine.rows_identity(secret.identity_key))
        dataset = catalog.lookup(sighting, name=name)
    return Sighted(version=version, sighting=sighting, dataset=dataset)


def _with_identity(sighting: Sighting, identity: Identity) -> Sighting:
    return replace(sighting, finds=(*sighting.finds, identity), binds=(*sighting.binds, identity))


def by_name(source: object, setting: Setting, name: str | None = None) -> Dataset | None:
    """The data set as far as names tell, reading no data: by its own, or by the paths of its files."""
    catalog = setting.catalog
    if catalog is None:
        return None
    paths = tuple(Identity(kind="path", value=str(path)) for path in paths_of(source))
    found = catalog.lookup(Sighting(title="", finds=paths, binds=()), name=name)
    if found is None and name is None and isinstance(source, str) and not paths_exist(source):
        named = [dataset for dataset in catalog.datasets(by=setting.analyst) if dataset.name == source]
        return named[0] if named else None
    return found


def with_facts(request: Request, dataset: Dataset | None) -> Request:
    """The request with what the catalog declares of its item column, where nothing else was said."""
    item = request.selection.item
    declared = None if dataset is None or not isinstance(item, str) else dataset.facts.get(item)
    if declared is None:
        return request
    facts = _with(request.facts, declared, request.said)
    method = request.method
    taken = find(method) if method is not None else choose(request.question, request.budget, facts).mechanism
    # Nobody said them for this very question: what the mechanism does not take is left out, not refused.
    facts = facts.only(taken.needs | taken.takes | request.facts.declared)
    cap = facts.per_item_cap
    return replace(request, facts=facts, selection=replace(request.selection, per_item_cap=cap))


def _with(facts: Facts, declared: ColumnFacts, said: frozenset[str]) -> Facts:
    if declared.max_items is not None and "max_items_per_user" not in said:
        facts = replace(facts, max_items=declared.max_items)
    if declared.per_item_cap is not None and "per_item_cap" not in said:
        facts = replace(facts, per_item_cap=declared.per_item_cap)
    if declared.public_items is not None and "keys" not in said:
        facts = replace(facts, public_items=listed(declared.public_items))
    return facts
