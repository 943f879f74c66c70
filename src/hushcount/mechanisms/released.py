"""Released rows: noisy counts and selected names, in an order that carries nothing that was not released."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import Plan, root_above
from hushcount.model.inputs import Int64s, Items
from hushcount.model.outcomes import Law, Outcome
from hushcount.noise.calls import AddGaussian, Reach
from hushcount.noise.source import ItemKeys, NoiseSource
from hushcount.noise.widths import half_width


class TopPlan(Plan, Protocol):
    """A plan that selects names and counts them at one epsilon for each step."""

    @property
    def epsilon(self) -> Decimal:
        """What a selection or a count costs."""
        ...

    @property
    def counts(self) -> bool:
        """Whether the names are counted."""
        ...

    @property
    def per_item_cap(self) -> int:
        """By how much one person moves a count."""
        ...


def release_counts(
    plan: Plan,
    items: Items,
    counts: Int64s,
    *,
    law: tuple[Law, float | npt.NDArray[np.float64]],
    cutoff: float | None,
    noise: NoiseSource,
) -> Outcome:
    """A release of noisy counts, largest first, equal ones by item; `law` is that of the noise, and its scale(s)."""
    name, scale = law
    by_item = np.argsort(items, kind="stable")
    order = by_item[np.argsort(-counts[by_item], kind="stable")]
    return Outcome(
        mechanism=plan.name,
        items=items[order],
        counts=counts[order],
        noise=name,
        noise_scale=np.broadcast_to(np.asarray(scale, dtype=np.float64), counts.shape)[order],
        cutoff=cutoff,
        cost=plan.cost,
        private=noise.private,
    )


def past_threshold(release: Outcome, threshold: int | Int64s, *, noise_bound: int | None = None) -> Outcome:
    """The release, saying that each row is there because its own noisy count exceeded this threshold."""
    rows = np.broadcast_to(np.asarray(threshold, dtype=np.int64), (len(release.items),))
    return replace(release, shown_above=rows, noise_bound=noise_bound)


def require_public_list(public_items: Items | None) -> Items:
    """Refuse a missing, empty or repeating public list."""
    listed = [] if public_items is None else public_items.tolist()
    if public_items is None or not listed or len(set(listed)) != len(listed):
        raise InvalidParameter(
            "public_items", f"{len(listed)} entries", "a public list that is not empty, each item once"
        )
    return public_items


# Of a price that is asked again and again it is most of the time.
@lru_cache(maxsize=1024)
def unit_stddev(epsilon: Fraction, per_item_cap: int) -> float:
    """Standard deviation 2 cap / epsilon of the noise on a selected count: epsilon²/8-zCDP, one information unit.

    LI draws Laplace(2 cap / epsilon) for the same unit; the Gaussian's deviation is 2/epsilon where the Laplace's is
    2.83/epsilon.
    """
    return root_above((2 * per_item_cap / epsilon) ** 2)


def counted_within(plan: TopPlan) -> int | None:
    """Give or take of the counts beside the names; None if there are none."""
    stddev = unit_stddev(Fraction(plan.epsilon), plan.per_item_cap)
    return half_width("discrete-gaussian", stddev) if plan.counts else None


def release_names(plan: Plan, items: Items, *, cutoff: float, noise: NoiseSource) -> Outcome:
    """A release of names, sorted by name, so that the order carries nothing."""
    return release_top(plan, np.sort(items), cutoff=cutoff, noise=noise)


def release_top(plan: Plan, items: Items, *, cutoff: float | None, noise: NoiseSource) -> Outcome:
    """Names in the order of selection, which the exponential mechanism releases; scores never leave (erratum 6)."""
    return Outcome(
        mechanism=plan.name,
        items=items,
        counts=None,
        noise="none",
        noise_scale=None,
        cutoff=cutoff,
        cost=plan.cost,
        private=noise.private,
    )


def with_counts(names: Outcome, plan: TopPlan, true_counts: Int64s, *, keys: ItemKeys, noise: NoiseSource) -> Outcome:
    """The names with counts under fresh discrete Gaussian noise, sorted by released count."""
    stddev = unit_stddev(Fraction(plan.epsilon), plan.per_item_cap)
    call = AddGaussian(
        purpose=f"{plan.name}/count",
        keys=keys,
        values=true_counts,
        # Any number of them may move: each was charged for itself.
        reach=Reach(each=plan.per_item_cap),
        variance=Fraction(stddev) ** 2,
    )
    noisy = noise.perform(call)
    rows = release_counts(plan, names.items, noisy, law=("discrete-gaussian", stddev), cutoff=names.cutoff, noise=noise)
    return replace(rows, cost=names.cost)
