"""One draw above bottom costs delta once, and epsilon²/8 for each place that was given, however many came out.

docs/mechanisms/top.md has the proof; here it is followed by exact enumeration of whole draws of random length.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest

from hushcount.mechanisms.calibration import most_delta
from hushcount.mechanisms.ranking import bottom_odds
from tests.privacy.exact import ROUNDING, Selection, bottom_weights, good_weights, peeled, spread

DELTA = Fraction(1, 10)
ORDERS = (1.01, 1.5, 2.0, 4.0, 16.0)


def pairs(cap: int, most: int):
    """All histograms of four items, and each with one person more, who adds up to the cap to any of them."""
    for counts in itertools.combinations_with_replacement(range(most, -1, -1), 4):
        without = dict(zip("abcd", counts, strict=True))
        for added in itertools.product(range(cap + 1), repeat=4):
            if any(added):
                yield {item: without[item] + more for item, more in zip("abcd", added, strict=True)}, without


def rule(cap: int, *, rows: int = 2, k: int = 3, epsilon: float = 0.7, delta: Fraction = DELTA) -> Selection:
    """The parameters of a draw, as the library has them."""
    return Selection(rows=rows, k=k, rate=epsilon / cap, odds=float(bottom_odds(rows, delta)), cap=cap)


def given_good(mine, other, of: Selection):
    """P[no item that only this side has beats bottom], and the law given that, from the law of the whole order."""
    items, bottom = bottom_weights(mine, of)
    shared = bottom_weights(other, of)[0].keys() & items.keys()
    whole = peeled({**items, "bottom": bottom}, len(items) + 1)
    good = {names: p for names, p in whole.items() if set(names) <= shared | {"bottom"}}
    chance = math.fsum(good.values())
    law: dict = {}
    for names, p in good.items():
        law[names[: of.k]] = law.get(names[: of.k], 0.0) + p / chance
    return chance, law


@pytest.mark.parametrize("cap", [1, 2])
def test_given_the_good_event_the_draw_is_peeling_with_a_heavier_bottom(cap):
    """With probability 1 - delta no swapped item beats bottom; then it is peeling, and bottom has their weight too."""
    of = rule(cap)
    for one, two in itertools.islice(pairs(cap, 2), 0, None, 1 if cap == 1 else 5):
        for mine, other in ((one, two), (two, one)):
            chance, law = given_good(mine, other, of)
            expected = peeled(good_weights(mine, other, of), of.k)
            assert chance >= 1 - DELTA
            assert law.keys() == expected.keys()
            assert all(abs(p - expected[names]) < ROUNDING for names, p in law.items())


def paid(one, two, order: float, unit: float) -> float:
    """The logarithm of E_one exp((a - 1) (loss - a unit length)): at most zero if a place costs `unit`."""
    terms = [
        order * math.log(p) + (1 - order) * math.log(two[names]) - order * (order - 1) * unit * len(names)
        for names, p in one.items()
    ]
    return math.log(math.fsum(math.exp(term) for term in terms))


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_each_place_that_is_given_costs_one_unit(cap):
    """On all small inputs, both ways, at many orders: the charge by length covers the loss, whatever the length is."""
    of = rule(cap)
    unit = 0.7**2 / 8
    for one, two in itertools.islice(pairs(cap, 2), 0, None, (1, 7, 29)[cap - 1]):
        laws = [peeled(good_weights(mine, other, of), of.k) for mine, other in ((one, two), (two, one))]
        for mine, other in (laws, laws[::-1]):
            assert max(paid(mine, other, order, unit) for order in ORDERS) <= ROUNDING


def test_a_place_that_is_not_paid_for_is_seen():
    """The check above fails if bottom's own place is left out of the charge, or half of each unit."""
    of = rule(1)
    worst = {"half": -math.inf, "no bottom": -math.inf}
    for one, two in pairs(1, 2):
        laws = [peeled(good_weights(mine, other, of), of.k) for mine, other in ((one, two), (two, one))]
        for mine, other in (laws, laws[::-1]):
            for order in ORDERS:
                worst["half"] = max(worst["half"], paid(mine, other, order, 0.7**2 / 16))
                free = {names: (p, other[names]) for names, p in mine.items()}
                terms = [
                    p**order
                    * q ** (1 - order)
                    * math.exp(-order * (order - 1) * 0.7**2 / 8 * (len(names) - ("bottom" in names)))
                    for names, (p, q) in free.items()
                ]
                worst["no bottom"] = max(worst["no bottom"], math.log(math.fsum(terms)))

    assert min(worst.values()) > 0.001


def widest(cap: int, epsilon: float, delta: Fraction) -> float:
    """By how much the log-odds of two candidates can move apart, over all small inputs."""
    of = rule(cap, epsilon=epsilon, delta=delta)
    return max(
        spread(good_weights(one, two, of), good_weights(two, one, of))
        for one, two in itertools.islice(pairs(cap, cap), 0, None, 1 if cap == 1 else 3)
    )


@pytest.mark.parametrize(("cap", "epsilon"), [(1, 0.05), (1, 0.7), (2, 0.05), (2, 0.7)])
def test_the_limit_on_delta_is_what_bounded_range_needs(cap, epsilon):
    """At the largest delta that is allowed beside epsilon the range is epsilon; at three times that it is more."""
    most = Fraction(most_delta(Decimal(str(epsilon)), cap))

    assert widest(cap, epsilon, most) <= epsilon + ROUNDING
    if 3 * most < 1:
        assert widest(cap, epsilon, 3 * most) > epsilon + 1e-6


def lifted(delta: Fraction) -> float:
    """As `widest`, for a cap of two, where one person lifts nine of ten rows over the boundary and the boundary too."""
    without = {"x": 9, **{f"y{n}": 1 for n in range(9)}, "z": 1}
    one = {"x": 9, **{f"y{n}": 3 for n in range(9)}, "z": 2}
    of = rule(2, rows=10, epsilon=0.05, delta=delta)
    return spread(good_weights(one, without, of), good_weights(without, one, of))


def test_a_cap_lowers_the_limit_on_delta():
    """The limit e^epsilon - 1, which does for a cap of one, is too much for a cap of two."""
    one, two = (Fraction(most_delta(Decimal("0.05"), cap)) for cap in (1, 2))

    assert two < one * Fraction(52, 100)
    assert lifted(two) <= 0.05 + ROUNDING
    assert lifted(one) > 0.068
    assert most_delta(Decimal(2000), 1) == 1
