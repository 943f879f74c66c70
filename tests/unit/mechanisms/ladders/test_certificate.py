"""The certificate: what it lets pass is within the allowance, by high precision; what is not, it stops."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from hushcount.mechanisms.ladders import certificate as code
from hushcount.mechanisms.ladders.certificate import excess


def divergence(one: float, two: float, order: float) -> Decimal:
    """D_a between two coins, from the definition, to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        p, q, a = Decimal(one), Decimal(two), Decimal(order)
        return (p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)).ln() / (a - 1)


def told(q: float, p: float, orders: list[float]) -> float:
    """The largest D_a / a of both ways at some orders."""
    return max(float(divergence(*pair, order)) / order for order in orders for pair in ((p, q), (q, p)))


STEPS = np.random.default_rng(13)


@pytest.mark.parametrize("cap", [1.5, 10.0, 16.0, math.inf])
def test_it_is_an_upper_bound_at_random_steps_and_orders(cap):
    """For random steps, no order up to the cap tells more than the certificate says, nor much less than it says."""
    for _ in range(10):
        q = float(np.exp(-20 * STEPS.random()) / 2)
        p = float(q + (1 - 2 * q) * q * (math.exp(3 * STEPS.random() ** 3) - 1) + 1e-4 * q)
        p = min(p, 0.9)
        most = max(math.log(p / q), math.log((1 - q) / (1 - p)))
        allowance = float(most / (1 + 40 * STEPS.random()))
        last = min(cap, 2 + most / allowance)
        orders = [1 + (last - 1) * math.exp(-10 * (1 - n / 25)) for n in range(26)]
        found = float(excess(np.array([q]), np.array([p]), allowance, cap=cap)[0])

        exact = told(q, p, orders) / allowance
        assert exact <= found
        assert found <= exact * 1.03 + 1e-9


def told_by_all(q, p, allowance, *, cap):
    """The certificate without a short cut: every order of its grid, and both ways, in doubles."""
    up, down = np.log1p((p - q) / q), np.log1p(-(p - q) / (1 - q))
    last = max(min(cap, 2 + float(np.maximum(up, -down).max()) / allowance) - 1, 2e-3)
    orders = 1 + 1e-3 * np.exp(np.linspace(0, math.log(last / 1e-3), math.ceil(math.log(last / 1e-3, 1.07)) + 1))
    gaps = np.diff(orders)
    limits = orders * (orders - 1) - np.maximum(np.append(gaps, 0), np.append(0, gaps)) ** 2 / 4
    limits[0] = min(limits[0], orders[0] - 1)
    worst = np.zeros(len(q))
    for start, gain, loss in ((q, up, down), (p, -up, -down)):
        moments = start * np.expm1(orders[:, None] * gain) + (1 - start) * np.expm1(orders[:, None] * loss)
        worst = np.maximum(worst, (np.log1p(moments) / limits[:, None]).max(axis=0))
    return worst / allowance


@pytest.mark.parametrize("cap", [1.0005, 1.5, 10.0, 16.0, math.inf])
@pytest.mark.parametrize("allowance", [1e-6, 1e-3, 0.05, 0.7])
def test_short_cuts_leave_nothing_out(cap, allowance):
    """Orders that are not worked out, and the way that is not, never tell more than what is told."""
    q = np.exp(-25 * STEPS.random(300)) / 1.01
    p = q + (1 - q) * np.minimum(0.99, q * np.expm1(4 * STEPS.random(300) ** 4 * math.sqrt(allowance)))
    found, told_in_all = excess(q, p, allowance, cap=cap), told_by_all(q, p, allowance, cap=cap)

    assert np.all(found >= told_in_all * (1 - 1e-10))
    # What is taken off for rounding is much of a tiny step.
    assert np.all(found <= told_in_all * (1 + 1e-8) + 1e-3)


def test_a_short_cut_too_many_is_seen(monkeypatch):
    """Mutant: the orders between those that are always tried are never tried."""
    q, p = np.exp(-25 * STEPS.random(300)) / 2, np.full(300, 0.5)
    monkeypatch.setattr(code, "_SLACK", 0.0)

    assert np.any(excess(q, p, 0.05, cap=16.0) < 0.999 * told_by_all(q, p, 0.05, cap=16.0))


def test_the_steeper_way_tells_more():
    """Of the two ways the one in which the larger logarithm is the gain, at every order, to fifty digits."""
    for _ in range(40):
        q = float(np.exp(-15 * STEPS.random()) / 1.1)
        p = float(q + (1 - q) * 0.98 * STEPS.random())
        ways = (p, q), (q, p)
        first, second = ways if p + q <= 1 else ways[::-1]
        for order in (1.001, 1.5, 2.0, 7.0, 60.0):
            assert divergence(*first, order) >= divergence(*second, order)


def test_orders_beyond_the_cap_are_not_claimed():
    """A step that is within an allowance up to order ten need not be so at order forty: the cap is needed."""
    q, p = np.array([1e-7]), np.array([3.95e-7])

    assert excess(q, p, 0.001, cap=10.0) <= 1
    assert excess(q, p, 0.001, cap=math.inf) > 5
    assert told(1e-7, 3.95e-7, [40.0]) > 0.005


def test_a_slightly_longer_step_is_refused():
    """Half a per cent more than the largest step, in the logarithm of the odds, is not within."""
    q, largest = 1e-4, 1.986593e-4
    longer = q * math.exp(1.005 * math.log(largest / q))

    assert excess(np.array([q]), np.array([longer]), 0.001, cap=10.0) > 1


def test_what_overflows_proves_nothing():
    """A step so long that doubles end is not let pass by accident."""
    assert excess(np.array([1e-300]), np.array([0.5]), 1e-9, cap=math.inf) == math.inf
