"""The odometer: how much was spent so far, and what it means."""

from __future__ import annotations

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.model.amounts import Number
from hushcount.model.costs import Cost


class Odometer:
    """Running totals of rho and delta, without a limit.

    What the reading means. For a sequence of steps that was fixed beforehand, it is the guarantee of the sequence. For
    steps chosen from the answers so far it is a *record*: the epsilon read at a moment that itself depends on the
    answers is no guarantee. A bound that holds at all such moments at once costs a little more (a log-log factor,
    Whitehouse et al. 2023) and is not built here. Put a `Filter` with a limit around the sequence: then its limit is
    the guarantee at every stop, and the odometer tells how far one has come.
    """

    __slots__ = ("_spent",)

    def __init__(self) -> None:
        self._spent = Spent()

    @property
    def spent(self) -> Spent:
        """The sum of all charges so far."""
        return self._spent

    def record(self, cost: Cost) -> Spent:
        """Adds `cost` and returns the new total. Refuses what zCDP has no theorem for, and then adds nothing."""
        self._spent += zcdp.spent(cost)
        return self._spent

    def epsilon(self, total_delta: Number) -> float:
        """The epsilon of the total at a total delta, rounded up; read the class for what it means."""
        return zcdp.epsilon_spent(self._spent, total_delta)

    def delta(self, epsilon: Number) -> float:
        """The delta of the total at an epsilon, rounded up; read the class for what it means."""
        return zcdp.delta_spent(self._spent, epsilon)
