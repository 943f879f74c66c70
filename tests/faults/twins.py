"""Two ledgers that are wrong in the way in which services are wrong: the checker must tell them from ours.

`check-then-update` is what a budget service does without a lock: it looks at the balance in one transaction and charges
in another. `charge-after` is what a server does that charges in the background, once the answer is out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hushcount.accounting import zcdp
from hushcount.ledger import refusal, reserving
from hushcount.ledger.ledger import Ask, Proof, Reservation, StoredRelease
from hushcount.ledger.sql import SqlLedger

# Between looking and charging, and between answering and charging: what a busy network takes.
_GAP = 0.3
_LATER = 1.0


def check_then_update() -> None:
    """Look whether it fits; then, in another transaction, charge whatever it is."""
    unchecked = threading.local()
    really, refused = SqlLedger.reserve, reserving.Effect.refused

    def reserve(ledger: SqlLedger, ask: Ask) -> Any:
        quote = ledger.check(ask)
        if quote.refusal is not None:
            raise refusal.error(quote.refusal)
        time.sleep(_GAP)
        unchecked.now = True
        try:
            return really(ledger, ask)
        finally:
            unchecked.now = False

    def nobody(decision: reserving.Effect) -> Any:
        return [] if getattr(unchecked, "now", False) else refused.fget(decision)  # type: ignore[attr-defined]

    SqlLedger.reserve = reserve  # type: ignore[method-assign, assignment]
    reserving.Effect.refused = property(nobody)  # type: ignore[method-assign, assignment]


def charge_after() -> None:
    """Answer first. What it cost is written down a second later, if there still is somebody to do it."""
    kept: dict[tuple[str, str], StoredRelease] = {}
    asked: dict[int, Ask] = {}
    really = {name: getattr(SqlLedger, name) for name in ("reserve_all", "touch", "settle", "recall")}

    def reserve(ledger: SqlLedger, ask: Ask) -> Any:
        number = -1 - len(asked)
        asked[number] = ask
        held = zcdp.spent(ask.cost)
        quote = ledger.check(ask)
        if quote.refusal is not None:
            raise refusal.error(quote.refusal)
        return Reservation(
            entity=ask.dataset, number=number, analyst=ask.analyst, held=held, expires=datetime.now(UTC), mode="enforce"
        )

    def settle(ledger: SqlLedger, held: Reservation, cost: Any, *, payload: bytes, **_: bool) -> StoredRelease:
        ask = asked[held.number]
        threading.Thread(target=later, args=(ledger, ask, cost, payload), daemon=True).start()
        made = kept[ask.analyst, ask.key] = StoredRelease(
            entity=held.entity,
            number=held.number,
            version=ask.version,
            payload=payload,
            cost=cost,
            charged=zcdp.spent(cost),
            held=held.held,
            repeated=False,
            made=datetime.now(UTC),
            mode="enforce",
            proof=Proof(entity=held.entity, seq=0, hash=""),
        )
        return made

    def later(ledger: SqlLedger, ask: Ask, cost: Any, payload: bytes) -> None:
        time.sleep(_LATER)
        (held,) = really["reserve_all"](ledger, (ask,))
        if isinstance(held, Reservation):
            really["touch"](ledger, held)
            really["settle"](ledger, held, cost, payload=payload)

    def recall(ledger: SqlLedger, analyst: str, key: str) -> Any:
        return kept.get((analyst, key)) or really["recall"](ledger, analyst, key)

    SqlLedger.reserve, SqlLedger.settle, SqlLedger.recall = reserve, settle, recall  # type: ignore[method-assign, assignment]
    SqlLedger.touch = lambda ledger, held: None  # type: ignore[method-assign, assignment]


TWINS: dict[str, Callable[[], None]] = {"check-then-update": check_then_update, "charge-after": charge_after}
