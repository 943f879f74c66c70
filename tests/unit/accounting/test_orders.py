"""Costs that are known up to a Renyi order: conversions go no higher, sums carry the smallest, others are refused."""

from __future__ import annotations

import math
from decimal import Decimal

import mpmath
import pytest

from hushcount.accounting import basic, convert, gdp, zcdp
from hushcount.accounting.filters import Filter, refuse_lower_order
from hushcount.errors import BudgetExhausted, InvalidParameter, UnsupportedCost
from hushcount.model.costs import EVERY_ORDER, Concentrated, Cost, Failure, Gaussian, Pure, Truncated

MP = mpmath.mp.clone()
MP.dps = 40
TENTH = Decimal("0.1")


def truncated(rho="0.1", order="16"):
    """One step."""
    return Truncated(rho=Decimal(rho), order=Decimal(order))


@pytest.mark.parametrize(
    ("rho", "delta", "order", "expected"),
    [
        ("0.1", "3.955e-5", "Infinity", 1.765004),
        ("0.1", "3.955e-5", "10", 1.765004),
        ("0.1", "1e-6", "10", 2.1739),
        ("0.1", "1e-6", "12", 2.14194),
        ("0.1", "1e-6", "Infinity", 2.14194),
        ("0.01", "1e-6", "16", 0.83166),
        ("0.01", "1e-6", "33.2", 0.62169),
    ],
)
def test_epsilon_by_orders_up_to_a_cap(rho, delta, order, expected):
    """The printed numbers, to the digits given; a cap above the best order costs nothing."""
    found = convert.epsilon_for(rho, delta0=0, total_delta=delta, order=Decimal(order))

    assert round(found, len(f"{expected}".partition(".")[2])) == expected


def test_the_epsilon_of_a_standard_release_is_rounded_up():
    """1.765004: whoever prints four digits prints 1.7651, not 1.7650."""
    found = convert.epsilon_for("0.1", delta0=0, total_delta="3.955e-5", order=Decimal(10))

    assert 1.765 < found < 1.7651
    assert f"{math.ceil(found * 1e4) / 1e4}" == "1.7651"


@pytest.mark.parametrize(("rho", "order"), [("0.01", 33.1), ("0.05", 15.9), ("0.1", 11.66), ("0.5", 5.91), ("1", 4.51)])
def test_best_orders(rho, order):
    """At delta 1e-6; and 9.86 for a tenth at 3.955e-5."""
    assert convert.order_for(rho, delta0=0, total_delta="1e-6") == pytest.approx(order, abs=0.05)
    assert convert.order_for("0.1", delta0=0, total_delta="3.955e-5") == pytest.approx(9.86, abs=0.005)


@pytest.mark.parametrize("order", ["1.5", "3", "7.3", "16", "50"])
@pytest.mark.parametrize("rho", ["0.003", "0.1", "2"])
def test_no_order_up_to_the_cap_gives_less(rho, order):
    """The answer is the least of the bound over a fine grid of allowed orders, in forty digits, both ways round."""
    delta, cap = MP.mpf("1e-6"), MP.mpf(order)
    grid = [1 + (cap - 1) * MP.mpf(n) / 4000 for n in range(1, 4001)]
    best = min(MP.mpf(rho) * a + MP.log(1 - 1 / a) - (MP.log(delta) + MP.log(a)) / (a - 1) for a in grid)
    found = convert.epsilon_for(rho, delta0=0, total_delta="1e-6", order=Decimal(order))

    assert float(best) * (1 - 1e-5) <= found <= float(best) * (1 + 1e-12)
    assert convert.zcdp_delta(rho, Decimal(found), Decimal(order)) == pytest.approx(1e-6, rel=1e-4)
    back = convert.rho_for(found, total_delta="1e-6", order=Decimal(order))
    assert back == pytest.approx(float(rho), rel=1e-5)
    assert convert.epsilon_for(Decimal(back), delta0=0, total_delta="1e-6", order=Decimal(order)) <= found


def test_an_order_of_one_says_nothing():
    """There is no conversion without an order above one."""
    with pytest.raises(InvalidParameter, match="order"):
        convert.epsilon_for("0.1", delta0=0, total_delta="1e-6", order=Decimal(1))
    with pytest.raises(InvalidParameter, match="order"):
        zcdp.spent(Cost.of(truncated(order="1")))


def test_a_cost_carries_the_smallest_order_of_its_events():
    """Sums of rho are as ever, whatever the orders are; the sum is known for the smallest."""
    cost = Cost.of(truncated(), (truncated("0.01", "33"), 2), Concentrated(rho=TENTH), Failure(delta=Decimal("1e-6")))

    assert cost.order == 16
    assert zcdp.spent(cost).rho == Decimal("0.22")
    assert Cost.of(Concentrated(rho=TENTH)).order == EVERY_ORDER
    assert zcdp.epsilon(cost, "1e-5") == convert.epsilon_for(
        "0.22", delta0="1e-6", total_delta="1e-5", order=Decimal(16)
    )


def test_a_truncated_cost_is_not_told_by_higher_orders():
    """The same rho at all orders has a smaller epsilon where the best order is above the cap, and never a larger."""
    capped, free = Cost.of(truncated("0.01")), Cost.of(Concentrated(rho=Decimal("0.01")))

    assert zcdp.epsilon(capped, "1e-6") > 1.3 * zcdp.epsilon(free, "1e-6")
    assert zcdp.delta(capped, "0.62") > 5 * zcdp.delta(free, "0.62")
    assert zcdp.epsilon(Cost.of(truncated("0.1")), "1e-6") == zcdp.epsilon(Cost.of(Concentrated(rho=TENTH)), "1e-6")


def test_accountants_without_a_theorem_refuse_it():
    """It is neither Gaussian DP nor pure; beside Gaussian or pure steps too."""
    for accountant, beside in ((gdp, Gaussian(rho=TENTH)), (basic, Pure(epsilon=TENTH))):
        assert accountant.supports(Cost.of(beside))
        assert not accountant.supports(Cost.of(beside, truncated()))
        with pytest.raises(UnsupportedCost, match="Truncated"):
            accountant.epsilon(Cost.of(beside, truncated()), "1e-6")


def test_it_survives_json():
    """The kind is written by name and read back, order and all."""
    cost = Cost.of(truncated(), Failure(delta=Decimal("1e-6")))

    assert Cost.from_json(cost.to_json()) == cost
    assert {"kind": "truncated", "times": 1, "rho": "0.1", "order": "16"} in cost.to_json()["events"]


def test_a_filter_refuses_what_is_known_of_fewer_orders():
    """Before anything is spent; what is known of more fits as ever."""
    guard = Filter(1, "1e-5", order=Decimal(16))
    for cost in (Cost.of(truncated(order="15.9")), Cost.of(truncated(), truncated(order="4"))):
        assert not guard.fits(cost)
        assert guard.times(cost) == 0
        with pytest.raises(UnsupportedCost, match="orders up to 16"):
            guard.spend(cost)
    guard.spend(Cost.of(truncated(), Concentrated(rho=TENTH), truncated("0.1", "33")))

    assert guard.spent.rho == Decimal("0.3")
    with pytest.raises(BudgetExhausted):
        guard.spend(Cost.of((truncated(), 8)))
    with pytest.raises(UnsupportedCost):
        Filter(1, "1e-5").spend(Cost.of(truncated()))
    refuse_lower_order(Cost.of(truncated()), Decimal(16))
