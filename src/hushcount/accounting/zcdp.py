"""The zCDP accountant: every cost event as delta-approximate rho-zCDP, summed.

Approximate zero-concentrated differential privacy composes by adding rho and delta (Bun and Steinke 2016, lemma 8.2),
also when each step is chosen from the answers so far, as long as a filter guards the totals (`filters`). Where some
events are known up to a Renyi order only (`Truncated`), so is the sum: `Cost.order` says up to which.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from hushcount.accounting import convert
from hushcount.accounting.accountant import Prices, covers, delta_of, epsilon_of, total
from hushcount.accounting.spent import NOTHING, Charge, Spent, chargeable, failure
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number
from hushcount.model.costs import (
    EVERY_ORDER,
    Approximate,
    BoundedRange,
    Concentrated,
    Cost,
    DiscreteGaussian,
    Failure,
    Gaussian,
    Pure,
    Truncated,
)

NAME = "zCDP"


def supports(cost: Cost) -> bool:
    """Whether every event of `cost` has a row in the table below."""
    return covers(_PRICES, cost)


# A question's worst case is looked at by whoever prices, plans, holds and tells it.
@lru_cache(maxsize=1024)
def spent(cost: Cost) -> Spent:
    """The exact charge for `cost`: it is `delta`-approximate `rho`-zCDP. A price is rounded up, then repeated."""
    rho, failed = total(_PRICES, cost, name=NAME)
    return Spent(rho=rho, delta=failed)


def epsilon(cost: Cost, total_delta: Number) -> float:
    """The epsilon, rounded up, at which `cost` is (epsilon, total_delta)-DP (`convert.epsilon_for`)."""
    return epsilon_spent(spent(cost), total_delta, order=cost.order)


def delta(cost: Cost, epsilon: Number) -> float:
    """The total delta, rounded up, at which `cost` is (epsilon, delta)-DP (`convert.delta_for`)."""
    return delta_spent(spent(cost), epsilon, order=cost.order)


def epsilon_spent(charged: Spent, total_delta: Number, *, order: Decimal = EVERY_ORDER) -> float:
    """As `epsilon`, for a total that was charged before, every part of which holds for orders up to `order`."""
    return epsilon_of(
        charged,
        total_delta,
        curve=lambda rho, inner: convert.epsilon_for(rho, delta0=0, total_delta=inner, order=order),
    )


def delta_spent(charged: Spent, epsilon: Number, *, order: Decimal = EVERY_ORDER) -> float:
    """As `delta`, for a total that was charged before, every part of which holds for orders up to `order`."""
    return delta_of(charged, epsilon, curve=lambda rho, level: convert.zcdp_delta(rho, level, order))


def _gaussian(event: Gaussian | DiscreteGaussian) -> Charge:
    """Noise N(0, s²/(2 rho)) on l2-sensitivity s is rho-zCDP; its discrete form too (Canonne, Kamath, Steinke 2020)."""
    return chargeable("rho", event.rho), NOTHING


def _concentrated(event: Concentrated) -> Charge:
    """A step that is rho-zCDP by its own proof."""
    return chargeable("rho", event.rho), NOTHING


def _truncated(event: Truncated) -> Charge:
    """Rho for all orders up to its own: whoever converts the sum goes no higher than the smallest of them.

    Renyi divergences add up order by order, adaptively too, so sums of rho mean the same up to that order.
    """
    if event.order <= 1:
        raise InvalidParameter("order", event.order, "above one")
    return chargeable("rho", event.rho), NOTHING


def _bounded_range(event: BoundedRange) -> Charge:
    """epsilon²/8-zCDP (Cesar and Rogers 2021)."""
    return convert.bounded_range_to_zcdp(event.epsilon), NOTHING


def _pure(event: Pure) -> Charge:
    """A pure step is epsilon tanh(epsilon/2)-zCDP (`convert.pure_to_zcdp`)."""
    return convert.pure_to_zcdp(event.epsilon), NOTHING


def _approximate(event: Approximate) -> Charge:
    """delta-approximate epsilon tanh(epsilon/2)-zCDP.

    For each pair of neighbours, any (epsilon, delta)-DP step is post-processing of randomised response that shows its
    input with probability delta and is epsilon-DP otherwise (Kairouz, Oh and Viswanath 2015, theorem 3.1 and its
    dominating pair).
    """
    return convert.pure_to_zcdp(event.epsilon), failure(event.delta)


def _failure(event: Failure) -> Charge:
    """delta-approximate 0-zCDP by definition."""
    return NOTHING, failure(event.delta)


_PRICES: Prices = {
    Gaussian: _gaussian,
    DiscreteGaussian: _gaussian,
    Concentrated: _concentrated,
    Truncated: _truncated,
    BoundedRange: _bounded_range,
    Pure: _pure,
    Approximate: _approximate,
    Failure: _failure,
}
