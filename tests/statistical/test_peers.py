"""Our samples beside those of SciPy and OpenDP: one law, and 20 % off is another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from opendp.mod import GLOBAL_FEATURES
from scipy import stats

from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.laplace import discrete_laplace
from tests.statistical import fit
from tests.statistical.constants import FACTORS, P_VALUE, SAMPLES
from tests.statistical.samples import rows_of

ZEROS = [0] * (SAMPLES // 2)


@pytest.fixture(autouse=True)
def _contributed():
    """OpenDP's samplers are behind a flag, which each test raises for itself: others may have taken it down."""
    dp.enable_features("contrib")


@pytest.mark.parametrize("time", ["first", "second"])
def test_the_flag_is_up_whatever_was_before(time):
    """A test that takes OpenDP's flag down is in nobody's way, in whichever order they run."""
    assert "contrib" in GLOBAL_FEATURES, time
    dp.disable_features("contrib")


@pytest.mark.parametrize("scale", [Fraction(1, 2), 3, 20, 1000], ids=str)
def test_laplace_is_scipys(scale):
    """Discrete Laplace numbers are SciPy's dlaplace numbers."""
    theirs = stats.dlaplace(1 / float(scale)).rvs(SAMPLES, random_state=1)
    draws = rows_of("items", SAMPLES, "scipy")

    assert fit.same_law(discrete_laplace(draws, 1 / Fraction(scale)), theirs) > P_VALUE
    for factor in FACTORS:
        assert fit.same_law(discrete_laplace(draws, 1 / (scale * Fraction(str(factor)))), theirs) < P_VALUE


@pytest.mark.parametrize("scale", [3, 20])
def test_laplace_is_opendps(scale):
    """Discrete Laplace numbers are OpenDP's."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=float(scale))(ZEROS))
    draws = rows_of("stream", SAMPLES, "opendp")

    assert fit.same_law(discrete_laplace(draws, Fraction(1, scale)), theirs) > P_VALUE
    for factor in FACTORS:
        assert fit.same_law(discrete_laplace(draws, 1 / (scale * Fraction(str(factor)))), theirs) < P_VALUE


@pytest.mark.parametrize("sigma", [2, 22])
def test_gaussian_is_opendps(sigma):
    """Discrete Gaussian numbers are OpenDP's."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = np.array(dp.m.make_gaussian(*space, scale=float(sigma))(ZEROS))
    draws = rows_of("items", SAMPLES, "opendp")

    assert fit.same_law(discrete_gaussian(draws, Fraction(sigma) ** 2), theirs) > P_VALUE
    for factor in FACTORS:
        assert fit.same_law(discrete_gaussian(draws, (sigma * Fraction(str(factor))) ** 2), theirs) < P_VALUE
