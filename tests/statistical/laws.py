"""The claimed laws as exact tables of probabilities, from their definitions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np


@dataclass(frozen=True)
class Law:
    """Probabilities of the integers from `low` on; the others together have less than 10^-18, taken as impossible."""

    low: int
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        assert abs(self.probabilities.sum() - 1) < 1e-9


def _normalised(low: int, weights: np.ndarray) -> Law:
    return Law(low, weights / weights.sum())


def geometric(scale: float) -> Law:
    """P[G = k] proportional to exp(-k / scale), k = 0, 1, ..."""
    return _normalised(0, np.exp(-np.arange(int(45 * scale) + 2) / scale))


def discrete_laplace(scale: float) -> Law:
    """P[X = x] proportional to exp(-|x| / scale)."""
    return truncated_geometric(scale, int(45 * scale) + 2)


def truncated_geometric(scale: float, bound: int) -> Law:
    """P[X = x] proportional to exp(-|x| / scale) for |x| <= bound."""
    x = np.arange(-bound, bound + 1)
    return _normalised(-bound, np.exp(-np.abs(x) / scale))


def discrete_gaussian(sigma: float) -> Law:
    """P[X = x] proportional to exp(-x² / (2 sigma²))."""
    bound = int(9.5 * sigma) + 2
    x = np.arange(-bound, bound + 1)
    return _normalised(-bound, np.exp(-(x**2) / (2 * sigma**2)))


def bernoulli(p: float) -> Law:
    """One with probability p, else zero."""
    return Law(0, np.array([1 - p, p]))


def plackett_luce(weights: np.ndarray, places: int) -> Law:
    """Orders of the first `places` candidates, numbered as `permutations` gives them: each is picked by weight."""
    found = []
    for order in permutations(range(len(weights)), places):
        left, chance = weights.sum(), 1.0
        for row in order:
            chance *= weights[row] / left
            left -= weights[row]
        found.append(chance)
    return Law(0, np.array(found))


def order_numbers(orders: np.ndarray, candidates: int) -> np.ndarray:
    """The number of each order (a row of candidate numbers) in the numbering of `plackett_luce`."""
    places = orders.shape[1]
    digits = candidates ** np.arange(places)
    numbers = np.full(candidates**places, -1)
    for number, order in enumerate(permutations(range(candidates), places)):
        numbers[np.array(order) @ digits] = number
    return numbers[orders @ digits]
