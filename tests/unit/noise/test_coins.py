"""Keep coins where a double has no say: items that are all but certain, or all but impossible."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushcount.noise import bernoulli, coins, enclosures
from hushcount.noise.coins import KearnsSaul, Laplace, NormalTail, toss
from hushcount.noise.source import SeededSource
from tests.unit.noise.scripted import LAST, SECOND, Scripted

LAW = NormalTail(unit=1, scale=2.0, threshold=20.0)


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
    monkeypatch.setattr(coins.NormalTail, "judge", lambda *_: (Fraction(9, 10), Fraction(9, 10)))

    assert toss(Scripted({0: [LAST], SECOND: [0]}), np.array([10**6]), LAW).tolist() == [False]


LAWS = [law(unit=1 << 30, scale=3.0, threshold=40.0) for law in (NormalTail, Laplace, KearnsSaul)]


def many_weights():
    """Weights of twenty thousand items: nearly all rare, some near the threshold, a few far above it."""
    chance = np.random.default_rng(11)
    people = np.concatenate([chance.integers(0, 5, 15_000), chance.integers(20, 60, 4_900), [10**6] * 100])
    return people * (1 << 30) + chance.integers(0, 1 << 29, len(people))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_coins_of_many_items_are_those_of_few(law):
    """Of few items each is looked at closely; together with many others the same ones are kept."""
    values, source = many_weights(), SeededSource(5)
    draws = source.draws("many", len(values))
    parts = [np.arange(first, min(first + 4000, len(values))) for first in range(0, len(values), 4000)]
    alone = np.concatenate([toss(draws.at(rows), values[rows], law) for rows in parts])
    together = toss(draws, values, law)

    assert together.tolist() == alone.tolist()
    assert 100 < np.count_nonzero(together) < len(values) // 2


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("size", [1, 7_000, 19_999, 20_000])
def test_coins_in_pieces_are_those_of_all_together(monkeypatch, law, size):
    """However many are tossed at a time, on two cores or on one: each item keeps its own draw."""
    values, source = many_weights(), SeededSource(5)
    values = values if size > 1 else values[14_900:15_100]
    keys = source.identify(np.array([f"item {n}" for n in range(len(values))], dtype=object))
    together = toss(source.item_draws("many", keys), values, law)
    monkeypatch.setattr(bernoulli, "_ROWS", size)

    assert toss(source.item_draws("many", keys), values, law).tolist() == together.tolist()
    assert 0 < np.count_nonzero(together) < len(values)


def test_pieces_that_begin_anew_would_be_caught(monkeypatch):
    """Broken twin: if each piece took the draws of the first items, other items would be kept."""
    values, source = many_weights()[:16_000], SeededSource(5)
    keys = source.identify(np.array([f"item {n}" for n in range(len(values))], dtype=object))
    draws = source.item_draws("many", keys)
    together = toss(draws, values, LAWS[0])
    monkeypatch.setattr(bernoulli, "_ROWS", 4_000)
    at = type(draws).at

    def anew(self, rows):
        return at(self, slice(rows.stop - rows.start) if isinstance(rows, slice) else rows)

    monkeypatch.setattr(type(draws), "at", anew)

    assert toss(draws, values, LAWS[0]).tolist() != together.tolist()
