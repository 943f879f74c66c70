"""Keep coins where a double has no say: items that are all but certain, or all but impossible."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushcount.noise import coins, enclosures
from hushcount.noise.coins import Gaussian, toss
from tests.unit.noise.scripted import LAST, SECOND, Scripted

LAW = Gaussian(unit=1, scale=2.0, threshold=20.0)


@pytest.mark.parametrize("people", [60, 10**4, 10**9, 2**62])
def test_popular_items_are_decided_at_once(people):
    """A uniform number just under one goes to the judge, whose sum would take x²/4.6 digits: it never came back."""
    draws = Scripted({0: [LAST], SECOND: [LAST - 1]})

    assert toss(draws, np.array([people]), LAW).tolist() == [True]


@pytest.mark.parametrize("people", [-60, -(10**4), -(10**9)])
def test_hopeless_items_are_decided_at_once(people):
    """On the other side a uniform number of nearly nothing is still more than the tail."""
    draws = Scripted({0: [1], SECOND: [0]})

    assert toss(draws, np.array([people]), LAW).tolist() == [False]


@pytest.mark.parametrize("gap", [Fraction(30), Fraction(-30), Fraction(25, 2), Fraction(-25, 2)])
def test_the_judge_narrows_to_the_tail(gap):
    """With more digits the enclosure closes in on the tail itself: what is near enough is never taken for it."""
    exact = enclosures.normal_tail(gap, 300)
    for digits in (22, 42, 82, 242):
        low, high = LAW.judge(gap, digits)

        assert low <= exact[1]
        assert exact[0] <= high
        assert high - low <= Fraction(2, 10**digits)


def test_a_judge_that_took_it_for_one_would_be_caught(monkeypatch):
    """The comparison can fail: a judge that says nought point nine for what is all but one keeps another item out."""
    monkeypatch.setattr(coins.Gaussian, "judge", lambda *_: (Fraction(9, 10), Fraction(9, 10)))

    assert toss(Scripted({0: [LAST], SECOND: [0]}), np.array([10**6]), LAW).tolist() == [False]
