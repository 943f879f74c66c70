"""Released top lists: selected names with separately noised counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hushcount.mechanisms.counts.rows import release_counts
from hushcount.mechanisms.plan import Plan, root_above
from hushcount.model.inputs import Int64s, Items
from hushcount.model.outcomes import Outcome
from hushcount.noise.gaussian import discrete_gaussian
from hushcount.noise.source import ItemKeys, NoiseSource


def count_stddev(epsilon: Fraction, per_item_cap: int) -> float:
    """Standard deviation 2 cap / epsilon of the noise on a selected count: epsilon²/8-zCDP, one information unit.

    LI draws Laplace(2 cap / epsilon) for the same unit; the Gaussian's deviation is 2/epsilon where the Laplace's is
    2.83/epsilon.
    """
    return root_above((2 * per_item_cap / epsilon) ** 2)


def release_top(plan: Plan, items: Items, *, cutoff: float | None, source: NoiseSource) -> Outcome:
    """Names in the order of selection, which the exponential mechanism releases; scores never leave (erratum 6)."""
    return Outcome(
        mechanism=plan.name,
        items=items,
        counts=None,
        noise="none",
        noise_scale=None,
        cutoff=cutoff,
        cost=plan.cost,
        private=source.private,
    )


def with_counts(
    names: Outcome, plan: Plan, true_counts: Int64s, *, keys: ItemKeys, stddev: float, source: NoiseSource
) -> Outcome:
    """The names with counts under fresh discrete Gaussian noise, sorted by released count."""
    noise = discrete_gaussian(source.item_draws(f"{plan.name}/count", keys), Fraction(stddev) ** 2)
    rows = release_counts(
        plan, names.items, true_counts + noise, noise=("discrete-gaussian", stddev), cutoff=names.cutoff, source=source
    )
    return replace(rows, cost=names.cost)
