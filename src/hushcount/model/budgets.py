"""What may be spent on one release, in the currency that is in force for the data."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number, positive, probability
from hushcount.model.costs import EVERY_ORDER

MOST = 1000
# Below, a probability is zero to a computer, and a charge would vanish in the ledger's last digit.
LEAST = Decimal("1e-30")
# How much one release may spend, in plain words: rho, each with this delta.
PRESETS = {"cautious": "0.01", "standard": "0.1", "generous": "0.5"}
DEFAULT_DELTA = "1e-6"
_NEEDS_DELTA = (
    "An item list that is not public cannot be shown with delta = 0 (DVGM Theorem 2); 1e-6 is the usual choice."
)


@dataclass(frozen=True, slots=True)
class RhoBudget:
    """delta-approximate rho-zCDP: the release may spend at most this rho and this delta.

    What it spends must hold for Renyi orders up to `order`, since whoever adds it up converts sums at these; all,
    unless they say otherwise.
    """

    rho: Decimal
    delta: Decimal
    order: Decimal = EVERY_ORDER


@dataclass(frozen=True, slots=True)
class EpsilonBudget:
    """(epsilon, delta)-DP for this one release; `order` as in `RhoBudget`, none unless somebody adds it up."""

    epsilon: Decimal
    delta: Decimal
    order: Decimal = Decimal(1)


Budget: TypeAlias = RhoBudget | EpsilonBudget

# The standard release: prices, limits and what is left are told in this.
STANDARD = RhoBudget(Decimal(PRESETS["standard"]), Decimal(DEFAULT_DELTA))


def rho_budget(rho: Number, delta: Number) -> RhoBudget:
    """A budget of rho and delta; refuses rho <= 0 and delta outside (0, 1)."""
    return RhoBudget(_sensible("rho", positive("rho", rho)), _delta(delta))


def epsilon_budget(epsilon: Number, delta: Number) -> EpsilonBudget:
    """A budget of epsilon and delta; refuses epsilon <= 0 and delta outside (0, 1)."""
    return EpsilonBudget(_sensible("epsilon", positive("epsilon", epsilon)), _delta(delta))


def _delta(delta: Number) -> Decimal:
    return _noticeable("delta", probability("delta", delta, _NEEDS_DELTA))


def _noticeable(name: str, value: Decimal) -> Decimal:
    if value < LEAST:
        raise InvalidParameter(name, f"{value:.3g}", f"at least {LEAST}", "So little cannot be told from nothing.")
    return value


def _sensible(name: str, value: Decimal) -> Decimal:
    if value > MOST:
        raise InvalidParameter(
            name, str(value), f"at most {MOST}", "Beyond, nobody is protected and the noise vanishes."
        )
    return _noticeable(name, value)
