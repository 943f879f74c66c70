"""The normal tail, its quantile and the Gaussian privacy curve, against 60-digit arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.accounting.convert import split_delta
from hushcount.accounting.normal import gaussian_delta, isf, mills, tail
from hushcount.errors import InvalidParameter

MP = mpmath.mp.clone()
MP.dps = 60
SMALL = ["0.4", "0.05", "1e-3", "1e-10", "1e-15", "1e-50", "1e-100", "1e-200", "1e-300"]


def exact_tail(x):
    """P(Z > x) to 60 digits."""
    return MP.erfc(MP.mpf(x) / MP.sqrt(2)) / 2


def exact_curve(mu, epsilon):
    """HS_epsilon(mu) by its definition, to 60 digits less the cancellation."""
    mu, epsilon = MP.mpf(mu), MP.mpf(epsilon)
    return exact_tail(epsilon / mu - mu / 2) - MP.exp(epsilon) * exact_tail(epsilon / mu + mu / 2)


@pytest.mark.parametrize("x", [-8.0, -1.0, 0.0, 0.5, 3.0, 10.0, 25.0, 37.0])
def test_tail(x):
    """The tail is right to a relative 1e-12, also where it is 1e-299."""
    assert abs(MP.mpf(tail(x)) / exact_tail(x) - 1) < 1e-12


@pytest.mark.parametrize("x", [-0.5, 0.0, 1.0, 3.999, 4.0, 5.0, 12.0, 37.0, 1e3, 1e10])
def test_mills(x):
    """The Mills ratio is right to a relative 1e-14 on both sides of the change of method, and beyond erfc's range."""
    reference = exact_tail(x) * MP.sqrt(2 * MP.pi) * MP.exp(MP.mpf(x) ** 2 / 2) if x < 1e9 else 1 / MP.mpf(x)

    assert abs(MP.mpf(mills(x)) / reference - 1) < 1e-14


@pytest.mark.parametrize("p", SMALL)
def test_isf_is_above_the_true_quantile_and_close(p):
    """The true tail at isf(p) is at most p, and at least p less a part in 1e10."""
    reached = exact_tail(isf(p)) / MP.mpf(p)

    assert 1 - MP.mpf("1e-10") < reached <= 1


@given(p=st.floats(1e-300, 1.0, exclude_max=True))
@settings(deadline=None)
def test_isf_never_overspends(p):
    """For any double p, the true tail at isf(p) is at most p, also above one half."""
    assert exact_tail(isf(p)) <= MP.mpf(repr(p))


def test_isf_above_one_half():
    """Quantiles of p above ½ are negative and as sharp as the others."""
    assert isf(0.975) == pytest.approx(-1.959963984540054, abs=1e-10)
    assert isf(1 - 1e-16) == pytest.approx(-8.209536151601387, rel=1e-2)


def test_isf_below_the_doubles():
    """Below 1e-304 a closed bound takes over: still never too low, and hardly too high."""
    reached = exact_tail(isf(Decimal("1e-400")))

    assert reached <= MP.mpf("1e-400")
    assert isf(Decimal("1e-400")) < 1.01 * isf("1e-304") * math.sqrt(400 / 304)


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.5, math.nan, math.inf, "many"])
def test_isf_refuses(p):
    """A p that is no probability is refused by name."""
    with pytest.raises(InvalidParameter, match="p = "):
        isf(p)


def test_threshold_survives_small_delta():
    """Erratum 29: the printed share of delta = 1e-15 is 0 and its quantile infinite; ours is finite and right."""
    printed = 1 - (1 - 1e-15) ** (1 / 100)

    assert printed == 0.0
    with pytest.raises(InvalidParameter):
        isf(printed)
    assert exact_tail(isf(split_delta(1e-15, 100))) == pytest.approx(MP.mpf("1e-17"), rel=1e-9)


@pytest.mark.parametrize("mu", [1e-12, 1e-6, 3.9e-4, 4.1e-4, 1e-2, 0.447, 1.0, 3.0, 40.0])
def test_curve_is_above_the_exact_one_and_close(mu):
    """The Gaussian curve is never below the exact one and at most a part in 1e8 above it, from mu = 1e-12 to 40."""
    for ratio in (0.0, 1e-3, 0.5, 1.0, 3.0, 7.0, 20.0, 30.0):
        exact, ours = exact_curve(mu, ratio * mu), MP.mpf(gaussian_delta(mu, ratio * mu))

        assert exact <= ours <= exact * (1 + MP.mpf("1e-8")), f"epsilon = {ratio} mu"


def test_curve_does_not_overflow():
    """Epsilon = 5000 is no trouble although e^5000 is no double."""
    assert MP.mpf(gaussian_delta(100.0, 5000.0)) == pytest.approx(exact_curve(100, 5000), rel=1e-9)


def test_curve_stays_within_zero_and_one():
    """No noise gives 1, no sensitivity gives 0, and a delta too small for a double is not rounded to 0."""
    assert gaussian_delta(1e6, 1.0) == 1.0
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert gaussian_delta(1e-3, 100.0) > 0.0


@given(mu=st.floats(1e-6, 20), epsilon=st.floats(0, 50), more=st.floats(1.0001, 3))
@settings(deadline=None)
def test_curve_is_monotone(mu, epsilon, more):
    """Delta rises with mu and falls with epsilon."""
    assert gaussian_delta(mu * more, epsilon) >= gaussian_delta(mu, epsilon) * (1 - 1e-10)
    assert gaussian_delta(mu, epsilon * more) <= gaussian_delta(mu, epsilon) * (1 + 1e-10)


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0)]
)
def test_curve_refuses(mu, epsilon):
    """Negative, infinite and undefined numbers are refused."""
    with pytest.raises(InvalidParameter, match="finite numbers, zero or more"):
        gaussian_delta(mu, epsilon)
