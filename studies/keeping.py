"""Keep probabilities: with which probability an item of n people is shown, by the four ways of one item per person."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt
from scipy import stats

from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold
from hushcount.mechanisms.counts.tsgd import plan_tsgd
from hushcount.mechanisms.selection.optimal import plan_optimal
from hushcount.mechanisms.selection.union import plan_union
from hushcount.model.budgets import epsilon_budget

Floats = npt.NDArray[np.float64]
Curve = Callable[[npt.NDArray[np.int64]], Floats]
_GRID = 2.0**-128


def curves(epsilon: float, delta: float) -> dict[str, Curve]:
    """What our plans keep, as functions of the number of people, where each has one item."""
    budget = epsilon_budget(Decimal(str(epsilon)), Decimal(str(delta)))
    table = np.array([float(entry) * _GRID for entry in plan_optimal(budget, 1).table])
    laplace = plan_union("count", "laplace", budget, max_items=1)
    gaussian = plan_union("count", "gaussian", budget, max_items=1)
    truncated = plan_tsgd(budget, 1)
    return {
        "optimal": lambda n: table[np.minimum(n, len(table) - 1)],
        "laplace": lambda n: stats.laplace.sf(laplace.threshold - n, scale=laplace.noise_scale),
        "gaussian": lambda n: stats.norm.sf(gaussian.threshold - n, scale=gaussian.noise_scale),
        "tsgd": lambda n: _truncated(n, epsilon, truncated.bound),
    }


def _truncated(n: npt.NDArray[np.int64], epsilon: float, bound: int) -> Floats:
    """P[n + X > bound], X on -bound..bound with mass in proportion to e^(-epsilon |x|)."""
    mass = np.exp(-epsilon * np.abs(np.arange(-bound, bound + 1)))
    above = np.concatenate((np.cumsum(mass[::-1])[::-1] / mass.sum(), [0.0]))
    # X > bound - n is X >= bound - n + 1, which stands at place 2 bound - n + 1.
    places = np.clip(2 * bound - n + 1, 0, 2 * bound + 1)
    return np.asarray(np.where(n <= 0, 0.0, above[places]))


def optimal_as_printed(epsilon: float, delta: float, most: int) -> Floats:
    """pi_opt by DVGM's Lemma 1, in doubles: the least of what the inequalities allow, from zero people on."""
    kept = [0.0]
    for _ in range(most):
        now = kept[-1]
        kept.append(min(np.exp(epsilon) * now + delta, 1 - np.exp(-epsilon) * (1 - now - delta), 1.0))
    return np.array(kept)


def crossing(curve: Curve, share: float, most: int) -> int:
    """The least number of people of which an item is kept with at least this probability."""
    n = np.arange(most + 1)
    return int(np.argmax(curve(n) >= share))


def gaussian_of_counts(epsilon: float, delta: float, kappa: int) -> float:
    """The mid-point of Gaussian noise on counts of people with kappa items each: its threshold."""
    plan = plan_gaussian_threshold(epsilon_budget(Decimal(str(epsilon)), Decimal(str(delta))), kappa)
    return float(plan.threshold)
