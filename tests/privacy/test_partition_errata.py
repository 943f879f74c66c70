"""DVGM's optimal primitive and truncated noise: exact on the grid, and the usual slips fail the same inequalities."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hushcount.accounting import basic, zcdp
from hushcount.audit.twins import formulas
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.counts.tsgd import end_mass, plan_tsgd
from hushcount.mechanisms.selection.optimal import keep_probability, keep_table, midpoint, plan_optimal
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.noise.bernoulli import accept
from tests.privacy.exact import truncated_geometric, worst_hockey_stick

ONE = 1 << 128
EPSILONS = ["0.001", "0.01", "0.1", "0.5", "1", "5"]
DELTAS = ["1e-15", "1e-10", "1e-6", "1e-2"]


def growth_between(epsilon: str) -> tuple[Fraction, Fraction]:
    """Rationals just below and just above e^epsilon."""
    with mpmath.workdps(90):
        value = Fraction(mpmath.nstr(mpmath.exp(mpmath.mpf(epsilon)), 80))
    return value * (1 - Fraction(1, 10**75)), value * (1 + Fraction(1, 10**75))


def broken_inequalities(table, growth: Fraction, delta: Fraction, scale: int = ONE) -> set[int]:
    """Which of the inequalities (1)-(4) of DVGM section 2.1 fail somewhere, in exact arithmetic, for a given e^epsilon.

    (1) pi(n+1) <= e pi(n) + delta; (2) 1 - pi(n+1) <= e (1 - pi(n)) + delta; (3) and (4) the same with n and n + 1
    exchanged.
    """
    up, down, step = growth.numerator, growth.denominator, delta * scale * growth.denominator
    broken = set()
    for now, then in itertools.pairwise(table):
        checks = {
            1: then * down <= now * up + step,
            2: (scale - then) * down <= (scale - now) * up + step,
            3: now * down <= then * up + step,
            4: (scale - now) * down <= (scale - then) * up + step,
        }
        broken |= {number for number, holds in checks.items() if not holds}
    return broken


@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "1", "5"])
@pytest.mark.parametrize("delta", ["1e-15", "1e-6", "0.01", "0.3"])
def test_erratum_21_the_table_holds_all_four_inequalities_exactly(epsilon, delta):
    """pi_opt's table satisfies (1)-(4) in integers, for a rational below e^epsilon, from 0 at nobody up to 1."""
    table = keep_table(Decimal(epsilon), Decimal(delta))

    assert table[0] == 0
    assert table[-1] == ONE
    assert list(table) == sorted(set(table))
    assert not broken_inequalities(table, growth_between(epsilon)[0], Fraction(delta))


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("delta", ["1e-6", "0.05"])
def test_the_table_cannot_be_raised(epsilon, delta):
    """Raising any entry below one by 2^-60 breaks an inequality even for a rational above e^epsilon: pi is optimal."""
    table, growth = keep_table(Decimal(epsilon), Decimal(delta)), growth_between(epsilon)[1]

    for n in range(1, len(table) - 1):
        raised = [table[n - 1], min(table[n] + (1 << 68), ONE)]
        assert broken_inequalities(raised, growth, Fraction(delta)) & {1, 4}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_erratum_21_the_closed_form_is_the_table(epsilon, delta):
    """The closed form of Theorem 1, with n1 as the library computes it, equals the recurrence to 1e-6 up to 20,000."""
    table = keep_table(Decimal(epsilon), Decimal(delta))
    places = range(0, min(len(table), 20_000), max(1, len(table) // 2000))

    worst = max(abs(keep_probability(float(epsilon), float(delta), n) - table[n] / ONE) for n in places)
    assert worst <= 1e-6


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-10"), ("1", "1e-15"), ("0.01", "1e-2")])
def test_the_table_is_the_recurrence(epsilon, delta):
    """In sixty digits, the least of the two bounds and one gives the table to a part in 1e20, from below."""
    table = keep_table(Decimal(epsilon), Decimal(delta))
    with mpmath.workdps(60):
        growth, step, exact = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta), mpmath.mpf(0)
        for entry in table[1:]:
            exact = min(growth * exact + step, 1 - (1 - exact - step) / growth, mpmath.mpf(1))
            assert -1e-20 <= mpmath.mpf(entry) / ONE / exact - 1 <= 1e-37


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), ("0.5", "1e-2"), ("1", "1e-5")])
def test_erratum_21_a_crossover_one_too_large_breaks_the_fourth_inequality(epsilon, delta):
    """The closed form with n1 + 1 violates (4); with n1, in the same doubles, nothing."""
    rate, share = float(epsilon), float(delta)
    first = 1 + math.floor(math.log1p(math.tanh(rate / 2) * (1 / share - 1)) / rate)
    # A billionth of delta more, for the rounding of doubles.
    allowed, growth = Fraction(share) * (1 + Fraction(1, 10**9)), growth_between(epsilon)[1]

    def broken(crossover: int) -> set[int]:
        table = formulas.keep_table_past_crossover(rate, share, crossover=crossover, length=2 * first)
        return broken_inequalities([Fraction(entry) for entry in table], growth, allowed, scale=1)

    assert not broken(first)
    assert broken(first + 1) == {4}


class Words:
    """Draws of one row whose uniform number is the given fraction."""

    def __init__(self, uniform: Fraction) -> None:
        self.uniform = uniform

    def __len__(self) -> int:
        return 1

    def word(self, row: int, counter: int) -> int:
        """The word at this depth of uniform number 0."""
        return math.floor(self.uniform * 2 ** (64 * ((counter >> 32) + 1))) % 2**64

    def words(self, counter: int):
        """The same, as a row."""
        return np.array([self.word(0, counter)], dtype=np.uint64)

    def at(self, rows):
        """The only row."""
        return self


@pytest.mark.parametrize("bits", [60, 100, 130])
def test_erratum_21_the_coin_is_finer_than_a_double(bits):
    """For a probability of 2^-100, a uniform number one part in a million above is refused; `rand <= p` would not."""
    chance = Fraction(1, 2**bits)

    def toss(uniform: Fraction) -> bool:
        return bool(accept(Words(uniform), np.array([float(chance)]), lambda _row, _digits: (chance, chance))[0])

    assert toss(chance * (1 - Fraction(1, 10**6)))
    assert not toss(chance * (1 + Fraction(1, 10**6)))
    assert not toss(chance)
    assert formulas.chance_of_double_at_most(float(chance)) >= 64 * chance


@pytest.mark.parametrize("least", [1, 2, 10])
def test_erratum_21_pre_thresholding_shifts_the_table(least):
    """With at least m people wanted, the even chance moves up by m - 1 and nothing else is spent."""
    plain, shifted = (plan_optimal(epsilon_budget(1, "1e-5"), 1, least=m) for m in (1, least))

    assert midpoint(shifted) == midpoint(plain) + least - 1
    assert shifted.cost == plain.cost


# Erratum 20: several items for each person


@pytest.mark.parametrize("plan", [plan_optimal, plan_tsgd])
@pytest.mark.parametrize("max_items", [1, 2, 3])
def test_erratum_20_the_budget_is_split_over_the_items_of_a_person(plan, max_items):
    """All items of a person together cost at most the budget, in both currencies; four items are refused."""
    pure, concentrated = epsilon_budget("0.7", "1e-5"), rho_budget("0.1", "1e-5")
    total = basic.guarantee(plan(pure, max_items).cost)
    spent = zcdp.spent(plan(concentrated, max_items).cost)

    assert total.epsilon <= pure.epsilon
    assert total.delta <= pure.delta
    assert total.epsilon > pure.epsilon * Decimal("0.999999")
    assert spent.rho <= concentrated.rho
    assert spent.delta <= concentrated.delta
    with pytest.raises(InvalidParameter, match="at most 3"):
        plan(pure, 4)


def names_law(chances):
    """The law of which of a person's items are named."""
    law = {(): 1.0}
    for chance in chances:
        law = {(*shown, yes): p * (chance if yes else 1 - chance) for shown, p in law.items() for yes in (False, True)}
    return law


@pytest.mark.parametrize("max_items", [2, 3])
def test_erratum_20_without_the_split_two_items_cost_twice(max_items):
    """A person of two or three items breaks (epsilon, delta) if each item gets all of it; the split keeps it."""
    epsilon, delta = 1.0, 0.05

    def worst(plan) -> float:
        table = [entry / ONE for entry in plan.table]
        pairs = [([table[n + 1]] * max_items, [table[n]] * max_items) for n in range(len(table) - 1)]
        return max(worst_hockey_stick(names_law(one), names_law(two), epsilon) for one, two in pairs)

    assert worst(plan_optimal(epsilon_budget(epsilon, delta), max_items)) <= delta
    assert worst(plan_optimal(epsilon_budget(epsilon, delta), 1)) > 1.9 * delta


# k-TSGD


@pytest.mark.parametrize(
    ("epsilon", "delta", "bound", "spent"),
    [("1", "1e-5", 11, 7.718e-6), ("0.1", "1e-5", 86, 9.199e-6), ("0.5", "1e-8", 35, 0.615e-8)],
)
def test_erratum_20_the_ceiling_of_k_leaves_delta_unspent(epsilon, delta, bound, spent):
    """The bound k and the delta that is really spent: 0.77, 0.92 and 0.61 of what was given; only that is charged."""
    plan = plan_tsgd(epsilon_budget(epsilon, delta), 1)
    charged = basic.guarantee(plan.cost).delta

    assert plan.bound == bound
    assert float(charged) == pytest.approx(spent, rel=1e-3)
    assert float(charged) == pytest.approx(truncated_geometric(float(epsilon), bound)[bound], rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("0.1", "1e-5"), ("0.3", "0.1"), ("2", "0.01")])
def test_a_bound_one_too_low_overspends(epsilon, delta):
    """With k - 1 the noise reaches its end with probability above delta, which is what one person's item shows."""
    plan = plan_tsgd(epsilon_budget(epsilon, delta), 1)

    assert end_mass(plan.epsilon, plan.bound) <= Fraction(delta)
    assert plan.bound == 1 or truncated_geometric(float(epsilon), plan.bound - 1)[plan.bound - 1] > float(delta)


@pytest.mark.parametrize(("epsilon", "bound"), [("0.5", 4), ("1", 3), ("0.2", 12)])
def test_truncated_noise_names_as_the_optimal_primitive(epsilon, bound):
    """Where delta makes k whole, k-TSGD shows an item of n people with probability pi_opt(n) (DVGM Theorem 5)."""
    delta = end_mass(Decimal(epsilon), bound)
    noise = truncated_geometric(float(epsilon), bound)
    shown = [math.fsum(p for x, p in noise.items() if n + x > bound) for n in range(2 * bound + 2)]
    table = keep_table(Decimal(epsilon), Decimal(delta.numerator) / Decimal(delta.denominator))

    assert shown == pytest.approx([table[min(n, len(table) - 1)] / ONE for n in range(2 * bound + 2)], abs=1e-12)
