"""Geometric, discrete Laplace, discrete Gaussian and k-TSGD numbers: their law is accepted, 20 % off is rejected."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.laplace import discrete_laplace, geometric
from hushcount.noise.tsgd import truncated_geometric
from tests.statistical import fit, laws
from tests.statistical.constants import FACTORS, P_VALUE, SAMPLES
from tests.statistical.samples import KINDS, rows_of
from tests.unit.noise.scripted import Counting

each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("scale", [Fraction(1, 2), 3, 20, 1000], ids=str)
def test_geometric(kind, scale):
    """P[G = k] is proportional to exp(-k / scale)."""
    sample = geometric(rows_of(kind, SAMPLES, "geometric"), 1 / Fraction(scale))

    assert fit.p_value(sample, laws.geometric(float(scale))) > P_VALUE
    assert all(fit.p_value(sample, laws.geometric(float(scale) * factor)) < P_VALUE for factor in FACTORS)


@each_kind
@pytest.mark.parametrize("scale", [Fraction(1, 2), 3, 20, 1000], ids=str)
def test_discrete_laplace(kind, scale):
    """P[X = x] is proportional to exp(-|x| / scale)."""
    sample = discrete_laplace(rows_of(kind, SAMPLES, "laplace"), 1 / Fraction(scale))

    assert fit.p_value(sample, laws.discrete_laplace(float(scale))) > P_VALUE
    assert all(fit.p_value(sample, laws.discrete_laplace(float(scale) * factor)) < P_VALUE for factor in FACTORS)


@each_kind
@pytest.mark.parametrize("sigma", [Fraction(2, 5), 2, 22, 1000], ids=str)
def test_discrete_gaussian(kind, sigma):
    """P[X = x] is proportional to exp(-x² / (2 sigma²))."""
    sample = discrete_gaussian(rows_of(kind, SAMPLES, "gaussian"), Fraction(sigma) ** 2)

    assert fit.p_value(sample, laws.discrete_gaussian(float(sigma))) > P_VALUE
    assert all(fit.p_value(sample, laws.discrete_gaussian(float(sigma) * factor)) < P_VALUE for factor in FACTORS)


@each_kind
@pytest.mark.parametrize(("scale", "bound"), [(1, 3), (5, 12), (20, 200)])
def test_truncated_geometric(kind, scale, bound):
    """P[X = x] is proportional to exp(-|x| / scale) within the bound."""
    sample = truncated_geometric(rows_of(kind, SAMPLES, "tsgd"), Fraction(1, scale), bound=bound)

    assert fit.p_value(sample, laws.truncated_geometric(scale, bound)) > P_VALUE
    assert all(fit.p_value(sample, laws.truncated_geometric(scale * factor, bound)) < P_VALUE for factor in FACTORS)


@pytest.mark.parametrize(("scale", "bound"), [(1, 3), (5, 12)])
def test_a_bound_one_off_is_seen(scale, bound):
    """Broken twins: a bound one too wide gives numbers that the law forbids, one too narrow lacks some."""
    wide, narrow = (
        truncated_geometric(rows_of("stream", SAMPLES, "twin"), Fraction(1, scale), bound=bound + change)
        for change in (1, -1)
    )

    assert fit.p_value(wide, laws.truncated_geometric(scale, bound)) == 0
    assert fit.p_value(narrow, laws.truncated_geometric(scale, bound)) < P_VALUE


@pytest.mark.parametrize("factor", FACTORS)
def test_noise_of_another_scale_is_seen(factor):
    """Broken twins: samplers whose noise is 20 % too small or too large contradict the claimed law."""
    scale = 20 * Fraction(str(factor))
    draws = rows_of("stream", SAMPLES, "twin")

    assert fit.p_value(discrete_laplace(draws, 1 / scale), laws.discrete_laplace(20)) < P_VALUE
    assert fit.p_value(discrete_gaussian(draws, scale**2), laws.discrete_gaussian(20)) < P_VALUE
    assert fit.p_value(geometric(draws, 1 / scale), laws.geometric(20)) < P_VALUE


def test_a_rounded_gaussian_is_not_a_discrete_one():
    """Broken twin: rounding a continuous normal number to an integer is another law where sigma is small."""
    rng = np.random.default_rng(1)
    rounded = np.rint(rng.normal(0, 0.5, SAMPLES)).astype(np.int64)

    assert fit.p_value(rounded, laws.discrete_gaussian(0.5)) < P_VALUE


def test_a_zero_counted_twice_is_seen():
    """Broken twin: a sign put on a geometric number gives zero twice as often as discrete Laplace noise does."""
    draws = rows_of("stream", SAMPLES, "twin")
    sign = np.where(draws.words(9) < np.uint64(2**63), 1, -1)

    assert fit.p_value(sign * geometric(draws, Fraction(1, 3)), laws.discrete_laplace(3)) < P_VALUE


@pytest.mark.parametrize("sigma", [Fraction(2, 5), 3, 30], ids=str)
def test_gaussian_attempts_tell_nothing_about_the_value(sigma):
    """How often a row was drawn again is independent of the size of the number that it kept."""
    draws = Counting(rows_of("stream", SAMPLES, "attempts"))
    sizes = np.abs(discrete_gaussian(draws, Fraction(sigma) ** 2))
    attempts = np.minimum(draws.columns // 3, 4)

    assert len(set(attempts.tolist())) > 2
    assert fit.independence(attempts, _ranks(sizes)) > P_VALUE


def test_tsgd_attempts_tell_nothing_about_the_value():
    """The same for k-TSGD numbers."""
    draws = Counting(rows_of("stream", SAMPLES, "attempts"))
    sizes = np.abs(truncated_geometric(draws, Fraction(1, 5), bound=6))
    attempts = np.minimum(draws.columns // 2, 4)

    assert len(set(attempts.tolist())) > 2
    assert fit.independence(attempts, _ranks(sizes)) > P_VALUE


def test_a_sampler_that_counts_coins_tells_its_value():
    """Broken twin: tossing coins until one fails reads one word more for each step, and the same test sees it."""
    draws = Counting(rows_of("stream", SAMPLES, "attempts"))
    values = np.zeros(SAMPLES, dtype=np.int64)
    going, part, counter = np.arange(SAMPLES), draws, 0
    while len(going):
        more = np.flatnonzero(part.words(counter) < np.uint64(2**63))
        values[going[more]] += 1
        going, part, counter = going[more], part.at(more), counter + 1

    assert fit.p_value(values, laws.geometric(1 / np.log(2))) > P_VALUE
    assert (draws.columns == values + 1).all()
    assert fit.independence(np.minimum(draws.columns, 4), _ranks(values)) < P_VALUE


def _ranks(sizes: np.ndarray) -> np.ndarray:
    """Sizes in at most six groups."""
    edges = np.unique(np.quantile(sizes, [0.3, 0.5, 0.7, 0.9, 0.97]))
    return np.searchsorted(edges, sizes)


@pytest.mark.parametrize("scale", [0.5, 3, 20])
def test_our_table_is_scipys(scale):
    """The table of discrete Laplace probabilities that the tests use is SciPy's."""
    law = laws.discrete_laplace(scale)
    x = np.arange(law.low, -law.low + 1)

    assert np.allclose(law.probabilities, stats.dlaplace(1 / scale).pmf(x), rtol=1e-9, atol=0)
