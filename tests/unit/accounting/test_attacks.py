"""LinkedIn's rationale: the figures of section 8.3 come out."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushcount.accounting import attacks
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.released import unit_stddev
from hushcount.mechanisms.topk.unknown_domain import run_unknown_gumbel, unknown_gumbel_at
from hushcount.model.facts import Facts
from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.source import SeededSource
from tests.unit.mechanisms.made_inputs import histogram


def test_figures_of_section_8_3():
    """At epsilon_per = 0.15: p = 0.0368, 738 results; 16.3 % for averaging and 1 in 333 million, not as printed."""
    assert attacks.near_count("0.15") == pytest.approx(0.0368, abs=5e-5)
    assert attacks.differencing_results("0.15") == 738
    assert attacks.averaging_success("0.15", 30) == pytest.approx(0.163, abs=5e-4)
    assert 1 / attacks.unique_count_shown("1e-10", calls=30) == pytest.approx(3.33e8, rel=0.01)


def test_averaging_succeeds_as_often_as_it_is_said_to():
    """Thirty draws of the noise of a top list: their mean rounds to zero 16.3 times in 100, not 11.5."""
    stddev = unit_stddev(Fraction("0.15"), 1)
    draws = discrete_gaussian(SeededSource(8).draws("test", 30 * 20_000), Fraction(stddev) ** 2)
    near = np.abs(draws.reshape(20_000, 30).mean(axis=1)) < 0.5
    said, printed = attacks.averaging_success("0.15", 30), 0.1154

    assert abs(near.mean() - said) < 0.013
    assert abs(near.mean() - printed) > 0.035


@pytest.mark.parametrize(("epsilon_per", "times"), [(4, 21), (2, 2.9), (0.15, 0.46)])
def test_unique_counts_are_shown_more_often_than_printed(epsilon_per, times):
    """Erratum 42, exactly: 100 items of one person each and no others, k = 100: within delta, far above the print."""
    delta = 1e-6
    # All boundary counts are zero, so the place i of the threshold is drawn in proportion to 1/i, and bottom has the
    # weight of i/delta items of one person.
    places = np.arange(100, 1001)
    shown = float(np.average(100 / (places / delta + 100), weights=1 / places))
    printed = delta * math.exp(-epsilon_per)

    assert shown / printed == pytest.approx(times, rel=0.03)
    assert shown <= attacks.unique_count_shown(delta, calls=1) == pytest.approx(delta)


def test_the_library_shows_them_so_often():
    """A top list of those hundred items, at a delta that can be seen, is empty as often as the formula says."""
    delta, runs = 0.02, 400
    plan = unknown_gumbel_at(Decimal(4), Decimal(str(delta)), Facts(k=100, with_counts=False))
    items = histogram([f"item {n}" for n in range(100)], [1] * 100)
    some = sum(len(run_unknown_gumbel(items, plan, SeededSource(seed)).items) > 0 for seed in range(runs))
    places = np.arange(100, 1001)
    exact = float(np.average(100 / (places / delta + 100), weights=1 / places))

    assert stats.binomtest(some, runs, exact).pvalue > 1e-4
    assert stats.binomtest(some, runs, delta * math.exp(-4)).pvalue < 1e-4


def test_less_noise_helps_the_attacker():
    """A larger epsilon_per, or more answers, makes the averaging attack better."""
    assert attacks.averaging_success(0.3, 30) > attacks.averaging_success(0.15, 30)
    assert attacks.averaging_success(0.15, 60) > attacks.averaging_success(0.15, 30)


def test_bad_parameters_are_refused():
    """No noise level, no answers and no calls are refused."""
    for call in (
        lambda: attacks.near_count(0),
        lambda: attacks.averaging_success(0.1, 0),
        lambda: attacks.unique_count_shown(-1, calls=1),
    ):
        with pytest.raises(InvalidParameter):
            call()
