"""Trail: every deed as an entry of a chain, the newest first; its verification, and heads to keep elsewhere."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request

from hushcount.api.problems import Refused
from hushcount.api.work import caller_of, heavy, light, service_of
from hushcount.app.history import entry_words
from hushcount.app.serving.alerts.alerts import KIND as ALERT
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners import log
from hushcount.app.serving.owners.log import entry_form, read_heads, verdict_form
from hushcount.app.serving.owners.rules import dataset_of
from hushcount.console.overseen import Overseen, overseen
from hushcount.console.reading import said, sent, whole
from hushcount.console.views import ROOT, View, deed, page
from hushcount.ledger.ledger import EVERY, Entry

router = APIRouter(prefix=ROOT)
_PAGE = 25
# One person's entries are looked for in so many at once, so often; older ones on the next page.
_SPAN, _SPANS = 1_000, 20


@page(router, "/trail")
async def entries(request: Request) -> View:
    """A page of the book of a data set's people, or, with `rules`, of the book of rules."""
    given = said(request, "data", "rules", "before", "who")
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
    seen = overseen(request, given.get("data"))
    rules = seen.form()["sees_all"] is True and ("rules" in given or seen.chosen is None)
    offer = None if rules else seen.chosen
    end, who = _end(request, seen, rules=rules), given.get("who")
    before = whole(given["before"], "before") if "before" in given else end
    shown, older = _newest(request, offer, before, who=who)
    form = {
        **seen.form(),
        "rules": rules,
        "who": who,
        "entries": [{**entry_form(entry), "words": entry_words(entry)} for entry in shown],
        "before": older,
        # As GET /v1/log has them, the last of its largest page.
        "export": {"limit": _SPAN, "after": max(0, end - 1 - _SPAN)}
        | ({} if rules else {"dataset": seen.form()["dataset"]}),
        "verified": verified_at(request),
    }
    return View(template="trail.html", title="Trail", form=form)


def _newest(request: Request, offer: Offer | None, before: int, *, who: str | None) -> tuple[list[Entry], int | None]:
    """The newest entries before a number, newest first, and the number before which there may be more of them."""
    service, caller = service_of(request), caller_of(request)
    span, high, found = _PAGE if who is None else _SPAN, before, list[Entry]()
    for _ in range(_SPANS):
        low = max(0, high - 1 - span)
        some = log.log_page(service, caller, offer, after=low, size=span, who=who).entries
        found += [entry for entry in reversed(some) if entry.seq < high]
        high = low + 1
        if len(found) >= _PAGE or not low:
            break
    if len(found) > _PAGE:
        return found[:_PAGE], found[_PAGE - 1].seq
    return found, high if high > 1 else None


def verified_at(request: Request) -> str | None:
    """When the service itself last replayed the chain and found it whole; None if it sends no alerts, or never did."""
    told = [record.body["told"] for record in service_of(request).ledger.records.page(ALERT, size=1_000)]
    return max((str(one["at"]) for one in told if one["kind"] == "heads"), default=None)


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
