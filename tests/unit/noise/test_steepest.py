"""The steepest keep curve: its numbers, that its slope is nowhere below what the theorem needs, and exact coins."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.noise import bernoulli
from hushcount.noise.bernoulli import ABSOLUTE, RELATIVE
from hushcount.noise.coins import KearnsSaul, toss
from hushcount.noise.source import SeededSource
from hushcount.noise.steepest import END, curve

KNOTS, SLOPE, HEIGHT = 1024, 2**44, 2**55
LAST = float(curve().heights[-1]) / HEIGHT
POINTS = [random.Random(1).uniform(0, END) for _ in range(600)] + [random.Random(2).uniform(0, 4) for _ in range(600)]
# As the curve's own page has them: docs/mechanisms/steepest.md.
HEIGHTS = {1: 0.493366, 2: 0.952960, 5: 2.062064, 10: 3.369973, 16.118096: 4.575520, 20: 5.222383}
KEPT = {-4: 2.224268e-06, -3: 2.217586e-04, -2: 8.128429e-03, -1: 1.082768e-01, -0.5: 2.662354e-01}
LAW = KearnsSaul(unit=1, scale=1.0, threshold=0.0)


def slope(x) -> mpmath.mpf:
    """G(x), which the slope must not be below."""
    return mpmath.sqrt(mpmath.tanh(mpmath.mpf(x) / 2) / (2 * mpmath.mpf(x))) if x else mpmath.mpf("0.5")


def drawn_slope(x: float, of=None) -> mpmath.mpf:
    """The slope of the curve that is drawn, between its knots."""
    slopes = (of or curve()).slopes
    knot = min(int(x * KNOTS), len(slopes) - 2)
    part = mpmath.mpf(x) * KNOTS - knot
    return (int(slopes[knot]) * (1 - part) + int(slopes[knot + 1]) * part) / SLOPE


def exact_height(odds: float) -> mpmath.mpf:
    """H by quadrature."""
    return mpmath.quad(slope, [0, *mpmath.linspace(odds / 12, odds, 12)])


@pytest.mark.parametrize("odds", HEIGHTS)
def test_heights_are_those_of_the_theory(odds):
    """H(l) to the six digits given, on both sides; and by quadrature, from above, within 3e-8."""
    found = curve().height(np.array([float(odds), -float(odds)]))

    assert found.tolist() == pytest.approx([HEIGHTS[odds], -HEIGHTS[odds]], abs=5.2e-7)
    assert 0 <= found[0] - float(exact_height(odds)) < 3e-8


@pytest.mark.parametrize("odds", [0.001, 40.0, 128.0])
def test_the_drawn_curve_lags_by_hardly_anything(odds):
    """It asks for at most 3e-8 sigma more weight than the theory, up to its end; beyond 12 as sqrt(2 l) - 1.102173."""
    found = float(curve().height(np.array([odds]))[0])

    assert -1e-13 <= found - float(exact_height(odds)) < 3e-8
    assert odds < 12 or found == pytest.approx((2 * odds) ** 0.5 - 1.102173, abs=1e-5)


def test_its_slope_is_nowhere_below_the_limit():
    """At random points and at knots, with forty digits: at least G; above it by no more than 6e-9."""
    with mpmath.workdps(40):
        excess = [drawn_slope(x) - slope(x) for x in [*POINTS, *(n / KNOTS for n in (0, 1, 2, 5000, 40 * KNOTS - 1))]]

    assert min(excess) > 0
    assert max(excess) < 6e-9


@pytest.mark.parametrize("factor", [1.05, 1.0001])
def test_a_steeper_curve_breaks_the_limit(factor):
    """The check above sees a curve that is 5 % too steep, and one that is a hundredth of a per cent too steep."""
    steeper = replace(curve(), slopes=(curve().slopes / factor).astype(np.int64))

    assert min(drawn_slope(x, steeper) - slope(x) for x in POINTS) < 0


def test_chords_of_the_limit_lack_no_more_than_is_added():
    """-G'' is at most q G, which is at most 1/24 and at most G/(2 x²): what the proof rests on, by differences."""
    with mpmath.workdps(40):
        for x in POINTS[::4]:
            bent = -mpmath.diff(slope, x, 2)
            q = (1 / mpmath.mpf(x) - 1 / mpmath.sinh(x)) / (2 * x)
            tiny = mpmath.mpf(10) ** -20
            assert bent <= q * slope(x) + tiny
            assert q * slope(x) <= min(mpmath.mpf(1) / 24, slope(x) / (2 * mpmath.mpf(x) ** 2)) + tiny
            assert mpmath.diff(slope, x) / slope(x) == pytest.approx(-x * q, rel=1e-12)


def test_knots_are_whole_numbers_that_add_up():
    """Heights are exact sums of slopes, slopes fall, and both fit into 64 bits."""
    slopes, heights = curve().slopes, curve().heights

    assert len(slopes) == len(heights) == END * KNOTS + 1
    assert (np.diff(slopes) < 0).all()
    assert heights[0] == 0
    assert int(heights[-1]) == sum(map(int, slopes[1:])) + sum(map(int, slopes[:-1]))


@pytest.mark.parametrize("height", KEPT)
def test_keep_probabilities_are_those_of_the_theory(height):
    """To the seven digits given; symmetric."""
    below, above = LAW.probability(np.array([-float(height), float(height)]))

    assert below == pytest.approx(KEPT[height], rel=5e-7)
    assert above == pytest.approx(1 - KEPT[height], rel=5e-7)


@given(st.floats(-16, 16) | st.floats(-(10.0**9), 10.0**9))
@settings(max_examples=300)
def test_doubles_are_well_within_the_filter(gap):
    """What the filter takes for the probability differs from the enclosed one by far less than half its margin."""
    low, high = LAW.judge(Fraction(gap), 40)
    found = Fraction(float(LAW.probability(np.array([gap]))[0]))

    assert high - low < low / 10**38
    assert abs(found - low) < (Fraction(RELATIVE) * low + Fraction(ABSOLUTE)) / 8


@given(st.fractions(-14, 14, max_denominator=10**12), st.integers(5, 60))
@settings(max_examples=100, deadline=None)
def test_the_judge_encloses_the_root(height, digits):
    """Height as a quadratic of the enclosed log-odds, in exact fractions, has the given height between its ends."""
    low, high = curve().enclose(height, digits)

    assert exactly(low) <= abs(height) <= exactly(high)
    assert high - low <= Fraction(1, 10 ** (digits - 1))


def exactly(odds: Fraction) -> Fraction:
    """The height of exact log-odds on the drawn curve, in fractions."""
    knot = min(int(odds * KNOTS), END * KNOTS - 1)
    rest = odds - Fraction(knot, KNOTS)
    first, second = (Fraction(int(curve().slopes[place]), SLOPE) for place in (knot, knot + 1))
    return Fraction(int(curve().heights[knot]), HEIGHT) + rest * (first + rest * (second - first) * KNOTS / 2)


def test_it_is_flat_beyond_its_ends():
    """Odds of e^128 and no more: far below any share of delta, and never certain."""
    far = LAW.probability(np.array([LAST + 0.001, 40.0, 1e300, -1e300]))

    assert far[:3].tolist() == pytest.approx([np.exp(-128.0)] * 3, rel=1e-12)
    assert far[3] == 1
    assert LAW.judge(Fraction(-(10**30)), 30)[1] < 1
    assert curve().enclose(Fraction(10**9), 20) == (END, END)


def test_all_rows_through_the_judge_give_the_same(monkeypatch):
    """With margins so wide that no row is decided by doubles, every coin comes out as before."""
    law = KearnsSaul(unit=64, scale=0.7, threshold=2.0)
    values = np.tile(np.arange(0, 300), 4).astype(np.int64)
    draws = SeededSource(3).draws("coins", len(values))
    fast = toss(draws, values, law)
    monkeypatch.setattr(bernoulli, "RELATIVE", 8.0)
    monkeypatch.setattr(bernoulli, "ABSOLUTE", 8.0)

    assert toss(draws, values, law).tolist() == fast.tolist()
    assert 0 < fast.sum() < len(fast)
