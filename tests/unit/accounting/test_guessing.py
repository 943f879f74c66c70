"""Guessing: how often somebody is right about one person, bounded from above; beside exact values and broken twins."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from scipy.stats import norm

from hushcount.accounting.guessing import best_guess
from hushcount.accounting.spent import Spent

RHOS = ("1e-6", "0.01", "0.1", "0.5", "1", "3", "10", "100")


def guess(rho: str, delta: str = "0") -> float:
    """The bound."""
    return best_guess(Spent(rho=Decimal(rho), delta=Decimal(delta)))


def gaussian(rho: str) -> float:
    """Exactly: noise of standard deviation s on a count that one person changes by one costs rho = 1 / (2 s²)."""
    return float(norm.cdf(math.sqrt(2 * float(rho)) / 2))


def pure(epsilon: float) -> tuple[str, float]:
    """Exactly: randomised response, the worst of all pure mechanisms, and its rho."""
    return repr(epsilon * math.tanh(epsilon / 2)), math.exp(epsilon) / (1 + math.exp(epsilon))


def never_too_low(bound) -> bool:
    """Whether a bound is above what is known exactly."""
    by_noise = all(bound(rho) >= gaussian(rho) for rho in RHOS)
    return by_noise and all(bound(rho) >= right for rho, right in map(pure, (0.001, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)))


def test_no_known_mechanism_lets_a_guess_be_right_more_often():
    """Gaussian noise and randomised response stay below; a bound of half the distance, or of half the rho, does not."""
    assert never_too_low(guess)
    assert not never_too_low(lambda rho: 0.5 + (guess(rho) - 0.5) / 2)
    assert not never_too_low(lambda rho: guess(repr(float(rho) / 2)))


@pytest.mark.parametrize(
    ("rho", "delta", "right"),
    [("0", "0", 0.5), ("0.1", "0", 0.611804), ("1", "0", 0.853554), ("3", "0", 0.987394), ("0", "0.1", 0.55)],
)
def test_the_numbers_that_owners_are_told(rho, delta, right):
    """One standard release, ten and thirty; a failure of one in ten tells it outright that often."""
    assert guess(rho, delta) == pytest.approx(right, abs=1e-6)


def test_it_is_a_probability_and_grows_with_both():
    """From one half, which is a coin, to one; more spent is never less known."""
    rows = [[guess(rho, delta) for rho in ("0", *RHOS)] for delta in ("0", "1e-6", "0.5", "1", "7")]

    assert rows[0][0] == 0.5
    assert all(0.5 <= one <= 1 for row in rows for one in row)
    assert all(row == sorted(row) for row in rows)
    assert all(list(column) == sorted(column) for column in zip(*rows, strict=True))
    assert rows[-1] == [1.0] * len(rows[-1])
