"""LinkedIn's information and call units, and the four ways between budgets and guarantees."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.accounting import convert, zcdp
from hushcount.accounting import units as u
from hushcount.accounting.filters import Filter
from hushcount.accounting.normal import gaussian_delta
from hushcount.errors import InvalidParameter
from hushcount.model.costs import BoundedRange, Cost

MONTH = u.Units(information=3000, calls=30, epsilon_per=Decimal("0.15"), delta_per_call=Decimal("1e-10"))
TARGETS = {"epsilon": st.floats(0.1, 40), "total_delta": st.floats(1e-12, 1e-3)}


def test_units_of_each_query():
    """KnownLap the items per person, UnkLap 1, KnownGumb 2k (k for names), UnkGumb 2k + 1 (k + 1 for names)."""
    assert u.known_laplace(4) == 4
    assert u.unknown_laplace() == 1
    assert (u.known_gumbel(10), u.known_gumbel(10, counts=False)) == (20, 10)
    assert (u.unknown_gumbel(10), u.unknown_gumbel(10, counts=False)) == (21, 11)


def test_pay_what_you_get():
    """With bottom after j items 2(j + 1) units, or j + 2 for names; without, 2k + 1, or k + 1."""
    assert [u.unknown_gumbel_used(j, bottom=True) for j in (0, 3, 9)] == [2, 8, 20]
    assert [u.unknown_gumbel_used(j, bottom=True, counts=False) for j in (0, 3, 9)] == [2, 5, 11]
    assert u.unknown_gumbel_used(10, bottom=False) == 21
    assert u.unknown_gumbel_used(10, bottom=False, counts=False) == 11


@given(k=st.integers(1, 500), counts=st.booleans(), data=st.data())
@settings(deadline=None)
def test_reserve_covers_every_outcome(k, counts, data):
    """What UnkGumb used never exceeds what was reserved, and reaches it in the worst case."""
    items = data.draw(st.integers(0, k - 1))

    assert u.unknown_gumbel_used(items, bottom=True, counts=counts) <= u.unknown_gumbel(k, counts=counts)
    assert u.unknown_gumbel_used(k, bottom=False, counts=counts) == u.unknown_gumbel(k, counts=counts)


def test_erratum_3():
    """With k* = 2k left, the printed check lets UnkGumb run and the filter of the same budget catches the overspend."""
    k, step = 10, BoundedRange(epsilon=Decimal("0.15"))
    budget = Filter(zcdp.spent(Cost.of((step, 2 * k))).rho, 0)
    used = u.unknown_gumbel_used(k, bottom=False)

    assert not 2 * k > 2 * k  # the printed check `2k > k*` says: go on
    assert not budget.fits(Cost.of((step, used)))
    assert u.unknown_gumbel(k) > 2 * k


def test_month_of_linkedin():
    """(34.9, 7e-9) as printed; 33.782 by the tight conversion; 32.861 with delta counted once per call."""
    promise = u.guarantee(MONTH, "7e-9")

    assert promise.printed == pytest.approx(34.884, abs=5e-4)
    assert f"{promise.printed:.1f}" == "34.9"
    assert promise.converted == pytest.approx(33.782, abs=5e-4)
    assert promise.tight == pytest.approx(32.861, abs=5e-4)
    assert zcdp.spent(u.cost(MONTH)).rho == Decimal("8.4375")


def test_one_unit_overspent():
    """The overspend of erratum 3, one unit in 3000, adds 0.007 to epsilon."""
    more = u.Units(information=3001, calls=30, epsilon_per=MONTH.epsilon_per, delta_per_call=MONTH.delta_per_call)

    assert u.guarantee(more, "7e-9").tight - u.guarantee(MONTH, "7e-9").tight == pytest.approx(0.007, abs=5e-4)


def test_no_minimum_with_the_sum_of_epsilons():
    """Erratum 45: by their exact law ten Gaussian counts of 4 are (49.4, 1e-6)-DP; 40.0 would be too little."""
    ten = u.Units(information=10, calls=0, epsilon_per=Decimal(4), delta_per_call=Decimal(0))
    # Ten counts of deviation 2/4 are one Gaussian of mu² = 10 · 4²/4.
    exact = convert.gdp_epsilon(math.sqrt(10 * 4**2 / 4), "1e-6")
    promise = u.guarantee(ten, "1e-6")

    assert exact == pytest.approx(49.4, abs=0.1)
    assert min(promise.printed, promise.converted, promise.tight) >= exact > 40
    assert gaussian_delta(math.sqrt(40), 40.0) > 400e-6


def test_the_targets_are_met_by_gaussian_counts():
    """What the four solvers grant for epsilon = 40 is not ten units of 4, and holds for Gaussian counts."""
    assert u.solve_information(0, epsilon_per=4, epsilon=40, total_delta="1e-6") < 10
    assert u.solve_epsilon_per(10, 0, epsilon=40, total_delta="1e-6") < 4
    assert u.solve_calls(10, epsilon_per=4, delta_per_call="1e-9", epsilon=40, total_delta="1e-6") == 0
    with pytest.raises(InvalidParameter):
        u.solve_delta(10, 1, epsilon_per=4, epsilon=40, total_delta="1e-6")


def test_no_delta_left():
    """Where the calls use up delta, or use exactly delta, there is no epsilon."""
    assert u.guarantee(MONTH, "2e-9").tight == math.inf
    assert u.guarantee(MONTH, "3e-9").tight == math.inf
    assert u.guarantee(MONTH, "5e-9").printed == math.inf
    assert u.guarantee(MONTH, "5e-9").tight < 35


def test_calls_without_results():
    """No information units cost no epsilon, unless the calls alone exceed delta."""
    calls = u.Units(information=0, calls=30, epsilon_per=Decimal("0.15"), delta_per_call=Decimal("1e-10"))

    assert u.guarantee(calls, "3e-9").tight == 0.0
    assert u.guarantee(calls, "2e-9").tight == u.guarantee(calls, "5e-9").printed == math.inf


def test_delta_split_wastes_nothing():
    """Erratum 7: the printed split uses 5/6 of delta*; ours uses all of it, and grants a larger epsilon_per."""
    share = u.delta_per_call("6e-9", 30)
    printed = 2 * 30 * (Decimal("6e-9") / (6 * 30)) + Decimal("6e-9") / 2

    assert printed == Decimal("5e-9")
    assert 30 * share + Decimal("6e-9") / 2 == Decimal("6e-9")
    assert share == Decimal("1e-10")


@given(information=st.integers(1, 10_000), calls=st.integers(0, 200), **TARGETS)
@settings(deadline=None)
def test_solve_epsilon_per(information, calls, epsilon, total_delta):
    """The epsilon_per found meets the target; a part in 1e6 more does not."""
    found = u.solve_epsilon_per(information, calls, epsilon=epsilon, total_delta=total_delta)
    share = u.delta_per_call(total_delta, calls) if calls else Decimal(0)

    def tight(per):
        budget = u.Units(information=information, calls=calls, epsilon_per=per, delta_per_call=share)
        return u.guarantee(budget, total_delta).tight

    assert tight(found) <= math.nextafter(epsilon, math.inf)
    assert tight(found * Decimal("1.000001")) > epsilon


@given(calls=st.integers(0, 200), epsilon_per=st.floats(0.01, 1), **TARGETS)
@settings(deadline=None)
def test_solve_information(calls, epsilon_per, epsilon, total_delta):
    """The k* found meets the target and one more unit does not."""
    found = u.solve_information(calls, epsilon_per=epsilon_per, epsilon=epsilon, total_delta=total_delta)
    share = u.delta_per_call(total_delta, calls) if calls else Decimal(0)

    def tight(count):
        per = Decimal(repr(epsilon_per))
        budget = u.Units(information=count, calls=calls, epsilon_per=per, delta_per_call=share)
        return u.guarantee(budget, total_delta).tight

    assert tight(found) <= epsilon * (1 + 1e-15)
    assert tight(found + 1) > epsilon * (1 - 1e-9)


@given(information=st.integers(1, 3000), epsilon_per=st.floats(0.01, 0.3), share=st.floats(1e-13, 1e-6), **TARGETS)
@settings(deadline=None)
def test_solve_calls(information, epsilon_per, share, epsilon, total_delta):
    """The l* found meets the target and one more call does not; none fit where the information alone is too much."""
    per, each = Decimal(repr(epsilon_per)), Decimal(repr(share))
    found = u.solve_calls(information, epsilon_per=per, delta_per_call=each, epsilon=epsilon, total_delta=total_delta)

    def tight(count):
        budget = u.Units(information=information, calls=count, epsilon_per=per, delta_per_call=each)
        return u.guarantee(budget, total_delta).tight

    if found:
        assert tight(found) <= epsilon * (1 + 1e-9)

    assert tight(found + 1) > epsilon * (1 - 1e-9)


@given(information=st.integers(1, 3000), calls=st.integers(1, 200), epsilon_per=st.floats(0.01, 0.3), **TARGETS)
@settings(deadline=None)
def test_solve_delta(information, calls, epsilon_per, epsilon, total_delta):
    """The delta per call found meets the target and a thousandth more does not; refused where there is none."""
    per = Decimal(repr(epsilon_per))

    def tight(each):
        budget = u.Units(information=information, calls=calls, epsilon_per=per, delta_per_call=each)
        return u.guarantee(budget, total_delta).tight

    try:
        found = u.solve_delta(information, calls, epsilon_per=per, epsilon=epsilon, total_delta=total_delta)
    except InvalidParameter:
        assert tight(Decimal(0)) > epsilon * (1 - 1e-9)
    else:
        assert tight(found) <= epsilon * (1 + 1e-9)
        assert tight(found * Decimal("1.001")) > epsilon


def test_the_four_ways_agree_on_linkedin():
    """Any three of LinkedIn's numbers and its guarantee give back the fourth."""
    promise = u.guarantee(MONTH, "7e-9").tight
    target = {"epsilon": promise, "total_delta": "7e-9"}

    assert u.solve_information(30, epsilon_per="0.15", delta_per_call="1e-10", **target) == 3000
    assert u.solve_calls(3000, epsilon_per="0.15", delta_per_call="1e-10", **target) == 30
    assert float(u.solve_epsilon_per(3000, 30, delta_per_call="1e-10", **target)) == pytest.approx(0.15, rel=1e-9)
    assert float(u.solve_delta(3000, 30, epsilon_per="0.15", **target)) == pytest.approx(1e-10, rel=1e-9)


def test_bad_units_are_refused():
    """Negative counts, no items, and targets that are no guarantee are refused."""
    for call in (
        lambda: u.known_laplace(0),
        lambda: u.known_gumbel(0),
        lambda: u.unknown_gumbel_used(0, bottom=False),
        lambda: u.unknown_gumbel_used(-1, bottom=True),
        lambda: u.delta_per_call(1e-6, 0),
        lambda: u.guarantee(MONTH, 1),
        lambda: u.guarantee(u.Units(information=-1, calls=0, epsilon_per=Decimal(1), delta_per_call=Decimal(0)), 0.1),
        lambda: u.solve_epsilon_per(0, 1, epsilon=1, total_delta=1e-6),
        lambda: u.solve_information(1, epsilon_per=0, epsilon=1, total_delta=1e-6),
        lambda: u.solve_calls(1, epsilon_per=1, delta_per_call=0, epsilon=1, total_delta=1e-6),
        lambda: u.solve_delta(10**6, 1, epsilon_per=1, epsilon=1, total_delta=1e-6),
    ):
        with pytest.raises(InvalidParameter):
            call()
