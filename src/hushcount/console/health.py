"""Health: stores, ledger, key, versions, and what became of reservations; for those who oversee everything."""

from __future__ import annotations

import platform
from collections import Counter
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request

from hushcount.api.app import VERSION
from hushcount.api.work import caller_of, heavy, service_of
from hushcount.app.serving.callers.callers import require
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.lookout import ENDS
from hushcount.app.serving.news import News
from hushcount.app.serving.readiness import unready
from hushcount.app.serving.service import Service
from hushcount.app.wiring import shown_place
from hushcount.console.reading import said
from hushcount.console.trail import verified_at
from hushcount.console.views import ROOT, View, page
from hushcount.errors import HushcountError

router = APIRouter(prefix=ROOT)
# What happened before is in the trail.
_BACK = 200


@page(router, "/health")
async def health(request: Request) -> View:
    """Whether all is well."""
    said(request)
    # Stores are asked, which may take a while.
    return await heavy(request, _health, request)


def _health(request: Request) -> View:
    service, caller = service_of(request), caller_of(request)
    require(service, caller, None, "owner", "auditor", deed="see how the service is")
    vitals, problem = service.ledger.watch.vitals(), unready(service)
    server = service.config.server
    form = {
        "ready": problem is None,
        "problem": None if problem is None else problem.detail,
        "ledger": {
            "place": shown_place(service.config.ledger.address),
            "version": vitals.version,
            "newest": vitals.newest,
            "fingerprint": vitals.secret,
            "same_key": vitals.secret == service.setting.secret.fingerprint,
            "now": vitals.now.isoformat(timespec="seconds"),
            "open": service.ledger.watch.running(),
        },
        "lately": {"entries": _BACK, "ended": _ended(service), "resumed": service.runner.resumed},
        "stores": [_store(service, name) for name in sorted(store.name for store in service.config.stores)],
        "versions": {"hushcount": version("hushcount"), "interface": VERSION, "python": platform.python_version()},
        "server": {"workers": server.workers, "public_url": server.public_url},
        "verified": verified_at(request),
    }
    return View(template="health.html", title="Health", form=form)


def _ended(service: Service) -> dict[str, int]:
    """What became of reservations, by the last entries of each book."""
    news = News(back=_BACK).since(service.ledger, by=service.setting.analyst)
    found = Counter(ENDS[entry.kind] for entry in news if entry.kind in ENDS)
    return {ending: found[ending] for ending in ENDS.values()}


def _store(service: Service, name: str) -> dict[str, Any]:
    store = service.config.store(name)
    offers = [offer for offer in _offers(service) if offer.store.name == name]
    running, waiting = service.stores.load(offers[0]) if offers else (0, 0)
    return {
        "name": name,
        "kind": store.kind,
        "snapshot": store.snapshot,
        "running": running,
        "most_running": store.max_running,
        "waiting": waiting,
        "most_waiting": store.max_waiting,
        "datasets": [{"name": offer.name, "available": _available(service, offer)} for offer in offers],
    }


def _offers(service: Service) -> list[Offer]:
    found = []
    for name in service.served.names():
        try:
            found.append(service.served.find(name))
        except HushcountError:
            continue
    return found


def _available(service: Service, offer: Offer) -> bool:
    try:
        service.stores.describe(offer)
    except HushcountError:
        return False
    return True
