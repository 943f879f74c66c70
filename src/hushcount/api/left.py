"""What is left for a caller: in releases, in questions, and when it is renewed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hushcount.app.forms import balance_form
from hushcount.app.serving.callers import Caller
from hushcount.app.serving.prices import left_sentence
from hushcount.app.serving.service import Service
from hushcount.app.words import room
from hushcount.errors import NotPermitted
from hushcount.ledger.ledger import Ask, Balance, Quote
from hushcount.model.budgets import STANDARD
from hushcount.model.costs import Concentrated, Cost, Failure


def left_form(service: Service, caller: Caller, dataset: str) -> dict[str, Any] | None:
    """What is left for a caller on a data set, by its id; None for whoever asks no questions."""
    quote = standard_quote(service, caller, dataset)
    if quote is None:
        return None
    rooms = [(room(one.left, one.limit), one) for one in _shown(service, quote.balances) if _binds(one)]
    least = min(rooms, key=lambda pair: pair[0], default=None)
    return {
        "releases": None if least is None else least[0],
        "like_this": quote.more,
        "renews": _renews([one for _, one in rooms]),
        "sentence": left_sentence(quote),
    }


def budget_form(service: Service, caller: Caller, dataset: str) -> dict[str, Any]:
    """All accounts that a caller's questions on a data set are charged to, as far as they may see them."""
    quote = standard_quote(service, caller, dataset)
    balances = () if quote is None else _shown(service, quote.balances)
    hidden = quote is not None and len(balances) < len(quote.balances)
    return {
        "left": left_form(service, caller, dataset),
        "accounts": [balance_form(one) for one in reversed(balances)],
        "shared": "The data's own account is shared with others, and its amounts are not shown." if hidden else None,
    }


def standard_quote(service: Service, caller: Caller, dataset: str) -> Quote | None:
    """What a standard release would do to the caller's accounts now; None for whoever may not ask."""
    cost = Cost.of((Concentrated(rho=STANDARD.rho), 1), (Failure(delta=STANDARD.delta), 1))
    token = None if caller.token is None else caller.token.id
    ask = Ask(
        analyst=caller.name,
        dataset=dataset,
        version="none",
        query="none",
        cost=cost,
        key="none",
        fresh=True,
        token=token,
    )
    try:
        return service.ledger.check(ask)
    except NotPermitted:
        return None


def _shown(service: Service, balances: tuple[Balance, ...]) -> tuple[Balance, ...]:
    """Separate analysts do not see what others spent, and so not the account that all share."""
    if service.config.privacy.analysts == "colleagues":
        return balances
    return tuple(one for one in balances if one.account.kind not in {"dataset", "group"})


def _binds(balance: Balance) -> bool:
    return balance.left is not None and balance.limit is not None and balance.limit.mode == "enforce"


def _renews(balances: list[Balance]) -> datetime | None:
    return min((one.renews for one in balances if one.renews is not None), default=None)
