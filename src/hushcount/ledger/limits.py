"""Limits: how much an account may spend in a window, in any of three currencies, and each shown in the others.

Whatever currency a limit was set in, it is enforced as one ceiling of (rho, delta), rounded down, because that is the
filter with a theorem for adaptively chosen queries (`accounting.filters`). Information and call units of "LinkedIn's
Audience Engagements API" are views of it: a unit is epsilon_per²/8 of rho, a call is one delta.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from hushcount.accounting import convert, units, zcdp
from hushcount.accounting.spent import EXACT, Spent, allowable
from hushcount.accounting.units import Units
from hushcount.errors import InvalidParameter
from hushcount.ledger.windows import WINDOWS, Window, micros, moment
from hushcount.model.amounts import Number, amount, positive, probability, share, whole
from hushcount.model.budgets import STANDARD, EpsilonBudget, RhoBudget
from hushcount.model.costs import EVERY_ORDER
from hushcount.model.frozen import frozen

Mode: TypeAlias = Literal["enforce", "track"]
Terms: TypeAlias = Units | RhoBudget | EpsilonBudget
Rounding: TypeAlias = Literal["up", "down"]
MODES: tuple[str, ...] = get_args(Mode)

# LinkedIn's own parameters: units for showing limits that were set in another currency.
SHOWN_UNITS = Units(information=0, calls=0, epsilon_per=Decimal("0.15"), delta_per_call=Decimal("1e-10"))
_SHOWN_DELTA = Decimal("1e-6")
# The Renyi orders for which a new ledger knows its costs: enough for any total of rho 0.05 and more at delta 1e-6 and
# more, where a higher one would not lower epsilon. Of an amount without a limit epsilon is told by these orders, too:
# fewer orders never say too little.
NEW_ORDER = Decimal(16)


@frozen
class Limit:
    """A limit on one account; made by `units_limit`, `rho_limit` or `epsilon_limit`.

    Attributes:
        terms: the limit as its owner wrote it.
        ceiling: what is enforced, rounded down.
        window: when it is renewed.
        mode: "enforce" refuses what does not fit; "track" records it, lets it through and marks the result.
        until: when it ends by itself; None if it stays until somebody sets another. See `lasting`.
        then: what holds after that; None for the rule that would hold without it.
        order: what is spent under it is known for Renyi orders up to this: the ledger's own. See `for_order`.
    """

    terms: Terms
    ceiling: Spent
    window: Window = "month"
    mode: Mode = "enforce"
    until: datetime | None = None
    then: Limit | None = None
    order: Decimal = EVERY_ORDER


@frozen
class ShownAmount:
    """One amount in all three currencies.

    Attributes:
        rho: as zCDP, with
        delta: the probability of failure.
        epsilon: as (epsilon, delta)-DP, at
        epsilon_delta: this total delta.
        information: as LinkedIn's information units of `epsilon_per`, and
        calls: call units of `delta_per_call`.
    """

    rho: Decimal
    delta: Decimal
    epsilon: float
    epsilon_delta: Decimal
    information: int
    calls: int
    epsilon_per: Decimal
    delta_per_call: Decimal


def units_limit(budget: Units, window: Window = "month", *, mode: Mode = "enforce") -> Limit:
    """A limit of k* information and l* call units. Exactly k* steps of epsilon_per and l* calls of delta fit."""
    return _checked(Limit(terms=budget, ceiling=zcdp.spent(units.cost(budget)), window=window, mode=mode))


def rho_limit(rho: Number, delta: Number, *, window: Window = "month", mode: Mode = "enforce") -> Limit:
    """A limit of rho and delta. A delta of zero allows known-domain queries only."""
    ceiling = Spent(rho=allowable("rho", rho), delta=allowable("delta", delta))
    return _checked(
        Limit(terms=RhoBudget(amount("rho", rho), amount("delta", delta)), ceiling=ceiling, window=window, mode=mode)
    )


def epsilon_limit(epsilon: Number, delta: Number, *, window: Window = "month", mode: Mode = "enforce") -> Limit:
    """A limit of (epsilon, delta)-DP on everything in a window together.

    Half of delta is for the failures of unknown-domain queries, half for the conversion: a split fixed beforehand, as
    the filter's theorem wants it. Any sequence within the ceiling is (epsilon, delta)-DP.
    """
    terms = EpsilonBudget(positive("epsilon", epsilon), probability("delta", delta))
    return _checked(Limit(terms=terms, ceiling=_epsilon_ceiling(terms, EVERY_ORDER), window=window, mode=mode))


def for_order(limit: Limit, order: Decimal) -> Limit:
    """The limit in a ledger whose costs are known for Renyi orders up to `order`: an epsilon is worth less rho there.

    rho and units stay as they are written; what they mean as epsilon is then shown by these orders.
    """
    if order >= limit.order:
        return limit
    terms = limit.terms
    ceiling = _epsilon_ceiling(terms, order) if isinstance(terms, EpsilonBudget) else limit.ceiling
    then = None if limit.then is None else for_order(limit.then, order)
    return replace(limit, ceiling=ceiling, then=then, order=order)


def _epsilon_ceiling(terms: EpsilonBudget, order: Decimal) -> Spent:
    failures = share(terms.delta, 2)
    if order != EVERY_ORDER and (least := _least_epsilon(terms.delta, failures, order)) >= terms.epsilon:
        raise InvalidParameter(
            "epsilon",
            terms.epsilon,
            f"above {least:.3f} at this delta",
            f"This ledger knows its costs for Renyi orders up to {order}, and these promise no less of any sum. Say "
            "rho and delta instead, or found a ledger that knows all orders.",
        )
    rho = convert.rho_for(terms.epsilon, total_delta=terms.delta, delta0=failures, order=order)
    return Spent(rho=allowable("rho", Decimal(rho)), delta=failures)


def _least_epsilon(delta: Decimal, failures: Decimal, order: Decimal) -> float:
    """What is promised at least of however little rho, by orders up to this."""
    return convert.epsilon_for(Decimal("1e-12"), delta0=failures, total_delta=delta, order=order)


def lasting(limit: Limit, *, until: datetime, then: Limit | None) -> Limit:
    """A limit that holds until a moment by the ledger's clock, and what holds after it."""
    micros(until)
    return replace(limit, until=until, then=then)


def in_force(limit: Limit | None, now: int) -> Limit | None:
    """What holds of a limit at a moment, in microseconds since 1970; None if its time is over and nothing follows."""
    while limit is not None and limit.until is not None and now >= micros(limit.until):
        limit = limit.then
    return limit


def ten_standard_releases(mode: Mode = "enforce") -> Limit:
    """The limit that a new data set starts with: ten standard releases a month."""
    return rho_limit(EXACT.multiply(10, STANDARD.rho), EXACT.multiply(10, STANDARD.delta), mode=mode)


@lru_cache(maxsize=4096)
def show(spent: Spent, limit: Limit | None = None, *, rounding: Rounding) -> ShownAmount:
    """An amount in all three currencies. A balance is looked at far more often than it changes, so they are kept.

    Args:
        spent: the amount.
        limit: the limit whose epsilon_per, delta per call or total delta is used, if it has them.
        rounding: "up" for what was spent, "down" for what is left, so that a view never flatters.
    """
    by = limit.terms if limit is not None and isinstance(limit.terms, Units) else SHOWN_UNITS
    step = convert.bounded_range_to_zcdp(by.epsilon_per)
    return ShownAmount(
        rho=spent.rho,
        delta=spent.delta,
        epsilon=_epsilon(spent, total := _total_delta(spent, limit), NEW_ORDER if limit is None else limit.order),
        epsilon_delta=total,
        information=_count(spent.rho, step, rounding),
        calls=_count(spent.delta, by.delta_per_call, rounding),
        epsilon_per=by.epsilon_per,
        delta_per_call=by.delta_per_call,
    )


def more_like(left: Spent, asked: Spent) -> int | None:
    """How many more queries of this cost fit into what is left; None if the query costs nothing."""
    counts = [
        max(0, Fraction(have) // Fraction(want))
        for have, want in ((left.rho, asked.rho), (left.delta, asked.delta))
        if want > 0
    ]
    return min(counts, default=None)


def to_json(limit: Limit) -> dict[str, Any]:
    """A limit as JSON, for the log."""
    kind, names = next((name, fields) for name, (kind, fields) in _TERMS.items() if isinstance(limit.terms, kind))
    # What has no end says nothing of it, as before there were any.
    ends = {} if limit.until is None else {"until": micros(limit.until), "then": limit.then and to_json(limit.then)}
    known = {} if limit.order == EVERY_ORDER else {"order": str(limit.order)}
    return {
        "kind": kind,
        "terms": {name: str(getattr(limit.terms, name)) for name in names},
        "rho": str(limit.ceiling.rho),
        "delta": str(limit.ceiling.delta),
        "window": limit.window,
        "mode": limit.mode,
        **ends,
        **known,
    }


def from_json(form: dict[str, Any]) -> Limit:
    """The limit that `to_json` wrote."""
    kind, _ = _TERMS[form["kind"]]
    numbers = {
        name: int(text) if name in {"information", "calls"} else Decimal(text) for name, text in form["terms"].items()
    }
    then = form.get("then")
    return Limit(
        terms=kind(**numbers),
        ceiling=Spent(rho=Decimal(form["rho"]), delta=Decimal(form["delta"])),
        window=form["window"],
        mode=form["mode"],
        until=moment(form["until"]) if "until" in form else None,
        then=None if then is None else from_json(then),
        order=Decimal(form.get("order", EVERY_ORDER)),
    )


@lru_cache(maxsize=1024)
def from_text(text: str) -> Limit:
    """The limit of a row: read with every question, and changed by an owner now and then."""
    return from_json(json.loads(text))


_TERMS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "units": (Units, ("information", "calls", "epsilon_per", "delta_per_call")),
    "rho": (RhoBudget, ("rho", "delta")),
    "epsilon": (EpsilonBudget, ("epsilon", "delta")),
}


def _checked(limit: Limit) -> Limit:
    if limit.window not in WINDOWS:
        raise InvalidParameter("window", limit.window, f"one of {', '.join(WINDOWS)}")
    if limit.mode not in MODES:
        raise InvalidParameter("mode", limit.mode, f"one of {', '.join(MODES)}")
    if limit.ceiling.delta >= 1:
        raise InvalidParameter("delta", limit.ceiling.delta, "below one")
    return limit


def _count(have: Decimal, each: Decimal, rounding: Rounding) -> int:
    if each <= 0 or have <= 0:
        return 0
    exact = Fraction(have) / Fraction(each)
    return whole("count", exact.__ceil__() if rounding == "up" else exact.__floor__(), least=0)


def _total_delta(spent: Spent, limit: Limit | None) -> Decimal:
    """The delta at which epsilon is stated: the owner's own, or twice the failures: half is left for epsilon."""
    if limit is not None and isinstance(limit.terms, EpsilonBudget):
        return limit.terms.delta
    base = limit.ceiling.delta if limit is not None else spent.delta
    return min(EXACT.multiply(2, base), Decimal("0.5")) if base > 0 else _SHOWN_DELTA


def _epsilon(spent: Spent, total_delta: Decimal, order: Decimal) -> float:
    if spent.rho <= 0 or spent.delta < 0:
        # What is left of a limit that was cut below what was spent.
        return 0.0
    if spent.delta >= total_delta:
        return math.inf
    return zcdp.epsilon_spent(spent, total_delta, order=order)
