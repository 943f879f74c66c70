"""Certified decimals: each enclosure holds mpmath's value, computed with 80 digits more, and is as narrow as said."""

from __future__ import annotations

import math
from decimal import ROUND_UP, localcontext
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hushcount.noise import enclosures

DIGITS = (5, 22, 42, 62)
FRACTIONS = st.fractions(max_denominator=10**30)


def real(value: Fraction) -> mpmath.mpf:
    """A fraction as mpmath's number, to the working precision."""
    return mpmath.mpf(value.numerator) / value.denominator


def check(interval: enclosures.Interval, truth: mpmath.mpf, reach: mpmath.mpf) -> None:
    """The truth is inside, with room: an error of a tenth of the reach would be found. The ends are `reach` away."""
    low, high = (real(end) for end in interval)
    asked = f"where the ends are {mpmath.nstr(reach, 3)} away"

    assert low < truth < high, asked
    assert abs(truth - (low + high) / 2) < reach / 1000, asked
    assert abs((high - low) / 2 - reach) < reach / 1000, asked


def tail(x: Fraction) -> mpmath.mpf:
    """P(Z > x), with no subtraction."""
    return mpmath.erfc(real(x) / mpmath.sqrt(2)) / 2


def check_exp(x: Fraction, digits: int) -> None:
    """The enclosure of e^x reaches 10^-digits, relative."""
    with mpmath.workdps(80 + digits):
        truth = mpmath.exp(real(x))
        check(enclosures.exp(x, digits), truth, truth / mpmath.mpf(10) ** digits)


def check_ln(x: Fraction, digits: int) -> None:
    """The enclosure of ln(x) reaches 10^-digits."""
    # mpmath loses the digits that stand before those in which x differs from one: x differs by 10^-300 here at least.
    with mpmath.workdps(380 + digits):
        check(enclosures.ln(x, digits), mpmath.log(real(x)), mpmath.mpf(10) ** -digits)


def check_tail(x: Fraction, digits: int) -> None:
    """The enclosure of P(Z > x) reaches 10^-digits, relative."""
    with mpmath.workdps(80 + digits):
        truth = tail(x)
        check(enclosures.normal_tail(x, digits), truth, truth / mpmath.mpf(10) ** digits)


@pytest.mark.parametrize(
    "x",
    [
        "0",
        "1",
        "-1",
        "-2000",
        "2000",
        "-1/3",
        "-700.000001",
        "1e-300",
        "-1e-300",
        "-44.3614195558365",
        "20000.1",
        "-20000.1",
    ],
)
def test_exp(x):
    """e^x is enclosed from -20000 to 20000, where doubles under- and overflow."""
    for digits in DIGITS:
        check_exp(Fraction(x), digits)


@pytest.mark.parametrize(
    "x",
    [Fraction(text) for text in ("1e-300", "1e300", "1/2", "2", "1/3", "0.999999999999999999", "3")]
    + [1 - Fraction(1, 2**128), 1 + Fraction(1, 2**128), 1 - Fraction(1, 10**300), Fraction(1, 2**640)],
    ids=lambda x: f"{float(x):.3e}",
)
def test_ln(x):
    """The logarithm is enclosed at 10^-300, at 10^300, and within 10^-300 of one."""
    for digits in DIGITS:
        check_ln(x, digits)


def test_ln_of_one():
    """The logarithm of one has zero in the very middle."""
    low, high = enclosures.ln(Fraction(1), 10)

    assert (low, high) == (-Fraction(1, 10**10), Fraction(1, 10**10))


@pytest.mark.parametrize(
    "x",
    [
        "0",
        "1e-300",
        "-1e-300",
        "1/3",
        "1",
        "-1",
        "3",
        "8.29",
        "-8.29",
        "31/3",
        "-31/3",
        "25",
        "75/2",
        "1000/27",
        "40",
        "-40",
    ],
)
def test_normal_tail(x):
    """P(Z > x) is enclosed from -40 to 40, that is down to 10^-350."""
    for digits in DIGITS:
        check_tail(Fraction(x), digits)


@pytest.mark.parametrize("x", ["-41", "-100", "-12345/7", "-1000000", "-1e18"])
def test_a_normal_tail_that_is_nearly_one_takes_no_longer(x):
    """An item of a million people: by its sum this would take some 10^11 digits, and never end."""
    for digits in DIGITS:
        interval = enclosures.normal_tail(Fraction(x), digits)

        assert interval[0] < 1 < interval[1]
        assert interval[1] - interval[0] == Fraction(2, 10**digits)


@pytest.mark.parametrize("digits", DIGITS)
def test_far_is_far_enough(digits):
    """Just where the sum is no longer taken, the truth is inside with room, and just before, too."""
    edge = Fraction(math.isqrt(5 * (digits + 4) * 10**20) + 1, 10**10)

    assert enclosures.beyond(edge, digits)
    assert not enclosures.beyond(edge - Fraction(1, 10**9), digits)
    check_tail(-edge, digits)
    check_tail(-(edge - Fraction(1, 10**9)), digits)
    with mpmath.workdps(200):
        assert tail(edge) < mpmath.mpf(10) ** -(digits + 4)
        assert tail(edge / 2) > mpmath.mpf(10) ** -(digits + 4)


@given(x=st.fractions(-2000, 2000, max_denominator=10**30), digits=st.integers(1, 100))
def test_exp_anywhere(x, digits):
    """e^x is enclosed for any fraction and any number of digits."""
    check_exp(x, digits)


@given(x=FRACTIONS.filter(lambda x: x > 0), digits=st.integers(1, 100))
@example(x=Fraction(2**64 - 1, 2**64), digits=22)
def test_ln_anywhere(x, digits):
    """The logarithm is enclosed for any positive fraction and any number of digits."""
    if x != 1:
        check_ln(x, digits)


@given(x=st.fractions(-40, 40, max_denominator=10**20), digits=st.integers(1, 60))
def test_normal_tail_anywhere(x, digits):
    """P(Z > x) is enclosed for any fraction and any number of digits."""
    check_tail(x, digits)


@pytest.mark.parametrize("function", [enclosures.exp, enclosures.ln, enclosures.normal_tail])
def test_the_callers_decimal_context_changes_nothing(function):
    """A caller who works with three digits, or rounds the other way, gets the same enclosures."""
    here = function(Fraction(31, 3), 30)
    with localcontext(prec=3, rounding=ROUND_UP):
        there = function(Fraction(31, 3), 30)

    assert there == here


@given(x=st.fractions(0, 40, max_denominator=10**6))
def test_tails_of_both_sides_add_to_one(x):
    """P(Z > x) and P(Z > -x) add to one within their reach."""
    right, left = enclosures.normal_tail(x, 30), enclosures.normal_tail(-x, 30)

    assert right[0] + left[0] <= 1 <= right[1] + left[1]


@given(x=st.fractions(0, 10**9, max_denominator=10**30), digits=st.integers(1, 100))
def test_roots_anywhere(x, digits):
    """The root is enclosed exactly: the squares of the ends are on either side, and the ends are 10^-digits apart."""
    low, high = enclosures.sqrt(x, digits)

    assert low**2 <= x < high**2
    assert high - low == Fraction(1, 10**digits)


@given(x=st.fractions(-500, 500, max_denominator=10**12), wide=st.fractions(0, 1), digits=st.integers(5, 60))
def test_sigmoids_anywhere(x, wide, digits):
    """1 / (1 + e^-x) is enclosed at both ends of an interval, and by hardly more."""
    low, high = enclosures.sigmoid(x, x + wide, digits)
    with mpmath.workdps(500 + digits):
        one, two = (1 / (1 + mpmath.exp(-real(end))) for end in (x, x + wide))
        slack = mpmath.mpf(10) ** -digits

        assert one * (1 - slack) <= real(low) < one
        assert two < real(high) <= two * (1 + slack)
