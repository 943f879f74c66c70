"""PCR in batches: what delta of a level pays for, and that two counts of one item are charged as two."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hushcount.accounting import zcdp
from hushcount.mechanisms.counts.pcr_batched import level_delta, level_epsilon, plan_pcr_batched, run_pcr_batched
from hushcount.model.budgets import rho_budget
from hushcount.noise.calls import AddGaussian, Peel
from hushcount.noise.source import SeededSource
from tests.unit.mechanisms.made_inputs import histogram

ROWS = 20
WORDS = histogram([f"word {n:03}" for n in range(1, 201)], [20_000 // n for n in range(1, 201)])


class Noting(SeededSource):
    """A source that keeps the calls."""

    def __init__(self, seed):
        super().__init__(seed)
        self.calls = []

    def perform(self, call):
        """Noted, then drawn."""
        self.calls.append(call)
        return super().perform(call)


def levels_of(data, plan):
    """The first draw of each level."""
    source = Noting(0)
    run_pcr_batched(data, plan, source)
    return [call for call in source.calls if isinstance(call, Peel)]


def shown_before_bottom(call, rows):
    """P[one of these rows comes before bottom], in closed form: the largest of Gumbel numbers is one again."""
    bottom = float(call.rate) * int(call.values[call.last]) + math.log(call.priors[call.last])
    weights = [math.exp(float(call.rate) * int(call.values[row]) - bottom) for row in rows]
    return math.fsum(weights) / (1 + math.fsum(weights))


@pytest.mark.parametrize("cap", [1, 3])
def test_items_of_one_person_alone_are_shown_with_delta_of_the_level(cap):
    """As many items as there are rows, each of one person alone, at the cap: one comes before bottom with delta."""
    plan = plan_pcr_batched(rho_budget("0.5", "0.01"), cap, rows=ROWS, levels=4, epsilon_first="0.4")
    alone = histogram([f"own {n:02}" for n in range(ROWS)], [cap] * ROWS)
    for level, call in enumerate(levels_of(alone, plan)):
        chance = shown_before_bottom(call, range(ROWS))

        assert chance <= float(level_delta(plan, level))
        assert chance > 0.9 * float(level_delta(plan, level))


def test_bottom_without_its_rows_shows_more():
    """Broken twin: odds for one row where there are twenty let an item be shown twenty times as often."""
    plan = plan_pcr_batched(rho_budget("0.5", "0.01"), rows=ROWS, levels=4, epsilon_first="0.4")
    (call, *_) = levels_of(histogram([f"own {n:02}" for n in range(ROWS)], [1] * ROWS), plan)
    call.priors[call.last] /= ROWS

    assert shown_before_bottom(call, range(ROWS)) > 10 * float(level_delta(plan, 0))


def test_all_draws_together_are_what_is_charged():
    """Each place epsilon²/8, each count 1/(2 sigma²), the second ones too: the sum is what the release says."""
    plan = plan_pcr_batched(rho_budget("0.1", "1e-6"), rows=100)
    source = Noting(1)
    outcome = run_pcr_batched(WORDS, plan, source)
    due, places = Fraction(0), 0
    for call in source.calls:
        if isinstance(call, AddGaussian):
            due += len(call.values) / (2 * call.variance)
        else:
            places = len(call.draw(SeededSource(1)))
            due += places * call.rate**2 / 8

    assert due == pytest.approx(float(zcdp.spent(outcome.cost).rho), rel=1e-9)
    assert zcdp.spent(outcome.cost).rho <= plan.rho


def test_two_counts_together_are_as_noisy_as_is_said():
    """Of many runs, the deviation of a count from the truth is that of its noise scale."""
    plan = plan_pcr_batched(rho_budget("0.1", "1e-6"), rows=100)
    true = dict(zip(WORDS.items.tolist(), WORDS.counts.tolist(), strict=True))
    off = []
    for seed in range(60):
        outcome = run_pcr_batched(WORDS, plan, SeededSource(seed))
        counts = np.array([true[item] for item in outcome.items.tolist()])
        off += ((outcome.counts - counts) / outcome.noise_scale).tolist()

    assert len(off) > 1500
    assert np.std(off) == pytest.approx(1, abs=0.06)
    assert float(level_epsilon(plan, 8)) == pytest.approx(0.008)
