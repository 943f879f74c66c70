"""The k most held items, no list, no bound per person: by comparison where items stand out, by naming where not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.mechanisms.calibration import concentrated, most_delta, root_below
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import Contest, Ranking, bottom_odds, place_call, rank
from hushcount.mechanisms.released import counted_within, release_top, unit_stddev, with_counts
from hushcount.mechanisms.selection.union import UnionPlan, name_items, plan_union
from hushcount.model.amounts import allow, charge, share, whole
from hushcount.model.budgets import Budget, RhoBudget
from hushcount.model.costs import BoundedRange, Concentrated, Cost, DiscreteGaussian, Failure
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Bound, Holdings, Int64s, Items, UniformWeights
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import Peel, Reach
from hushcount.noise.gaussian import require_variance
from hushcount.noise.source import NoiseSource

# Of rho for names, the share that the comparison may use where it is not to show all: the rest is for naming.
_COMPARED = Fraction(4, 5)
# There the comparison has half of delta; where it may use all of rho, all of delta but a tenth: delta over its part.
_COMPARED_SURELY = Fraction(10, 9)
# Of rho, what each of the two choices costs that tell which it is.
_TESTED = Fraction(1, 100)
# Naming is hopeless if an item needs more than this share of what all people weigh (docs, mechanisms/count.md).
_CROWDED = 0.45
# By so many scales of the choice's noise more, so that noise alone hardly makes it look worth a fifth of rho.
_CLEARLY = 2
# What a person who has one item weighs there.
_UNIT = 1 << 20
# With less than this share of rho hardly anything could be named.
_LEAST_NAMING = Fraction(1, 20)
# How many items are taken from each person where items are named.
_TAKEN = 1000
# Further above the boundary nothing can be; leaves room in 64 bits.
_FAR = 2.0**61
# Leaves room for the grid of charges, which rounds each of many steps up.
_HARDLY_LESS = 1 - Fraction(1, 2**40)


@frozen
class HybridPlan:
    """Up to k selections and k counts at epsilon each; what is left of rho for names, for naming and choosing.

    `epsilon`, `names_rho` and `deltas` are those of a list that has to be named in part.

    Attributes:
        name: of the mechanism.
        max_items: none; people's lists are bounded only where items are named, by `taken`.
        per_item_cap: by how much one person moves a count.
        k: how many items are asked for.
        rows: how many of the largest counts are compared.
        taken: how many items are taken from each person where items are named.
        counts: whether the names are counted.
        epsilon: of one selection of the comparison, and of one count.
        names_rho: all of rho that is for names, after the choices below.
        sure: the same two if k items stand out, or none could be named; the threshold's place has this epsilon.
        sure_deltas: `deltas` likewise.
        tested: epsilon of each choice that tells which of the two it is.
        rho: all of it.
        deltas: of the comparison, and of the naming.
        naming: the naming, if the comparison shows nothing at all.
        cost: the most that a run can cost.
    """

    name: str
    max_items: None
    per_item_cap: int
    k: int
    rows: int
    taken: int
    counts: bool
    epsilon: Decimal
    names_rho: Decimal
    sure: tuple[Decimal, Decimal]
    sure_deltas: tuple[Decimal, Decimal]
    tested: Decimal
    rho: Decimal
    deltas: tuple[Decimal, Decimal]
    naming: UnionPlan
    cost: Cost


@dataclass(frozen=True, slots=True)
class _Part:
    """Names in the order of selection, their true counts, and what finding them cost."""

    items: Items
    counts: Int64s
    cost: Cost

    def with_more(self, rest: _Part) -> _Part:
        """These names, and then others."""
        return _Part(
            np.concatenate([self.items, rest.items]),
            np.concatenate([self.counts, rest.counts]),
            self.cost + rest.cost,
        )


def plan_hybrid(budget: Budget, facts: Facts, *, rows: int | None = None, taken: int = _TAKEN) -> HybridPlan:
    """Two epsilons: k selections use all of rho for names, or four fifths of it; a count costs as much as a selection.

    Args:
        budget: what may be spent.
        facts: how many items, with counts or without, and the cap.
        rows: how many of the largest counts are compared at most; max(10 k, 1000), as in LI, if not said.
        taken: how many items are taken from each person where items are named.
    """
    k, total = whole("k", facts.k or 0, most=2**20), concentrated(budget)
    fetched = max(10 * k, 1000) if rows is None else whole("rows", rows, least=k, most=2**24)
    counted = k if facts.with_counts else 0
    tested = _epsilon(total.rho, 1 / _TESTED)
    sure = _epsilon(_left(total.rho, tested, 2), Fraction(k + 1 + counted))
    left = _left(_left(total.rho, tested, 2), sure, 1)
    epsilon = _epsilon(left, k / _COMPARED + counted)
    if counted:
        require_variance(Fraction(unit_stddev(Fraction(epsilon), facts.per_item_cap)) ** 2)
    names_rho = _left(left, epsilon, counted)
    deltas, sure_deltas = (
        (min(share(total.delta, parts), most_delta(one, facts.per_item_cap)), share(total.delta, parts / (parts - 1)))
        for one, parts in ((epsilon, Fraction(2)), (sure, _COMPARED_SURELY))
    )
    return HybridPlan(
        name="hybrid-top",
        max_items=None,
        per_item_cap=facts.per_item_cap,
        k=k,
        rows=fetched,
        taken=whole("taken", taken, most=2**20),
        counts=facts.with_counts,
        epsilon=epsilon,
        names_rho=names_rho,
        sure=(sure, _left(left, sure, counted)),
        sure_deltas=sure_deltas,
        tested=tested,
        rho=total.rho,
        deltas=deltas,
        naming=_plan_naming(_left(names_rho, epsilon, 1), deltas[1], taken),
        cost=Cost.of(Concentrated(rho=total.rho), Failure(delta=total.delta)),
    )


def run_hybrid(data: Holdings, plan: HybridPlan, noise: NoiseSource) -> Outcome:
    """Compare the largest counts with a threshold; if fewer than k stand above it, name the rest, and choose of these.

    1. The threshold's place is chosen, as in `unknown-gumbel`.
    2. One choice tells whether k items stand out there, and if not, another whether any could be named. If they do, or
       none could, the comparison gets all of rho, as there; else four fifths, so that enough is left to name with.
    3. The comparison; and, where it meets bottom, names and a choice among them, with all that is left.

    Guarantee: delta-approximate rho-zCDP. The place and the choices of step 2 are epsilon-bounded range each, at their
    own epsilons. The comparison is one unknown-domain draw: delta once, epsilon²/8 for each name and for bottom (docs,
    mechanisms/top.md: one draw is peeling whatever its length). The naming is the steepest curve on people's lists,
    the choice k - j selections by true count of one cap's range. What is left for a step is decided by what was
    released before it, which the filter of Whitehouse et al. allows; charged is what was drawn.
    Assumes: one person adds at most cap to any one count; the lists are bounded by each person's own items and a salt.

    | edge case | result |
    |---|---|
    | k items stand out | nothing else is read of the data, and what is left of rho is not charged |
    | no data | an empty list; costs the choices, bottom and the naming |
    | fewer items named than are missing | all of them, in the order of the choice |
    | bottom comes so late that less than a twentieth of rho is left | a shorter list |
    | ties with the boundary | not shown by the comparison; named like all others |

    Source: DR19 and LI Algorithm 4, with errata 1, 2 and 6 corrected; Dick et al. for naming first and choosing then,
    with the steepest curve in the place of noise.
    """
    top = rank(data.top(plan.rows + 1), plan.rows)
    place = _place(top, plan, noise)
    told = Cost.of(BoundedRange(epsilon=plan.tested))
    sure = _stand_out(top, plan, noise, place=place)
    if not sure:
        sure, told = _hopeless(data, plan, noise), told + told
    if sure:
        plan = replace(plan, epsilon=plan.sure[0], names_rho=plan.sure[1], deltas=plan.sure_deltas)
    found = _compare(top, plan, noise, place=place)
    found = replace(found, cost=told + Cost.of(BoundedRange(epsilon=plan.sure[0])) + found.cost)
    cutoff = None
    if len(found.items) < plan.k:
        # Bottom was paid for, too.
        left = _left(plan.names_rho, plan.epsilon, len(found.items) + 1)
        least = share(plan.rho, 1 / _LEAST_NAMING)
        naming = _plan_naming(max(left, least), plan.deltas[1], plan.taken)
        cutoff = naming.threshold
        if left >= least:
            found = found.with_more(_name_and_choose(data, plan, noise, naming=naming, shown=found.items))
    names = replace(release_top(plan, found.items, cutoff=cutoff, noise=noise), cost=found.cost)
    if not plan.counts:
        return names
    counted = Cost.of((DiscreteGaussian(rho=_unit(plan.epsilon)), len(found.items)))
    names = replace(names, cost=found.cost + counted)
    return with_counts(names, plan, found.counts, keys=noise.identify(found.items), noise=noise)


def _place(top: Ranking, plan: HybridPlan, noise: NoiseSource) -> int:
    """Where the threshold stands, from behind the k-th to behind the last of the rows; as in `unknown-gumbel`."""
    epsilon = Fraction(plan.sure[0])
    call = place_call(top, plan.k, epsilon=epsilon, cap=plan.per_item_cap, purpose=f"{plan.name}/place")
    return plan.k + int(noise.perform(call)[0])


def _stand_out(top: Ranking, plan: HybridPlan, noise: NoiseSource, *, place: int) -> bool:
    """Whether the k-th count is as far above the boundary as bottom would stand, by one exponential choice of the two.

    Both counts move in one direction by at most cap when a person comes or goes; what is added to one is public.
    """
    away = plan.per_item_cap * (1 + math.log(place / float(plan.sure_deltas[0])) / float(plan.sure[0]))
    call = Peel(
        purpose=f"{plan.name}/stand-out",
        keys=None,
        values=np.array([top.counts[plan.k - 1], top.counts[place] + math.ceil(min(away, _FAR))]),
        reach=Reach(spread=plan.per_item_cap),
        rate=Fraction(plan.tested) / plan.per_item_cap,
        most=1,
    )
    return not noise.perform(call)[0]


def _hopeless(data: Holdings, plan: HybridPlan, noise: NoiseSource) -> bool:
    """Whether an item that everybody had would weigh too little to be named for sure, by one exponential choice.

    A person weighs one at most. Where lists are long and people few, naming is not worth a fifth of the comparison.
    Where it cannot be told, it is not: a comparison that fails early leaves nearly all of rho to naming anyway.
    """
    bound = Bound(max_items=plan.taken, salt=noise.salt(f"{plan.name}/hopeless"))
    everybody = UniformWeights(bound=bound, norm=2, share="held", bits=_UNIT.bit_length() - 1)
    needed = plan.naming.threshold / _CROWDED + _CLEARLY / float(plan.tested)
    call = Peel(
        purpose=f"{plan.name}/hopeless",
        keys=None,
        values=np.array([data.incidence().everyone(everybody), math.ceil(min(needed * _UNIT, _FAR))]),
        reach=Reach(spread=_UNIT),
        rate=Fraction(plan.tested) / _UNIT,
        most=1,
    )
    return bool(noise.perform(call)[0])


def _compare(top: Ranking, plan: HybridPlan, noise: NoiseSource, *, place: int) -> _Part:
    """The first part: at most k names from above the threshold."""
    above = top.above(place)
    contest = Contest(
        keys=noise.identify(top.items[:above]),
        counts=top.counts[:above],
        bottom=(int(top.counts[place]) + plan.per_item_cap, bottom_odds(place, Fraction(plan.deltas[0]))),
        epsilon=Fraction(plan.epsilon),
        cap=plan.per_item_cap,
        most=plan.k,
    )
    order = noise.perform(contest.call(f"{plan.name}/compare"))
    chosen = order[order < above]
    # Bottom is a place like any other.
    cost = Cost.of((BoundedRange(epsilon=plan.epsilon), len(order)), Failure(delta=plan.deltas[0]))
    return _Part(top.items[chosen], top.counts[chosen], cost)


def _name_and_choose(data: Holdings, plan: HybridPlan, noise: NoiseSource, *, naming: UnionPlan, shown: Items) -> _Part:
    """The second part: name what is not shown yet, and choose as many as are missing by their true counts."""
    without = shown if len(shown) else None
    # Sorted, since names come from many machines in any order.
    named = np.sort(name_items(data.incidence(), naming, noise, without=without, purpose=f"{plan.name}/names"))
    missing = plan.k - len(shown)
    if not len(named):
        return _Part(named, np.array([], dtype=np.int64), naming.cost)
    counts = data.counts_of(named)
    epsilon = _epsilon(_half(naming), Fraction(missing))
    call = Peel(
        purpose=f"{plan.name}/choose",
        keys=noise.identify(named),
        values=counts,
        reach=Reach(spread=plan.per_item_cap),
        rate=Fraction(epsilon) / plan.per_item_cap,
        most=missing,
    )
    chosen = noise.perform(call)
    return _Part(named[chosen], counts[chosen], naming.cost + Cost.of((BoundedRange(epsilon=epsilon), len(chosen))))


def _plan_naming(left: Decimal, delta: Decimal, taken: int) -> UnionPlan:
    """Half of what is left names; the other half chooses."""
    return plan_union("weighted", "ks", RhoBudget(share(left, 2), delta), max_items=taken)


def _half(naming: UnionPlan) -> Decimal:
    """What the naming costs: as much is there for the choice."""
    return next(event.rho for event, _ in naming.cost.events if isinstance(event, Concentrated))


def _epsilon(rho: Decimal, steps: Fraction) -> Decimal:
    """What each of so many steps may have, if all of them together have rho."""
    return Decimal(root_below(8 * Fraction(rho) / steps * _HARDLY_LESS))


def _unit(epsilon: Decimal) -> Decimal:
    """What a selection or a count at this epsilon costs."""
    return charge(Fraction(epsilon) ** 2 / 8)


def _left(rho: Decimal, epsilon: Decimal, steps: int) -> Decimal:
    """What so many selections or counts leave of rho. In fractions: decimals would round a difference to 28 digits."""
    return allow(Fraction(rho) - steps * Fraction(_unit(epsilon)))


def expect_hybrid(plan: HybridPlan) -> Expectation:
    """As if no item stood out, so that all must be named."""
    note = f"Fewer than {plan.k} items are shown only if hardly more can be named."
    return Expectation(give_or_take=counted_within(plan), cutoff=plan.naming.threshold, notes=(note,))


HYBRID_TOP = Mechanism(
    name="hybrid-top",
    question="top",
    wants="holdings",
    needs=frozenset({"k"}),
    takes=frozenset({"per_item_cap", "with_counts"}),
    calibrate=plan_hybrid,
    run=run_hybrid,
    expect=expect_hybrid,
    small=lambda budget, facts: plan_hybrid(budget, facts, rows=max(2, facts.k or 0) + 1, taken=2),
    fetch=lambda plan: plan.rows + 1,
    weighs=True,
    version=4,
)
