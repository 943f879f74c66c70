"""Ideal laws: for each kind of call, how likely each of its outcomes is, from its formula alone.

Nothing here looks at how the samplers draw; they are held against these laws. A law with infinitely many outcomes is
cut off where an outcome's probability falls below a floor, and what is left out stays left out: the probabilities of a
law add up to one less that mass, so whoever sums them up knows the error.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.audit.keep_curve import steepest_keep
from hushcount.audit.keep_ladders import ladder_keep
from hushcount.errors import InvalidParameter
from hushcount.noise.calls import (
    AddGaussian,
    AddLaplace,
    AddTruncated,
    AnyCall,
    KeepByLadders,
    KeepByTable,
    KeepGaussian,
    KeepKs,
    KeepLaplace,
    Peel,
)

# One outcome of one value and its probability, likely ones first.
Marginal: TypeAlias = Sequence[tuple[int, float]]

# No outcome of one value that is less likely than this is listed; all of them together weigh less than 1e-12.
_FAINTEST = 1e-16
# No law lists more outcomes: the likeliest are kept, the others are left out like those below the floor.
_MOST_OUTCOMES = 20_000


@dataclass(frozen=True, slots=True)
class Chance:
    """One outcome of a call, as the call's own `draw` would give it, and its probability."""

    outcome: npt.NDArray[Any]
    probability: float


def law_of(call: AnyCall, *, floor: float = 0.0) -> tuple[Chance, ...]:
    """The outcomes of a call that are at least as likely as the floor, likely ones first.

    Raises:
        InvalidParameter: there is no law for this kind of call: a new kind must bring one.
    """
    law = _LAWS.get(type(call))
    if law is None:
        known = ", ".join(kind.__name__ for kind in _LAWS)
        raise InvalidParameter("call", type(call).__name__, f"one of {known}", "Write its law in audit/exact/laws.py.")
    return tuple(sorted(law(call, floor), key=lambda chance: -chance.probability))


def marginals(call: AnyCall) -> list[Marginal]:
    """For a call whose values are treated independently, the law of what comes of each."""
    one = _MARGINALS[type(call)]
    return [one(call, value) for value in call.values.tolist()]


@lru_cache(maxsize=64)
def laplace(rate: Fraction) -> Marginal:
    """Discrete Laplace noise: P[x] = (1 - q)/(1 + q) q^|x|, q = e^-rate."""
    q, p = math.exp(-rate), -math.expm1(-rate)
    last = max(1, math.ceil(math.log(p / (1 + q) / _FAINTEST) / float(rate)))
    return _likely_first({x: p / (1 + q) * math.exp(-float(rate) * abs(x)) for x in range(-last, last + 1)})


@lru_cache(maxsize=64)
def gaussian(variance: Fraction) -> Marginal:
    """Discrete Gaussian noise: P[x] proportional to e^(-x² / (2 variance))."""
    double = 2 * float(variance)
    last = max(1, math.ceil(math.sqrt(-double * math.log(_FAINTEST))))
    # Summed a third further than is listed: what lies beyond that is far below the rounding of a double.
    weights = {x: math.exp(-x * x / double) for x in range(-4 * last // 3 - 3, 4 * last // 3 + 4)}
    total = math.fsum(weights.values())
    return _likely_first({x: weight / total for x, weight in weights.items() if abs(x) <= last})


@lru_cache(maxsize=64)
def truncated(rate: Fraction, bound: int) -> Marginal:
    """k-TSGD noise: P[x] proportional to e^(-rate |x|) on -bound..bound."""
    weights = {x: math.exp(-float(rate) * abs(x)) for x in range(-bound, bound + 1)}
    total = math.fsum(weights.values())
    return _likely_first({x: weight / total for x, weight in weights.items()})


def coin(probability: float) -> Marginal:
    """Yes (1) with this probability; what cannot happen is not listed."""
    return _likely_first({side: p for side, p in ((1, probability), (0, 1 - probability)) if p > 0})


def _likely_first(law: Mapping[int, float]) -> Marginal:
    return tuple(sorted(law.items(), key=lambda pair: -pair[1]))


def _shifted(noise: Marginal, value: int) -> Marginal:
    return tuple((value + x, p) for x, p in noise)


def _normal_tail(call: KeepGaussian, value: int) -> Marginal:
    gap = (call.threshold - value / call.unit) / call.stddev
    # The smaller side is computed, so that no digits are lost in it.
    small = math.erfc(abs(gap) / math.sqrt(2)) / 2
    return coin(small if gap >= 0 else 1 - small)


def _laplace_tail(call: KeepLaplace, value: int) -> Marginal:
    gap = (call.threshold - value / call.unit) / call.scale
    small = math.exp(-abs(gap)) / 2
    return coin(small if gap >= 0 else 1 - small)


def _by_curve(call: KeepKs, value: int) -> Marginal:
    return coin(steepest_keep((value / call.unit - call.threshold) / call.stddev))


def _by_table(call: KeepByTable, value: int) -> Marginal:
    place = min(max(value, 0), len(call.table) - 1)
    return coin(float(Fraction(call.table[place], 2**128)))


_MARGINALS: dict[type, Callable[[Any, Any], Marginal]] = {
    AddLaplace: lambda call, value: _shifted(laplace(call.rate), value),
    AddGaussian: lambda call, value: _shifted(gaussian(call.variance), value),
    AddTruncated: lambda call, value: _shifted(truncated(call.rate, call.bound), value),
    KeepGaussian: _normal_tail,
    KeepKs: _by_curve,
    KeepLaplace: _laplace_tail,
    KeepByTable: _by_table,
    KeepByLadders: lambda call, values: coin(ladder_keep(call, values)),
}


def _joint(call: AnyCall, floor: float) -> Iterator[Chance]:
    """All combinations of independent outcomes, cut off as soon as they fall below the floor."""
    kind = np.bool_ if isinstance(call, KeepGaussian | KeepKs | KeepLaplace | KeepByTable | KeepByLadders) else np.int64
    parts = marginals(call)
    # The likeliest that the values after each can still be: what is below the floor even then is not begun.
    best = [1.0]
    for marginal in reversed(parts):
        best.append(best[-1] * marginal[0][1])
    combined: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    for marginal, rest in zip(parts, best[-2::-1], strict=True):
        longer = []
        for values, chance in combined:
            for value, p in marginal:
                if chance * p * rest < floor:
                    break
                longer.append(((*values, value), chance * p))
        combined = heapq.nlargest(_MOST_OUTCOMES, longer, key=itemgetter(1)) if len(longer) > _MOST_OUTCOMES else longer
    return (Chance(np.array(values, dtype=kind), chance) for values, chance in combined)


def _peeled(call: Peel, floor: float) -> Iterator[Chance]:
    """Picking without replacement in proportion to weight, until `most` are picked or `last` is (Plackett-Luce)."""
    scores = [int(value) * float(call.rate) for value in call.values.tolist()]
    heights = [score + _log(call.priors.get(row, Fraction(1))) for row, score in enumerate(scores)]
    most = len(heights) if call.most is None else min(call.most, len(heights))

    def walk(taken: tuple[int, ...], chance: float) -> Iterator[Chance]:
        if len(taken) == most or (taken and taken[-1] == call.last):
            yield Chance(np.array(taken, dtype=np.int64), chance)
            return
        left = [row for row in range(len(heights)) if row not in taken]
        top = max(heights[row] for row in left)
        weights = [math.exp(heights[row] - top) for row in left]
        total = math.fsum(weights)
        for row, weight in zip(left, weights, strict=True):
            if chance * weight / total >= floor:
                yield from walk((*taken, row), chance * weight / total)

    return walk((), 1.0)


def _log(odds: Fraction) -> float:
    return math.log(odds.numerator) - math.log(odds.denominator)


_LAWS: dict[type, Callable[[Any, float], Iterator[Chance]]] = {**dict.fromkeys(_MARGINALS, _joint), Peel: _peeled}
