"""Steps: the largest that the allowance permits, to the digits of the table, and never more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushcount.mechanisms.ladders import steps as code
from hushcount.mechanisms.ladders.certificate import excess
from hushcount.mechanisms.ladders.steps import Allowance, grid, staircase

# q, rho/d, cap, and the largest p by exact orders.
LARGEST = [
    (1e-5, 0.1, 10, 7.777852e-05),
    (0.1, 0.1, 10, 2.308257e-01),
    (0.5, 0.1, 10, 7.120885e-01),
    (0.5, 0.1, math.inf, 7.120885e-01),
    (1e-5, 0.1, math.inf, 7.736608e-05),
    (1e-7, 0.001, 10, 3.957261e-07),
    (1e-4, 0.001, 10, 1.985596e-04),
    (1e-4, 0.001, 16, 1.639448e-04),
    (1e-4, 0.001, math.inf, 1.210387e-04),
    (0.01, 0.001, 10, 1.295683e-02),
    (0.5, 0.001, 10, 5.223486e-01),
]


def largest(q: float, rho: float, cap: float) -> float:
    """U(q) by bisection on the divergences themselves, at orders so dense that seven digits are right."""

    def fits(p):
        most = max(math.log(p / q), math.log((1 - q) / (1 - p)))
        last = min(cap, 1.01 + most / rho)
        orders = 1 + np.exp(np.linspace(math.log(1e-7), math.log(last - 1), 8000))
        told = 0.0
        for one, two in ((p, q), (q, p)):
            up, down = orders * math.log(one / two), orders * (math.log1p(-one) - math.log1p(-two))
            with np.errstate(over="ignore"):
                moment = np.log1p(two * np.expm1(up) + (1 - two) * np.expm1(down))
            told = max(told, float((moment / (orders * (orders - 1))).max()))
        return told <= rho

    low, high = q, 1 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def odds(p: float) -> float:
    """The logarithm of the odds."""
    return math.log(p / (1 - p))


@pytest.mark.parametrize(("q", "rho", "cap", "expected"), LARGEST)
def test_the_definition_has_the_digits_of_the_table(q, rho, cap, expected):
    """U by bisection over dense orders is the printed number."""
    assert largest(q, rho, cap) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    ("q", "rho", "printed"),
    [
        (1e-5, 0.1, 7.779123e-05),
        (1e-7, 0.001, 3.962172e-07),
        (1e-4, 0.001, 1.986593e-04),
        (0.01, 0.001, 1.295808e-02),
    ],
)
def test_steps_printed_for_a_cap_of_ten_end_a_little_before(q, rho, printed):
    """They are those of orders up to 9.9893 and break the allowance at ten; those above are corrected."""
    assert largest(q, rho, 9.9893) == pytest.approx(printed, rel=2e-5)
    assert excess(np.array([q]), np.array([printed]), rho, cap=9.9) <= 1 + 1e-3
    assert excess(np.array([q]), np.array([printed]), rho, cap=10.0) > 1.0004


@pytest.mark.parametrize(
    ("held", "printed"),
    [
        (1, [1e-5, 8.779115e-05, 5.588726e-04, 2.864399e-03, 1.197505e-02, 4.086499e-02]),
        (100, [1.000005e-07, 4.962195e-07, 1.774825e-06, 5.372963e-06]),
    ],
)
def test_chances_of_the_first_people_are_those_of_the_table(held, printed):
    """All weights one, by the definition of U alone, and by the orders that the printed numbers were made with."""
    delta, chances = -math.expm1(math.log1p(-1e-5) / held), [0.0]
    for _ in printed:
        lifted = largest(chances[-1] / (1 - delta), 0.1 / held, 9.9893) if chances[-1] else 0.0
        chances.append(delta + (1 - delta) * lifted)

    assert chances[1:] == pytest.approx(printed, rel=2e-5)


@pytest.mark.parametrize(("q", "rho", "cap", "expected"), LARGEST)
def test_proven_steps_stay_below_and_lose_little(q, rho, cap, expected):
    """The tabulated step is at most U, and less than a third of a per cent shorter in the logarithm of the odds."""
    places = grid(1e-9)
    (row,) = staircase([Allowance(rho=rho, delta=1e-12, cap=cap)], places)
    step = float(np.interp(q, places, row))

    assert step <= expected * (1 + 1e-6)
    assert odds(step) - odds(q) >= 0.997 * (odds(expected) - odds(q))


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.4])
@pytest.mark.parametrize("cap", [10.0, math.inf])
def test_every_tabulated_step_splits_into_parts_within_the_allowance(delta, cap):
    """At and between places, q and step(q) less delta are coins within the allowance: theorem 3 needs just that."""
    places, rho = grid(delta / 2), 0.02
    (row,) = staircase([Allowance(rho=rho, delta=delta, cap=cap)], places)
    q = np.concatenate((places[1:-1], (places[1:-2] + places[2:-1]) / 2, 0.3 * places[1:-2] + 0.7 * places[2:-1]))
    p = np.interp(q, places, row)
    inside = q < (1 - delta) * (1 - 1e-9)
    start = q[inside] / (1 - delta)
    end = np.maximum(start, (p[inside] - delta) / (1 - delta))
    # Almost at one a double has too few digits left for a comparison.
    told = (1 - end > 1e-8) & (end > start)

    assert row[0] == pytest.approx(delta, rel=1e-12)
    assert row[0] <= delta
    assert told.sum() > 50
    assert excess(start[told], end[told], rho, cap=cap).max() <= 1.006


def test_steps_fall_with_the_allowance_and_rise_with_q():
    """A longer list may do less, from every probability; and steps never fall."""
    places = grid(1e-8)
    allowances = [Allowance(rho=0.1 / d, delta=1e-6 / d, cap=16.0) for d in (1, 2, 5, 20, 100)]
    rows = staircase(allowances, places)

    assert np.all(np.diff(rows, axis=1) >= 0)
    # A search may stop a thousandth short.
    assert np.all(np.diff(rows, axis=0) <= 2e-3 * rows[:-1])


def test_a_search_that_ends_early_gives_less_and_not_more(monkeypatch):
    """Points that were not proven in time are not used: the step is then as short as none."""
    monkeypatch.setattr(code, "_SEARCHES", 1)
    places = grid(1e-6)
    (row,) = staircase([Allowance(rho=4.0, delta=1e-9, cap=math.inf)], places)
    monkeypatch.undo()
    (full,) = staircase([Allowance(rho=4.0, delta=1e-9, cap=math.inf)], places)

    assert np.all(row <= full * (1 + 1e-9))
