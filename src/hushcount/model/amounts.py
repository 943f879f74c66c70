"""Exact decimal amounts of privacy loss: what is charged is rounded up, what is allowed is rounded down.

A float that a person typed, such as 0.1, means the decimal they typed, not the binary number nearest to it; noise is
then calibrated to *at most* that decimal. So every amount below is a `Decimal`, sums of amounts are exact, and the only
roundings are the named ones here, each against the spender.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeAlias

from hushcount.errors import InvalidParameter

Number: TypeAlias = int | float | str | Decimal | Fraction

# 10^-36 is far below any delta in use and keeps a sum of 10^12 charges within the 80 digits that the context holds
# exactly.
GRID = Decimal(1).scaleb(-36)
_CONTEXT = Context(prec=120)


def amount(name: str, value: Number) -> Decimal:
    """The decimal that the caller wrote: 0.1 means one tenth. Refuses NaN, infinities and negative numbers."""
    try:
        exact = _divide(value, ROUND_CEILING) if isinstance(value, Fraction) else Decimal(str(value))
    except InvalidOperation as error:
        raise InvalidParameter(name, value, "a number") from error
    if not exact.is_finite() or exact < 0:
        raise InvalidParameter(name, value, "a finite number, zero or more")
    return exact


def positive(name: str, value: Number, hint: str = "") -> Decimal:
    """As `amount`, and refuses zero."""
    exact = amount(name, value)
    if exact == 0:
        raise InvalidParameter(name, value, "above zero", hint)
    return exact


def probability(name: str, value: Number, hint: str = "") -> Decimal:
    """As `positive`, and refuses one and above."""
    exact = positive(name, value, hint)
    if exact >= 1:
        raise InvalidParameter(name, value, "above zero and below one", hint)
    return exact


def whole(name: str, value: int, *, least: int = 1, most: int | None = None) -> int:
    """A whole number in [least, most]. Refuses booleans, floats and numbers out of range."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        limit = f"a whole number from {least}" + (f" to {most}" if most is not None else " up")
        raise InvalidParameter(name, value, limit)
    return value


def charge(value: Number) -> Decimal:
    """The amount to charge for `value`: its exact value rounded up to the grid."""
    return _to_grid(value, ROUND_CEILING)


def allow(value: Number) -> Decimal:
    """The amount that a limit of `value` allows: its exact value rounded down to the grid."""
    return _to_grid(value, ROUND_FLOOR)


def share(value: Decimal, parts: int | Fraction) -> Decimal:
    """One of `parts` equal shares of an amount, rounded down, so that all shares together never exceed it.

    `Decimal` itself would round a quotient to 28 digits, to the nearest, without a word.
    """
    return allow(Fraction(value) / parts)


def float_below(value: Decimal) -> float:
    """The largest double that is not above `value`."""
    near = float(value)
    return near if Decimal(near) <= value else math.nextafter(near, -math.inf)


def float_above(value: Decimal) -> float:
    """The smallest double that is not below `value`."""
    near = float(value)
    return near if Decimal(near) >= value else math.nextafter(near, math.inf)


def _to_grid(value: Number, rounding: str) -> Decimal:
    exact = _divide(value, rounding) if isinstance(value, Fraction) else Decimal(value)
    return exact.quantize(GRID, rounding=rounding, context=_CONTEXT)


def _divide(value: Fraction, rounding: str) -> Decimal:
    context = Context(prec=100, rounding=rounding)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
