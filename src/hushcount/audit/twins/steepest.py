"""Twins of the steepest keep curve, and of the top list that names with it what its comparison did not show."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np

from hushcount.audit.neighbours import table
from hushcount.audit.twins.altered import altered
from hushcount.audit.twins.twin import Original, Twin
from hushcount.audit.twins.weighed import planned, weighing
from hushcount.engines.incidence import MemoryIncidence
from hushcount.mechanisms.selection.union import plan_union
from hushcount.mechanisms.topk.hybrid import HybridPlan, plan_hybrid, run_hybrid
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Bound, UniformWeights, WeightedHistogram
from hushcount.noise.calls import AnyCall, Peel

_PLAN = plan_union("weighted", "ks", rho_budget("0.5", "0.1"), max_items=2)
_ONE_ALONE = table({}, ("a",), "one person alone holds one item")
_CURVE = planned(
    "weighted-ks",
    _PLAN,
    _ONE_ALONE,
    table({}, ("a", "b"), "one person alone holds two items"),
    table({"a": 3, "b": 3}, ("a", "b"), "two items of three other people each, both held"),
)
_HUNDRED = planned(
    "weighted-ks",
    plan_union("weighted", "ks", rho_budget("0.5", "1e-6"), max_items=100),
    table({}, tuple(f"own {number:02}" for number in range(100)), "one person alone holds a hundred items"),
)


def one_item_first(data: MemoryIncidence, bound: Bound) -> WeightedHistogram:
    """All of a person's weight on their first item, and a grid step on each of the others: still of norm one."""
    kept = data.weights(UniformWeights(bound=bound, norm=2, share="held"))
    lists = data.lists(bound, "key")
    weights = np.zeros(len(lists.items), dtype=np.int64)
    for start, end in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        weights[lists.ids[start:end]] += 1
        weights[lists.ids[start]] += math.isqrt(kept.unit**2 - int(end - start)) - 1
    return WeightedHistogram(items=lists.items, weights=weights, unit=kept.unit)


def _hybrid(cap: int) -> Original:
    facts = Facts(k=1, with_counts=False, per_item_cap=cap)
    plan = plan_hybrid(rho_budget("0.5", "0.1"), facts, rows=2, taken=2)
    pairs = (
        table({}, ("a",) * cap, "one person alone holds one item"),
        table({"a": 1, "b": 1, "c": 1}, ("c",) * cap, "three items tie, one of them held"),
        table({"a": 4, "b": 2}, ("a",) * cap, "two items of others, one of them held"),
    )
    return Original(mechanism="hybrid-top", facts=facts, plan=plan, pairs=pairs)


def _spent_twice(plan: object) -> HybridPlan:
    """The naming has all of rho for names, whatever the comparison has used of it."""
    assert isinstance(plan, HybridPlan), "a plan of this mechanism"  # noqa: S101  for the type checker
    return replace(plan, names_rho=plan.names_rho * Decimal("1.8"))


def bottom_without_cap(call: AnyCall) -> AnyCall:
    """Bottom stands at the boundary, not a cap above it: one person lifts an item over the boundary by as much."""
    if not isinstance(call, Peel) or call.last is None:
        return call
    values = call.values.copy()
    values[call.last] -= call.reach.spread or 0
    return replace(call, values=values)


def too_sure_of_standing_out(call: AnyCall) -> AnyCall:
    """Whether k items stand out is told with three times the epsilon that is charged for it."""
    if not isinstance(call, Peel) or not call.purpose.endswith("/stand-out"):
        return call
    return replace(call, rate=3 * call.rate)


_HYBRID, _CAPPED = _hybrid(1), _hybrid(2)

STEEPEST_TWINS: tuple[Twin, ...] = (
    Twin(
        name="keep curve 5 % too steep",
        erratum="rule: log-odds climb no faster than rho allows",
        what="The curve is that of a sigma 5 % smaller than the one that is charged for.",
        caught_by="exact",
        broken=_CURVE.twin(plan=replace(_PLAN, noise_scale=_PLAN.noise_scale / 1.05)),
        sound=_CURVE.sound,
    ),
    Twin(
        name="keep curve 5 % too early",
        erratum="rule: an item of one person stays hidden with probability 1 - delta",
        what="The weight of even odds is 5 % lower than delta allows.",
        caught_by="exact",
        broken=_CURVE.twin(plan=replace(_PLAN, threshold=_PLAN.threshold * 0.95)),
        sound=_CURVE.sound,
    ),
    Twin(
        name="all weight on one new item",
        erratum="rule: each of a person's t new items weighs 1/sqrt(t) at the most",
        what="The weights have norm one, but a person's hundred new items are shown more often than delta.",
        caught_by="replay",
        broken=_HUNDRED.twin(run=weighing(one_item_first)),
        sound=_HUNDRED.sound,
        steps=("replay",),
    ),
    Twin(
        name="second part of a list from spent budget",
        erratum="rule: what one part of a run has spent is not there for the next",
        what="The naming of a top list is planned as if the comparison before it had cost nothing.",
        caught_by="exact",
        broken=_HYBRID.twin(plan=_spent_twice(_HYBRID.plan)),
        sound=_HYBRID.sound,
    ),
    Twin(
        name="whether a list stands out, told too well",
        erratum="rule: what decides about the next step is paid for",
        what="The choice that shares out the budget of a top list has three times its epsilon.",
        caught_by="replay",
        broken=_HYBRID.twin(run=altered(run_hybrid, too_sure_of_standing_out)),
        sound=_HYBRID.sound,
        steps=("replay",),
    ),
    *(
        Twin(
            name=f"bottom without the cap of {cap}",
            erratum="rule: bottom stands a cap above the boundary",
            what="A person who lifts an item over the boundary lifts it over bottom too often.",
            caught_by="exact",
            broken=original.twin(run=altered(run_hybrid, bottom_without_cap)),
            sound=original.sound,
        )
        for cap, original in ((1, _HYBRID), (2, _CAPPED))
    ),
)
