"""Clopper-Pearson bounds: as SciPy has them, wrong as seldom as stated, and what follows for epsilon and delta."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from hushcount.audit.blackbox.bounds import Proven, binomial_tail, lower, proven, upper
from hushcount.errors import InvalidParameter

CASES = [
    (seen, runs)
    for runs in (1, 5, 50, 750, 3000, 100_000)
    for seen in sorted({0, 1, runs // 100, runs // 3, runs // 2, runs - 1, runs})
]
ALARMS = [0.05, 1e-3, 5e-6, 1e-9]


@pytest.mark.parametrize("alarm", ALARMS)
def test_bounds_are_those_of_scipy(alarm):
    """To nine digits, in both directions, at the ends too."""
    for seen, runs in CASES:
        least = stats.beta.ppf(alarm, seen, runs - seen + 1) if seen else 0.0
        most = stats.beta.isf(alarm, seen + 1, runs - seen) if seen < runs else 1.0

        assert lower(seen, runs, alarm) == pytest.approx(least, rel=1e-9, abs=0), f"{seen} of {runs}"
        assert upper(seen, runs, alarm) == pytest.approx(most, rel=1e-9, abs=0), f"{seen} of {runs}"


@pytest.mark.parametrize("runs", [1, 40, 5000])
def test_tail_is_that_of_scipy(runs):
    """P[X >= k], also where it is nought or one."""
    for chance, least in itertools.product([0.0, 1e-4, 0.3, 0.5, 0.97, 1.0], {-1, 0, 1, runs // 3, runs, runs + 1}):
        exact = stats.binom.sf(least - 1, runs, chance)

        assert binomial_tail(least, runs, chance) == pytest.approx(exact, rel=1e-9), f"{least} or more, {chance}"


@pytest.mark.parametrize("alarm", [0.2, 0.01])
def test_a_bound_is_wrong_as_seldom_as_stated(alarm):
    """For every probability on a grid, the exact chance that the bound passes it is at most the alarm, and near it."""
    runs = 40
    least, most = ([bound(seen, runs, alarm) for seen in range(runs + 1)] for bound in (lower, upper))
    wrong = []
    for chance in np.linspace(0.01, 0.99, 197):
        mass = stats.binom.pmf(np.arange(runs + 1), runs, chance)
        wrong += [mass[np.array(least) > chance].sum(), mass[np.array(most) < chance].sum()]

    assert max(wrong) <= alarm * (1 + 1e-9)
    assert max(wrong) > alarm / 2


def test_proven_holds_for_all_epsilon_at_once():
    """Delta at epsilon and epsilon at delta are one line read in two ways; half of the alarm goes to each share."""
    shown = proven(likely=(900, 1000), rare=(20, 1000), alarm=0.01)

    assert shown == Proven(likely=lower(900, 1000, 0.005), rare=upper(20, 1000, 0.005))
    for epsilon in (0.0, 1.0, 3.0):
        assert shown.epsilon(shown.delta(epsilon)) == pytest.approx(epsilon)
    assert shown.delta(50.0) == 0.0
    assert shown.epsilon(0.99) == 0.0
    assert Proven(likely=0.5, rare=0.0).epsilon(0.1) == math.inf


@pytest.mark.parametrize(("seen", "runs", "alarm"), [(3, 2, 0.1), (-1, 2, 0.1), (0, 0, 0.1), (1, 2, 0.0), (1, 2, 1.0)])
def test_impossible_counts_are_refused(seen, runs, alarm):
    """More seen than run, no runs at all, and no alarm at all."""
    for bound in (lower, upper):
        with pytest.raises(InvalidParameter):
            bound(seen, runs, alarm)
