"""Twins of the ladder: heavier people than its tables are for, chances added up, other lengths, rounds of one coin."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from hushcount.audit.keep_ladders import ladder_keep
from hushcount.audit.neighbours import Neighbours, table
from hushcount.audit.subject import Run
from hushcount.audit.twins.altered import altered
from hushcount.audit.twins.twin import Original, Twin
from hushcount.engines.incidence import MemoryIncidence
from hushcount.mechanisms.selection.ladder import LadderPlan, plan_ladder, run_ladder
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import LengthWeights, SummedItems
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import KeepByLadders, KeepByTable
from hushcount.noise.source import NoiseSource


@frozen
class OtherLengths:
    """An incidence in which the first column goes by a list that is one item shorter than it is."""

    data: MemoryIncidence

    def sums(self, rule: LengthWeights) -> SummedItems:
        """The sums of the other lengths."""
        first, *others = rule.columns
        return self.data.sums(replace(rule, columns=((first[0], *first[:-1]), *others)))


def by_other_lengths(data: MemoryIncidence, plan: LadderPlan, noise: NoiseSource) -> Outcome:
    """One of the columns takes people to hold an item fewer than the others do."""
    # Only its sums are asked for, so it need not be a whole incidence.
    other: Any = OtherLengths(data=data)
    return run_ladder(other, plan, noise)


def heavier(plan: LadderPlan, times: Fraction) -> LadderPlan:
    """The same tables, for people who add so many times what they were made for."""
    rounds = tuple(
        replace(one, weights=tuple(tuple(math.ceil(weight * times) for weight in column) for column in one.weights))
        for one in plan.rounds
    )
    return replace(plan, rounds=rounds)


def adding_up(call: KeepByLadders) -> KeepByTable:
    """The chances of all tables and of the curve are added instead of compared."""
    chances = []
    for row in call.values.tolist():
        total = Fraction(sum(_alone(call, row, place) for place in range(len(row))))
        chances.append(min(math.floor(total * 2**128), 2**128))
    return KeepByTable(
        purpose=call.purpose,
        keys=call.keys,
        values=np.arange(len(chances), dtype=np.int64),
        reach=call.reach,
        table=tuple(chances) or (0,),
    )


def one_coin_for_all_rounds(call: KeepByLadders) -> KeepByLadders:
    """All rounds draw for the same purpose, so that an item has the same coin in each."""
    return replace(call, purpose="ladder")


def _alone(call: KeepByLadders, row: list[int], place: int) -> float:
    """The chance that one column alone gives a row."""
    if place == len(row) - 1:
        return ladder_keep(call, [0] * place + row[place:])
    return float(call.ladders.tables[place].of(np.array([row[place]]))[0])


_BUDGET, _MAX_ITEMS = rho_budget(1, "0.01"), 3
_PLAN = plan_ladder(_BUDGET, _MAX_ITEMS)
_SUMMED: Run = altered(run_ladder, adding_up)


def _original(*pairs: Neighbours) -> Original:
    return Original(mechanism="ladder", facts=Facts(max_items=_MAX_ITEMS), plan=_PLAN, pairs=pairs)


_SHARED = _original(
    *(
        table(dict.fromkeys("abc"[:held], others), "abc"[:held], f"{held} items of {others} others each")
        for others in (1, 2, 3, 4, 5)
        for held in (1, 3)
    )
)
_ROUNDS = replace(_SHARED, plan=plan_ladder(_BUDGET, _MAX_ITEMS, parts=(1, 4)))
_ALONE = _original(table({}, ("a",), "one person alone holds one item"), table({}, tuple("abc"), "and three items"))

LADDER_TWINS: tuple[Twin, ...] = (
    Twin(
        name="weights a little heavier than the tables are for",
        erratum="every step within its certificate",
        what="People add 6 % more to their items than the tables were made for, and say so.",
        caught_by="replay",
        broken=_SHARED.twin(plan=heavier(_PLAN, Fraction(106, 100))),
        sound=_SHARED.sound,
        steps=("replay",),
    ),
    Twin(
        name="weights a quarter heavier than the tables are for",
        erratum="every step within its certificate",
        what="People add a quarter more to their items than the tables were made for.",
        caught_by="exact",
        broken=_SHARED.twin(plan=heavier(_PLAN, Fraction(5, 4))),
        sound=_SHARED.sound,
        steps=("exact",),
    ),
    Twin(
        name="chances added up",
        erratum="the largest of several chances, not their sum",
        what="An item is named with the sum of what its tables and the curve say.",
        caught_by="exact",
        broken=_ALONE.twin(run=_SUMMED),
        sound=_ALONE.sound,
        steps=("exact",),
    ),
    Twin(
        name="columns that go by different lengths",
        erratum="one list and one length for all columns",
        what="One of the sums takes people to have an item fewer than they have.",
        caught_by="replay",
        broken=_SHARED.twin(run=by_other_lengths),
        sound=_SHARED.sound,
        steps=("replay",),
    ),
    Twin(
        name="rounds that share their coins",
        erratum="rule: no two draws of an answer are made from the same words",
        what="An item has one coin for all rounds, whose chances are charged as if each had its own.",
        caught_by="replay",
        broken=_ROUNDS.twin(run=altered(run_ladder, one_coin_for_all_rounds)),
        sound=_ROUNDS.sound,
        steps=("replay",),
    ),
)
