"""Certified decimals: each function returns (low, high) around the true value, as many digits as asked for.

These are the judges behind the fast double-precision filters. `decimal` computes exp and ln correctly rounded, so one
unit in the last place on either side, plus the rounding of the argument, is a proven enclosure; guard digits make it
generous.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

Interval: TypeAlias = tuple[Fraction, Fraction]

_GUARD = 12


def exp(argument: Fraction, digits: int) -> Interval:
    """An enclosure of e^argument that reaches 10^-digits, relative, to either side."""
    # A relative error of 10^-prec in the argument moves the result by a factor of 1 + |argument| 10^-prec.
    context = Context(prec=digits + _GUARD + len(str(abs(int(argument)))), Emin=-(10**12), Emax=10**12)
    return _widen(context.exp(_decimal(argument, context)), digits)


def ln(argument: Fraction, digits: int) -> Interval:
    """An enclosure of the natural logarithm of a positive argument that reaches 10^-digits to either side."""
    context = Context(prec=digits + _GUARD + len(str(argument.denominator)) + len(str(argument.numerator)))
    value = Fraction(context.ln(_decimal(argument, context)))
    width = Fraction(1, 10**digits)
    return value - width, value + width


def sqrt(argument: Fraction, digits: int) -> Interval:
    """An enclosure of the root of an argument of zero or more that is 10^-digits wide."""
    scale = 10**digits
    root = math.isqrt(argument.numerator * scale**2 // argument.denominator)
    return Fraction(root, scale), Fraction(root + 1, scale)


def sigmoid(low: Fraction, high: Fraction, digits: int) -> Interval:
    """An enclosure of 1 / (1 + e^-x) for all x from low to high, by 10^-digits, relative, wider than it must be."""
    small, large = exp(-high, digits + 2), exp(-low, digits + 2)
    return 1 / (1 + large[1]), 1 / (1 + small[0])


def normal_tail(argument: Fraction, digits: int) -> Interval:
    """An enclosure of P(Z > argument) for a standard normal Z that reaches 10^-digits, relative, to either side.

    Uses Phi(x) - 1/2 = phi(x) (x + x³/3 + x⁵/(3·5) + ...), all of whose terms have one sign, so nothing cancels but the
    final 1/2. Far to the left the tail is between 1 - e^(-x²/2) and 1, and one is near enough: the sum would take as
    many digits as x²/4.6, which for an item that half the world has is without end.
    """
    x = abs(argument)
    if argument < 0 and beyond(x, digits):
        return _widen(Decimal(1), digits)
    # The tail is about exp(-x²/2): that many more digits are lost in 1/2 minus the sum.
    lost = int(float(x) ** 2 / 4.6) + 4
    context = Context(prec=digits + lost + _GUARD, Emin=-(10**12), Emax=10**12)
    point = _decimal(x, context)
    square = context.multiply(point, point)
    term, total, odd = point, point, 1
    while term and term.adjusted() > total.adjusted() - context.prec - 2:
        odd += 2
        term = context.divide(context.multiply(term, square), Decimal(odd))
        total = context.add(total, term)
    density = context.divide(
        context.exp(context.divide(square, Decimal(-2))), context.sqrt(context.multiply(Decimal(2), _pi(context.prec)))
    )
    middle = context.multiply(density, total)
    tail = context.subtract(Decimal("0.5"), middle) if argument > 0 else context.add(Decimal("0.5"), middle)
    return _widen(tail, digits)


def beyond(distance: Fraction, digits: int) -> bool:
    """Whether a standard normal number is so far from zero with a probability below 10^-(digits + 4): e^(-x²/2) is."""
    # 10 = e^2.302...: x²/2 >= 2.5 (digits + 4) is enough.
    return distance * distance >= 5 * (digits + 4)


def _widen(value: Decimal, digits: int) -> Interval:
    exact = Fraction(value)
    width = abs(exact) / 10**digits
    return exact - width, exact + width


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


@lru_cache(maxsize=64)
def _pi(digits: int) -> Decimal:
    # Machin: pi = 16 arctan(1/5) - 4 arctan(1/239), in integers scaled by 10^(digits + 10).
    scale = 10 ** (digits + 10)

    def arctan_inverse(n: int) -> int:
        power, total, odd, sign = scale // n, 0, 1, 1
        while power:
            total += sign * (power // odd)
            power //= n * n
            odd, sign = odd + 2, -sign
        return total

    return Decimal(16 * arctan_inverse(5) - 4 * arctan_inverse(239)).scaleb(-(digits + 10), Context(prec=digits + 12))
