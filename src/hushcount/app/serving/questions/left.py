"""What is left for a caller: in releases, in questions, and when it is renewed. Others' spending is others'."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.owners.views import Viewer, balance_view, is_shared, own_quote
from hushcount.app.serving.questions.prices import day
from hushcount.app.serving.questions.publishing import known_form
from hushcount.app.serving.questions.queries import viewer_of
from hushcount.app.serving.service import Service
from hushcount.app.words import room
from hushcount.errors import Frozen, NotPermitted
from hushcount.ledger.ledger import Ask, Balance, Quote
from hushcount.model.budgets import STANDARD
from hushcount.model.costs import Concentrated, Cost, Failure


def left_form(service: Service, caller: Caller, offer: Offer) -> dict[str, Any] | None:
    """What is left for a caller on a data set; None for whoever asks no questions."""
    quote = standard_quote(service, caller, offer)
    return None if quote is None else _left(quote, viewer_of(service, caller, offer))


def budget_form(service: Service, caller: Caller, offer: Offer) -> dict[str, Any]:
    """All accounts that a caller's questions on a data set are charged to, as far as they may see them."""
    quote, viewer = standard_quote(service, caller, offer), viewer_of(service, caller, offer)
    balances = () if quote is None else tuple(reversed(quote.balances))
    return {
        "dataset": offer.name,
        "left": None if quote is None else _left(quote, viewer),
        "accounts": [balance_view(balance, viewer) for balance in balances],
        "known": None if quote is None else known_form(service, viewer, quote),
    }


def standard_quote(service: Service, caller: Caller, offer: Offer) -> Quote | None:
    """What a standard release would do to the caller's accounts now; None where they may not ask."""
    ask = Ask(
        analyst=caller.name,
        dataset=offer.id,
        version="none",
        query="none",
        cost=Cost.of((Concentrated(rho=STANDARD.rho), 1), (Failure(delta=STANDARD.delta), 1)),
        key="none",
        fresh=True,
        token=None if caller.token is None else caller.token.id,
    )
    try:
        return service.ledger.check(ask)
    except (NotPermitted, Frozen):
        return None


def _left(quote: Quote, viewer: Viewer) -> dict[str, Any]:
    seen = [one for one in quote.balances if _binds(one) and not is_shared(one, viewer)]
    rooms = [room(one.left, one.limit) for one in seen if one.left is not None and one.limit is not None]
    more, renews = own_quote(quote, quote.charge, viewer).more, _renews(seen)
    return {
        "releases": min(rooms, default=None),
        "like_this": more,
        "renews": renews,
        "sentence": _sentence(more, renews),
    }


def _sentence(more: int | None, renews: datetime | None) -> str:
    until = "" if renews is None else f" until {day(renews)}"
    if more is None:
        return "Nothing of your own limits questions like this."
    return f"About {more} more question{'' if more == 1 else 's'} like this{until}."


def _binds(balance: Balance) -> bool:
    return balance.left is not None and balance.limit is not None and balance.limit.mode == "enforce"


def _renews(balances: list[Balance]) -> datetime | None:
    return min((one.renews for one in balances if one.renews is not None), default=None)
