"""The frame: what is around every page. Who is signed in, and where they may go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import Request

from hushcount.api.work import worker_of
from hushcount.app.serving.callers.callers import Caller, role_on
from hushcount.app.serving.service import Service
from hushcount.ledger.ledger import OVERSEERS
from hushcount.model.frozen import frozen


@frozen
class Destination:
    """An entry of the navigation.

    Attributes:
        path: where it leads.
        words: what it is called.
        within: other pages that belong to it.
        owners: whether it is only for those who own or audit something.
        signed: whether it is only of use where people sign in.
    """

    path: str
    words: str
    within: tuple[str, ...] = ()
    owners: bool = False
    signed: bool = False

    def holds(self, path: str) -> bool:
        """Whether a page belongs to it."""
        return path.startswith((self.path, *self.within))


PLACES = (
    Destination(path="/console/data", words="Ask", within=("/console/ask",)),
    Destination(path="/console/history", words="History", within=("/console/answers", "/console/queries")),
    Destination(path="/console/budget", words="Budget"),
    Destination(path="/console/tokens", words="Tokens", signed=True),
    Destination(path="/console/overview", words="Overview", within=("/console/add", "/console/setup"), owners=True),
    Destination(path="/console/limits", words="Limits", owners=True),
    Destination(path="/console/people", words="People", owners=True, signed=True),
    Destination(path="/console/requests", words="Requests", owners=True, signed=True),
    Destination(path="/console/trail", words="Trail", owners=True),
    Destination(path="/console/health", words="Health", owners=True),
)


def frame_of(request: Request) -> dict[str, Any]:
    """What the frame shows."""
    caller: Caller | None = getattr(request.state, "caller", None)
    service = worker_of(request).service
    here = {"here": request.url.path, "query": request.url.query, "twin": request.method == "GET"}
    if caller is None or service is None:
        return {"who": None, "local": False, "places": [], **here}
    oversees = any(oversees_some(service, caller))
    places = [one for one in PLACES if (oversees or not one.owners) and not (one.signed and caller.local)]
    return {"who": caller.name, "local": caller.local, "places": places, **here}


def oversees_some(service: Service, caller: Caller) -> Iterator[bool]:
    """Whether the caller owns or audits everything; then, of one data set after the other, whether they do that."""
    yield role_on(service, caller, None) in OVERSEERS
    yield from (role_on(service, caller, offer) in OVERSEERS for offer in service.served.shared_with(service, caller))
