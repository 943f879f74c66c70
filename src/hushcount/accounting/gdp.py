"""The GDP accountant: Gaussian steps composed exactly as Gaussian differential privacy.

Gaussian steps of rho_1, rho_2, ... are together exactly as private as one of rho_1 + rho_2 + ..., that is (2 rho)^½-GDP
(Dong, Roth and Su 2019, corollary 3.3). Failures add up beside it: total delta = delta0 + (1 - delta0) HS_epsilon((2
rho)^½) (erratum 35). Discrete Gaussian noise is *not* exactly Gaussian DP and is refused, like every other kind: use
`zcdp` for those.

The theorem is for steps whose rho was fixed beforehand. A sequence whose parameters depend on answers is guarded by a
zCDP filter and reported by `zcdp`.
"""

from __future__ import annotations

from hushcount.accounting import convert
from hushcount.accounting.accountant import Prices, covers, delta_of, epsilon_of, total
from hushcount.accounting.spent import NOTHING, Charge, Spent, chargeable, failure
from hushcount.model.amounts import Number
from hushcount.model.costs import Cost, Failure, Gaussian

NAME = "GDP"


def supports(cost: Cost) -> bool:
    """Whether `cost` is made of Gaussian steps and failures only."""
    return covers(_PRICES, cost)


def spent(cost: Cost) -> Spent:
    """The exact charge for `cost`: with probability `delta` it fails, and is (2 `rho`)^½-GDP otherwise."""
    rho, failed = total(_PRICES, cost, name=NAME)
    return Spent(rho=rho, delta=failed)


def epsilon(cost: Cost, total_delta: Number) -> float:
    """The epsilon, rounded up, at which `cost` is (epsilon, total_delta)-DP."""
    return epsilon_of(
        spent(cost), total_delta, curve=lambda rho, inner: convert.gdp_epsilon(convert.gaussian_mu(rho), inner)
    )


def delta(cost: Cost, epsilon: Number) -> float:
    """The total delta, rounded up, at which `cost` is (epsilon, delta)-DP."""
    return delta_spent(spent(cost), epsilon)


def delta_spent(charged: Spent, epsilon: Number) -> float:
    """As `delta`, for a total that was charged before."""
    return delta_of(charged, epsilon, curve=lambda rho, level: convert.gdp_delta(convert.gaussian_mu(rho), level))


def _gaussian(event: Gaussian) -> Charge:
    return chargeable("rho", event.rho), NOTHING


def _failure(event: Failure) -> Charge:
    return NOTHING, failure(event.delta)


_PRICES: Prices = {Gaussian: _gaussian, Failure: _failure}
