"""Peeling: first places follow the exponential mechanism, orders follow Plackett and Luce, other noise does not."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from hushcount.noise.gumbel import Candidates, Priors
from tests.statistical import fit, laws
from tests.statistical.constants import FACTORS, P_VALUE, SAMPLES
from tests.statistical.samples import KINDS, orders_of, uniforms

# k / delta for k = 10 and delta = 10^-6: a bottom candidate that a score about 16 / rate higher can equal.
BOTTOM = Fraction(10**7)
CASES = {
    "scores": Candidates(scores=np.array([0, 1, 2, 4]), rate=Fraction(1, 2), priors=Priors()),
    "priors": Candidates(
        scores=np.array([3, 1, -2, 4]),
        rate=Fraction(1, 3),
        priors=Priors({0: Fraction(1, 3), 1: Fraction(5), 2: Fraction(4)}),
    ),
    "bottom": Candidates(scores=np.array([131, 133, 128, 100]), rate=Fraction(1, 2), priors=Priors({3: BOTTOM})),
}
each_case = pytest.mark.parametrize("case", CASES)
each_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def orders(case: str, kind: str) -> np.ndarray:
    """Many orders of one case."""
    return orders_of(kind, CASES[case], f"orders of {case}")


def weights(case: str, factor: float = 1.0) -> np.ndarray:
    """What each candidate weighs in the exponential mechanism, the rate changed by a factor."""
    candidates = CASES[case]
    priors = np.array([float(candidates.priors.get(row, 1)) for row in range(4)])
    tilt = candidates.scores * float(candidates.rate) * factor
    return priors * np.exp(tilt - tilt.max())


def matches(found: np.ndarray, case: str, factor: float = 1.0) -> bool:
    """Whether orders (or first places) follow Plackett and Luce with the case's weights."""
    law = laws.plackett_luce(weights(case, factor), found.shape[1])
    return fit.p_value(laws.order_numbers(found, 4), law) > P_VALUE


@each_kind
@each_case
def test_first_place_is_the_exponential_mechanism(case, kind):
    """A candidate is first with probability prior * exp(rate * score) over the sum; a rate 20 % off is rejected."""
    first = orders(case, kind)[:, :1]

    assert matches(first, case)
    assert not any(matches(first, case, factor) for factor in FACTORS)


@each_kind
@each_case
def test_first_two_are_peeled(case, kind):
    """The first two in order follow the twelve probabilities of peeling; a rate 20 % off is rejected."""
    two = orders(case, kind)[:, :2]

    assert matches(two, case)
    assert not any(matches(two, case, factor) for factor in FACTORS)


@each_kind
@each_case
def test_whole_orders_are_peeled(case, kind):
    """All 24 orders have the probabilities of peeling."""
    assert matches(orders(case, kind), case)
    assert not any(matches(orders(case, kind), case, factor) for factor in FACTORS)


@each_kind
def test_bottom_weighs_its_prior(kind):
    """A bottom candidate is first as often as k/delta says, not as often as a prior 20 % off would be."""
    first = orders("bottom", kind)[:, :1]
    share = weights("bottom")

    assert 0.1 < share[3] / share.sum() < 0.6
    for factor in FACTORS:
        changed = share * np.array([1, 1, 1, factor])

        assert fit.p_value(first[:, 0], laws.plackett_luce(changed, 1)) < P_VALUE


def tilts(case: str) -> np.ndarray:
    """Logarithms of the weights."""
    return np.log(weights(case))


def ranked(keys: np.ndarray) -> np.ndarray:
    """Rows of keys as orders, largest key first."""
    return np.argsort(-keys, axis=1)


def gumbel_noise(purpose: str) -> np.ndarray:
    """Standard Gumbel numbers as floats."""
    return -np.log(-np.log(uniforms("stream", (SAMPLES, 4), purpose)))


@pytest.mark.parametrize("case", ["scores", "priors"])
def test_erratum_2_the_sign_of_gumbel_noise(case):
    """Erratum 2: argmin of threshold + Gumbel is not the exponential mechanism; argmin of threshold - Gumbel is."""
    thresholds, noise = -tilts(case), gumbel_noise("sign")

    def first(keys: np.ndarray) -> np.ndarray:
        return np.argmin(keys, axis=1)[:, None]

    assert matches(first(thresholds - noise), case)
    assert not matches(first(thresholds + noise), case)


def peeled(case: str, noise: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The first two by peeling: fresh noise for the second place, the first winner left out."""
    keys = [tilts(case) + part for part in noise]
    first = np.argmax(keys[0], axis=1)
    keys[1][np.arange(SAMPLES), first] = -np.inf
    return np.stack([first, np.argmax(keys[1], axis=1)], axis=1)


@pytest.mark.parametrize(("law", "equal"), [("gumbel", True), ("exponential", False), ("laplace", False)])
def test_erratum_6_one_shot_equals_peeling_for_gumbel_only(law, equal):
    """Erratum 6: the top two of one round of noise have the law of two rounds for Gumbel noise, and for no other."""

    def noise(purpose: str) -> np.ndarray:
        if law == "gumbel":
            return gumbel_noise(purpose)
        uniform = uniforms("stream", (SAMPLES, 4), purpose)
        if law == "exponential":
            return -np.log(uniform)
        return np.where(uniform < 0.5, np.log(2 * uniform), -np.log(2 - 2 * uniform))

    shot = ranked(tilts("scores") + noise("shot"))[:, :2]
    rounds = peeled("scores", (noise("round one"), noise("round two")))

    assert (fit.same_law(laws.order_numbers(shot, 4), laws.order_numbers(rounds, 4)) > P_VALUE) == equal
    assert matches(shot, "scores") == equal


@each_kind
def test_ours_equals_peeling_with_fresh_noise(kind):
    """Erratum 6 for our own selection: one run has the law of two runs, the second without the first's winner."""
    ours = orders("scores", kind)[:, :2]
    rounds = peeled("scores", (gumbel_noise("round one"), gumbel_noise("round two")))

    assert fit.same_law(laws.order_numbers(ours, 4), laws.order_numbers(rounds, 4)) > P_VALUE


def test_storage_order_is_not_a_peeled_order():
    """Broken twin (erratum 6): the same two winners, returned in storage order, contradict the law of the order."""
    assert not matches(np.sort(orders("scores", "stream")[:, :2], axis=1), "scores")
