"""The receipt of a release: what is protected, by what, at what price, in JSON and in one paragraph of plain words."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from typing import Any

from hushcount.accounting import basic, gdp, zcdp
from hushcount.accounting.accountant import Accountant
from hushcount.app.planning import Planned
from hushcount.mechanisms import table
from hushcount.model.amounts import Number
from hushcount.model.costs import EVERY_ORDER, Cost
from hushcount.model.outcomes import Outcome

_SIGNIFICANT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Everything that a reader of the release may want to know, and nothing that was not released."""

    id: str
    made: str
    question: str
    user: str
    item: str
    where: str | None
    per_item_cap: int
    max_items_per_user: int | None
    mechanism: str
    mechanism_version: int
    reason: str
    data_version: str
    rho: str
    delta: str
    epsilon: float
    epsilon_delta: float
    cost: dict[str, Any]
    noise: str
    cutoff: float | None
    rows: int
    private: bool
    consistent: bool
    order: float | None = None

    def to_json(self) -> str:
        """The receipt as JSON text, keys in a fixed order."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Receipt:
        """The receipt that `to_json` wrote."""
        return Receipt(**json.loads(text))

    def to_text(self, *, numbers: bool = True) -> str:
        """The receipt as one paragraph; without `numbers`, in everyday words only."""
        return " ".join(_sentences(self, numbers=numbers))


def make_receipt(planned: Planned, version: str, outcome: Outcome, *, made: datetime, consistent: bool) -> Receipt:
    """Write the receipt of an outcome. Everything in it is public, declared or released; `version` is the keyed one."""
    selection, spent = planned.request.selection, zcdp.spent(outcome.cost)
    total_delta = 2 * spent.delta if spent.delta else Decimal("1e-6")
    return Receipt(
        id=_identify(planned, version, outcome),
        made=made.isoformat(timespec="seconds"),
        question=planned.request.question,
        user=selection.user,
        item=planned.request.item_words(),
        where=planned.request.filter_words(),
        per_item_cap=selection.per_item_cap,
        max_items_per_user=planned.plan.max_items,
        mechanism=planned.mechanism.name,
        mechanism_version=planned.mechanism.version,
        reason=planned.reason,
        data_version=version,
        rho=_short(spent.rho),
        delta=_short(spent.delta),
        epsilon=best_epsilon(outcome.cost, total_delta),
        epsilon_delta=float(total_delta),
        cost=outcome.cost.to_json(),
        noise=outcome.noise,
        cutoff=outcome.cutoff,
        rows=len(outcome.items),
        private=outcome.private,
        consistent=consistent,
        order=None if outcome.cost.order == EVERY_ORDER else float(outcome.cost.order),
    )


def cutoff_sentence(receipt: Receipt) -> str:
    """What is unlikely to be shown, in plain words; the receipt must have a cut-off."""
    if receipt.mechanism in {mechanism.name for mechanism in table.MECHANISMS if mechanism.weighs}:
        return (
            f"An item needs about {receipt.cutoff:,.0f} people who have nothing else, or more who have many items, "
            "to be named."
        )
    return f"Items held by fewer than about {receipt.cutoff:,.0f} people are unlikely to be shown."


@lru_cache(maxsize=1024, typed=True)
def best_epsilon(cost: Cost, total_delta: Number) -> float:
    """The smallest epsilon at this delta that any accountant with a theorem for all of the cost can show."""
    accountants: tuple[Accountant, ...] = (zcdp, gdp, basic)
    return min(accountant.epsilon(cost, total_delta) for accountant in accountants if accountant.supports(cost))


def _identify(planned: Planned, version: str, outcome: Outcome) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for part in (planned.request.canonical(), version, planned.mechanism.name):
        digest.update(part.encode() + b"\0")
    digest.update("\0".join(outcome.items.tolist()).encode("utf-8", "surrogatepass"))
    if outcome.counts is not None:
        digest.update(outcome.counts.tobytes())
    return digest.hexdigest()


def _short(value: Decimal) -> str:
    """Four significant digits, rounded up: a receipt never understates a cost."""
    return str(float(Context(prec=_SIGNIFICANT, rounding=ROUND_CEILING).plus(value)))


def _sentences(receipt: Receipt, *, numbers: bool) -> list[str]:
    people = f"Each person in column '{receipt.user}', with all of their rows, is protected"
    lines = [
        f"{people}: the answer would be almost as likely had that person not been in the data.",
        f"It was made by '{receipt.mechanism}' ({receipt.reason.partition(': ')[2]}).",
    ]
    if numbers:
        known = "" if receipt.order is None else f", known for Renyi orders up to {receipt.order:g}"
        lines.append(f"It cost rho = {receipt.rho} and delta = {receipt.delta}{known}.")
        lines.append(f"That means (epsilon, delta) = ({receipt.epsilon:.3g}, {receipt.epsilon_delta:.2g}).")
    if receipt.where:
        lines.append(f"Only rows with {receipt.where} were counted.")
    if receipt.max_items_per_user is not None:
        lines.append(f"At most {receipt.max_items_per_user} items of each person were counted, chosen at random.")
    if receipt.cutoff is not None:
        lines.append(cutoff_sentence(receipt))
    lines.append("How many items were left out, and the true counts, were not released.")
    if receipt.consistent:
        lines.append("The same question on the same data gives this same answer.")
    if not receipt.private:
        lines.append("NOT PRIVATE: the noise came from a fixed test seed.")
    return lines
