"""Weightings as printed or coded, kept only to be found out by the auditor and the tests. None is safe to use.

Plain Python on plain lists: a list of people, each a list of their items. `start` gives the weights that earlier
people, the same ones in both runs, have left behind. Weights come back as a dictionary of the items that would get
noise.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction

People = Sequence[Sequence[Hashable]]
Weights = dict[Hashable, float]
ExactWeights = dict[Hashable, Fraction]
Steps = dict[Hashable, int]


def algorithm_4_as_printed(people: People, *, cutoff: int, budget: int) -> Steps:
    """l1-descent whose branch `if |G| <= 1` leaves the weights where they are instead of filling them (erratum 23)."""
    weights: Steps = {}
    for items in people:
        gaps = {item: cutoff - weights.get(item, 0) for item in items}
        if sum(gaps.values()) <= budget:
            continue
        left, level, still = budget, 0, list(items)
        while still and any(gaps[item] <= (level := left // len(still)) for item in still):
            left -= sum(gaps[item] for item in still if gaps[item] <= level)
            still = [item for item in still if gaps[item] > level]
        ones = left - level * len(still)
        moved = {item: level + (n < ones) for n, item in enumerate(still)}
        for item in items:
            weights[item] = weights.get(item, 0) + moved.get(item, gaps[item])
    return weights


def algorithm_8(people: People, *, cutoff: float, start: Mapping[Hashable, float] | None = None) -> Weights:
    """l1-descent with an l2 budget, its branch repaired: still not an l2 contraction (erratum 22)."""
    weights = dict(start or {})
    for items in people:
        gaps = {item: cutoff - weights.get(item, 0.0) for item in items}
        left, n_open = 1.0, len(items)
        for gap in sorted(gaps.values()):
            if n_open * gap * gap > left:
                break
            left -= gap * gap
            n_open -= 1
        level = math.sqrt(left / n_open) if n_open else math.inf
        for item, gap in gaps.items():
            weights[item] = weights.get(item, 0.0) + min(gap, level)
    return weights


def greedy_as_coded(
    people: People, *, cutoff: int | Fraction, start: Mapping[Hashable, Fraction] | None = None
) -> ExactWeights:
    """Greedy weighting on unbounded lists, every item of which gets noise (erratum 36a)."""
    weights = dict(start or {})
    for items in people:
        left = Fraction(1)
        for item in items:
            step = min(cutoff - weights.get(item, Fraction(0)), left)
            weights[item] = weights.get(item, Fraction(0)) + step
            left -= step
    return weights


def greedy_positive_only(
    people: People, *, cutoff: Fraction, start: Mapping[Hashable, Fraction] | None = None
) -> ExactWeights:
    """Greedy weighting where only items of positive weight get noise (erratum 36b)."""
    weights = greedy_as_coded(people, cutoff=cutoff, start=start)
    return {item: weight for item, weight in weights.items() if weight > 0}


def greedy_threshold_as_printed(epsilon: float, delta: float) -> float:
    """The threshold that assumes one novel item (erratum 36)."""
    return 1 - math.log(2 * delta) / epsilon


def noised_as_printed(people: People) -> set[Hashable]:
    """The items that get noise if the loop runs over the untruncated sets (erratum 24)."""
    return {item for items in people for item in items}


def order_reseeded_by_size(people: People) -> list[Sequence[Hashable]]:
    """A random order seeded by how many people there are, so that one more person reshuffles all (erratum 28)."""
    places = sorted(range(len(people)), key=lambda place: hashlib.sha256(f"{len(people)} {place}".encode()).digest())
    return [people[place] for place in places]


def order_by_popularity(people: People) -> list[Sequence[Hashable]]:
    """People with the most widely held items first, so that one more person reorders others (erratum 28)."""
    held: dict[Hashable, int] = {}
    for item in (item for items in people for item in items):
        held[item] = held.get(item, 0) + 1
    return sorted(people, key=lambda items: -sum(held[item] for item in items))


def order_by_set_size(people: People) -> list[Sequence[Hashable]]:
    """Largest sets first (erratum 28 forbids it)."""
    return sorted(people, key=len, reverse=True)


def uniform_without_dedupe(rows: Iterable[tuple[Hashable, Hashable]], *, unit: int) -> Steps:
    """Uniform l2 weights added once for each row, by distinct items, so that repeated rows add up (erratum 38)."""
    rows = list(rows)
    held: dict[Hashable, set[Hashable]] = {}
    for person, item in rows:
        held.setdefault(person, set()).add(item)
    weights: Steps = {}
    for person, item in rows:
        weights[item] = weights.get(item, 0) + math.isqrt(unit * unit // len(held[person]))
    return weights


def uniform_of_untruncated_size(people: People, *, max_items: int, unit: int) -> Steps:
    """Uniform l2 weights by the size of the whole set on a truncated one: safe, and wasteful (erratum 30)."""
    weights: Steps = {}
    for items in people:
        for item in items[:max_items]:
            weights[item] = weights.get(item, 0) + math.isqrt(unit * unit // len(items))
    return weights
