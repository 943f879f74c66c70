"""Claims as curves: what a pair allows below its epsilon, and what a cost allows everywhere."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from hushcount.accounting import gdp, zcdp
from hushcount.audit.claim import cost_claim, own_epsilon, pair_claim
from hushcount.errors import InvalidParameter
from hushcount.model.costs import Approximate, Cost, DiscreteGaussian, Failure, Gaussian, Pure

EPSILONS = (0.0, 0.25, 0.9, 1.0, 1.5, 3.0)


def response_delta(epsilon: float, delta: float, level: float) -> float:
    """The exact delta at `level` of randomised response that shows its input with probability delta."""
    truth = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    lie = 1 - delta - truth
    return delta + max(0.0, truth - math.exp(level) * lie) + max(0.0, lie - math.exp(level) * truth)


@pytest.mark.parametrize("level", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_pair_allows_what_randomised_response_does(delta, level):
    """The worst pair of laws that (1, delta) allows, at every epsilon; above 1 only delta is left."""
    assert pair_claim(1, delta).delta(level) == pytest.approx(response_delta(1.0, delta, level))


def test_a_curve_has_a_point_for_each_epsilon():
    """For the picture: falling, and at least delta."""
    curve = pair_claim("1", "0.05").curve(EPSILONS)

    assert [point.epsilon for point in curve] == list(EPSILONS)
    assert [point.delta for point in curve] == sorted((point.delta for point in curve), reverse=True)
    assert curve[-1].delta == 0.05
    assert pair_claim("1", "0.05").words == "(1, 0.05)-DP"


@pytest.mark.parametrize("level", EPSILONS)
def test_a_cost_allows_the_least_that_any_accountant_gives(level):
    """Gaussian noise has two theorems, and the tighter counts; pure steps also have their pair."""
    noise = Cost.of(Gaussian(rho=Decimal("0.5")), Failure(delta=Decimal("0.01")))
    pure = Cost.of(Pure(epsilon=Decimal(1)))

    assert cost_claim(noise).delta(level) == min(zcdp.delta(noise, level), gdp.delta(noise, level))
    assert cost_claim(noise).delta(level) < zcdp.delta(noise, level)
    assert cost_claim(pure).delta(level) == min(pair_claim(1, 0).delta(level), zcdp.delta(pure, level))


def test_words_name_the_claim():
    """A pair where there is one, else rho and delta."""
    assert cost_claim(Cost.of(Approximate(epsilon=Decimal(2), delta=Decimal("0.1")))).words == "(2, 0.1)-DP"
    assert cost_claim(Cost.of(DiscreteGaussian(rho=Decimal("0.1")))).words == "0-approximate 0.1-zCDP"


def test_own_epsilon_is_that_of_the_pair():
    """Pure steps add up to one epsilon; Gaussian noise has none."""
    assert own_epsilon(Cost.of((Pure(epsilon=Decimal("0.5")), 3))) == 1.5
    assert own_epsilon(Cost.of(Gaussian(rho=Decimal(1)))) is None


def test_only_failures_are_a_claim_of_epsilon_zero():
    """Delta alone, at every epsilon."""
    claim = cost_claim(Cost.of(Failure(delta=Decimal("0.1"))))

    assert [claim.delta(level) for level in EPSILONS] == pytest.approx([0.1] * len(EPSILONS))


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (1, 1), (1, -0.1), ("x", 0), (float("nan"), 0)])
def test_nonsense_is_refused(epsilon, delta):
    """What is no epsilon and no delta."""
    with pytest.raises(InvalidParameter):
        pair_claim(epsilon, delta)
