"""Ladders in rounds: keep probabilities that climb as fast as the budget allows, the default of `vocab`."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from hushcount.accounting.convert import order_for
from hushcount.mechanisms.calibration import concentrated
from hushcount.mechanisms.ladders.tables import ladders
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.released import release_names
from hushcount.mechanisms.selection.union import plan_union, taken
from hushcount.model.amounts import float_above, share, whole
from hushcount.model.budgets import Budget, RhoBudget
from hushcount.model.costs import EVERY_ORDER, Concentrated, Cost, Failure, Truncated
from hushcount.model.expectations import Expectation
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Bound, Incidence, Items, LengthWeights, SummedItems
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import KeepByLadders, Reach
from hushcount.noise.chances import Ladders
from hushcount.noise.source import NoiseSource

# Parts of rho and of delta for the rounds: each has four times what the one before has.
_PARTS = (1, 4, 16)
# Who has so few items gains little when some of them are named: one round, with all of the budget.
_SHORT = 3
# A weight of one on the steepest curve.
_UNIT = 1 << 30


@frozen
class LadderRound:
    """One round: what people add to their items in each column, by how many they hold, and what comes of the sums.

    Attributes:
        weights: for each table, and last for the steepest curve, what a person with 1, 2, ... items adds to each.
        ladders: the tables and the curve.
        rho: what the tables are certified for.
        delta: as `rho`.
        cap: as `rho`: the largest Renyi order; infinite where all are covered.
        threshold: about how many people who have nothing else an item needs for even odds.
        cost: what the round costs.
    """

    weights: tuple[tuple[int, ...], ...]
    ladders: Ladders
    rho: Decimal
    delta: Decimal
    cap: float
    threshold: float
    cost: Cost


@frozen
class LadderPlan:
    """One round after the other; later ones have more budget and a lower threshold."""

    name: str
    rounds: tuple[LadderRound, ...]
    max_items: int
    cost: Cost


def plan_ladder(budget: Budget, max_items: int, *, parts: tuple[int, ...] | None = None) -> LadderPlan:
    """Split the budget among rounds, and make and certify the tables of each.

    Args:
        budget: what may be spent.
        max_items: at most this many items are taken from each person; chosen in advance, not from the data.
        parts: what each round gets of rho and of delta; 1, 4 and 16 of 21 where people may have more than three items.
    """
    whole("max_items", max_items, most=2**20)
    parts = parts or (_PARTS if max_items > _SHORT else (1,))
    total = _for_orders(budget)
    times = [Fraction(sum(parts), part) for part in parts]
    rounds = tuple(
        _plan_round(RhoBudget(share(total.rho, each), share(total.delta, each), total.order), max_items)
        for each in times
    )
    return LadderPlan(name="ladder", rounds=rounds, max_items=max_items, cost=Cost.total(one.cost for one in rounds))


def _for_orders(budget: Budget) -> RhoBudget:
    """The budget as rho, delta and the Renyi orders that must be covered.

    (epsilon, delta) needs the one order that its conversion uses, and those at which whoever keeps count converts.
    """
    total = concentrated(budget)
    if isinstance(budget, RhoBudget):
        return total
    used = Decimal(order_for(total.rho, delta0=total.delta, total_delta=budget.delta))
    # Three digits, upwards: equal questions then have equal tables.
    return replace(total, order=max(budget.order, Context(prec=3, rounding=ROUND_CEILING).plus(used)))


def _plan_round(budget: RhoBudget, max_items: int) -> LadderRound:
    curve = plan_union("weighted", "ks", budget, max_items=max_items)
    cap = float_above(budget.order)
    made = ladders(budget.rho, budget.delta, max_items=max_items, cap=cap)
    square = _UNIT * _UNIT
    return LadderRound(
        weights=(
            *(profile.weights for profile, _ in made),
            tuple(math.isqrt(square // length) for length in range(1, max_items + 1)),
        ),
        ladders=Ladders(
            tables=tuple(chances for _, chances in made),
            unit=_UNIT,
            stddev=curve.noise_scale,
            threshold=curve.threshold,
        ),
        rho=budget.rho,
        delta=budget.delta,
        cap=cap,
        threshold=min([curve.threshold, *(chances.even_odds / profile.weights[0] for profile, chances in made)]),
        cost=Cost.of(_told(budget), Failure(delta=budget.delta)),
    )


def _told(budget: RhoBudget) -> Concentrated | Truncated:
    if budget.order == EVERY_ORDER:
        return Concentrated(rho=budget.rho)
    return Truncated(rho=budget.rho, order=budget.order)


def run_ladder(incidence: Incidence, plan: LadderPlan, noise: NoiseSource) -> Outcome:
    """Name items in rounds: what a round names is taken out of everybody's list, so the rest weighs more in the next.

    Guarantee (one person and all their rows added or removed): delta-approximate rho-zCDP, rho and delta the sums over
    rounds; where the budget names a largest Renyi order, D_a <= rho a for orders up to that one, and nothing is said of
    higher ones. Nothing is claimed as Gaussian DP: no noise has these curves.
    Assumes: the incidence bounds each person to max_items afresh in each round, by that person's own items and that
    round's salt; all sums of a round go by the same bounded list and its length; only named items leave the lists.

    | edge case | result |
    |---|---|
    | no people, no items, no data | an empty release at full cost |
    | one person | their items are named with probability at most delta |
    | nothing named in a round | the next round goes on with the same lists |
    | so little budget that tables would be too long | the steepest curve alone |

    Source: new here (docs, mechanisms/vocab.md): the largest step for each list length that Renyi divergences allow,
    with rounds as in SIPS Algorithm 3. Corrected, from there: errata 30, 31, 32 and 34.
    """
    named = np.array([], dtype=object)
    for number, one in enumerate(plan.rounds):
        bound = Bound(
            max_items=plan.max_items,
            salt=noise.salt(f"bound/ladder/{number}"),
            without=named if len(named) else None,
        )
        found = _named(incidence, one, bound, purpose=f"ladder/{number}", noise=noise)
        named = np.concatenate([named, found])
    return release_names(plan, named, cutoff=plan.rounds[-1].threshold, noise=noise)


def _named(incidence: Incidence, plan: LadderRound, bound: Bound, *, purpose: str, noise: NoiseSource) -> Items:
    """What one round names."""

    def named(block: SummedItems) -> Items:
        call = KeepByLadders(
            purpose=purpose,
            keys=noise.identify(block.items),
            values=block.sums,
            reach=Reach(by_length=plan.weights),
            ladders=plan.ladders,
            rho=plan.rho,
            delta=plan.delta,
            cap=plan.cap,
        )
        return block.items[noise.perform(call)]

    return incidence.sums(LengthWeights(bound=bound, columns=plan.weights)).each(named)


LADDER = Mechanism(
    name="ladder",
    question="vocab",
    wants="incidence",
    takes=frozenset({"max_items"}),
    calibrate=lambda budget, facts: plan_ladder(budget, taken(facts)),
    run=run_ladder,
    expect=lambda plan: Expectation(cutoff=plan.rounds[-1].threshold),
    # For the auditor: its lists are short, and all rounds must be looked at.
    small=lambda budget, facts: plan_ladder(budget, taken(facts), parts=_PARTS),
    weighs=True,
    version=3,
)
