"""Add: one more table is served. First where it lies, then who a person is and what may be counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from hushcount.api import bodies, owners
from hushcount.api.work import caller_of, heavy, service_of
from hushcount.app.serving.callers.callers import require
from hushcount.app.serving.data.offers import make_offer
from hushcount.app.serving.setup.config import DatasetConfig, StoreConfig
from hushcount.console.persons import looks_like_people, person_warning
from hushcount.console.reading import made, said, sent
from hushcount.console.views import ROOT, View, deed, page, see_other

router = APIRouter(prefix=ROOT)
_MOST_ITEMS = 1_000
_ITEMS = tuple(f"item{number}" for number in range(_MOST_ITEMS))
_MOST_FILES = 100
_FILES = frozenset({".parquet", ".csv", ".json", ".jsonl", ".ndjson", ".tsv"})


@page(router, "/add")
async def asked(request: Request) -> View:
    """Where the data lies; once that is said, its columns."""
    given = said(request, "store", "table")
    return await heavy(request, _asked, request, given)


@deed(router, "/add")
async def added(request: Request) -> Response:
    """Serve it. Nobody but owners of everything may ask about it yet."""
    given = await sent(request, "store", "table", "name", "person", "people", "items", *_ITEMS)
    typed = [one.strip() for one in given.get("items", "").split(",") if one.strip()]
    items = [given[name] for name in _ITEMS if name in given] + typed
    named = {name: given.get(name, "") for name in ("name", "store", "person")}
    more: dict[str, Any] = {name: given[name] for name in ("table", "people") if name in given}
    body = made(bodies.NewDataset, {**named, **more, "items": items or None})
    await heavy(request, owners.add, request, body)
    return see_other("/setup", data=body.name)


def _asked(request: Request, given: dict[str, str]) -> View:
    service, caller = service_of(request), caller_of(request)
    require(service, caller, None, "owner", deed="serve more data")
    form: dict[str, Any] = {
        "stores": [_store_form(store) for store in service.config.stores],
        "store": given.get("store"),
        "table": given.get("table"),
        "columns": None,
        "told": True,
    }
    if "store" in given:
        form |= _columns(request, given)
    return View(template="add.html", title="Add data", form=form)


def _store_form(store: StoreConfig) -> dict[str, Any]:
    return {"name": store.name, "kind": store.kind, "snapshot": store.snapshot, "tables": _tables(store)}


def _tables(store: StoreConfig) -> list[str]:
    """The files of a folder, to choose from; of other stores the name is typed."""
    folder = Path(store.place or "")
    if store.kind != "files" or store.place is None or not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if path.suffix.lower() in _FILES)[:_MOST_FILES]


def _columns(request: Request, given: dict[str, str]) -> dict[str, Any]:
    """The columns of a table that is not served yet, if the data itself tells them; nothing of it is read."""
    service = service_of(request)
    declared = DatasetConfig(name="new", store=given["store"], table=given.get("table"), person="")
    offer = make_offer(declared, {store.name: store for store in service.config.stores})
    described = service.stores.describe(offer)
    if not described.listed or not described.told:
        # The keys of JSON, and of CSV the first line, may be somebody's values.
        return {"columns": [], "told": False, "snapshot": offer.snapshot}
    columns = [
        {
            "name": one.name,
            "kind": one.kind,
            "likely": looks_like_people(one.name),
            "warning": person_warning(one.name, one.kind),
        }
        for one in described.columns
    ]
    # What may stand for people first, what hardly does last; else in the data's own order.
    columns.sort(key=lambda one: (not one["likely"], one["warning"] is not None))
    return {"columns": columns, "snapshot": offer.snapshot}
