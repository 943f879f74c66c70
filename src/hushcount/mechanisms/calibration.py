"""What every plan says before any data is read: the mechanism, the bound it needs, and what it costs at most."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from hushcount.accounting.convert import gaussian_stddev, gdp_rho_for, rho_for, zcdp_to_pure
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import allow, share
from hushcount.model.budgets import Budget, EpsilonBudget, RhoBudget
from hushcount.model.costs import Cost


class Plan(Protocol):
    """Calibrated parameters of one run. Frozen; made from public facts and a budget only."""

    @property
    def name(self) -> str:
        """The mechanism's name in `mechanisms.table`."""
        ...

    @property
    def cost(self) -> Cost:
        """The most that a run can cost: what the ledger reserves before data is read."""
        ...

    @property
    def max_items(self) -> int | None:
        """The bound on each person's items that the engine must enforce; None if none is needed."""
        ...


def pure_epsilon(budget: Budget, parts: int = 1) -> Decimal:
    """The epsilon of each of `parts` pure-DP steps that together fit the budget, in the accounting that is in force."""
    if isinstance(budget, EpsilonBudget):
        return share(budget.epsilon, parts)
    return Decimal(zcdp_to_pure(share(budget.rho, parts)))


def gaussian_noise(budget: Budget) -> tuple[float, Decimal]:
    """Standard deviation for an input of l2-sensitivity one, and the delta that is left for the threshold.

    Under rho: sigma = (2 rho)^(-1/2), all of delta for the threshold. Under (epsilon, delta): half of delta for the
    noise by the analytic Gaussian mechanism (Balle and Wang 2018), half for the threshold (DPSU Algorithm 5).
    """
    if isinstance(budget, RhoBudget):
        return root_above(Fraction(1, 2) / Fraction(budget.rho)), budget.delta
    half = share(budget.delta, 2)
    return gaussian_stddev(budget.epsilon, half), half


def unfailing(budget: Budget) -> Decimal:
    """The rho that meets `budget` where nothing can fail: all of delta pays for the conversion."""
    if isinstance(budget, RhoBudget):
        return budget.rho
    return Decimal(rho_for(budget.epsilon, total_delta=budget.delta))


def concentrated(budget: Budget, *, gaussian_only: bool = False) -> RhoBudget:
    """The (rho, delta) budget that meets `budget`: half of delta pays for failures, half for the conversion."""
    if isinstance(budget, RhoBudget):
        return budget
    half = share(budget.delta, 2)
    solve = gdp_rho_for if gaussian_only else rho_for
    return RhoBudget(Decimal(solve(budget.epsilon, total_delta=budget.delta, delta0=half)), half)


def most_delta(epsilon: Decimal, cap: int) -> Decimal:
    """The largest delta that epsilon covers, rounded down: e^epsilon (1 - e^(-epsilon/cap)).

    Given that bottom comes before every swapped item, bottom takes over their weight: it and they are like one
    candidate of their sum. In units of bottom's weight without the person, let the boundary rise by j of cap.

    Items that only the larger data can select rise by more than j, to at most cap above the old boundary: they weigh w
    <= delta, and nothing if j = cap. Those that only the smaller data can select end at most at the new boundary: they
    weigh v <= delta e^(epsilon (j/cap - 1)), and nothing if j = 0. The weights of other items move by a factor from 1
    to e^epsilon. So does that sum, from 1 + v to e^(epsilon j/cap) + w, exactly if delta is at most e^epsilon -
    e^(epsilon (cap - 1)/cap) (docs, mechanisms/top.md). DR19 and PCR leave the condition out.
    """
    # It grows with epsilon, so a smaller one is safe where doubles end.
    size = min(float(epsilon), 50.0)
    return min(allow(math.exp(size) * -math.expm1(-size / cap) * (1 - 1e-12)), Decimal(1))


def require_covered(delta: Decimal, epsilon: Decimal, cap: int) -> None:
    """Refuse a delta that epsilon does not cover: a step would cost more than epsilon."""
    most = most_delta(epsilon, cap)
    if delta > most:
        raise InvalidParameter(
            "delta",
            float(delta),
            f"at most {float(most):.3g} for each choice, which its epsilon can cover",
            "Use 1e-6.",
        )


def root_above(value: Fraction) -> float:
    """A double whose exact square is at least `value`, and hardly more."""
    guess = math.sqrt(value)
    while Fraction(guess) ** 2 < value:
        guess *= 1 + 2.0**-52
    return guess


def root_below(value: Fraction) -> float:
    """A double whose exact square is at most `value`, and hardly less."""
    guess = math.sqrt(value)
    while Fraction(guess) ** 2 > value:
        guess *= 1 - 2.0**-52
    return guess


def inverse_above(value: Decimal) -> float:
    """A double that is at least 1/value, exactly, and hardly more."""
    guess = 1 / float(value)
    while Fraction(guess) * Fraction(value) < 1:
        guess = math.nextafter(guess, math.inf)
    return guess
