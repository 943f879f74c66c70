"""Widths: 95 % from the law of the noise, checked by its own probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from hushcount.noise.widths import half_width


def mass(law, scale, width):
    """P[|noise| <= width] by summing the law's terms."""
    reach = np.arange(-int(60 * scale) - 60, int(60 * scale) + 61)
    terms = np.exp(-(reach**2) / (2 * scale**2)) if law == "discrete-gaussian" else np.exp(-np.abs(reach) / scale)
    return terms[np.abs(reach) <= width].sum() / terms.sum()


@pytest.mark.parametrize("law", ["discrete-gaussian", "discrete-laplace"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 22.0, 150.0, 900.0])
def test_half_width_is_the_least_that_covers(law, scale):
    """The width covers 95 %, and one less does not."""
    width = half_width(law, scale)

    assert mass(law, scale, width) >= 0.95 - 1e-9
    assert width == 0 or mass(law, scale, width - 1) < 0.95
