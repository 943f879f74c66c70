"""Set union: a weighting times a keep primitive, the nine named mechanisms that run in one round."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import concentrated, gaussian_noise, inverse_above, pure_epsilon, root_above
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.released import release_names
from hushcount.mechanisms.selection.threshold import (
    gaussian_threshold,
    greedy_threshold,
    ks_threshold,
    laplace_threshold,
)
from hushcount.mechanisms.weighting.greedy import greedy
from hushcount.mechanisms.weighting.policy import L1_UNIT, grid_cutoff, l1_descent, l2_descent, l2_radius
from hushcount.model.amounts import charge, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import Concentrated, Cost, Failure, Gaussian, Pure
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Bound, Incidence, Items, UniformWeights, WeightedHistogram, Weights
from hushcount.model.outcomes import Outcome
from hushcount.noise.bernoulli import Bools
from hushcount.noise.calls import Call, KeepGaussian, KeepKs, KeepLaplace, Reach
from hushcount.noise.source import ItemKeys, NoiseSource

Weighting: TypeAlias = Literal["count", "weighted", "policy", "greedy"]
Primitive: TypeAlias = Literal["laplace", "gaussian", "ks"]

# How many items are taken from each person where no bound was declared: SIPS section 5.
_MAX_ITEMS = 100
# How far above the threshold, in noise scales, a policy stops adding weight: DPSU Table 2 and section 6.2.3; the
# steepest curve is as good as certain at two.
_POLICY_MARGIN = {"laplace": 5.0, "gaussian": 3.0, "ks": 2.0}
# A weight of one grid step, the most by which integer rounding can raise a novel weight (policy Laplace hands out
# leftovers).
_GRID_STEP = 2.0**-30


@frozen
class UnionPlan:
    """Calibrated parameters; noise and thresholds in units of weight one, the sensitivity of every weighting here."""

    name: str
    weighting: Weighting
    primitive: Primitive
    max_items: int
    noise_scale: float
    threshold: float
    full: float
    cost: Cost


def plan_union(weighting: Weighting, primitive: Primitive, budget: Budget, *, max_items: int) -> UnionPlan:
    """Calibrate noise and threshold.

    Args:
        weighting: "count" gives each held item 1/max_items (l1) or 1/sqrt(max_items) (l2), "weighted" 1/d or 1/sqrt(d)
            for a person holding d, "policy" re-routes weight from items that are already full, "greedy" fills a
            person's own most frequent items first.
        primitive: the noise whose threshold test is simulated.
        budget: what may be spent.
        max_items: at most this many items are taken from each person; chosen in advance, not from the data (erratum
            39).
    """
    whole("max_items", max_items, most=2**20)
    if weighting == "greedy" and primitive != "laplace":
        raise InvalidParameter(
            "primitive",
            primitive,
            "'laplace' for the greedy weighting",
            "Its l2-sensitivity is not better than its l1.",
        )
    scale, threshold, cost = _calibrated(weighting, primitive, budget, max_items)
    full = threshold + _POLICY_MARGIN[primitive] * scale
    _require_grid(weighting, primitive, full, max_items=max_items)
    return UnionPlan(
        name=_name(weighting, primitive),
        weighting=weighting,
        primitive=primitive,
        max_items=max_items,
        noise_scale=scale,
        threshold=threshold,
        full=full,
        cost=cost,
    )


def _calibrated(
    weighting: Weighting, primitive: Primitive, budget: Budget, max_items: int
) -> tuple[float, float, Cost]:
    """Scale of the noise (sigma for the steepest curve), threshold and cost."""
    match primitive:
        case "ks":
            # The curve is that of no noise, so it is zCDP and not Gaussian DP: (epsilon, delta) goes the way of zCDP.
            total = concentrated(budget)
            scale = root_above(Fraction(1, 2) / Fraction(total.rho))
            # Every weighting here gives each of t novel items 1/sqrt(t) at the most.
            threshold = ks_threshold(scale, total.delta, max_items, novel_weight=lambda t: t**-0.5 + _GRID_STEP)
            cost = Cost.of(Concentrated(rho=charge(1 / (2 * Fraction(scale) ** 2))), Failure(delta=total.delta))
        case "gaussian":
            scale, delta = gaussian_noise(budget)
            threshold = gaussian_threshold(scale, delta, max_items, novel_weight=_novel_weight(weighting, 2, max_items))
            cost = Cost.of(Gaussian(rho=charge(1 / (2 * Fraction(scale) ** 2))), Failure(delta=delta))
        case "laplace":
            epsilon, delta = pure_epsilon(budget), budget.delta
            scale = inverse_above(epsilon)
            if weighting == "greedy":
                threshold = greedy_threshold(scale, delta, max_items)
            else:
                novel_weight = _novel_weight(weighting, 1, max_items)
                threshold = laplace_threshold(scale, delta, max_items, novel_weight=novel_weight)
            cost = Cost.of(Pure(epsilon=charge(epsilon)), Failure(delta=delta))
        case _:
            assert_never(primitive)
    return scale, threshold, cost


def _require_grid(weighting: Weighting, primitive: Primitive, full: float, *, max_items: int) -> None:
    """Refuse weights that no grid can hold, when planned: the weighting itself would, but after the charge."""
    try:
        if weighting == "policy" and primitive != "laplace":
            l2_radius(full, max_items)
        elif weighting in {"policy", "greedy"}:
            grid_cutoff(full, L1_UNIT)
    except InvalidParameter:
        raise InvalidParameter(
            "budget",
            f"so small that an item is full at {full:.3g} people",
            f"larger for lists of {max_items:,} items",
            "Ask for a larger one, take fewer items of each person, or use 'weighted-gaussian'.",
        ) from None


def _name(weighting: Weighting, primitive: Primitive) -> str:
    return "greedy" if weighting == "greedy" else f"{weighting}-{primitive}"


def run_union(incidence: Incidence, plan: UnionPlan, noise: NoiseSource) -> Outcome:
    """Weigh the bounded lists, then name each item with the probability that its noisy weight exceeds the threshold.

    Guarantee (one person and all their rows added or removed): Gaussian primitives are delta-approximate rho-zCDP, and
    given that no novel item is named, Gaussian DP with mu = 1/noise_scale; Laplace primitives are (epsilon, delta)-DP;
    the steepest curve ("ks") is delta-approximate rho-zCDP and nothing more.
    Assumes: the incidence bounds each person to max_items by that person's own items and the salt alone.

    | edge case | result |
    |---|---|
    | no people, no items | an empty release at full cost |
    | one person | their items are named with probability at most delta |
    | an item of weight zero | may be named, with the probability of weight zero (erratum 25) |

    Source: DPSU (Gopi et al.) Algorithms 1-5 and 7; GW (Carvalho et al.) repaired. Corrected: only items of the
    *bounded* lists can be named (erratum 24), zero weights included (25); the strict test `>` (32); full budgets fill
    to the cut-off (23); thresholds for many novel items of a greedy person (36); no l1-descent under Gaussian noise
    (22). The steepest curve: docs, mechanisms/steepest.md; its threshold rests on each of a person's t novel items
    weighing 1/sqrt(t) at the most, which holds for "weighted" and for l2-descent.
    """
    named = name_items(incidence, plan, noise, without=None, purpose=plan.name)
    return release_names(plan, named, cutoff=plan.threshold, noise=noise)


def name_items(
    incidence: Incidence, plan: UnionPlan, noise: NoiseSource, *, without: Items | None, purpose: str
) -> Items:
    """One round: the items named, leaving out those named before (`without`)."""
    bound = Bound(max_items=plan.max_items, salt=noise.salt(f"bound/{purpose}"), without=without)

    def named(block: WeightedHistogram) -> Items:
        keep = noise.perform(_keep(block, plan, purpose, noise.identify(block.items)))
        return block.items[keep]

    return _weigh(incidence, plan, bound).each(named)


def _keep(block: WeightedHistogram, plan: UnionPlan, purpose: str, keys: ItemKeys) -> Call[Bools]:
    """The coins of some items: one person moves all weights together by one unit, in l2 or in l1."""
    if plan.primitive != "laplace":
        call = KeepGaussian if plan.primitive == "gaussian" else KeepKs
        return call(
            purpose=purpose,
            keys=keys,
            values=block.weights,
            reach=Reach(l2=block.unit),
            unit=block.unit,
            stddev=plan.noise_scale,
            threshold=plan.threshold,
        )
    return KeepLaplace(
        purpose=purpose,
        keys=keys,
        values=block.weights,
        reach=Reach(l1=block.unit),
        unit=block.unit,
        scale=plan.noise_scale,
        threshold=plan.threshold,
    )


def _weigh(incidence: Incidence, plan: UnionPlan, bound: Bound) -> Weights:
    norm: Literal[1, 2] = 1 if plan.primitive == "laplace" else 2
    match plan.weighting:
        case "count":
            return incidence.weights(UniformWeights(bound=bound, norm=norm, share="bound"))
        case "weighted":
            return incidence.weights(UniformWeights(bound=bound, norm=norm, share="held"))
        case "policy":
            lists = incidence.lists(bound, "key")
            return l2_descent(lists, plan.full, max_items=plan.max_items) if norm == 2 else l1_descent(lists, plan.full)
        case "greedy":
            return greedy(incidence.lists(bound, "frequency"), plan.full)
        case _:
            assert_never(plan.weighting)


def _novel_weight(weighting: Weighting, norm: Literal[1, 2], max_items: int) -> Callable[[int], float]:
    """The most that each of t items held by one person alone can weigh: the paper's number and a grid step."""
    if weighting == "count":
        return lambda _: max_items ** (-1 / norm) + _GRID_STEP
    return lambda t: t ** (-1 / norm) + _GRID_STEP


def taken(facts: Facts) -> int:
    """How many items to take from each person."""
    return facts.max_items or _MAX_ITEMS


def _mechanism(weighting: Weighting, primitive: Primitive) -> Mechanism:
    return Mechanism(
        name=_name(weighting, primitive),
        question="vocab",
        wants="incidence",
        takes=frozenset({"max_items"}),
        calibrate=lambda budget, facts: plan_union(weighting, primitive, budget, max_items=taken(facts)),
        run=run_union,
        expect=lambda plan: Expectation(cutoff=plan.threshold),
        sequential=weighting in {"policy", "greedy"},
        weighs=True,
    )


UNIONS: tuple[Mechanism, ...] = (
    _mechanism("weighted", "gaussian"),
    _mechanism("weighted", "laplace"),
    _mechanism("count", "gaussian"),
    _mechanism("count", "laplace"),
    _mechanism("policy", "gaussian"),
    _mechanism("policy", "laplace"),
    _mechanism("greedy", "laplace"),
    _mechanism("weighted", "ks"),
    _mechanism("policy", "ks"),
)
