"""Ideal laws of calls: by other formulas, and against what the library draws. A law that is 20 % off is rejected."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from hushcount.audit.exact.laws import law_of, marginals
from hushcount.errors import InvalidParameter
from hushcount.noise.calls import (
    AddGaussian,
    AddLaplace,
    AddTruncated,
    KeepByTable,
    KeepGaussian,
    KeepKs,
    KeepLaplace,
    Peel,
    Reach,
)
from hushcount.noise.source import SeededSource
from tests.privacy.exact import as_items, fits, peeled

REJECT = 1e-6
VALUES = 20_000
UNIT = 1 << 30
TABLE = tuple(int(p * 2**20) * 2**108 for p in (0, 0.03, 0.2, 0.6, 1))


def make(kind, values, **law):
    """A call without items."""
    return kind(purpose="test", keys=None, values=np.array(values, dtype=np.int64), reach=Reach(each=1, rows=1), **law)


ADDING = {
    "laplace": make(AddLaplace, [3], rate=Fraction(7, 10)),
    "gaussian": make(AddGaussian, [-2], variance=Fraction(9, 4)),
    "narrow gaussian": make(AddGaussian, [0], variance=Fraction(1, 5)),
    "truncated": make(AddTruncated, [4], rate=Fraction(1, 2), bound=5),
}
KEEPING = {
    "gaussian coin": make(KeepGaussian, [UNIT], unit=UNIT, stddev=0.8, threshold=2.0),
    "gaussian coin above": make(KeepGaussian, [3 * UNIT], unit=UNIT, stddev=0.8, threshold=2.0),
    "steepest coin": make(KeepKs, [UNIT], unit=UNIT, stddev=0.8, threshold=2.0),
    "steepest coin above": make(KeepKs, [3 * UNIT], unit=UNIT, stddev=0.8, threshold=2.0),
    "laplace coin": make(KeepLaplace, [UNIT], unit=UNIT, scale=0.7, threshold=2.0),
    "laplace coin above": make(KeepLaplace, [2 * UNIT], unit=UNIT, scale=0.7, threshold=1.5),
    "table": make(KeepByTable, [2], table=TABLE),
}
PEELS = {
    "all": make(Peel, [2, 1, 0], rate=Fraction(1)),
    "most": make(Peel, [2, 1, 0, 0], rate=Fraction(1, 2), most=2),
    "bottom": make(Peel, [3, 2, 1], rate=Fraction(1, 2), priors={2: Fraction(10)}, most=2, last=2),
    "bottom and no end": make(Peel, [3, 2, 1], rate=Fraction(1), priors={2: Fraction(5, 2)}, last=2),
}


def steepest(height: float) -> float:
    """The steepest curve by mpmath: the log-odds up to which the integral of its slope is the height."""
    with mpmath.workdps(30):

        def missing(odds):
            return mpmath.quad(lambda x: mpmath.sqrt(mpmath.tanh(x / 2) / (2 * x)), [0, odds]) - abs(height)

        odds = mpmath.findroot(missing, 2 * abs(height))
        return float(1 / (1 + mpmath.exp(-odds if height > 0 else odds)))


def reference(call, outcome: int) -> float:
    """The probability of one outcome of one value, by SciPy or mpmath."""
    value = int(call.values[0])
    match call:
        case AddLaplace():
            return stats.dlaplace.pmf(outcome - value, float(call.rate))
        case AddGaussian():
            with mpmath.workdps(40):
                q = mpmath.exp(-1 / (2 * mpmath.mpf(call.variance.numerator) / call.variance.denominator))
                return float(q ** ((outcome - value) ** 2) / mpmath.jtheta(3, 0, q))
        case AddTruncated():
            weights = stats.dlaplace.pmf(np.arange(-call.bound, call.bound + 1), float(call.rate))
            return weights[outcome - value + call.bound] / weights.sum()
        case KeepGaussian():
            yes = stats.norm.sf(call.threshold, loc=value / call.unit, scale=call.stddev)
        case KeepKs():
            yes = steepest((value / call.unit - call.threshold) / call.stddev)
        case KeepLaplace():
            yes = stats.laplace.sf(call.threshold, loc=value / call.unit, scale=call.scale)
        case KeepByTable():
            yes = call.table[value] / 2**128
    return yes if outcome else 1 - yes


@pytest.mark.parametrize("call", [*ADDING.values(), *KEEPING.values()], ids=[*ADDING, *KEEPING])
def test_marginals_have_their_formulas(call):
    """Every listed outcome has the probability that another library gives it, and hardly anything is missing."""
    (marginal,) = marginals(call)

    assert all(p == pytest.approx(reference(call, outcome), rel=1e-11) for outcome, p in marginal)
    assert 1 - 1e-11 < math.fsum(p for _, p in marginal) < 1 + 1e-12
    assert [p for _, p in marginal] == sorted((p for _, p in marginal), reverse=True)


def off(call, factor):
    """The same call with its noise wider or narrower by a factor."""
    match call:
        case AddLaplace() | AddTruncated():
            return replace(call, rate=call.rate / Fraction(factor))
        case AddGaussian():
            return replace(call, variance=call.variance * Fraction(factor) ** 2)
        case KeepGaussian() | KeepKs():
            return replace(call, stddev=call.stddev * factor)
        case KeepLaplace():
            return replace(call, scale=call.scale * factor)
        case KeepByTable():
            return replace(call, table=tuple(min(2**128, int(entry * factor)) for entry in call.table))
        case Peel():
            return replace(call, rate=call.rate / Fraction(factor))


@pytest.mark.parametrize("call", [*ADDING.values(), *KEEPING.values()], ids=[*ADDING, *KEEPING])
def test_draws_follow_the_marginals(call):
    """20,000 draws of the library fit the law, and fit no law whose scale is 20 % off."""
    source = SeededSource(len(repr(call)))
    many = replace(
        call,
        values=np.repeat(call.values, VALUES),
        keys=source.identify(as_items([f"item {n}" for n in range(VALUES)])),
    )
    seen = Counter(np.asarray(source.perform(many), dtype=np.int64).tolist())

    assert fits(seen, dict(marginals(call)[0])) > REJECT
    assert fits(seen, dict(marginals(off(call, 0.8))[0])) < REJECT
    assert fits(seen, dict(marginals(off(call, 1.2))[0])) < REJECT


def as_law(call):
    """A law of orders with texts for rows, as the hand-made one has them."""
    names = ["bottom" if row == call.last else f"row {row}" for row in range(len(call.values))]
    return {tuple(names[row] for row in chance.outcome): chance.probability for chance in law_of(call)}


@pytest.mark.parametrize("call", PEELS.values(), ids=PEELS)
def test_orders_have_their_formula(call):
    """Picking without replacement, as enumerated by hand."""
    weights = {
        "bottom" if row == call.last else f"row {row}": float(call.priors.get(row, 1))
        * math.exp(float(call.rate) * value)
        for row, value in enumerate(call.values.tolist())
    }
    expected = peeled(weights, call.most or len(weights))

    assert as_law(call) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("call", PEELS.values(), ids=PEELS)
def test_draws_follow_the_orders(call):
    """3000 orders of the library fit the law, and not the one with a rate that is far off."""
    seen = Counter(tuple(SeededSource(seed).perform(call).tolist()) for seed in range(3000))
    laws = [{tuple(c.outcome.tolist()): c.probability for c in law_of(one)} for one in (call, off(call, 0.5))]

    assert fits(seen, laws[0]) > REJECT
    assert fits(seen, laws[1]) < REJECT


def test_several_values_are_independent():
    """A joint law is the product of its parts; what is below the floor is left out."""
    call = make(AddTruncated, [0, 2], rate=Fraction(1), bound=3)
    one, two = (dict(part) for part in marginals(call))
    joint = {tuple(chance.outcome.tolist()): chance.probability for chance in law_of(call)}
    likely = law_of(call, floor=1e-3)

    assert joint == pytest.approx({(x, y): p * q for x, p in one.items() for y, q in two.items()})
    assert {tuple(chance.outcome.tolist()) for chance in likely} == {k for k, p in joint.items() if p >= 1e-3}
    assert 0 < len(likely) < len(joint)


def test_outcomes_are_of_the_kind_that_the_call_gives():
    """Coins are booleans, noisy values and orders are integers; no value gives one empty outcome."""
    source = SeededSource(1)
    for call in [*ADDING.values(), *KEEPING.values(), *PEELS.values()]:
        outcome = law_of(call, floor=1e-6)[0].outcome
        assert outcome.dtype == np.asarray(source.perform(call)).dtype
    (nothing,) = law_of(make(AddLaplace, [], rate=Fraction(1)))
    assert (len(nothing.outcome), nothing.probability) == (0, 1.0)


def test_a_new_kind_of_call_must_bring_its_law():
    """A kind of call that is not known is refused, and the text says where to write its law."""

    @dataclass(frozen=True)
    class AddNothing:
        purpose: str = "test"

    with pytest.raises(InvalidParameter, match=r"AddNothing.*audit/exact/laws.py"):
        law_of(AddNothing())
