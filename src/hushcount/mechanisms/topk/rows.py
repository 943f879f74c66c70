"""Released top lists: selected names with separately noised counts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from hushcount.mechanisms.counts.rows import release_counts
from hushcount.mechanisms.plan import Plan, root_above
from hushcount.model.inputs import Int64s, Items
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, Reach
from hushcount.noise.source import ItemKeys, NoiseSource


class TopPlan(Plan, Protocol):
    """A plan that selects names and counts them at one epsilon for each step."""

    @property
    def epsilon(self) -> Decimal:
        """What a selection or a count costs."""
        ...

    @property
    def per_item_cap(self) -> int:
        """By how much one person moves a count."""
        ...


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


def with_counts(names: Outcome, plan: TopPlan, true_counts: Int64s, *, keys: ItemKeys, source: NoiseSource) -> Outcome:
    """The names with counts under fresh discrete Gaussian noise, sorted by released count."""
    stddev = count_stddev(Fraction(plan.epsilon), plan.per_item_cap)
    call = AddGaussian(
        purpose=f"{plan.name}/count",
        keys=keys,
        values=true_counts,
        # Any number of them may move: each was charged for itself.
        reach=Reach(each=plan.per_item_cap),
        variance=Fraction(stddev) ** 2,
    )
    noisy = source.perform(call)
    rows = release_counts(
        plan, names.items, noisy, noise=("discrete-gaussian", stddev), cutoff=names.cutoff, source=source
    )
    return replace(rows, cost=names.cost)
