"""Accountants: what a bag of cost events means as an (epsilon, delta) guarantee.

An accountant is a module with the names of the `Accountant` protocol: `zcdp`, `gdp`, `basic`. Each holds one table from
the kind of an event to a small pure function that prices one such event. How often an event happened is applied here,
once, for all of them. An event without a row in the table is refused, never skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from hushcount.accounting.convert import inner_delta, outer_delta
from hushcount.accounting.spent import EXACT, NOTHING, Charge, Spent
from hushcount.errors import InvalidParameter, UnsupportedCost
from hushcount.model.amounts import Number, amount, float_above, probability, whole
from hushcount.model.costs import Cost, Event

# Each function takes the kind it stands beside; the table, not the type, ties the two together.
Prices: TypeAlias = Mapping[type[Event], Callable[[Any], Charge]]


class Accountant(Protocol):
    """One way to turn a cost into a guarantee, with a theorem for every kind of event that it supports."""

    NAME: str

    def supports(self, cost: Cost) -> bool:
        """Whether there is a theorem for every event of `cost`."""

    def epsilon(self, cost: Cost, total_delta: Number) -> float:
        """The epsilon, rounded up, at which `cost` is (epsilon, total_delta)-DP; refuses what it does not support."""

    def delta(self, cost: Cost, epsilon: Number) -> float:
        """The delta, rounded up, at which `cost` is (epsilon, delta)-DP; refuses what it does not support."""


def covers(prices: Prices, cost: Cost) -> bool:
    """Whether the table has a row for every event of `cost`."""
    return all(type(event) in prices for event, _ in cost.events)


def total(prices: Prices, cost: Cost, *, name: str) -> Charge:
    """The exact sum of the prices of all events of `cost`, each as often as it happened.

    Args:
        prices: the table of one accountant.
        cost: the events.
        name: the accountant's name, for the refusal.

    Raises:
        UnsupportedCost: an event has no row in the table. The text names the event and the accountant.
    """
    first, failed = NOTHING, NOTHING
    for event, times in cost.events:
        price = prices.get(type(event))
        if price is None:
            known = ", ".join(kind.__name__ for kind in prices)
            raise UnsupportedCost(
                f"the {name} accountant has no theorem for {type(event).__name__} events; it knows {known}. "
                f"Use an accountant that supports all events of this cost."
            )
        count, (price_first, price_failed) = whole("times", times), _priced(price, event)
        first = EXACT.fma(price_first, count, first)
        failed = EXACT.fma(price_failed, count, failed)
    return first, failed


@lru_cache(maxsize=4096)
def _priced(price: Callable[[Any], Charge], event: Event) -> Charge:
    """The price of an event, kept: a mechanism that takes a thousand equal steps asks for it at every step."""
    return price(event)


def epsilon_of(spent: Spent, total_delta: Number, *, curve: Callable[[Decimal, Decimal], float]) -> float:
    """The epsilon of a rho that may fail with probability delta0, at a total delta.

    Args:
        spent: rho and delta0. With rho = 0 nothing but failures happened, and epsilon is 0.
        total_delta: above delta0, so that the rho part has a delta of its own.
        curve: (rho, delta') to epsilon, for the rho part alone.
    """
    wanted = probability("total_delta", total_delta)
    if spent.delta > wanted or (spent.delta == wanted and spent.rho > 0):
        raise InvalidParameter("total_delta", total_delta, f"above the {spent.delta} already spent on failures")
    return curve(spent.rho, inner_delta(delta0=spent.delta, total_delta=wanted)) if spent.rho > 0 else 0.0


def delta_of(spent: Spent, epsilon: Number, *, curve: Callable[[Decimal, Decimal], float]) -> float:
    """The total delta of a rho that may fail with probability delta0, at an epsilon.

    Args:
        spent: rho and delta0. Summed failures of one and more say nothing: delta is 1.
        epsilon: zero or more.
        curve: (rho, epsilon) to delta', for the rho part alone.
    """
    level = amount("epsilon", epsilon)
    if spent.delta >= 1:
        return 1.0
    if spent.rho == 0:
        return float_above(spent.delta)
    return outer_delta(delta0=spent.delta, inner=Decimal(curve(spent.rho, level)))
