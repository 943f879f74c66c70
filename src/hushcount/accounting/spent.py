"""What was spent: an exact total of rho and delta."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import TypeAlias

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number, allow, amount, charge
from hushcount.model.frozen import frozen

# Decimal's own operators round to 28 digits without a word, which would lose small charges beside large ones. Sums of
# charges are made here, in a context that raises when a digit would be lost.
EXACT = Context(prec=400, traps=[Inexact, InvalidOperation, Overflow])
# No guarantee lies anywhere near; the limit keeps all sums well within the digits above.
_LARGEST = Decimal("1e40")

# The price of one event: the amount that its accountant adds up (rho, or epsilon), and delta.
Charge: TypeAlias = tuple[Decimal, Decimal]
NOTHING = Decimal(0)


@frozen
class Spent:
    """A total of charges, or what is left of a limit: `delta`-approximate `rho`-zCDP for an accountant that says so.

    Deltas are summed. That is slightly more than the exact 1 - (1 - delta_1)(1 - delta_2)..., by about delta²/2, and
    keeps the total independent of the order of charges.
    """

    rho: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)

    def __add__(self, other: Spent) -> Spent:
        return Spent(rho=EXACT.add(self.rho, other.rho), delta=EXACT.add(self.delta, other.delta))

    def __sub__(self, other: Spent) -> Spent:
        return Spent(rho=EXACT.subtract(self.rho, other.rho), delta=EXACT.subtract(self.delta, other.delta))


def chargeable(name: str, value: Number) -> Decimal:
    """`value` as an amount to charge: rounded up to the grid. Refuses NaN, infinite, negative and absurd numbers.

    A negative cost would be a refund and a NaN would make every later comparison false, so neither may reach a total.
    """
    return charge(_sane(name, value))


def allowable(name: str, value: Number) -> Decimal:
    """As `chargeable` for a limit: rounded down to the grid."""
    return allow(_sane(name, value))


def failure(value: Number) -> Decimal:
    """As `chargeable` for one delta. A delta of one or more is no guarantee, so it is refused and not added up."""
    share = chargeable("delta", value)
    if share >= 1:
        raise InvalidParameter("delta", value, "below one")
    return share


def _sane(name: str, value: Number) -> Decimal:
    exact = amount(name, value)
    if exact > _LARGEST:
        raise InvalidParameter(name, value, f"no more than {_LARGEST}")
    return exact
