"""The privacy filter: may this adaptive sequence of steps go on?

An analyst, or a mechanism such as Private Count Release, chooses each step from the answers so far. As long as every
step is charged before its outcome is used and no step is run that would take the totals above (rho, delta), the whole
interaction, stopped whenever one likes, is delta-approximate rho-zCDP: the same guarantee as for steps fixed beforehand
(Whitehouse, Ramdas, Rogers and Wu 2023, which is theorem 5 of Private Count Release).
"""

from __future__ import annotations

from decimal import Decimal

from hushcount.accounting import zcdp
from hushcount.accounting.spent import EXACT, Spent, allowable
from hushcount.errors import BudgetExhausted, InvalidParameter, UnsupportedCost
from hushcount.model.amounts import Number
from hushcount.model.costs import EVERY_ORDER, Cost

_MOST_TIMES = 2**31


class Filter:
    """Guards a total of rho and one of delta. Only two sums are kept: a decision costs the same after a million steps.

    Guarantee: the sum of charges that `spend` accepted is never above either limit, exactly: limits are rounded down,
    charges up, sums lose no digit. What does not fit is refused whole; a refusal spends nothing and does not end the
    sequence.

    Assumes: every step is spent *before* its outcome is used, bottom outcomes included (erratum 16), and its cost is a
    worst case given the answers so far. The filter is not safe to share between threads and forgets everything with its
    process: a durable budget keeps the same two sums in the ledger.

    Args:
        rho_limit: the total rho, zero or more.
        delta_limit: the total delta of all failures, zero or more, below one. Each unknown-domain call takes its own
            delta from it, so there are at most floor(delta_limit/delta) of them.
        order: the guarantee is for Renyi orders up to this; what is known of fewer is refused. All, unless said.
    """

    __slots__ = ("_limit", "_order", "_spent")

    def __init__(self, rho_limit: Number, delta_limit: Number, *, order: Decimal = EVERY_ORDER) -> None:
        self._order = order
        self._limit = Spent(rho=allowable("rho_limit", rho_limit), delta=allowable("delta_limit", delta_limit))
        if self._limit.delta >= 1:
            raise InvalidParameter("delta_limit", delta_limit, "below one")
        self._spent = Spent()

    @property
    def limit(self) -> Spent:
        """The two limits: what the whole sequence may come to, and the guarantee it has whenever it stops."""
        return self._limit

    @property
    def spent(self) -> Spent:
        """The sum of all charges so far."""
        return self._spent

    @property
    def left(self) -> Spent:
        """The limits less what was spent."""
        return self._limit - self._spent

    def fits(self, cost: Cost) -> bool:
        """Whether `spend` would accept `cost` now."""
        after = self._spent + zcdp.spent(cost)
        return cost.order >= self._order and after.rho <= self._limit.rho and after.delta <= self._limit.delta

    def times(self, cost: Cost) -> int:
        """How often `spend` would accept `cost` from now on, up to 2^31."""
        asked, left = zcdp.spent(cost), self.left
        if cost.order < self._order:
            return 0
        parts = [(left.rho, asked.rho), (left.delta, asked.delta)]
        fitting = (int(EXACT.divide_int(most, each)) for most, each in parts if each > 0)
        return min(_MOST_TIMES, min(fitting, default=_MOST_TIMES))

    def spend(self, cost: Cost) -> Spent:
        """Charges `cost`, or refuses it before anything is spent.

        Args:
            cost: the worst case of the next step.

        Returns:
            What was charged.

        Raises:
            BudgetExhausted: the cost does not fit; `asked` and `left` are of the first of rho and delta that is too
            small.
            UnsupportedCost: the cost holds a kind of event without a zCDP theorem, or one that is known of too few
                Renyi orders.
        """
        refuse_lower_order(cost, self._order)
        asked, left = zcdp.spent(cost), self.left
        if asked.rho > left.rho:
            raise BudgetExhausted("rho of this filter", asked=asked.rho, left=left.rho)
        if asked.delta > left.delta:
            raise BudgetExhausted("delta of this filter", asked=asked.delta, left=left.delta)
        self._spent += asked
        return asked


def refuse_lower_order(cost: Cost, order: Decimal) -> None:
    """Refuse a cost that says nothing of some Renyi orders that a sum is to be converted at.

    Raises:
        UnsupportedCost: it does. Nothing was spent.
    """
    if cost.order < order:
        raise UnsupportedCost(
            f"this step is known for Renyi orders up to {cost.order}, what it would be added to is promised for orders "
            f"up to {order}: the sum would promise more than is true. Plan it for order {order}. Nothing was charged."
        )
