"""Low bits: float noise shows which count it was added to; integer noise has no low bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.laplace import discrete_laplace
from tests.statistical.constants import SAMPLES
from tests.statistical.samples import rows_of


def test_float_laplace_has_gaps_that_depend_on_the_count():
    """Broken twin (Mironov 2012): of NumPy's Laplace releases most values near count 0 cannot come from count 1."""
    rng = np.random.default_rng(1)
    releases = {count: count + rng.laplace(0, 1, SAMPLES) for count in (0, 1)}
    # Below zero the noise on count 1 is under -1, where doubles are 2^-52 apart: so are all of its releases here.
    grid = {}
    for count, values in releases.items():
        here = values[(values > -0.69) & (values < -0.35)]
        grid[count] = (np.mod(here * 2.0**52, 1) == 0).mean()

    assert grid[1] == 1
    assert grid[0] < 0.5


def test_integer_noise_has_no_gaps():
    """Every integer around two neighbouring counts is released from both, as an integer."""
    draws = rows_of("stream", SAMPLES, "gaps")
    for noise in (discrete_laplace(draws, Fraction(1, 3)), discrete_gaussian(draws, Fraction(9))):
        reached = [set((count + noise).tolist()) for count in (0, 1)]

        assert noise.dtype == np.int64
        assert set(range(-9, 11)) <= reached[0] & reached[1]
