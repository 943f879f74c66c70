"""A purse: the budget of one run that chooses its next step from what it has released so far."""

from __future__ import annotations

from decimal import Decimal

from hushcount.accounting.filters import Filter
from hushcount.model.amounts import Number
from hushcount.model.costs import Cost


class Purse:
    """A privacy filter that remembers what was bought. Every step is paid before it is drawn."""

    def __init__(self, rho: Number, delta: Number) -> None:
        self._filter = Filter(rho, delta)
        self._bought: list[Cost] = []

    @property
    def rho(self) -> Decimal:
        """What is left of rho."""
        return self._filter.left.rho

    @property
    def delta(self) -> Decimal:
        """What is left of delta."""
        return self._filter.left.delta

    @property
    def bought(self) -> Cost:
        """All that was paid for."""
        return Cost.total(self._bought)

    def fits(self, cost: Cost) -> bool:
        """Whether `pay` would accept a cost now."""
        return self._filter.fits(cost)

    def times(self, cost: Cost) -> int:
        """How often `pay` would accept a cost from now on."""
        return self._filter.times(cost)

    def pay(self, cost: Cost) -> None:
        """Charge a cost; the filter raises before anything is spent if it does not fit."""
        self._filter.spend(cost)
        self._bought.append(cost)
