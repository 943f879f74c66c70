"""Intervals: 95 % from the law of the noise, checked by its own probabilities and by coverage of repeated releases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushcount.app.answer import answer
from hushcount.app.intervals import half_width
from hushcount.app.request import make_request
from tests.unit.app.made_engine import made_engine


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


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("count", {}),
        ("count", {"max_items_per_user": 8}),
        ("count", {"max_items_per_user": 8, "keys": [f"item-{j}" for j in range(8)]}),
        ("count", {"max_items_per_user": 8, "method": "unknown-laplace", "rho": 2}),
        ("top", {"k": 5}),
    ],
)
def test_coverage(question, options, tmp_path, monkeypatch):
    """Over repeated releases of known data, the true count is inside 93 to 97 times in 100."""
    monkeypatch.setenv("HUSHCOUNT_HOME", str(tmp_path))
    engine = made_engine()
    truth = {f"item-{j}": 4000 - 500 * j for j in range(8)}
    inside, rows = 0, 0
    while rows < 2500:
        release = answer(make_request(question, user="user", item="item", options={**options, "fresh": True}), engine)
        for item, low, high in zip(release.items, release.low, release.high, strict=True):
            inside += low <= truth[item] <= high
            rows += 1

    # Three standard deviations of a share of 95 % over 2500 rows are 1.3 points.
    assert 0.93 <= inside / rows <= 0.97 + (0.01 if math.isclose(inside, rows) else 0)
