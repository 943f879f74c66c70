"""Set unions with another weighting: the product's own run, noise and threshold on weights that are made elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from hushcount.audit.neighbours import Neighbours
from hushcount.audit.small_table import listed
from hushcount.audit.subject import Run
from hushcount.audit.twins.twin import Original
from hushcount.engines.incidence import MemoryIncidence
from hushcount.mechanisms.selection.sips import SipsPlan
from hushcount.mechanisms.selection.union import UnionPlan, run_union
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Bound, UniformWeights, UserLists, WeightedHistogram
from hushcount.model.outcomes import Outcome
from hushcount.noise.source import NoiseSource

People: TypeAlias = list[list[str]]
Weigh: TypeAlias = Callable[[MemoryIncidence, Bound], WeightedHistogram]


@frozen
class Weighed:
    """An incidence whose weights are those of another weighting."""

    data: MemoryIncidence
    weigh: Weigh

    def weights(self, rule: UniformWeights) -> WeightedHistogram:
        """The other weighting's weights, under the same bound."""
        return self.weigh(self.data, rule.bound)


def weighing(weigh: Weigh) -> Run:
    """A run of a set union with another weighting, the noise and the threshold of the plan."""

    def run(data: MemoryIncidence, plan: UnionPlan, noise: NoiseSource) -> Outcome:
        # Only its weights are asked for, so it need not be a whole incidence.
        other: Any = Weighed(data=data, weigh=weigh)
        return run_union(other, replace(plan, weighting="weighted"), noise)

    return run


def bounded_lists(data: MemoryIncidence, bound: Bound) -> People:
    """Everybody's bounded list, in the order of the policies."""
    lists = data.lists(bound, "key")
    return [lists.items[ids].tolist() for ids in np.split(lists.ids, lists.offsets[1:-1])] if len(lists.ids) else []


def lists_by_name(data: MemoryIncidence, most: int | None) -> People:
    """Everybody's first items by text, people by name: an order as fixed as one by hash, and set by the table."""
    everybody = data.whole()
    order = np.argsort(np.array(everybody.users.tolist(), dtype=str), kind="stable")
    lists = np.split(everybody.ids, everybody.offsets[1:-1])
    return [data.items[lists[j]][:most].tolist() for j in order]


def as_lists(people: People) -> UserLists:
    """Lists as the weightings of the library take them."""
    items = sorted({item for held in people for item in held})
    place = {item: number for number, item in enumerate(items)}
    ids = [place[item] for held in people for item in held]
    offsets = np.cumsum([0, *map(len, people)], dtype=np.int64)
    return UserLists(items=listed(*items), offsets=offsets, ids=np.array(ids, dtype=np.int32))


def as_weights(weights: Mapping[Hashable, float | Fraction], unit: int, *, scale: int) -> WeightedHistogram:
    """Weights of a printed weighting on the grid of a unit."""
    items = sorted(map(str, weights))
    steps = [math.floor(weights[item] * scale) for item in items]
    return WeightedHistogram(items=listed(*items), weights=np.array(steps, dtype=np.int64), unit=unit)


def named_in_order(people: Sequence[Sequence[str]], extra: int, where: str) -> Neighbours:
    """A table of people who stand in this order; the one at place `extra` is taken out."""
    rows = tuple((f"{n:03d}", item) for n, held in enumerate(people) for item in held)
    return Neighbours(rows=rows, person=f"{extra:03d}", where=where)


def planned(name: str, plan: UnionPlan | SipsPlan, *pairs: Neighbours) -> Original:
    """A mechanism of the table with a plan for this bound, and the neighbours to try."""
    return Original(mechanism=name, facts=Facts(max_items=plan.max_items), plan=plan, pairs=pairs)
