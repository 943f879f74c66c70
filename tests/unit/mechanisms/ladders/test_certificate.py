"""The certificate: what it lets pass is within the allowance, by high precision; what is not, it stops."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

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
