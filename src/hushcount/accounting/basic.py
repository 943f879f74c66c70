"""The basic accountant: epsilons add up and deltas add up.

For a release made of few pure or (epsilon, delta)-DP steps, such as one k-TSGD table, this is smaller than the detour
through zCDP. Basic composition: Dwork, McSherry, Nissim and Smith 2006 for the epsilons, Dwork et al. 2006 ("Our data,
ourselves") with deltas; an epsilon-bounded-range step is epsilon-DP (Durfee and Rogers 2019). Gaussian noise has no
finite epsilon and is refused.
"""

from __future__ import annotations

from decimal import Decimal

from hushcount.accounting.accountant import Prices, covers, total
from hushcount.accounting.spent import NOTHING, Charge, chargeable, failure
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number, amount, float_above, probability
from hushcount.model.costs import Approximate, BoundedRange, Cost, Failure, Pure
from hushcount.model.frozen import frozen

NAME = "basic"


@frozen
class Guarantee:
    """(epsilon, delta)-DP, as exact sums."""

    epsilon: Decimal
    delta: Decimal


def supports(cost: Cost) -> bool:
    """Whether `cost` is made of pure, bounded-range, approximate steps and failures only."""
    return covers(_PRICES, cost)


def guarantee(cost: Cost) -> Guarantee:
    """The (epsilon, delta) of `cost`: the exact sums over its events."""
    spent_epsilon, failed = total(_PRICES, cost, name=NAME)
    return Guarantee(epsilon=spent_epsilon, delta=failed)


def epsilon(cost: Cost, total_delta: Number) -> float:
    """The epsilon, rounded up, at which `cost` is (epsilon, total_delta)-DP. A larger delta does not lower it here."""
    found, wanted = guarantee(cost), probability("total_delta", total_delta)
    if found.delta > wanted:
        raise InvalidParameter("total_delta", total_delta, f"at least the {found.delta} already spent on failures")
    return float_above(found.epsilon)


def delta(cost: Cost, epsilon: Number) -> float:
    """The delta, rounded up, at which `cost` is (epsilon, delta)-DP: 1, which says nothing, below the epsilons' sum."""
    found = guarantee(cost)
    return min(1.0, float_above(found.delta)) if amount("epsilon", epsilon) >= found.epsilon else 1.0


def _pure(event: Pure | BoundedRange) -> Charge:
    return chargeable("epsilon", event.epsilon), NOTHING


def _approximate(event: Approximate) -> Charge:
    return chargeable("epsilon", event.epsilon), failure(event.delta)


def _failure(event: Failure) -> Charge:
    return NOTHING, failure(event.delta)


_PRICES: Prices = {Pure: _pure, BoundedRange: _pure, Approximate: _approximate, Failure: _failure}
