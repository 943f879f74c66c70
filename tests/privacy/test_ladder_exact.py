"""All outputs of the ladder on small tables, beside its claim, for all orders and up to one; and what breaks it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from hushcount.audit.exact.step import compare
from hushcount.audit.keep_ladders import steepest_step
from hushcount.audit.neighbours import table
from hushcount.audit.twins.ladders import heavier
from hushcount.audit.twins.twin import Original
from hushcount.engines.incidence import incidence
from hushcount.mechanisms.selection.ladder import plan_ladder, run_ladder
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import SeededSource

MAX_ITEMS = 3


class Listening(SeededSource):
    """A source that keeps the calls."""

    def __init__(self) -> None:
        super().__init__(0)
        self.calls = []

    def perform(self, call):
        """As ever."""
        self.calls.append(call)
        return super().perform(call)


def plan_of(order: str, delta: str = "0.1"):
    """One round for three items, where delta is so large that what it pays for shows."""
    return plan_ladder(replace(rho_budget(1, delta), order=Decimal(order)), MAX_ITEMS)


def worst(plan) -> float:
    """The largest proven delta beside the claimed one, over items that nobody else or up to three others hold."""
    found = []
    for others in range(4):
        for held in (1, 3):
            pair = table(dict.fromkeys("abc"[:held], others), "abc"[:held], "made up")
            subject = Original(mechanism="ladder", facts=Facts(max_items=MAX_ITEMS), plan=plan, pairs=(pair,)).sound
            found.append(compare(subject, pair, quick=True))
    return max(found)


@pytest.mark.parametrize("order", ["Infinity", "16", "4"])
@pytest.mark.parametrize("delta", ["0.1", "0.01"])
def test_no_output_tells_more_than_is_claimed(order, delta):
    """At every epsilon, both ways; and the claim is nearly reached, by an item of one person alone."""
    found = worst(plan_of(order, delta))

    assert found <= 1
    assert found > 0.98


@pytest.mark.parametrize("order", ["Infinity", "16"])
def test_a_quarter_more_weight_is_seen(order):
    """Mutant: the final curve is not tight, so a twentieth would not show here; `steepest_step` sees that."""
    assert worst(heavier(plan_of(order, "0.01"), Fraction(5, 4))) > 1.2


@pytest.mark.parametrize("order", ["Infinity", "16"])
@pytest.mark.parametrize(("times", "sound"), [(Fraction(1), True), (Fraction(106, 100), False)])
def test_six_per_cent_more_weight_is_seen_in_the_steps(order, times, sound):
    """The auditor's own formula agrees with the certificate, and does not let heavier weights pass."""
    plan = heavier(plan_of(order, "0.01"), times)
    source = Listening()
    run_ladder(incidence(["p", "q"], ["a", "a"]), plan, source)
    (call,) = source.calls

    assert (steepest_step(call).share <= 1 + 1e-6) == sound
