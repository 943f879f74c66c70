"""k-TSGD numbers: discrete Laplace numbers within a bound, drawn again if outside."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushcount.errors import InvalidParameter
from hushcount.noise.laplace import discrete_laplace
from hushcount.noise.source import SeededSource
from hushcount.noise.tsgd import truncated_geometric
from tests.unit.noise.scripted import Counting


@pytest.mark.parametrize("bound", [0, 1, 5, 40])
def test_within_the_bound_and_both_ends_reached(bound):
    """All numbers are within the bound, and the bound itself occurs on both sides."""
    values = truncated_geometric(SeededSource(5).draws("x", 20_000), Fraction(1, 10), bound=bound)

    assert values.min() == -bound
    assert values.max() == bound


def test_first_number_inside_is_kept():
    """A row's number is the first of its discrete Laplace numbers that lies within the bound."""
    draws = SeededSource(5).draws("x", 300)
    rate, bound = Fraction(1, 5), 3
    tries = [discrete_laplace(draws, rate, number=2 * attempt) for attempt in range(40)]
    expected = [next(int(values[row]) for values in tries if abs(values[row]) <= bound) for row in range(300)]

    assert truncated_geometric(draws, rate, bound=bound).tolist() == expected


def test_two_words_for_each_attempt():
    """Every attempt reads two words, and rows that are done read no more."""
    draws = Counting(SeededSource(5).draws("x", 50_000))
    truncated_geometric(draws, Fraction(1, 2), bound=4)
    attempts = draws.columns / 2
    inside = 1 - 2 * np.exp(-2.5) / (1 + np.exp(-0.5))

    assert (attempts == np.floor(attempts)).all()
    assert (draws.singles == 0).all()
    assert abs(attempts.mean() - 1 / inside) < 0.01


def test_a_negative_bound_is_refused():
    """A bound that no number can meet is refused, not looped on."""
    with pytest.raises(InvalidParameter) as caught:
        truncated_geometric(SeededSource(1).draws("x", 3), Fraction(1), bound=-1)

    assert caught.value.name == "noise bound"


@pytest.mark.parametrize("rate", [0, -1, Fraction(1, 10**12)], ids=str)
def test_bad_rates_are_refused(rate):
    """A rate of zero, below zero, or too small to count with is refused."""
    with pytest.raises(InvalidParameter) as caught:
        truncated_geometric(SeededSource(1).draws("x", 3), Fraction(rate), bound=2)

    assert caught.value.name == "noise rate"


def test_no_rows():
    """No rows give no numbers, as integers."""
    values = truncated_geometric(SeededSource(1).draws("x", 0), Fraction(1), bound=3)

    assert values.tolist() == []
    assert values.dtype == np.int64
