"""Limits in three currencies, each shown in the others, always against the spender."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.accounting import units, zcdp
from hushcount.accounting.spent import Spent
from hushcount.accounting.units import Units
from hushcount.errors import InvalidParameter
from hushcount.ledger import limits
from hushcount.ledger.limits import epsilon_limit, more_like, rho_limit, show, ten_standard_releases, units_limit

LINKEDIN = Units(information=3000, calls=30, epsilon_per=Decimal("0.15"), delta_per_call=Decimal("1e-10"))
SMALL = st.decimals(min_value="0.0001", max_value="50", allow_nan=False, places=6).filter(lambda value: value > 0)


def test_linkedins_month_in_all_currencies():
    """3000 units of 0.15 and 30 calls of 1e-10 are rho = 8.4375, delta = 3e-9, and epsilon = 33 at twice that delta."""
    limit = units_limit(LINKEDIN)
    shown = show(limit.ceiling, limit, rounding="down")

    assert limit.ceiling == Spent(rho=Decimal("8.4375"), delta=Decimal("3e-9"))
    assert (shown.information, shown.calls, shown.epsilon_delta) == (3000, 30, Decimal("6e-9"))
    assert 32.8 < shown.epsilon < 33.2


def test_a_rho_limit_is_shown_in_linkedins_units():
    """A limit set as rho is shown in units of 0.15 and 1e-10, rounded down as a rest and up as a sum."""
    limit = rho_limit("0.1", "1e-6")
    left, spent = (show(limit.ceiling, limit, rounding=rounding) for rounding in ("down", "up"))

    assert (left.information, spent.information) == (35, 36)
    assert left.calls == spent.calls == 10_000


@given(SMALL, st.sampled_from(["1e-9", "1e-6", "0.01"]))
def test_an_epsilon_limit_keeps_its_promise(epsilon, delta):
    """Whatever fills the ceiling of an (epsilon, delta) limit is (epsilon, delta)-DP."""
    limit = epsilon_limit(epsilon, delta)

    assert limit.ceiling.delta * 2 <= Decimal(delta)
    assert zcdp.epsilon_spent(limit.ceiling, delta) <= float(epsilon) * (1 + 1e-12)
    assert zcdp.epsilon_spent(limit.ceiling, delta) >= float(epsilon) * (1 - 1e-6)
    assert show(limit.ceiling, limit, rounding="down").epsilon_delta == Decimal(delta)


@given(st.integers(0, 5000), st.integers(0, 60))
def test_exactly_k_units_and_l_calls_fit(information, calls):
    """Of LinkedIn's units exactly as many fit as were given, and not one more."""
    budget = Units(information=information, calls=calls, epsilon_per=Decimal("0.15"), delta_per_call=Decimal("1e-10"))
    ceiling = units_limit(budget).ceiling
    more = zcdp.spent(
        units.cost(
            Units(
                information=information + 1,
                calls=calls + 1,
                epsilon_per=budget.epsilon_per,
                delta_per_call=Decimal("1e-10"),
            )
        )
    )

    assert ceiling == zcdp.spent(units.cost(budget))
    assert more.rho > ceiling.rho
    assert more.delta > ceiling.delta


@given(
    st.sampled_from(["units", "rho", "epsilon"]),
    SMALL,
    st.sampled_from(["day", "none"]),
    st.sampled_from(["track", "enforce"]),
)
def test_limits_survive_json(kind, value, window, mode):
    """A limit written to the log is read back the same, digit by digit."""
    made = {
        "units": lambda: units_limit(LINKEDIN, window, mode=mode),
        "rho": lambda: rho_limit(value, "1e-7", window=window, mode=mode),
        "epsilon": lambda: epsilon_limit(value, "1e-7", window=window, mode=mode),
    }[kind]()

    assert limits.from_json(limits.to_json(made)) == made


@pytest.mark.parametrize(
    ("left", "asked", "count"),
    [
        ((1, 0), ("0.1", 0), 10),
        (("0.99", 1), ("0.1", 0), 9),
        ((1, "3e-6"), ("0.1", "1e-6"), 3),
        ((-1, 1), ("0.1", 0), 0),
        ((1, 1), (0, 0), None),
    ],
)
def test_about_n_more_queries_like_this(left, asked, count):
    """How many more fit is the smaller of what rho and delta allow; a free query has no number."""
    amounts = [Spent(rho=Decimal(rho), delta=Decimal(delta)) for rho, delta in (left, asked)]

    assert more_like(*amounts) == count


def test_nothing_and_too_much_can_be_shown():
    """Zero spent is epsilon = 0; more failures than the stated delta is epsilon = infinity; debts show as no units."""
    limit = rho_limit(1, "1e-6")

    assert show(Spent(), rounding="up").epsilon == 0
    assert show(Spent(rho=Decimal(1), delta=Decimal("1e-5")), limit, rounding="up").epsilon == math.inf
    assert show(Spent(rho=Decimal(-1)), limit, rounding="down").information == 0


def test_what_is_left_of_a_limit_that_was_cut_below_what_was_spent_is_nothing():
    """Also if one part of it has some left: with a delta below zero there is no epsilon to be had."""
    left = Spent(rho=Decimal("0.01"), delta=Decimal("-9e-7"))
    shown = show(left, rho_limit("0.1", "1e-7"), rounding="down")

    assert (shown.epsilon, shown.calls) == (0.0, 0)


def test_a_new_data_set_has_ten_standard_releases():
    """The starting limit holds ten releases of rho = 0.1 and delta = 1e-6 a month."""
    limit = ten_standard_releases()

    assert more_like(limit.ceiling, Spent(rho=Decimal("0.1"), delta=Decimal("1e-6"))) == 10
    assert (limit.window, limit.mode) == ("month", "enforce")


@pytest.mark.parametrize("bad", [{"window": "year"}, {"mode": "warn"}, {"delta": 1}, {"rho": -1}, {"rho": "nan"}])
def test_impossible_limits_are_refused(bad):
    """Unknown windows and modes, a delta of one and negative amounts are no limits."""
    with pytest.raises(InvalidParameter):
        rho_limit(**{"rho": 1, "delta": "0.1", **bad})
