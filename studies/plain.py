"""The papers' algorithms once more, in a few lines of NumPy and doubles: what our mechanisms are held against.

Written from the printed algorithms and the errata, and from nothing of hushcount. Not private: ordinary randomness,
floating point, and in places exactly the printed form that the errata forbid, which is said there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from studies.logs import Log

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Who has what: person p has item i, pair by pair, people in ascending order."""

    person: Ints
    item: Ints
    items: int

    def without(self, named: npt.NDArray[np.bool_]) -> Pairs:
        """The pairs whose item is not named yet."""
        left = ~named[self.item]
        return Pairs(self.person[left], self.item[left], self.items)

    def lists(self, chance: np.random.Generator) -> Iterator[Ints]:
        """Everybody's list, people in random order."""
        starts = np.flatnonzero(np.diff(self.person, prepend=-1))
        found = np.split(self.item, starts[1:])
        return (found[n] for n in chance.permutation(len(found)))


def pairs(log: Log) -> Pairs:
    """The pairs of a log."""
    return Pairs(np.repeat(np.arange(log.people), log.lengths), log.ids.astype(np.int64), len(log.items))


def bounded(given: Pairs, most: int, chance: np.random.Generator) -> Pairs:
    """Of each person at most so many items, at random."""
    order = np.lexsort((chance.random(len(given.person)), given.person))
    person, item = given.person[order], given.item[order]
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    place = np.arange(len(person)) - np.repeat(starts, np.diff(np.append(starts, len(person))))
    return Pairs(person[place < most], item[place < most], given.items)


def gaussian_threshold(sigma: float, delta: float, most: int) -> float:
    """DP-SIPS Algorithm 2, line 2: the largest over t of 1/sqrt(t) + sigma z, z the quantile of (1 - delta)^(1/t)."""
    t = np.arange(1, most + 1)
    return float(np.max(t**-0.5 + sigma * stats.norm.isf(-np.expm1(np.log1p(-delta) / t))))


def weighted_gaussian(
    given: Pairs, rho: float, delta: float, *, most: int, chance: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """DP-SIPS Algorithm 2 with weights by the bounded size (erratum 30): which items are named."""
    kept = bounded(given, most, chance)
    held = np.bincount(kept.person)
    weight = np.bincount(kept.item, weights=held[kept.person] ** -0.5, minlength=given.items)
    sigma = (2 * rho) ** -0.5
    noisy = weight + chance.normal(0, sigma, given.items)
    # Only items of bounded lists (erratum 24).
    return (weight > 0) & (noisy > gaussian_threshold(sigma, delta, most))


def sips(
    given: Pairs, budget: tuple[float, float], *, most: int, chance: np.random.Generator, rounds: int = 3, ratio: float
) -> npt.NDArray[np.bool_]:
    """DP-SIPS Algorithm 3: round i has the share ratio^(rounds - 1 - i) of rho and delta, normalised."""
    named = np.zeros(given.items, dtype=np.bool_)
    parts = np.array([ratio ** (rounds - 1 - i) for i in range(rounds)])
    for part in parts / parts.sum():
        rho, delta = budget[0] * part, budget[1] * part
        named |= weighted_gaussian(given.without(named), rho, delta, most=most, chance=chance)
    return named


def l2_descent(given: Pairs, full: float, *, most: int, chance: np.random.Generator, passes: int = 1) -> Floats:
    """DPSU Algorithm 7: each person moves their items straight towards the cap, by one in all, or by parts of it."""
    weight = np.zeros(given.items)
    kept = bounded(given, most, chance)
    for _ in range(passes):
        for own in kept.lists(chance):
            gap = full - weight[own]
            length = math.sqrt(float(gap @ gap))
            weight[own] += gap * min(1.0, 1 / (passes * length)) if length else 0.0
    return weight


def l1_descent(given: Pairs, full: float, *, most: int, chance: np.random.Generator, passes: int = 1) -> Floats:
    """DPSU Algorithm 4 with its branch repaired (erratum 23): everybody fills the smallest gaps evenly."""
    weight = np.zeros(given.items)
    kept = bounded(given, most, chance)
    for _ in range(passes):
        for own in kept.lists(chance):
            weight[own] += _evenly(full - weight[own], 1 / passes)
    return weight


def _evenly(gaps: Floats, budget: float) -> Floats:
    """How much each gap gets where all get the same, none more than it needs, and all together the budget."""
    if gaps.sum() <= budget:
        return gaps
    order = np.sort(gaps)
    left = budget - np.concatenate(([0.0], np.cumsum(order)))[:-1]
    level = left / np.arange(len(order), 0, -1)
    return np.minimum(gaps, float(level[np.argmax(level <= order)]))


def named_by_noise(weight: Floats, noise: Floats, threshold: float) -> int:
    """How many items of positive weight get over the threshold."""
    return int(np.count_nonzero((weight > 0) & (weight + noise > threshold)))


def greedy_as_printed(log: Log, epsilon: float, delta: float, *, margin: float, chance: np.random.Generator) -> int:
    """GW as its authors and DP-SIPS ran it, which is not private (erratum 36): whole lists, a threshold for one item.

    Everybody fills their most frequent item up to the cap, then the next, until a weight of one is used.
    """
    threshold = 1 - math.log(2 * delta) / epsilon
    full, weight = threshold + margin / epsilon, np.zeros(len(log.items))
    for person in chance.permutation(log.people):
        own = slice(log.offsets[person], log.offsets[person + 1])
        ids = log.ids[own][np.lexsort((chance.random(own.stop - own.start), -log.times[own]))]
        left = 1.0
        for item in ids[full > weight[ids]].tolist():
            step = min(left, full - weight[item])
            weight[item] += step
            left -= step
            if left <= 0:
                break
    return named_by_noise(weight + 1e-300, chance.laplace(0, 1 / epsilon, len(weight)), threshold)


def pcr(counts: Ints, rho: float, delta: float, *, chance: np.random.Generator) -> tuple[Ints, Floats]:
    """PCR Algorithm 2 with the paper's parameters and the errata: places of the released counts, and what was released.

    Rows are sorted, the largest first. sigma is never below 2/epsilon (erratum 11), the boundary moves down as counts
    are released (12), epsilon grows by sqrt(2) (13).
    """
    error, rows, epsilon, step = 0.1, 10_000, 0.0005, delta / 100_000
    left, spent, calls = np.arange(min(len(counts), 2 * rows)), 0.0, 0
    shown, noisy = [], []
    padded = np.append(counts, np.zeros(2 * rows + 1, dtype=np.int64))
    while spent + epsilon**2 / 4 <= rho and calls < 100_000:
        behind = padded[left[rows]] if len(left) > rows else 0
        bottom = behind + 1 + math.log(rows / step) / epsilon + chance.gumbel() / epsilon
        above = left[:rows][counts[left[:rows]] > behind]
        scores = counts[above] + chance.gumbel(size=len(above)) / epsilon
        spent, calls = spent + epsilon**2 / 8, calls + 1
        if not len(above) or scores.max() < bottom:
            epsilon *= math.sqrt(2)
            continue
        found = above[int(np.argmax(scores))]
        sigma = max(error / 1.5 * (1 + math.log(rows / step) / epsilon), 2 / epsilon)
        spent += 1 / (2 * sigma**2)
        shown.append(int(found))
        noisy.append(counts[found] + chance.normal(0, sigma))
        left = left[left != found]
    return np.array(shown, dtype=np.int64), np.array(noisy)


def unknown_gumbel(
    counts: Ints, epsilon: float, delta: float, asked: tuple[int, int], *, chance: np.random.Generator
) -> int:
    """UnkGumb (LI Algorithm 4) for names, with errata 1 and 2: how many of a top k are found among so many rows."""
    k, rows = asked
    padded = np.append(counts[: rows + 1], np.zeros(rows + 1, dtype=np.int64))
    places = np.arange(k, rows + 1)
    thresholds = padded[places] + 1 + np.log(places / delta) / epsilon
    # The exponential mechanism: the smallest of threshold minus Gumbel noise (erratum 2).
    place = places[np.argmin(thresholds - chance.gumbel(size=len(places)) / epsilon)]
    bottom = padded[place] + 1 + math.log(place / delta) / epsilon + chance.gumbel() / epsilon
    above = padded[:place][padded[:place] > padded[place]]
    scores = above + chance.gumbel(size=len(above)) / epsilon
    return min(k, int(np.count_nonzero(scores > bottom)))


def analytic_gaussian(epsilon: float, delta: float) -> float:
    """The least deviation for (epsilon, delta)-DP at sensitivity one (Balle and Wang 2018), by bisection."""

    def exceeds(sigma: float) -> bool:
        a, b = 0.5 / sigma, epsilon * sigma
        return float(stats.norm.cdf(a - b) - math.exp(epsilon) * stats.norm.cdf(-a - b)) > delta

    low, high = 1e-3, 1e3
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high
