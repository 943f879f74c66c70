"""Freezes: an owner stops all questions at once, about a data set or about everything, or lets them go on."""

from __future__ import annotations

from hushcount.app.serving.callers.callers import Caller, Offered, Serving, require
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.ledger.ledger import EVERY

FREEZE = "freeze"


def freeze(service: Serving, caller: Caller, offer: Offered | None, *, frozen: bool, why: str | None) -> None:
    """Stop all questions about a data set, or with None about everything, or let them go on.

    The ledger looks at these records in the transaction that holds a question's price.

    Raises:
        NotPermitted: the caller is not the owner.
    """
    require(service, caller, offer, "owner", deed="stop questions, or let them go on")
    place = EVERY if offer is None else offer.id
    kept = {"why": why} if frozen else None
    ledger_of(service.setting).records.put(FREEZE, place, kept, owner=caller.name, by=caller.name)
