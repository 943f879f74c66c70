"""The log as owners and auditors read it: pages of entries, and the verdict of a replay with the heads of all books."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hushcount.app.serving.callers.callers import Caller, Serving, require
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.owners.rules import Named, dataset_of
from hushcount.errors import InvalidParameter, NotPermitted
from hushcount.ledger.ledger import EVERY, Entry, Ledger, Page, Proof, Verdict
from hushcount.model.frozen import frozen

_LARGEST_PAGE = 1_000


@frozen
class LogPage:
    """A page of the log, oldest first, and the number after which the next begins; None if there is no more."""

    entries: tuple[Entry, ...]
    after: int | None


def log_page(
    service: Serving,
    caller: Caller,
    offer: Named | None,
    *,
    after: int = 0,
    size: int = 100,
    who: str | None = None,
) -> LogPage:
    """A page of the book of a data set's people, or with None of the book of rules; with `who`, what they did alone.

    Whoever owns or audits the data set alone is given what is about its questions, and nothing of others of its people.

    Raises:
        NotFound: the caller has nothing to do with it.
        NotPermitted: the caller is neither owner nor auditor of what they want to read.
    """
    require(service, caller, offer, "owner", "auditor", deed="read the log")
    if not 1 <= size <= _LARGEST_PAGE or after < 0:
        raise InvalidParameter("limit", size, f"from 1 to {_LARGEST_PAGE}, after a number that is not negative")
    entity = EVERY if offer is None else dataset_of(service.setting, offer).population
    ledger = ledger_of(service.setting)
    only = None if _sees_all(ledger, caller, Page(entity=entity)) or offer is None else offer.id
    page = Page(entity=entity, after=after, size=size + 1, dataset=only, analyst=who)
    # All of it or nothing: without a name the ledger would give whoever does not see all their own part.
    ledger.history(replace(page, size=1, analyst=EVERY), by=caller.name)
    found = ledger.history(page, by=caller.name)
    return LogPage(entries=found[:size], after=found[size - 1].seq if len(found) > size else None)


def _sees_all(ledger: Ledger, caller: Caller, page: Page) -> bool:
    try:
        ledger.history(replace(page, size=1, analyst=EVERY), by=caller.name)
    except NotPermitted:
        return False
    return True


def verify(service: Serving, caller: Caller, *, kept: Mapping[str, Proof] | None = None) -> Verdict:
    """Replay every book; with kept heads, also that they are still in it. For owners and auditors of everything."""
    require(service, caller, None, "owner", "auditor", deed="verify the log")
    return ledger_of(service.setting).verify(kept)


def entry_form(entry: Entry) -> dict[str, Any]:
    """An entry in JSON: whole, so that whoever has all of them can compute every hash."""
    return {
        "book": entry.entity,
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "kind": entry.kind,
        "by": entry.by,
        "body": dict(entry.body),
        "hash": entry.hash,
    }


def verdict_form(verdict: Verdict) -> dict[str, Any]:
    """A verdict in JSON, with the heads to be kept elsewhere."""
    return {
        "whole": not verdict.problems,
        "problems": list(verdict.problems),
        "heads": [{"entity": head.entity, "seq": head.seq, "hash": head.hash} for head in verdict.heads],
    }


def read_heads(forms: object) -> dict[str, Proof]:
    """Kept heads as a caller sends them, by book.

    Raises:
        InvalidParameter: they are not in the form of `verdict_form`.
    """
    try:
        heads = [Proof(entity=str(f["entity"]), seq=int(f["seq"]), hash=str(f["hash"])) for f in forms]  # type: ignore[attr-defined]
    except (TypeError, ValueError, LookupError):
        raise InvalidParameter("heads", "these", "a list of heads as a verdict has them") from None
    return {head.entity: head for head in heads}
