"""Twins of the set unions in one round or several: items that get noise, thresholds, repeats, bounds and removals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from hushcount.accounting.normal import isf
from hushcount.audit.neighbours import table
from hushcount.audit.small_table import listed
from hushcount.audit.twins import weightings
from hushcount.audit.twins.formulas import share_as_printed
from hushcount.audit.twins.twin import Twin
from hushcount.audit.twins.weighed import as_weights, named_in_order, planned, weighing
from hushcount.engines.incidence import MemoryIncidence
from hushcount.mechanisms.released import release_names
from hushcount.mechanisms.selection.sips import SipsPlan, plan_sips
from hushcount.mechanisms.selection.union import UnionPlan, plan_union, run_union
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.inputs import Bound, Int64s, Items, UniformWeights, WeightedHistogram
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import KeepGaussian, Reach
from hushcount.noise.source import NoiseSource

_EPSILON = epsilon_budget(1, "0.05")


def cut_items_noised(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """Items that the bound cut get noise on a weight of zero (erratum 24)."""
    kept = data.weights(UniformWeights(bound=bound, norm=1, share="held"))
    weight = dict(zip(kept.items.tolist(), kept.weights.tolist(), strict=True))
    weights = np.array([weight.get(item, 0) for item in data.items.tolist()], dtype=np.int64)
    return WeightedHistogram(items=data.items, weights=weights, unit=kept.unit)


def uniform(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """Uniform weights, as the product has them."""
    return data.weights(UniformWeights(bound=bound, norm=1, share="held"))


def without_dedupe(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:  # noqa: ARG001  nobody is over it
    """Each row adds its weight, so that repeated rows add up (erratum 38)."""
    everybody = data.whole()
    people = np.repeat(np.arange(len(everybody.users)), np.diff(everybody.offsets))
    rows = [
        (int(person), str(item))
        for person, item, times in zip(people, data.items[everybody.ids], everybody.times, strict=True)
        for _ in range(int(times))
    ]
    steps = weightings.uniform_without_dedupe(rows, unit=1 << 30)
    return as_weights({item: Fraction(step) for item, step in steps.items()}, 1 << 30, scale=1)


def bound_from_data(data: MemoryIncidence, plan: UnionPlan, noise: NoiseSource) -> Outcome:
    """The bound on items is the longest list in the data (erratum 39)."""
    longest = int(np.diff(data.whole().offsets).max(initial=1))
    return run_union(data, replace(plan, max_items=longest), noise)


def removing_likely_items(data: MemoryIncidence, plan: SipsPlan, noise: NoiseSource) -> Outcome:
    """After each round all items are removed whose true weight is above the threshold, named or not (erratum 34)."""
    gone: Items = listed()
    named: list[str] = []
    for number, one in enumerate(plan.rounds):
        bound = Bound(max_items=one.max_items, salt=noise.salt(f"bound/{number}"), without=gone)
        block = data.weights(UniformWeights(bound=bound, norm=2, share="held"))
        call = KeepGaussian(
            purpose=f"sips/{number}",
            keys=noise.identify(block.items),
            values=block.weights,
            reach=Reach(l2=block.unit),
            unit=block.unit,
            stddev=one.noise_scale,
            threshold=one.threshold,
        )
        named += block.items[noise.perform(call)].tolist()
        gone = np.concatenate([gone, block.items[_above(block, one.threshold)]])
    return release_names(plan, listed(*sorted(set(named))), cutoff=plan.rounds[-1].threshold, noise=noise)


def _above(block: WeightedHistogram, threshold: float) -> Int64s:
    return np.flatnonzero(block.weights > threshold * block.unit)


_LAPLACE_1 = plan_union("weighted", "laplace", _EPSILON, max_items=1)
_CUT = planned("weighted-laplace", _LAPLACE_1, table({}, tuple("abcde"), "one person alone holds five items"))
_TINY_DELTA = planned(
    "weighted-gaussian",
    plan_union("weighted", "gaussian", rho_budget(1, "2e-16"), max_items=2),
    table({}, ("a",), "one person alone holds one item"),
    table({}, ("a", "b"), "one person alone holds two items"),
)
_ROWS = planned(
    "weighted-gaussian",
    plan_union("weighted", "gaussian", rho_budget(1, "0.05"), max_items=2),
    table({"a": 2}, ("a", "a", "a"), "an item of two others, which the person has in three equal rows"),
)
_BOUNDED = planned(
    "count-gaussian",
    plan_union("count", "gaussian", rho_budget(1, "0.05"), max_items=4),
    table({"a": 3}, tuple("bcde"), "three people with one item, and one who holds four others"),
)
_SIPS_PLAN = plan_sips(rho_budget("0.05", "0.01"), 2)
# So many people share an item that it stands just above the first threshold with one of them and below it without.
_SHARED = math.floor(_SIPS_PLAN.rounds[0].threshold * math.sqrt(2)) + 1
_SIPS = planned(
    "sips",
    _SIPS_PLAN,
    named_in_order(
        [("shared", f"own {n}") for n in range(_SHARED)], 0, f"{_SHARED} people share an item and have one of their own"
    ),
)


def _threshold_as_printed() -> UnionPlan:
    """The threshold by 1 - (1 - delta)^(1/t) in doubles (erratum 29)."""
    plan = plan_union("weighted", "gaussian", rho_budget(1, "2e-16"), max_items=2)
    levels = [t**-0.5 + plan.noise_scale * isf(share_as_printed(2e-16, t)) for t in (1, 2)]
    return replace(plan, threshold=max(levels))


UNION_TWINS: tuple[Twin, ...] = (
    Twin(
        name="noise on items that were cut",
        erratum="erratum 24",
        what="Items that the bound cut from a person's list can be named all the same.",
        caught_by="exact",
        broken=_CUT.twin(run=weighing(cut_items_noised)),
        sound=_CUT.twin(run=weighing(uniform)),
    ),
    Twin(
        name="delta shared out in doubles",
        erratum="erratum 29",
        what="1 - (1 - delta)^(1/t) in doubles is up to a unit of 1.1e-16 too large, which is much of a small delta.",
        caught_by="replay",
        broken=_TINY_DELTA.twin(plan=_threshold_as_printed()),
        sound=_TINY_DELTA.sound,
    ),
    Twin(
        name="removing items that were not named",
        erratum="erratum 34",
        what="A round removes all items that are heavy enough, so that the next round tells which were.",
        caught_by="replay",
        broken=_SIPS.twin(run=removing_likely_items),
        sound=_SIPS.sound,
        steps=("replay",),
    ),
    Twin(
        name="no dedupe",
        erratum="erratum 38",
        what="A row that is there three times weighs three times.",
        caught_by="exact",
        broken=_ROWS.twin(run=weighing(without_dedupe)),
        sound=_ROWS.sound,
    ),
    Twin(
        name="bound from the data",
        erratum="erratum 39",
        what="The bound on a person's items is the longest list that is there, so one person changes all weights.",
        caught_by="exact",
        broken=_BOUNDED.twin(run=bound_from_data),
        sound=_BOUNDED.sound,
    ),
)
