"""Tables: midpoints and first entries of the paper, the certificate on every entry, and the mutants that it stops."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.ladders.certificate import excess
from hushcount.mechanisms.ladders.steps import Allowance, grid, staircase
from hushcount.mechanisms.ladders.tables import check, climbed, ladders

LENGTHS = (1, 2, 3, 5, 9, 10, 11, 17, 30, 31, 50, 64, 75, 99, 100)
RHO, DELTA = Decimal("0.1"), Decimal("1e-5")


def made(cap: float, max_items: int = 100, rho: Decimal = RHO, delta: Decimal = DELTA):
    """The profiles with their tables as arrays."""
    return [(profile, chances, chances.table) for profile, chances in ladders(rho, delta, max_items=max_items, cap=cap)]


def told(profile, table, *, rho, delta, cap, heavier=1.0):
    """For many lengths and sums, how much of its share one person's step tells; novel items apart."""
    worst, novel = 0.0, 0.0
    sums = np.unique(np.concatenate((np.arange(300), np.linspace(0, len(table) - 1, 150).astype(np.int64))))
    for length in LENGTHS:
        weight = profile.weights[length - 1]
        failing = -math.expm1(math.log1p(-delta) / length)
        before, after = (table[np.minimum(sums + more, len(table) - 1)] for more in (0, round(weight * heavier)))
        q, p = before / (1 - failing), np.maximum(before / (1 - failing), (after - failing) / (1 - failing))
        seen = (q > 0) & (p > q * (1 + 1e-9)) & (p < 1 - 1e-9)
        worst = max(worst, float(excess(q[seen], p[seen], rho / length, cap=cap).max(initial=0)))
        novel = max(novel, float(after[0]) / failing)
    return worst, novel


@pytest.mark.parametrize(
    ("cap", "expected"), [(10.0, [1499.6, 1021.2, 1212.1, 1020.5]), (math.inf, [1571.1])], ids=["capped", "free"]
)
def test_midpoints_are_those_of_the_paper(cap, expected):
    """At rho 0.1, delta 1e-5 and 100 items, within half a per cent."""
    assert [chances.even_odds for _, chances, _ in made(cap)] == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize(
    ("length", "cap", "midpoint", "first"),
    [
        (1, 10.0, 9.188507, [0, 1e-5, 8.779115e-05, 5.588726e-04, 2.864399e-03, 1.197505e-02, 4.086499e-02]),
        (10, 10.0, 23.626555, []),
        (10, 16.0, 27.166674, []),
        (100, 10.0, 52.632816, [0, 1.000005e-07, 4.962195e-07, 1.774825e-06, 5.372963e-06]),
        (100, 16.0, 60.813024, []),
    ],
)
def test_everybody_with_so_many_items(length, cap, midpoint, first):
    """All weights one: the table is below the exact one, its midpoint at most six thousandths later."""
    table, found = all_with(length, cap)

    assert midpoint <= found <= midpoint * 1.006
    for ours, exact in zip(table, first, strict=False):
        assert 0.98 * exact <= ours <= exact * (1 + 1e-6)


def all_with(length, cap):
    """A checked table for people of whom all have so many items, all weights one, and where its odds are even."""
    allowance = Allowance(rho=0.1 / length, delta=-math.expm1(math.log1p(-1e-5) / length), cap=cap)
    places = grid(allowance.delta)
    bounds = staircase([allowance], places)
    table = climbed(np.array([1]), bounds, places)
    check(table, np.array([1]), bounds, places=places)
    half = int(np.searchsorted(table, 0.5))
    return table, half - 1 + (0.5 - table[half - 1]) / (table[half] - table[half - 1])


@pytest.mark.parametrize(
    ("length", "cap", "printed"), [(1, 16.0, 9.19), (1, math.inf, 9.19), (10, math.inf, 29.4), (100, math.inf, 96.9)]
)
def test_people_needed_as_printed(length, cap, printed):
    """To the three digits given, at most six thousandths later."""
    digit = 0.005 if length == 1 else 0.05
    _, found = all_with(length, cap)

    assert printed - digit <= found <= (printed + digit) * 1.006


@pytest.mark.parametrize("cap", [10.0, 16.0, math.inf])
@pytest.mark.parametrize("part", [1, 16])
def test_the_rounds_hold(cap, part):
    """Both ways and at all orders; a novel item is shown with its share of delta at the most."""
    rho, delta = RHO * part / 21, DELTA * part / 21
    for profile, _, table in made(cap, rho=rho, delta=delta):
        worst, novel = told(profile, table, rho=float(rho), delta=float(delta), cap=cap)
        assert 0.97 < worst <= 1.006
        assert novel <= 1 + 1e-12


@pytest.mark.parametrize("cap", [10.0, math.inf])
def test_weights_a_twentieth_heavier_are_seen(cap):
    """Mutant: people add 6 % more than the table was made for."""
    for profile, _, table in made(cap):
        worst, _ = told(profile, table, rho=0.1, delta=1e-5, cap=cap, heavier=1.06)
        assert worst > 1.03


def test_a_table_that_climbs_too_fast_is_refused():
    """The check sees one entry that is a millionth too high, a table that falls, one that does not begin at zero."""
    allowance = Allowance(rho=0.05, delta=1e-3, cap=math.inf)
    places, weights = grid(1e-3), np.array([2])
    bounds = staircase([allowance], places)
    table = climbed(weights, bounds, places)
    check(table, weights, bounds, places=places)

    for place in (2, 4, 10, 2 * (len(table) // 4)):
        high = table.copy()
        high[place] = high[place] * (1 + 1e-6) + 1e-12
        with pytest.raises(InvalidParameter, match="climbs too fast"):
            check(np.maximum.accumulate(high), weights, bounds, places=places)
    for broken in (table[::-1].copy(), table[1:] + 1e-9):
        with pytest.raises(InvalidParameter):
            check(broken, weights, bounds, places=places)


def test_the_largest_of_all_profiles_holds_and_their_sum_does_not():
    """At random sums: the maximum is within one person's step of every length, the sum of chances is not."""
    random, cap = np.random.default_rng(2), 10.0
    all_made = made(cap)
    broken = 0
    for length in (1, 2, 3, 10, 30, 100):
        held = random.multinomial(random.integers(5, 60), [0.25, 0.25, 0.2, 0.1, 0.1, 0.1], size=400)
        q, p = np.zeros((2, 400, len(all_made)))
        for column, (profile, chances, _) in enumerate(all_made):
            weights = np.array([profile.weights[d - 1] for d in (1, 2, 3, 10, 30, 100)])
            sums = held @ weights
            q[:, column], p[:, column] = chances.of(sums), chances.of(sums + profile.weights[length - 1])
        assert _telling(q.max(axis=1), p.max(axis=1), length, cap).max(initial=0) <= 1.006
        broken += int((_telling(q.sum(axis=1), p.sum(axis=1), length, cap) > 1.006).sum())
    assert broken > 50


def _telling(before, after, length, cap):
    failing = -math.expm1(math.log1p(-1e-5) / length)
    q, p = before / (1 - failing), (after - failing) / (1 - failing)
    seen = (q > 0) & (p > q) & (p < 1 - 1e-9)
    return excess(q[seen], p[seen], 0.1 / length, cap=cap)


def test_no_table_is_made_where_it_would_be_of_no_use():
    """Too little rho, lists that are too long, a delta that doubles cannot tell from nothing."""
    assert ladders(Decimal("1e-6"), DELTA, max_items=100, cap=math.inf) == ()
    assert ladders(RHO, DELTA, max_items=1001, cap=math.inf) == ()
    assert ladders(RHO, Decimal("1e-20"), max_items=1, cap=math.inf) == ()
    assert len(ladders(RHO, DELTA, max_items=2, cap=math.inf)) == 1
    assert len(ladders(RHO, DELTA, max_items=2, cap=16.0)) == 4


def test_a_single_item_nobody_else_holds():
    """Below the least weight nothing is shown: the minimum is over nothing there."""
    for profile, _, table in made(16.0):
        assert not table[: min(profile.weights)].any()
        assert table[min(profile.weights)] == pytest.approx(-math.expm1(math.log1p(-1e-5) / 100), rel=1e-9)
