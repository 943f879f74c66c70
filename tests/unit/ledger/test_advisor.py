"""The advisor against section 8.3 of "LinkedIn's Audience Engagements API"."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hushcount.accounting import attacks
from hushcount.ledger.advisor import Goals, advise

LINKEDIN = Goals(epsilon_per="0.15", delta_per_call="1e-10", total_delta="7e-9")


def test_linkedins_own_choices():
    """epsilon_per = 0.15: 16.3 % for averaging, p = 0.0368, k = 738, k* = 4 · 738 + 2, 1 in 333 million for unique."""
    advice = advise(LINKEDIN)

    assert advice.averaging == pytest.approx(0.1627, abs=2e-4)
    assert advice.near == pytest.approx(0.0368, abs=1e-4)
    assert (advice.results, advice.budget.information) == (738, 4 * 738 + 2)
    assert advice.unique == pytest.approx(30 * 1e-10)


def test_the_guarantee_printed_and_tight():
    """The printed formula gives about 34.6 for 2954 units (34.9 for the paper's 3000); the tight ones are smaller."""
    promise = advise(LINKEDIN).promise

    assert 34.3 < promise.printed < 34.9
    assert promise.tight < promise.converted < promise.printed
    assert promise.total_delta == Decimal("7e-9")


def test_goals_are_met():
    """What is advised keeps every attack within its goal, and not by much."""
    advice = advise(Goals(averaging="0.05", unique="1e-7", calls=100))

    assert 0.049 < advice.averaging <= 0.05
    assert 0.99e-7 < advice.unique <= 1e-7
    assert attacks.near_count(advice.budget.epsilon_per) ** 2 * advice.results <= 1


def test_without_goals_linkedins_are_taken():
    """Thirty repeats, one in ten, thirty calls, one in a hundred million; delta is stated where LinkedIn would."""
    advice = advise()

    assert advice.averaging <= 0.1
    assert advice.promise.total_delta == pytest.approx(Decimal(7) / 3 * 30 * advice.budget.delta_per_call)
