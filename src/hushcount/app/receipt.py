"""The receipt of a release: what is protected, by what, at what price, in JSON and in one paragraph of plain words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hushcount.accounting import basic, gdp, zcdp
from hushcount.accounting.accountant import Accountant
from hushcount.app.items import column_names
from hushcount.app.planning import Planned
from hushcount.app.receipt_page import ReceiptPage, safe, table, to_html
from hushcount.app.words import price_words
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.amounts import Number
from hushcount.model.costs import EVERY_ORDER, Cost
from hushcount.model.frozen import frozen
from hushcount.model.outcomes import Outcome

_SIGNIFICANT = 4
# Where every receipt states its epsilon, so that they can be compared: ten times the delta of a standard release.
REFERENCE_DELTA = Decimal("1e-5")
_NOT_PRIVATE = "NOT PRIVATE: the noise came from a fixed test seed."


@frozen
class Receipt:
    """Everything that a reader of the release may want to know, and nothing that was not released.

    `rho`, `delta` and `epsilon` (at `epsilon_delta`) are those of the plan: what was promised before data was read.
    What a run happened to spend depends on its output and is no guarantee: it stands beside, as charged (erratum 47).

    `data_version` names the data to whoever holds the secret, and is another in every receipt: two of them tell nobody
    else whether the data changed (erratum 46).

    `left_out` is True if a bound on each person's items may have left some of them out: the numbers and their intervals
    are then of what was counted, and the true ones may be larger.

    `columns` are the names of the item's columns in the answer, as they are in the data.

    `dataset` is what the catalog calls the data, to whoever was given the release; None where nobody keeps count.

    `noise_scale` is there if all rows have the same, `shown_above` if rows had to exceed a threshold to be shown.
    """

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
    charged_rho: str
    charged_delta: str
    cost: dict[str, Any]
    noise: str
    noise_scale: float | None
    noise_bound: int | None
    shown_above: int | None
    cutoff: float | None
    rows: int
    private: bool
    consistent: bool
    remark: str | None = None
    order: float | None = None
    columns: tuple[str, ...] = ("item",)
    left_out: bool = False
    dataset: str | None = None

    def __repr__(self) -> str:
        return f"<Receipt {self.id}: {_asked(self)}, {self.made[:10]}>"

    def _repr_html_(self) -> str:
        return f"<div style='max-width:48em'><b>Receipt {safe(self.id)}</b>{table(_facts(self))}</div>"

    def to_html(self) -> str:
        """The receipt as a page by itself, to hand on: no script, nothing from elsewhere, light and dark."""
        return to_html(_page(self))

    def to_json(self) -> str:
        """The receipt as JSON text, keys in a fixed order."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Receipt:
        """The receipt that `to_json` wrote."""
        return Receipt.from_form(json.loads(text))

    @staticmethod
    def from_form(form: Mapping[str, Any]) -> Receipt:
        """The receipt of a form; what later versions add is left out, and what earlier ones did not say is not said."""
        unsaid = {"charged_rho": form.get("rho"), "charged_delta": form.get("delta")} | dict.fromkeys(
            ("noise_scale", "noise_bound", "shown_above", "remark", "order", "dataset")
        )
        said = {**unsaid, **form, "columns": tuple(form.get("columns", ("item",)))}
        said.setdefault("left_out", said["max_items_per_user"] is not None)
        return Receipt(**{field.name: said[field.name] for field in fields(Receipt)})

    def to_text(self, *, numbers: bool = True) -> str:
        """The receipt as one paragraph; without `numbers`, in everyday words only."""
        return " ".join(_sentences(self, numbers=numbers))


def make_receipt(planned: Planned, mark: str, outcome: Outcome, *, made: datetime, consistent: bool) -> Receipt:
    """Write the receipt of an outcome. Everything in it is public, declared or released; `mark` is `Secret.mark`."""
    selection, spent = planned.request.selection, zcdp.spent(outcome.cost)
    promised = promise(planned.plan.cost)
    return Receipt(
        id=_identify(planned, mark, outcome),
        made=made.isoformat(timespec="seconds"),
        question=planned.request.question,
        user=selection.user,
        item=planned.request.item_words(),
        columns=column_names(selection.item),
        left_out=_leaves_out(planned),
        where=planned.request.filter_words(),
        per_item_cap=selection.per_item_cap,
        max_items_per_user=planned.plan.max_items,
        mechanism=planned.mechanism.name,
        mechanism_version=planned.mechanism.version,
        reason=planned.reason,
        data_version=mark,
        rho=_short(promised.rho),
        delta=_short(promised.delta),
        epsilon=promised.epsilon,
        epsilon_delta=float(_short(promised.epsilon_delta)),
        charged_rho=_short(spent.rho),
        charged_delta=_short(spent.delta),
        cost=outcome.cost.to_json(),
        noise=outcome.noise,
        noise_scale=_only(outcome.noise_scale),
        noise_bound=outcome.noise_bound,
        # Listed items may have one of their own, which is lower.
        shown_above=None if outcome.shown_above is None else int(max(outcome.shown_above, default=0)),
        cutoff=outcome.cutoff,
        rows=len(outcome.items),
        private=outcome.private,
        consistent=consistent,
        remark=outcome.remark,
        order=None if planned.plan.cost.order == EVERY_ORDER else float(planned.plan.cost.order),
    )


def _leaves_out(planned: Planned) -> bool:
    """Whether a person may have had more items than were counted of them: of a public list they cannot have more."""
    bound, public = planned.plan.max_items, planned.request.facts.public_items
    return bound is not None and (public is None or bound < len(public))


def _page(receipt: Receipt) -> ReceiptPage:
    known = "" if receipt.order is None else f", known for Rényi orders up to {receipt.order:g}"
    return ReceiptPage(
        title=f"Receipt {receipt.id}",
        warning="" if receipt.private else _NOT_PRIVATE,
        facts=_facts(receipt),
        protected=protection_sentence(receipt),
        left_out=_left_out(receipt),
        promise=[
            ("Epsilon", f"{receipt.epsilon:.4g} at delta = {receipt.epsilon_delta:.4g}"),
            ("As zCDP", f"rho = {receipt.rho}, delta = {receipt.delta}{known}"),
            ("Charged", f"rho = {receipt.charged_rho}, delta = {receipt.charged_delta}"),
        ],
        comparison=comparison_sentence(receipt),
        reference=REFERENCE_DELTA,
    )


def _facts(receipt: Receipt) -> list[tuple[str, str]]:
    """What was asked of what, and when."""
    return [
        ("Date", made_words(receipt)),
        ("Data set", receipt.dataset or "not in a catalog"),
        ("Question", question_words(receipt)),
        ("Item", receipt.item),
        ("Columns of the answer", ", ".join(receipt.columns) or "none beside the number"),
        ("Person column", receipt.user),
        ("Rows", f"only those with {receipt.where}" if receipt.where else "all"),
        ("Method", f"{receipt.mechanism}, version {receipt.mechanism_version}"),
        ("Price", price_words(float(receipt.charged_rho))),
    ]


def _left_out(receipt: Receipt) -> list[str]:
    """What is not in the answer, in sentences."""
    said = [f"Only rows with {receipt.where} were counted."] if receipt.where else []
    if receipt.left_out:
        said.append(_bound_sentence(receipt))
    if receipt.cutoff is not None:
        said.append(cutoff_sentence(receipt))
    if receipt.remark:
        said.append(receipt.remark)
    if not receipt.columns:
        return [*said, "The true number was not released."]
    return [*said, "How many items were left out, and the true counts, were not released."]


def question_words(receipt: Receipt) -> str:
    """What was asked, in plain words."""
    if receipt.question == "count" and not receipt.columns:
        return "how many people there are"
    if receipt.question == "count" and receipt.per_item_cap > 1:
        return f"how often {receipt.item} occurs, of each person at most {receipt.per_item_cap:,} times"
    return {
        "count": f"how many people have each {receipt.item}",
        "top": f"which {receipt.item} most people have",
        "vocab": f"which {receipt.item} may be named",
    }.get(receipt.question, _asked(receipt))


def _asked(receipt: Receipt) -> str:
    """As the ledger's history calls it."""
    return f"{receipt.question} of {receipt.item} per {receipt.user}"


def made_words(receipt: Receipt) -> str:
    """When it was made, in words; as it is written where that is no moment."""
    try:
        return f"{datetime.fromisoformat(receipt.made):%d %B %Y, %H:%M %Z}".strip()
    except ValueError:
        return receipt.made


def protection_sentence(receipt: Receipt) -> str:
    """Who is protected, and how."""
    return (
        f"Each person in column '{receipt.user}', with all of their rows, is protected: the answer would be almost as "
        "likely had that person not been in the data."
    )


def _bound_sentence(receipt: Receipt) -> str:
    """What a bound left out; the receipt must have one."""
    if receipt.question == "vocab":
        return f"At most {_bound_words(receipt)} of each person were looked at, chosen at random."
    return (
        f"At most {_bound_words(receipt)} of each person were counted, chosen at random, and the numbers and intervals "
        "are of these: where people have more, the true numbers are larger."
    )


def _bound_words(receipt: Receipt) -> str:
    bound = receipt.max_items_per_user
    return "one item" if bound == 1 else f"{bound:,} items"


def comparison_sentence(receipt: Receipt) -> str:
    """Whether its epsilon may be held beside those of other receipts."""
    reference = f"delta = {float(REFERENCE_DELTA):g}"
    if receipt.epsilon_delta > float(REFERENCE_DELTA):
        return (
            f"Its own delta of {receipt.delta} leaves no epsilon at {reference}, where other receipts state theirs: it "
            "promises less than they do, whatever its epsilon."
        )
    if receipt.order is not None:
        return (
            f"Every receipt states epsilon at {reference}. This promise is known for Rényi orders up to "
            f"{receipt.order:g} only, so that its epsilon stays up however little is spent."
        )
    return f"Every receipt states epsilon at {reference}, so that they can be compared: a smaller one promises more."


def interval_sentence(receipt: Receipt) -> str:
    """What the ends of the intervals hold, and of what."""
    if not receipt.columns:
        return "The true number is between 'at least' and 'at most' with 95 % probability."
    if not receipt.left_out:
        return "Each true number is between 'at least' and 'at most' with 95 % probability, row by row."
    return (
        f"At most {_bound_words(receipt)} of each person were counted, chosen at random, and these are the numbers of "
        "what was counted: each is between 'at least' and 'at most' with 95 % probability, row by row. Whoever has "
        "more items is missing from some rows, so a true number may well be above 'at most'."
    )


def cutoff_sentence(receipt: Receipt) -> str:
    """What is unlikely to be shown, in plain words; the receipt must have a cut-off."""
    if _is(receipt, "from_boundary"):
        return (
            f"An item is unlikely to be shown unless about {receipt.cutoff:,.0f} more people have it than have the "
            "first item that is not looked at (nobody, where all items are looked at)."
        )
    if _is(receipt, "weighs"):
        return (
            f"An item needs about {receipt.cutoff:,.0f} people who have nothing else, or more who have many items, "
            "to be named."
        )
    return f"Items held by fewer than about {receipt.cutoff:,.0f} people are unlikely to be shown."


def cutoff_label(receipt: Receipt) -> str:
    """The cut-off in a word or two; the receipt must have one."""
    # Counted from a boundary that stays private, it is at least as much from zero.
    return f"cut-off, {'at least' if _is(receipt, 'from_boundary') else 'about'} {receipt.cutoff:,.0f}"


def _is(receipt: Receipt, what: Literal["weighs", "from_boundary"]) -> bool:
    return receipt.mechanism in {mechanism.name for mechanism in MECHANISMS if getattr(mechanism, what)}


@lru_cache(maxsize=1024, typed=True)
def best_epsilon(cost: Cost, total_delta: Number) -> float:
    """The smallest epsilon at this delta that any accountant with a theorem for all of the cost can show."""
    accountants: tuple[Accountant, ...] = (zcdp, gdp, basic)
    return min(accountant.epsilon(cost, total_delta) for accountant in accountants if accountant.supports(cost))


@frozen
class PlanPromise:
    """What a plan guarantees: rho and delta, and epsilon, rounded up, at a total delta."""

    rho: Decimal
    delta: Decimal
    epsilon: float
    epsilon_delta: Decimal


@lru_cache(maxsize=256)
def promise(cost: Cost) -> PlanPromise:
    """The guarantee of a plan's cost, whatever its run will give.

    Epsilon is stated at the reference delta, the same for all whose own delta is below it: of two such costs the
    cheaper never has the larger epsilon. Where the plan's own delta is no smaller there is none at the reference, and
    it is stated at twice its own; the receipt then says that it cannot be compared.
    """
    spent = zcdp.spent(cost)
    total = REFERENCE_DELTA if spent.delta < REFERENCE_DELTA else min(2 * spent.delta, (1 + spent.delta) / 2)
    epsilon = float(_short(Decimal(best_epsilon(cost, total))))
    return PlanPromise(rho=spent.rho, delta=spent.delta, epsilon=epsilon, epsilon_delta=total)


def _only(scales: npt.NDArray[np.float64] | None) -> float | None:
    """The scale of all rows, None if there are none or they differ."""
    return float(scales[0]) if scales is not None and len(scales) and bool((scales == scales[0]).all()) else None


def _identify(planned: Planned, mark: str, outcome: Outcome) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for part in (planned.request.canonical(), mark, planned.mechanism.name):
        digest.update(part.encode() + b"\0")
    digest.update("\0".join(outcome.items.tolist()).encode("utf-8", "surrogatepass"))
    if outcome.counts is not None:
        digest.update(outcome.counts.tobytes())
    return digest.hexdigest()


def _short(value: Decimal) -> str:
    """Four significant digits, rounded up: a receipt never understates a cost."""
    return str(float(Context(prec=_SIGNIFICANT, rounding=ROUND_CEILING).plus(value)))


def _sentences(receipt: Receipt, *, numbers: bool) -> list[str]:
    of = "" if receipt.dataset is None else f", in the data set '{receipt.dataset}'"
    lines = [
        f"Receipt {receipt.id}, {made_words(receipt)}: {question_words(receipt)}{of}.",
        protection_sentence(receipt),
        f"It was made by '{receipt.mechanism}' ({receipt.reason.partition(': ')[2]}).",
    ]
    if numbers:
        known = "" if receipt.order is None else f", known for Renyi orders up to {receipt.order:g}"
        lines.append(f"Promised before any data was read: rho = {receipt.rho} and delta = {receipt.delta}{known}.")
        lines.append(f"That means (epsilon, delta) = ({receipt.epsilon:.4g}, {receipt.epsilon_delta:.4g}).")
        if receipt.epsilon_delta > float(REFERENCE_DELTA):
            lines.append(comparison_sentence(receipt))
        lines.append(f"Charged for it: rho = {receipt.charged_rho} and delta = {receipt.charged_delta}.")
    lines += _left_out(receipt)
    if receipt.consistent:
        lines.append("The same question on the same data gives this same answer.")
    if not receipt.private:
        lines.append(_NOT_PRIVATE)
    return lines
