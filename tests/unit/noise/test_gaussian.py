"""Discrete Gaussian numbers: exact through fast and slow paths, and how long it takes does not tell the value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushcount.errors import InvalidParameter
from hushcount.noise import bernoulli, enclosures, laplace
from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.laplace import discrete_laplace
from hushcount.noise.source import SeededSource
from tests.unit.noise.scripted import LAST, SECOND, Counting, Scripted


@pytest.mark.parametrize("sigma", [Fraction(2, 5), Fraction(7, 3), 22, 10**5], ids=str)
def test_all_rows_through_the_judges_give_the_same(monkeypatch, sigma):
    """With margins so wide that neither candidates nor coins are decided by doubles, every row comes out as before."""
    draws = SeededSource(4).draws("x", 60)
    variance = Fraction(sigma) ** 2
    fast = discrete_gaussian(draws, variance).tolist()
    for module, name in (
        (bernoulli, "RELATIVE"),
        (bernoulli, "ABSOLUTE"),
        (laplace, "_RELATIVE"),
        (laplace, "_ABSOLUTE"),
    ):
        monkeypatch.setattr(module, name, 1e12)
    counting = Counting(draws)

    assert discrete_gaussian(counting, variance).tolist() == fast
    # Each attempt has two candidates of two words at least and a coin of one word at least.
    assert (counting.singles >= 5).all()


def test_rows_do_not_depend_on_each_other():
    """A row that is drawn again and again comes out as it does alone."""
    draws = SeededSource(4).draws("x", 400)
    together = discrete_gaussian(draws, Fraction(9)).tolist()

    assert together == [int(discrete_gaussian(draws.at(np.array([row])), Fraction(9))[0]) for row in range(400)]


def test_three_words_for_each_attempt():
    """Every attempt of a row reads two words for the candidate and one for the coin, and few attempts are needed."""
    draws = Counting(SeededSource(4).draws("x", 50_000))
    discrete_gaussian(draws, Fraction(100))
    attempts = draws.columns / 3

    assert (attempts == np.floor(attempts)).all()
    assert (draws.singles == 0).all()
    # Canonne, Kamath and Steinke: the chance to be accepted is at least about 0.6 for any variance of one or more.
    assert 1 < attempts.mean() < 1 / 0.6


def test_a_rejected_candidate_gives_way_to_the_next():
    """Algorithm 3 of Canonne, Kamath and Steinke by hand: a candidate whose coin fails is replaced by the next one."""
    small, large = 2**63, 2**50  # -ln(U) = 0.69 and 9.7: at scale 2 these are 1 and 19
    draws = Scripted(
        {0: [large], 1: [small], 2: [2**63], 3: [small], 4: [LAST], 4 + SECOND: [0], 5: [0], 5 + SECOND: [0]}
    )

    assert discrete_laplace(draws, Fraction(1, 2)).tolist() == [18]
    assert discrete_gaussian(draws, Fraction(1)).tolist() == [1]


@pytest.mark.parametrize(("change", "kept"), [(-1, True), (1, False)])
def test_the_coin_is_exp_of_the_squared_distance(change, kept):
    """A candidate y is kept with probability exp(-(|y| - variance/t)² / (2 variance)), to 128 bits."""
    variance = Fraction(9)  # t = 4
    bits = int(enclosures.exp(-((2 - variance / 4) ** 2) / 18, 60)[0] * 2**128)
    script = {0: [2**63], 1: [LAST], 2: [bits >> 64], 1 + SECOND: [0], 2 + SECOND: [bits % 2**64 + change]}
    # -ln(1/2) * 4 = 2.77, so the first candidate is 2; the second is 0, kept by a sure coin.
    script |= {3: [2**63], 4: [2**63], 5: [0], 5 + SECOND: [0]}

    assert discrete_gaussian(Scripted(script), variance).tolist() == [2 if kept else 0]


@pytest.mark.parametrize(
    "variance", [0, -1, 2**64, 2**64 + 1, Fraction(10) ** 400, Fraction(1, 10**400)], ids=lambda v: f"{str(v)[:25]}"
)
def test_bad_variances_are_refused(variance):
    """A variance of zero, below zero, from 2^64, or so small that a double cannot hold it is refused, not looped on."""
    draws = Counting(SeededSource(1).draws("x", 3))

    with pytest.raises(InvalidParameter) as caught:
        discrete_gaussian(draws, Fraction(variance))

    assert caught.value.name == "noise variance"
    assert not draws.columns.any()


def test_extreme_variances_work():
    """Just below 2^64 numbers are huge, at 10^-300 all are zero."""
    draws = SeededSource(1).draws("x", 50)

    assert np.abs(discrete_gaussian(draws, Fraction(2**64 - 1))).max() > 2**32
    assert not discrete_gaussian(draws, Fraction(1, 10**300)).any()


def test_no_rows():
    """No rows give no numbers, as integers."""
    values = discrete_gaussian(SeededSource(1).draws("x", 0), Fraction(4))

    assert values.tolist() == []
    assert values.dtype == np.int64
