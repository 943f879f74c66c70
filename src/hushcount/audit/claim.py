"""Claims: what a run says about its privacy, as the whole curve from epsilon to delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from hushcount.accounting import basic, gdp, zcdp
from hushcount.audit.finding import Point
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number, amount
from hushcount.model.costs import EVERY_ORDER, Cost
from hushcount.model.frozen import frozen

# Each place of a curve is computed once: it has sixty digits, a step looks at hundreds, and a broken variant claims the
# same as what it is a variant of.
_PLACES = 1 << 16
_CURVES = ((zcdp, lru_cache(_PLACES)(zcdp.delta_spent)), (gdp, lru_cache(_PLACES)(gdp.delta_spent)))


@frozen
class Claim:
    """In plain words, and as a function: for every epsilon, the largest delta that the claim allows."""

    words: str
    delta: Callable[[float], float]

    def curve(self, epsilons: Iterable[float]) -> tuple[Point, ...]:
        """The claim at some epsilons, for a picture."""
        return tuple(Point(epsilon=epsilon, delta=self.delta(epsilon)) for epsilon in epsilons)


def pair_claim(epsilon: Number, delta: Number) -> Claim:
    """(epsilon, delta)-DP and all that follows from it.

    Below epsilon the worst pair of laws that the claim allows has delta' = delta + (1 - delta) (e^epsilon - e^epsilon')
    / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015, the dominating pair of randomised response).
    """
    claimed, failing = float(amount("epsilon", epsilon)), float(amount("delta", delta))
    if failing >= 1:
        raise InvalidParameter("delta", delta, "below one", "A delta of one allows everything.")

    def allowed(level: float) -> float:
        if level >= claimed:
            return failing
        return failing + (1 - failing) * (math.exp(claimed) - math.exp(level)) / (1 + math.exp(claimed))

    return Claim(words=f"({claimed:.4g}, {failing:.4g})-DP", delta=allowed)


def cost_claim(cost: Cost) -> Claim:
    """What a cost means: at each epsilon the least delta that any of the accountants gives."""
    curves: list[Callable[[float], float]] = []
    words = ""
    if basic.supports(cost):
        whole = basic.guarantee(cost)
        pair = pair_claim(whole.epsilon, whole.delta)
        words, curves = pair.words, [pair.delta]
    for accountant, delta in _CURVES:
        if accountant.supports(cost):
            spent = accountant.spent(cost)
            words = words or f"{float(spent.delta):.4g}-approximate {float(spent.rho):.4g}-zCDP{_up_to(cost)}"
            curves.append(partial(delta, spent, **({"order": cost.order} if accountant is zcdp else {})))
    return Claim(words=words, delta=lambda level: min(curve(level) for curve in curves))


def _up_to(cost: Cost) -> str:
    return "" if cost.order == EVERY_ORDER else f" for Renyi orders up to {cost.order:.4g}"


def own_epsilon(cost: Cost) -> float | None:
    """The one epsilon that a cost made of pure and approximate steps states; None where it is a curve only."""
    return float(basic.guarantee(cost).epsilon) if basic.supports(cost) else None
