"""Tails: logarithms of P[noise >= x] against sums of each law's own terms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushcount.noise.tails import log_tail


def terms(law, scale, bound, reach):
    """The probabilities of -reach to reach, by the law's formula."""
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-(places**2) / (2 * scale**2)) if law == "discrete-gaussian" else np.exp(-np.abs(places) / scale)
    weights[np.abs(places) > (reach if bound is None else bound)] = 0
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("law", "scale", "bound", "within"),
    [
        ("discrete-gaussian", 0.4, None, 1e-9),
        ("discrete-gaussian", 33.0, None, 1e-9),
        ("discrete-gaussian", 450.0, None, 1e-4),
        ("discrete-laplace", 0.7, None, 1e-9),
        ("discrete-laplace", 40.0, None, 1e-9),
        ("truncated-geometric", 3.0, 5, 1e-9),
        ("truncated-geometric", 1.0, 11, 1e-9),
    ],
)
def test_tails_are_sums_of_the_law(law, scale, bound, within):
    """On both sides of zero and far out, wide noise by its integral to a ten-thousandth."""
    reach = math.ceil(45 * scale) + 20
    mass, tail = terms(law, scale, bound, reach), log_tail(law, scale, bound)
    for x in sorted({0, 1, -1, 2, round(scale), -round(2 * scale), round(4 * scale), -round(5 * scale)}):
        exact = mass[x + reach :].sum()
        assert np.exp(tail(np.array([float(x)])))[0] == pytest.approx(exact, rel=within, abs=1e-300), x


def test_tails_go_on_where_doubles_end():
    """A hundred deviations out there is no double left, and the logarithm is about -z²/2."""
    far = log_tail("discrete-gaussian", 1000.0)(np.array([19_999.0, 20_001.0, 100_000.0]))

    assert far[0] > far[1]
    assert far[0] - far[1] == pytest.approx(0.04, rel=0.02)
    assert far[2] == pytest.approx(-5000 - math.log(100 * math.sqrt(2 * math.pi)), rel=1e-3)


def test_a_truncated_law_ends():
    """Beyond its bound there is nothing, and before it there is all."""
    tail = log_tail("truncated-geometric", 2.0, 7)

    assert tail(np.array([8.0]))[0] == -math.inf
    assert tail(np.array([-7.0]))[0] == pytest.approx(0, abs=1e-12)


def test_no_noise_has_no_tail():
    """Without noise a count is what it is."""
    assert log_tail("none", 1.0)(np.array([-1.0, 0.0, 1.0])).tolist() == [0.0, 0.0, -math.inf]
