"""Three rounds of the ladder against an adversary who chooses where every item stands, in the light of all outcomes.

The most that can be told is the value of a game: the likelihood ratio so far, and before each coin a choice of the two
chances that one person can make of it. It is computed backwards; the value is convex in the ratio, so reading it off
straight lines between points of a grid errs upwards. A numerical check beside the proof, which is in the docs.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from hushcount.accounting import convert
from hushcount.mechanisms.selection.ladder import plan_ladder
from hushcount.model.budgets import RhoBudget

EPSILON, RHO, DELTA, ORDER = 1.765, Decimal("0.1"), Decimal("1e-5"), Decimal(10)
RATIOS = np.exp(np.linspace(-5.0, 7.0, 700))


@pytest.fixture(scope="module")
def plan():
    """Rounds for orders up to ten."""
    return plan_ladder(RhoBudget(RHO, DELTA, ORDER), 100)


def chances(one, length, *, heavier=1.0):
    """Chances without and with a person of so many items, in every table of a round, at many sums."""
    pairs = []
    for table, weights in zip(one.ladders.tables, one.weights, strict=False):
        values, weight = table.table, round(weights[length - 1] * heavier)
        sums = np.unique(np.concatenate(([0], np.linspace(1, len(values) - 1, 60).astype(np.int64))))
        pairs.append(np.stack([values[sums], values[np.minimum(sums + weight, len(values) - 1)]]))
    return np.concatenate(pairs, axis=1)


def told(plan, length, *, reverse, heavier=1.0):
    """An upper bound of delta at EPSILON for a person who has so many items in every round."""
    value = np.maximum(RATIOS - math.exp(EPSILON), 0)
    for one in reversed(plan.rounds):
        without, given = chances(one, length, heavier=heavier)
        rare, likely = (given, without) if reverse else (without, given)
        for _ in range(length):
            value = _before(value, rare, likely)
    return float(np.interp(1.0, RATIOS, value))


def _before(value, rare, likely):
    """The value before one more coin, whose chances the adversary chooses."""
    best = value.copy()
    for q, p in zip(rare.tolist(), likely.tolist(), strict=True):
        total = np.zeros(len(RATIOS))
        for below, above in ((q, p), (1 - q, 1 - p)):
            # What the rare side never shows counts in full.
            total += above * RATIOS if below == 0 else below * _at(value, RATIOS * above / below)
        np.maximum(best, total, out=best)
    return best


def _at(value, ratios):
    """The value off the grid, from above: a line of slope one beyond its end."""
    return np.interp(ratios, RATIOS, value) + np.maximum(ratios - RATIOS[-1], 0)


def claimed():
    """What the cost says: delta for failures, and the rest by orders up to ten."""
    inner = convert.zcdp_delta(RHO, Decimal(str(EPSILON)), ORDER)
    return convert.outer_delta(delta0=DELTA, inner=inner)


def test_the_claim_is_that_of_the_paper():
    """(1.765, 4.955e-5)."""
    assert claimed() == pytest.approx(4.955e-5, rel=2e-3)


@pytest.mark.parametrize("reverse", [False, True], ids=["with against without", "without against with"])
@pytest.mark.parametrize("length", [1, 3, 10])
def test_the_adversary_learns_no_more_than_is_claimed(plan, length, reverse):
    """Whatever list length, in either direction."""
    assert told(plan, length, reverse=reverse) <= claimed()


def test_heavier_weights_would_be_seen(plan):
    """Mutant: people of one item who weigh a twentieth more tell about twice as much as is claimed."""
    assert told(plan, 1, reverse=False, heavier=1.05) > 1.5 * claimed()
