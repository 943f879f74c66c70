"""Widths: 95 % from the law of the noise, checked by its own probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from hushcount.noise.widths import ShownCounts, half_width


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


CASES = [
    ("discrete-gaussian", 0.6, None, 3),
    ("discrete-gaussian", 2.3, None, 12),
    ("discrete-gaussian", 40.0, None, 200),
    ("discrete-gaussian", 300.0, None, 1500),
    ("discrete-laplace", 1.0, None, 14),
    ("discrete-laplace", 14.0, None, 200),
    ("truncated-geometric", 1.0, 11, 11),
    ("truncated-geometric", 3.0, 20, 20),
    ("truncated-geometric", 1.0, 11, 0),
]


def ends(law, scale, bound, threshold, seen):
    """The interval of every value that can be seen."""
    shown = ShownCounts(law=law, scale=scale, gaps=seen - threshold, bound=bound)
    return np.maximum(seen - shown.down(seen), 0), seen + shown.up()


def covered(law, scale, bound, threshold, *, plain=False):
    """For true counts around the threshold, the exact chance that the interval holds it, given that it is shown."""
    reach = int(12 * scale) + 60 if law == "discrete-gaussian" else int(40 * scale) + 60
    noise = np.arange(-reach, reach + 1)
    weights = np.exp(-(noise**2) / (2 * scale**2)) if law == "discrete-gaussian" else np.exp(-np.abs(noise) / scale)
    weights[np.abs(noise) > (reach if bound is None else bound)] = 0
    seen = np.arange(threshold + 1, 2 * threshold + 2 * reach)
    low, high = (
        (seen - half_width(law, scale), seen + half_width(law, scale))
        if plain
        else ends(law, scale, bound, threshold, seen)
    )
    step = max(1, threshold // 40)
    for true in [*range(1, threshold + reach, step), threshold, threshold + 1]:
        values = true + noise
        passed = (values > threshold) & (weights > 0)
        if passed.any():
            at = values[passed] - threshold - 1
            inside = (low[at] <= true) & (true <= high[at])
            yield float(weights[passed][inside].sum() / weights[passed].sum())


@pytest.mark.parametrize(("law", "scale", "bound", "threshold"), CASES)
def test_shown_counts_are_covered_whatever_they_are(law, scale, bound, threshold):
    """By enumeration: given that it passed the threshold, every true count is inside with at least 95 %."""
    assert min(covered(law, scale, bound, threshold)) >= 0.95


@pytest.mark.parametrize(("law", "scale", "bound", "threshold"), CASES[:-1])
def test_the_plain_width_would_not_cover(law, scale, bound, threshold):
    """Count plus or minus the half width, as if there were no threshold, misses nearly all that was lifted over it."""
    assert min(covered(law, scale, bound, threshold, plain=True)) < 0.25


@pytest.mark.parametrize(("law", "scale", "bound", "threshold"), CASES)
def test_far_above_the_threshold_nothing_changes(law, scale, bound, threshold):
    """There the reaches are the half width on both sides; nearer they are longer below, never longer above."""
    width, gaps = half_width(law, scale), np.arange(1, 60 * int(scale + 1))
    shown = ShownCounts(law=law, scale=scale, gaps=gaps, bound=bound)
    down, up, far = shown.down(gaps + threshold), shown.up(), shown.far()

    assert far[-1]
    assert not far[0]
    assert abs(down[far] - width).max() <= 1
    assert abs(up[far] - width).max() <= 1
    assert (down >= np.minimum(width, gaps + threshold) - 1).all()
    assert (up <= width + 1).all()


def test_narrow_noise_that_nothing_lifts():
    """Noise so narrow that it is zero: the interval is the count, or all below it where it just passed."""
    shown = ShownCounts(law="discrete-gaussian", scale=0.02, gaps=np.array([1, 2, 900]))

    assert shown.up().tolist() == [0, 0, 0]
    assert shown.down(np.array([5, 6, 904])).tolist()[2] == 0
