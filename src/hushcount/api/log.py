"""The log: every deed as an entry of a hash chain, and the verdict of a replay; for owners and auditors."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from hushcount.api import bodies
from hushcount.api.answers import answer, page
from hushcount.api.datasets import shared
from hushcount.api.parameters import Limit
from hushcount.api.problems import refused_parameter
from hushcount.api.routes import said, signed_router, with_body
from hushcount.api.work import caller_of, heavy, light, service_of
from hushcount.app.serving.owners import log
from hushcount.app.serving.owners.log import entry_form, read_heads, verdict_form

router = signed_router("log")
_MOST_DIGITS = 18
Dataset = Annotated[
    str | None,
    Query(min_length=1, max_length=200, description="The book of this data set's people; else that of rules."),
]
After = Annotated[str, Query(max_length=400, description="`next` of the page before.")]


@router.get("/log", **said("Entries, oldest first.", "not-permitted", "not-found"))
async def entries(request: Request, *, dataset: Dataset = None, limit: Limit = 100, after: After = "") -> Response:
    """A page of the book of a data set's people, or of the book of rules."""
    return await light(request, _entries, request, dataset, limit, after)


@router.post("/log/verify", **said("The verdict, and the heads to keep.", *with_body("not-permitted", "not-found")))
async def verify(request: Request, body: bodies.Anchors | None = None) -> Response:
    """Replay every book; with heads that were kept elsewhere, also that they are still in it."""
    kept = None if body is None or not body.heads else read_heads([head.model_dump() for head in body.heads])
    # Replaying takes as long as the log is.
    verdict = await heavy(request, log.verify, service_of(request), caller_of(request), kept=kept)
    return answer(verdict_form(verdict))


def _entries(request: Request, dataset: str | None, limit: int, after: str) -> Response:
    service, caller = service_of(request), caller_of(request)
    if after and not (after.isascii() and after.isdigit() and len(after) <= _MOST_DIGITS):
        raise refused_parameter("after", "`next` of the page before")
    offer = None if dataset is None else shared(request, dataset)
    found = log.log_page(service, caller, offer, after=int(after or 0), size=limit)
    return page(
        [entry_form(entry) for entry in found.entries], following=None if found.after is None else str(found.after)
    )
