"""Trail: every deed as an entry of a chain, the newest first; its verification, and heads to keep elsewhere."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request

from hushcount.api.problems import Refused
from hushcount.api.work import caller_of, heavy, light, service_of
from hushcount.app.history import entry_words
from hushcount.app.serving.owners import log
from hushcount.app.serving.owners.log import entry_form, read_heads, verdict_form
from hushcount.app.serving.owners.rules import dataset_of
from hushcount.console.overseen import Overseen, overseen
from hushcount.console.reading import said, sent, whole
from hushcount.console.views import ROOT, View, deed, page
from hushcount.ledger.ledger import EVERY

router = APIRouter(prefix=ROOT)
_PAGE = 25


@page(router, "/trail")
async def entries(request: Request) -> View:
    """A page of the book of a data set's people, or, with `rules`, of the book of rules."""
    given = said(request, "data", "rules", "before")
    return await light(request, _entries, request, given)


@page(router, "/trail/verified")
async def verified(request: Request) -> View:
    """Replay every book; the twin of this page is what to keep elsewhere."""
    said(request)
    # Replaying takes as long as the log is.
    return await heavy(request, _verified, request, None)


@deed(router, "/trail/verified")
async def compared(request: Request) -> View:
    """Replay every book, and look whether links that were kept elsewhere are still in it."""
    given = await sent(request, "kept")
    try:
        form = json.loads(given.get("kept", ""))
    except (ValueError, RecursionError):
        raise Refused(
            "invalid-parameter", "That is not what was kept: paste the whole text that verifying gave you.", pointer=""
        ) from None
    return await heavy(request, _verified, request, form.get("heads") if isinstance(form, dict) else form)


def _entries(request: Request, given: dict[str, str]) -> View:
    service, caller = service_of(request), caller_of(request)
    seen = overseen(request, given.get("data"))
    rules = seen.form()["sees_all"] is True and ("rules" in given or seen.chosen is None)
    offer = None if rules else seen.chosen
    before = whole(given["before"], "before") if "before" in given else _end(request, seen, rules=rules)
    first = max(0, before - _PAGE - 1)
    found = log.log_page(service, caller, offer, after=first, size=_PAGE)
    shown = [entry for entry in reversed(found.entries) if entry.seq < before]
    form = {
        **seen.form(),
        "rules": rules,
        "entries": [{**entry_form(entry), "words": entry_words(entry)} for entry in shown],
        "before": first + 1 if first > 0 else None,
    }
    return View(template="trail.html", title="Trail", form=form)


def _end(request: Request, seen: Overseen, *, rules: bool) -> int:
    """One more than the number of the newest entry."""
    service = service_of(request)
    entity = EVERY if rules or seen.chosen is None else dataset_of(service.setting, seen.chosen).population
    return 1 + next((head.seq for head in service.ledger.heads() if head.entity == entity), 0)


def _verified(request: Request, kept: object) -> View:
    service, caller = service_of(request), caller_of(request)
    at = service.setting.clock()
    verdict = log.verify(service, caller, kept=None if kept is None else read_heads(kept))
    form: dict[str, Any] = {**verdict_form(verdict), "at": at.isoformat(timespec="seconds"), "compared": None}
    if kept is not None:
        form["compared"] = len(kept) if isinstance(kept, list) else 0
    return View(template="verified.html", title="The chain, verified", form=form)
