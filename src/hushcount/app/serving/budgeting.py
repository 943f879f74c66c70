"""The budget as a service: reservations of other programs, so that a nightly job spends from the same account.

LinkedIn's three methods, made safe: `check` binds nothing, `update` is reserve and settle in one step and refused if it
does not fit, `get` tells what is left. A program says its worst case before it reads, and what it used afterwards.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hushcount.accounting import zcdp
from hushcount.app.forms import balance_form
from hushcount.app.serving.callers.callers import Caller, require
from hushcount.app.serving.owners.views import own_quote
from hushcount.app.serving.questions.queries import viewer_of
from hushcount.app.serving.service import Service
from hushcount.errors import InvalidParameter, NotFound
from hushcount.ledger.ledger import Account, Ask, Reservation, StoredRelease
from hushcount.model.amounts import amount
from hushcount.model.costs import Concentrated, Cost, Failure
from hushcount.model.frozen import frozen

# What a program does is not known here: its answers are its own, so no version and no repeat.
_VERSION = "the program's own"
_LONGEST = timedelta(days=7)
# As many bytes of a reservation's name nobody guesses.
_SEAL = 16
_HELD = "held under "


@frozen
class Spending:
    """What a program wants to spend.

    Attributes:
        dataset: the data set's name.
        analyst: whose account pays; the program's own unless it may speak for others.
        rho: the worst case as zCDP, exact, as text.
        delta: the probability of failure.
        what: what for, in a few words.
        lifetime: how long it is held.
    """

    dataset: str
    analyst: str | None
    rho: str
    delta: str
    what: str
    lifetime: timedelta


def cost_of(said: Mapping[str, str]) -> Cost:
    """A cost as programs say it: rho, and delta where there is one."""
    unknown = sorted(set(said) - {"rho", "delta"})
    if unknown or "rho" not in said:
        raise InvalidParameter("cost", unknown[0] if unknown else "no rho", "rho, and delta if there is one")
    rho, delta = amount("rho", said["rho"]), amount("delta", said.get("delta", "0"))
    return Cost.of(*([Concentrated(rho=rho)] if rho else []), *([Failure(delta=delta)] if delta else []))


def check(service: Service, caller: Caller, wish: Spending) -> dict[str, Any]:
    """Whether it would fit now. Binds nothing."""
    ask = _ask(service, caller, wish, key="a check")
    offer = service.served.find(wish.dataset)
    quote = own_quote(service.ledger.check(ask), zcdp.spent(ask.cost), viewer_of(service, caller, offer))
    return {"fits": quote.refusal is None, "more": quote.more}


def reserve(service: Service, caller: Caller, wish: Spending, *, key: str) -> dict[str, Any]:
    """Hold the worst case. The same key gives the same reservation again."""
    ask = _ask(service, caller, wish, key=key)
    held = service.ledger.reserve(ask)
    # Data may be read from now on, by a program that is not seen: it cannot be given back by being forgotten.
    name = _named(service, caller, ask)
    if isinstance(held, StoredRelease):
        return {"id": name, "state": "settled", "charged": _exact(held)}
    return {"id": name, "state": "open", "expires": held.expires.isoformat(), "mode": held.mode}


def settle(service: Service, caller: Caller, name: str, *, said: Mapping[str, str]) -> dict[str, Any]:
    """Charge what was used and give back the rest."""
    held = _own(service, caller, name)
    if isinstance(held, StoredRelease):
        return {"charged": _exact(held), "proof": {"seq": held.proof.seq, "hash": held.proof.hash}}
    service.ledger.touch(held)
    stored = service.ledger.settle(held, cost_of(said), payload=json.dumps({"settled": dict(said)}).encode())
    return {"charged": _exact(stored), "proof": {"seq": stored.proof.seq, "hash": stored.proof.hash}}


def give_back(service: Service, caller: Caller, name: str) -> None:
    """Free a reservation for which nothing was read. The program says so; it is trusted as it is with its cost."""
    held = _own(service, caller, name)
    if isinstance(held, Reservation):
        service.ledger.refund(held)


def update(service: Service, caller: Caller, wish: Spending, *, key: str) -> dict[str, Any]:
    """Reserve and settle in one step, as LinkedIn's updateBudget, but refused if it does not fit."""
    made = reserve(service, caller, wish, key=key)
    said = {"rho": wish.rho, "delta": wish.delta}
    return settle(service, caller, str(made["id"]), said=said)


def balance(service: Service, caller: Caller, dataset: str) -> dict[str, Any]:
    """What is left for the program, as LinkedIn's getBudget."""
    offer = service.served.granted(service, caller, dataset, "owner", "program", "analyst", deed="see its budget")
    population = service.ledger.catalog.find(offer.name, by=caller.name).population
    own = service.ledger.balance(Account(kind="analyst", name=caller.name, entity=population))
    return {"dataset": offer.name, "account": balance_form(own)}


def _ask(service: Service, caller: Caller, wish: Spending, *, key: str) -> Ask:
    offer = service.served.granted(service, caller, wish.dataset, "owner", "program", deed="hold budget")
    if wish.analyst not in {None, caller.name}:
        # Only an owner may spend from another person's account.
        require(service, caller, offer, "owner", deed="spend from another account")
    if not timedelta(0) < wish.lifetime <= _LONGEST:
        raise InvalidParameter("lifetime", str(wish.lifetime), "above zero and at most seven days")
    return Ask(
        analyst=wish.analyst or caller.name,
        dataset=offer.id,
        version=_VERSION,
        query=f"{caller.name}/{key}",
        cost=cost_of({"rho": wish.rho, "delta": wish.delta}),
        key=_key(caller, key),
        fresh=True,
        what=wish.what,
        lifetime=wish.lifetime,
        token=None if caller.token is None else caller.token.id,
    )


def _key(caller: Caller, key: str) -> str:
    """The key under which the ledger knows a reservation: no question's, since those have no spaces in it."""
    return f"{_HELD}{hashlib.sha256(f'{caller.name}/{key}'.encode()).hexdigest()[:32]}"


def _named(service: Service, caller: Caller, ask: Ask) -> str:
    """What a reservation is called: who holds it, whose account pays and under which key. Nothing needs to be kept.

    Sealed, so that a name is had from a reservation alone: made up, it would be a way to settle or to free whatever
    anybody holds, also for a question under way.
    """
    said = json.dumps([caller.name, ask.dataset, ask.analyst, ask.key]).encode()
    return f"h_{_letters(_seal(service, said) + said)}"


def _own(service: Service, caller: Caller, name: str) -> Reservation | StoredRelease:
    """A reservation of the caller's own, who may still hold budget there; nobody learns of others'."""
    missing = NotFound(f"there is no reservation {name[:80]!r}. Nothing was charged.")
    said = _opened(service, name)
    if said is None:
        raise missing
    holder, dataset, analyst, key = json.loads(said)
    if holder != caller.name:
        raise missing
    require(service, caller, service.served.by_id(dataset), "owner", "program", deed="hold budget")
    held = service.ledger.recall(analyst, key) if key.startswith(_HELD) else None
    if held is None:
        raise missing
    return held


def _opened(service: Service, name: str) -> bytes | None:
    """What a reservation's name says; None if the name is not one of ours."""
    code = name.removeprefix("h_").upper()
    try:
        told = base64.b32decode(code + "=" * (-len(code) % 8))
    except ValueError:
        return None
    seal, said = told[:_SEAL], told[_SEAL:]
    ours = hmac.compare_digest(seal, _seal(service, said)) and name == f"h_{_letters(told)}"
    return said if ours else None


def _seal(service: Service, said: bytes) -> bytes:
    return hmac.digest(service.tokens_key, b"hushcount reservation\0" + said, "sha256")[:_SEAL]


def _letters(content: bytes) -> str:
    return base64.b32encode(content).decode().rstrip("=").lower()


def _exact(stored: StoredRelease) -> dict[str, str]:
    return {"rho": str(stored.charged.rho), "delta": str(stored.charged.delta)}
