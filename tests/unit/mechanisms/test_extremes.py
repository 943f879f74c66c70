"""The whole range of budgets, caps and bounds: every mechanism works, or refuses when planned, before any charge."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from hushcount.accounting import zcdp
from hushcount.app.intervals import intervals
from hushcount.app.receipt import promise
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.chooser import choose
from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold, tail_above
from hushcount.mechanisms.counts.unknown_domain import difference_tail, log_growth, plan_unknown_laplace
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.budgets import LEAST, MOST, epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.gaussian import require_variance
from hushcount.noise.laplace import require_rate
from hushcount.noise.source import SeededSource
from hushcount.noise.tsgd import require_truncation
from tests.unit.mechanisms.made_inputs import PUBLIC, input_for

AMOUNTS = (LEAST, "1e-12", "1e-4", "0.1", "10", "800", MOST)
DELTAS = (LEAST, "1e-6", "0.5")
BOUNDS = ((1, 1, 1), (1, 3, 4), (100_000, 1, 1), (10**6, 2**20, 9), (10**6, 3, 2))
# Its table grows with 1/epsilon up to two million people, which takes a while; it is refused beyond.
SLOW = {"optimal": ("0.1", "10", "800", MOST)}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
@pytest.mark.parametrize("currency", [rho_budget, epsilon_budget], ids=["rho", "epsilon"])
def test_works_or_refuses_before_the_charge(mechanism, currency):
    """What can be planned can be expected, promised, run and told with intervals; all else is an InvalidParameter."""
    worked, data = 0, input_for(mechanism)
    for amount, delta, (cap, bound, k) in itertools.product(
        SLOW.get(mechanism.name, AMOUNTS), DELTAS, BOUNDS if "per_item_cap" in mechanism.takes else BOUNDS[:2]
    ):
        facts = mechanism.fitting(Facts(max_items=bound, per_item_cap=cap, public_items=PUBLIC, k=k))
        try:
            plan = mechanism.plan(currency(amount, delta), facts)
        except InvalidParameter:
            continue
        mechanism.expect(plan)
        promise(plan.cost)
        intervals(mechanism.run(data, plan, SeededSource(1)))
        worked += 1

    # Refusing everything would pass the lines above.
    assert worked >= 15


@pytest.mark.parametrize("rho", [700, 800, MOST])
def test_unknown_laplace_at_a_large_budget(rho):
    """e^epsilon has no double there; the least offset is still the least that hides (OverflowError from 800 on)."""
    plan = plan_unknown_laplace(rho_budget(rho, "1e-6"), 1)

    def hidden(offset: int) -> bool:
        with mpmath.workdps(60):
            rate = mpmath.mpf(str(plan.epsilon))
            q, first = mpmath.exp(-rate), offset + 1
            middle = (1 + q * q) / (1 - q * q)
            tail = ((1 - q) / (1 + q)) ** 2 * q**first * ((first + middle) / (1 - q) + q / (1 - q) ** 2)
            return bool((mpmath.exp(rate) + 1) * plan.rows * tail <= mpmath.mpf("1e-6"))

    assert hidden(plan.offset)
    assert not hidden(plan.offset - 1)


def test_logarithms_are_those_of_the_tail():
    """Where doubles suffice, nothing changed: the tail, and e^epsilon + 1, to a billionth and rounded up."""
    for rate, level in ((0.01, 0), (0.3, 5), (2.0, 40)):
        q, p, first = math.exp(-rate), -math.expm1(-rate), level + 1
        direct = (p / (1 + q)) ** 2 * q**first * ((first + (1 + q * q) / (p * (1 + q))) / p + q / p**2)

        assert direct <= difference_tail(rate, level) <= direct * (1 + 1e-8)
    assert math.exp(log_growth(3.0)) == pytest.approx(math.exp(3) + 1, rel=1e-12)


@pytest.mark.parametrize("level", [-70_000, -2, 0, 90_000])
def test_wide_tails_are_bounds_on_both_sides(level):
    """Beyond 2^14 tails are integrals, below zero too: a sum of as many terms as the noise is wide took all memory."""
    narrow, wide = tail_above(16_000.0, level), tail_above(2.0**14 + 1, level)
    start = (level + 0.5) / (2.0**14 + 1) / math.sqrt(2)

    assert wide >= math.erfc(start) / 2
    assert wide == pytest.approx(math.erfc(start) / 2, abs=1e-4)
    assert abs(wide - narrow) < 0.01


@pytest.mark.parametrize("delta", ["1e-6", "0.5"])
def test_a_large_cap_takes_no_memory(delta):
    """A cap of a million at any delta: noise and threshold as large as it asks for, and the delta that they use."""
    plan = plan_gaussian_threshold(rho_budget("0.1", delta), 1, 10**6)

    assert plan.gaussian_stddev == pytest.approx(10**6 / math.sqrt(0.2))
    assert Decimal("0.9") * Decimal(delta) < zcdp.spent(plan.cost).delta <= Decimal(delta)


def test_noise_that_cannot_be_drawn_is_refused():
    """Too wide, too narrow, or cut so early that nearly every draw would be drawn again."""
    require_variance(Fraction(2**63))
    require_rate(Fraction(1, 2**32))
    require_truncation(Fraction(1, 100), 1)
    for refused in (
        lambda: require_variance(Fraction(2**64)),
        lambda: require_rate(Fraction(1, 2**33)),
        lambda: require_truncation(Fraction(1, 1000), 1),
    ):
        with pytest.raises(InvalidParameter):
            refused()


def test_a_rival_that_cannot_be_planned_is_not_chosen():
    """With a delta of one half and hardly any epsilon truncated noise cannot be drawn, and others are compared."""
    choice = choose("count", epsilon_budget("0.001", "0.5"), Facts(max_items=1))

    assert "tsgd" not in choice.cutoffs
    assert choice.cutoffs
    with pytest.raises(InvalidParameter, match="noise"):
        choose("count", rho_budget(LEAST, "1e-6"), Facts(max_items=1))
