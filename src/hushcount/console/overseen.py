"""Overseen: the data sets that the caller owns or audits, and the one that a page of theirs is about."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request

from hushcount.api.datasets import shared
from hushcount.api.problems import Refused
from hushcount.api.work import caller_of, service_of
from hushcount.app.serving.callers.callers import require, role_on
from hushcount.app.serving.data.offers import Offer
from hushcount.errors import NotFound
from hushcount.ledger.ledger import OVERSEERS, Role
from hushcount.model.frozen import frozen


@frozen
class Overseen:
    """What the caller oversees.

    Attributes:
        offers: all of it, by name.
        chosen: the one that is looked at; None if there is none.
        role: the caller's role for it.
        general: the caller's role for everything; None if they have none.
    """

    offers: tuple[Offer, ...]
    chosen: Offer | None
    role: Role | None
    general: Role | None

    @property
    def names(self) -> list[str]:
        """What the data sets are called."""
        return [offer.name for offer in self.offers]

    def form(self) -> dict[str, object]:
        """What every page of an owner says of it."""
        return {
            "datasets": self.names,
            "dataset": None if self.chosen is None else self.chosen.name,
            "owner": self.role == "owner",
            "owner_of_all": self.general == "owner",
            "sees_all": self.general in OVERSEERS,
        }


def data_of(given: Mapping[str, str]) -> str:
    """The data set that a form names. One that names none must not be about everything.

    Raises:
        Refused: it names none.
    """
    if "data" not in given:
        raise Refused("invalid-parameter", "The form does not say which data set is meant.", parameter="data")
    return given["data"]


def overseen(request: Request, name: str | None = None) -> Overseen:
    """What the caller oversees; a data set by its name, or the first.

    Raises:
        NotFound: there is none of that name, or nothing that they oversee.
        NotPermitted: their role is another one.
    """
    service, caller = service_of(request), caller_of(request)
    found = service.served.shared_with(service, caller)
    offers = tuple(offer for offer in found if role_on(service, caller, offer) in OVERSEERS)
    general = role_on(service, caller, None)
    chosen = next(iter(offers), None) if name is None else shared(request, name)
    if chosen is None:
        if general not in OVERSEERS:
            raise NotFound("this page is for those who own or audit data, and you do neither. Nothing was changed.")
        return Overseen(offers=(), chosen=None, role=general, general=general)
    role = require(service, caller, chosen, "owner", "auditor", deed="see what everybody does")
    return Overseen(offers=offers, chosen=chosen, role=role, general=general)
