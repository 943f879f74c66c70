"""Output laws by enumeration, and the divergences between two of them: no sampling, no library code.

A law is a dictionary from outcome to probability. Items are texts, counts are dictionaries without zeros.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import mpmath
import numpy as np
from scipy import stats

from hushcount.model.inputs import Histogram, Items

Law: TypeAlias = dict[Any, float]
Counts: TypeAlias = Mapping[str, int]

# What the rounding of a few dozen doubles can add up to in a sum of probabilities.
ROUNDING = 1e-12


def as_items(texts: Sequence[str]) -> Items:
    """Texts as an array of items."""
    array = np.empty(len(texts), dtype=object)
    array[:] = list(texts)
    return array


def as_histogram(counts: Counts, *, complete: bool = True) -> Histogram:
    """Counts as a histogram; zeros are left out."""
    held = {item: count for item, count in counts.items() if count}
    return Histogram(
        items=as_items(list(held)), counts=np.array(list(held.values()), dtype=np.int64), complete=complete
    )


def neighbours(items: str, *, most: int, holds: int | None = None) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """All pairs (with a person, without) of histograms up to renaming of items.

    Args:
        items: one letter for each item of the domain.
        most: the largest count without the person.
        holds: the most items that the person has; all of them if left out.
    """
    for falling in itertools.combinations_with_replacement(range(most, -1, -1), len(items)):
        without = dict(zip(items, falling, strict=True))
        for size in range(1, (holds or len(items)) + 1):
            for held in itertools.combinations(items, size):
                yield {item: count + (item in held) for item, count in without.items()}, without


def hockey_stick(one: Law, two: Law, epsilon: float) -> float:
    """The least delta with one(S) <= e^epsilon two(S) + delta for every set S of outcomes."""
    growth = math.exp(epsilon)
    return math.fsum(max(0.0, p - growth * two.get(outcome, 0.0)) for outcome, p in one.items())


def worst_hockey_stick(one: Law, two: Law, epsilon: float) -> float:
    """The larger of both directions."""
    return max(hockey_stick(one, two, epsilon), hockey_stick(two, one, epsilon))


def renyi(one: Law, two: Law, alpha: float) -> float:
    """The Renyi divergence of order alpha; infinite if `one` can show what `two` cannot."""
    pairs = [(p, two.get(outcome, 0.0)) for outcome, p in one.items() if p > 0]
    if any(q == 0 for _, q in pairs):
        return math.inf
    logs = [alpha * math.log(p) + (1 - alpha) * math.log(q) for p, q in pairs]
    # The largest is taken out: no power overflows.
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(log - top) for log in logs))) / (alpha - 1)


def normalised(weights: Mapping[Any, float]) -> Law:
    """Weights as probabilities."""
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def peeled(weights: Mapping[str, float], most: int, stop: str = "bottom") -> Law:
    """The law of picking without replacement in proportion to weight, until `most` are picked or `stop` is."""
    law: Law = {}

    def walk(taken: tuple[str, ...], chance: float) -> None:
        if len(taken) == most or (taken and taken[-1] == stop):
            law[taken] = law.get(taken, 0.0) + chance
            return
        left = {item: weight for item, weight in weights.items() if item not in taken}
        for item, p in normalised(left).items():
            walk((*taken, item), chance * p)

    walk((), 1.0)
    return law


def top_of(counts: Counts, rows: int) -> tuple[dict[str, int], int]:
    """The items strictly above the count at rank rows + 1, and that count (zero where there are no more items)."""
    ranked = sorted(counts.values(), reverse=True) + [0] * (rows + 1)
    return {item: count for item, count in counts.items() if count > ranked[rows]}, ranked[rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Parameters of one choice of up to k items above bottom; odds is the prior weight of bottom."""

    rows: int
    k: int
    rate: float
    odds: float
    cap: int = 1


def bottom_weights(counts: Counts, rule: Selection) -> tuple[dict[str, float], float]:
    """The weights of the items that may be picked, and that of bottom."""
    items, boundary = top_of(counts, rule.rows)
    return {item: math.exp(rule.rate * count) for item, count in items.items()}, rule.odds * math.exp(
        rule.rate * (boundary + rule.cap)
    )


def selection_law(counts: Counts, rule: Selection) -> Law:
    """The exact law of the ordered names, the last of which is bottom where it came up."""
    items, bottom = bottom_weights(counts, rule)
    return peeled({**items, "bottom": bottom}, rule.k)


def good_weights(counts: Counts, other: Counts, rule: Selection) -> dict[str, float]:
    """Weights of the law given that bottom comes before every item that only this side can show.

    For Gumbel noise the larger of bottom and those items is itself like one candidate of their summed weight, and which
    of them it is does not depend on its value: so bottom takes over their weight.
    """
    items, bottom = bottom_weights(counts, rule)
    shared = bottom_weights(other, rule)[0].keys() & items.keys()
    lost = math.fsum(weight for item, weight in items.items() if item not in shared)
    return {**{item: items[item] for item in sorted(shared)}, "bottom": bottom + lost}


def spread(one: Mapping[Any, float], two: Mapping[Any, float]) -> float:
    """The range of ln(one/two) over all outcomes: the bounded range of a choice with these weights."""
    losses = [math.log(weight / two[outcome]) for outcome, weight in one.items()]
    return max(losses) - min(losses)


def place_law(counts: Counts, k: int, rows: int, rate: float) -> Law:
    """The law of the threshold's place i in k..rows: weight (1/i) e^(-rate h_(i+1))."""
    ranked = sorted(counts.values(), reverse=True) + [0] * (rows + 1)
    return normalised({place: math.exp(-rate * ranked[place]) / place for place in range(k, rows + 1)})


def discrete_laplace(rate: float, reach: int) -> dict[int, float]:
    """P[X = x] for |x| <= reach, by its formula; the mass beyond is left out."""
    q = math.exp(-rate)
    return {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-reach, reach + 1)}


def truncated_geometric(rate: float, bound: int) -> dict[int, float]:
    """The k-TSGD: P[X = x] proportional to e^(-rate |x|) on -bound..bound."""
    return normalised({x: math.exp(-rate * abs(x)) for x in range(-bound, bound + 1)})


def discrete_gaussian_tail(stddev: float, level: int) -> mpmath.mpf:
    """P[X > level] for the discrete Gaussian, to forty digits."""
    with mpmath.workdps(40):
        double = 2 * mpmath.mpf(stddev) ** 2
        reach = int(30 * stddev) + abs(level) + 10
        mass = {x: mpmath.exp(-(mpmath.mpf(x) ** 2) / double) for x in range(-reach, reach + 1)}
        return mpmath.fsum(p for x, p in mass.items() if x > level) / mpmath.fsum(mass.values())


def fits(seen: Mapping[Any, int], law: Law) -> float:
    """The p-value of Pearson's chi-square; outcomes expected fewer than five times are put together."""
    runs = sum(seen.values())
    assert not seen.keys() - law.keys(), "an outcome came up that the law does not have"
    common = [outcome for outcome, p in law.items() if p * runs >= 5]
    expected = [law[outcome] * runs for outcome in common]
    found = [seen.get(outcome, 0) for outcome in common]
    rest = runs - math.fsum(expected)
    if rest > 1e-6 * runs:
        expected, found = [*expected, rest], [*found, runs - sum(found)]
    statistic = math.fsum((f - e) ** 2 / e for f, e in zip(found, expected, strict=True))
    return float(stats.chi2.sf(statistic, max(1, len(expected) - 1)))
