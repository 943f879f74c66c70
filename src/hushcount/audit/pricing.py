"""Prices: what the draws of a run cost by their own laws and reaches, to be held against what the run charged.

A price is made of the calls alone, so a mechanism that draws more, or with less noise, than it pays for is found out
whatever its cost says. Failure is priced where a call itself decides what is shown: a coin, or an order that ends with
bottom. Noise that meets its threshold elsewhere is left to the exact step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from hushcount.accounting import basic, normal, zcdp
from hushcount.audit.keep_curve import steepest_keep
from hushcount.audit.keep_ladders import ladder_keep, steepest_step
from hushcount.model.amounts import charge
from hushcount.model.costs import (
    Approximate,
    BoundedRange,
    Concentrated,
    Cost,
    DiscreteGaussian,
    Event,
    Gaussian,
    Pure,
    Truncated,
)
from hushcount.noise import enclosures
from hushcount.noise.calls import (
    AddGaussian,
    AddLaplace,
    AddTruncated,
    AnyCall,
    KeepByLadders,
    KeepByTable,
    KeepGaussian,
    KeepKs,
    KeepLaplace,
    Peel,
)

# An event and how often it happens; None where the reach sets no price.
_Priced: TypeAlias = tuple[Event, int] | None

# What the accountants' own rounding can add up to.
_ROUNDING = 1e-9
# Steps are compared at some orders in plain doubles.
_STEPS_ROUNDING = 1e-6
_TABLE = 2**128


def price(call: AnyCall, drawn: int) -> Cost | None:
    """The cost of one call of which `drawn` outcomes were used; None if its law is unknown or its reach sets no price.

    Args:
        call: the call.
        drawn: how long its outcome is: for an order, how many places were given.
    """
    make = _PRICES.get(type(call))
    event = None if make is None else make(call, drawn)
    return None if event is None else Cost.of(event)


def overspent(prices: Sequence[Cost], charged: Cost) -> str | None:
    """In words, by how much the draws cost more than was charged; None if they do not."""
    total = Cost.total(prices)
    if total.order < charged.order:
        return f"the draws are known for Renyi orders up to {total.order:.4g}, charged for {charged.order:.4g}"
    if zcdp.supports(total) and zcdp.supports(charged):
        due, paid = float(zcdp.spent(total).rho), float(zcdp.spent(charged).rho)
        if due > paid * (1 + _ROUNDING):
            return f"the draws cost rho {due:.4g}, charged were {paid:.4g}"
    if basic.supports(total) and basic.supports(charged):
        due, paid = float(basic.guarantee(total).epsilon), float(basic.guarantee(charged).epsilon)
        if due > paid * (1 + _ROUNDING):
            return f"the draws cost epsilon {due:.4g}, charged were {paid:.4g}"
    return None


def charged_delta(cost: Cost) -> float:
    """The failure probability that a cost pays for."""
    return float(zcdp.spent(cost).delta)


def failed(chances: Collection[float], charged: Cost) -> str | None:
    """In words, if items of one run alone are shown more often than is paid for."""
    chance, paid = math.fsum(chances), charged_delta(charged)
    if chance > paid * (1 + _ROUNDING):
        return f"items that only one run has are shown with probability {chance:.4g}, charged were {paid:.4g}"
    return None


def shown_alone(call: AnyCall, rows: Sequence[int]) -> float:
    """The probability that a call shows one of these rows; zero where the call does not decide that."""
    if not rows:
        return 0.0
    if isinstance(call, Peel):
        return 0.0 if call.last is None else _before_bottom(call, rows)
    coin = _COINS.get(type(call))
    if coin is None:
        return 0.0
    # 1 - product of (1 - p), without losing the digits of small p.
    hidden = math.fsum(
        math.log1p(-p) if p < 1 else -math.inf for p in (coin(call, call.values[row].tolist()) for row in rows)
    )
    return -math.expm1(hidden)


def broken_table(call: AnyCall, charged: Cost) -> str | None:
    """In words, if the neighbouring entries of a table of coins are not (epsilon, delta)-close as charged."""
    events = [event for event, _ in charged.events if isinstance(event, Approximate)]
    if not isinstance(call, KeepByTable) or not events:
        return None
    # An upper bound of e^epsilon: what breaks with it is broken.
    growth = enclosures.exp(Fraction(events[0].epsilon), 60)[1]
    slack = Fraction(events[0].delta) * _TABLE
    for people, (low, high) in enumerate(zip(call.table, call.table[1:], strict=False)):
        if max(high - growth * low, (_TABLE - low) - growth * (_TABLE - high)) > slack:
            return f"the chances of {people} and {people + 1} people differ by more than ({events[0].epsilon}, delta)"
    return None


def broken_ladder(call: AnyCall) -> str | None:
    """In words, if one person's step on a table or on the curve tells more than the call says it does."""
    if not isinstance(call, KeepByLadders):
        return None
    found = steepest_step(call)
    if found.share <= 1 + _STEPS_ROUNDING:
        return None
    return f"{found.where}: one person tells {found.share:.4g} times what '{call.purpose}' pays for"


def _before_bottom(call: Peel, rows: Sequence[int]) -> float:
    """The larger of some Gumbel numbers is again one, of their summed weight."""
    heights = [
        float(call.rate) * int(value) + _log(call.priors.get(row, Fraction(1))) for row, value in enumerate(call.values)
    ]
    assert call.last is not None, "asked only where bottom takes part"  # noqa: S101  for the type checker
    odds = math.fsum(math.exp(min(heights[row] - heights[call.last], 700)) for row in rows)
    return odds / (1 + odds)


def _log(odds: Fraction) -> float:
    return math.log(odds.numerator) - math.log(odds.denominator)


def _rows(call: AnyCall) -> int:
    """How many values one person can move."""
    return len(call.values) if call.reach.rows is None else min(call.reach.rows, len(call.values))


def _priced_laplace(call: AddLaplace | AddTruncated, _: int) -> _Priced:
    if call.reach.l1 is not None:
        return Pure(epsilon=charge(call.rate * call.reach.l1)), 1
    return None if call.reach.each is None else (Pure(epsilon=charge(call.rate * call.reach.each)), _rows(call))


def _priced_gaussian(call: AddGaussian, _: int) -> _Priced:
    if call.reach.l2 is not None:
        return DiscreteGaussian(rho=charge(call.reach.l2**2 / (2 * call.variance))), 1
    if call.reach.each is None:
        return None
    return DiscreteGaussian(rho=charge(call.reach.each**2 / (2 * call.variance))), _rows(call)


def _priced_coins(call: KeepGaussian, _: int) -> _Priced:
    if call.reach.l2 is None:
        return None
    return Gaussian(rho=charge((Fraction(call.reach.l2, call.unit) / Fraction(call.stddev)) ** 2 / 2)), 1


def _priced_curve(call: KeepKs, _: int) -> _Priced:
    if call.reach.l2 is None:
        return None
    return Concentrated(rho=charge((Fraction(call.reach.l2, call.unit) / Fraction(call.stddev)) ** 2 / 2)), 1


def _priced_laplace_coins(call: KeepLaplace, _: int) -> _Priced:
    if call.reach.l1 is None:
        return None
    return Pure(epsilon=charge(Fraction(call.reach.l1, call.unit) / Fraction(call.scale))), 1


def _priced_ladders(call: KeepByLadders, _: int) -> _Priced:
    if call.cap == math.inf:
        return Concentrated(rho=call.rho), 1
    return Truncated(rho=call.rho, order=Decimal(call.cap)), 1


def _priced_order(call: Peel, drawn: int) -> _Priced:
    return None if call.reach.spread is None else (BoundedRange(epsilon=charge(call.rate * call.reach.spread)), drawn)


def _by_table(call: KeepByTable, _: int) -> _Priced:  # noqa: ARG001  any table
    """Nothing by itself: `broken_table` compares the entries with what is charged."""
    return Pure(epsilon=Decimal(0)), 0


_PRICES: dict[type, Callable[[Any, int], _Priced]] = {
    AddLaplace: _priced_laplace,
    AddGaussian: _priced_gaussian,
    AddTruncated: _priced_laplace,
    KeepGaussian: _priced_coins,
    KeepKs: _priced_curve,
    KeepLaplace: _priced_laplace_coins,
    KeepByTable: _by_table,
    KeepByLadders: _priced_ladders,
    Peel: _priced_order,
}
_COINS: dict[type, Callable[[Any, Any], float]] = {
    KeepGaussian: lambda call, value: normal.tail((call.threshold - value / call.unit) / call.stddev),
    KeepKs: lambda call, value: steepest_keep((value / call.unit - call.threshold) / call.stddev),
    KeepLaplace: lambda call, value: _laplace_tail((call.threshold - value / call.unit) / call.scale),
    KeepByTable: lambda call, value: call.table[min(max(value, 0), len(call.table) - 1)] / _TABLE,
    KeepByLadders: ladder_keep,
}


def _laplace_tail(gap: float) -> float:
    return math.exp(-gap) / 2 if gap >= 0 else 1 - math.exp(gap) / 2
