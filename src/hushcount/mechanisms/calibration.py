"""What every plan says before any data is read: the mechanism, the bound it needs, and what it costs at most."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from hushcount.accounting.convert import gaussian_stddev, gdp_rho_for, rho_for, zcdp_to_pure
from hushcount.model.amounts import share
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
