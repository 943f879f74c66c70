"""Twins of Private Count Release, and of the coins and noise for few items of a person."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hushcount.audit.neighbours import table
from hushcount.audit.twins.altered import altered
from hushcount.audit.twins.formulas import (
    chance_of_double_at_most,
    keep_table_past_crossover,
    next_epsilon_as_rendered,
    unclamped_stddev,
)
from hushcount.audit.twins.twin import Original, Twin
from hushcount.mechanisms.counts.pcr import PcrPlan, plan_pcr, run_pcr
from hushcount.mechanisms.selection.optimal import OptimalPlan, plan_optimal
from hushcount.model.amounts import share
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Histogram
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, AnyCall, Peel
from hushcount.noise.source import NoiseSource

_ONE = 1 << 128


def _pcr_plan(rho: str, *, relative_error: float = 0.1, rows: int = 2) -> PcrPlan:
    plan = plan_pcr(rho_budget(rho, "0.05"), rows=rows, epsilon_first="0.5", relative_error=relative_error)
    return replace(plan, delta_step=share(plan.delta, 10))


def _pcr(plan: PcrPlan) -> Original:
    facts = Facts(relative_error=plan.relative_error)
    pairs = (
        table({"a": 30, "b": 29, "c": 29}, ("c",), "the third of three items is held, which nearly tie"),
        table({"a": 30}, ("a",), "an item of thirty other people"),
    )
    return Original(mechanism="pcr", facts=facts, plan=plan, pairs=pairs)


_PCR = _pcr(_pcr_plan("0.3"))
_PRECISE = _pcr(_pcr_plan("0.1", relative_error=0.02))
_ONE_STEP = _pcr(_pcr_plan("0.0625"))


def unclamped(call: AnyCall) -> AnyCall:
    """Sigma of PCR eq. (2) though it is below 2/epsilon, which is what was charged for (erratum 11)."""
    if not isinstance(call, AddGaussian):
        return call
    # Where the clamp acts, sigma is 2/epsilon.
    epsilon = 2 / math.sqrt(call.variance)
    log_odds = math.log(2 / float(share(Decimal("0.05"), 10)))
    return replace(call, variance=Fraction(unclamped_stddev(0.02, log_odds, epsilon)) ** 2)


def missing_boundary(data: Histogram, plan: PcrPlan, noise: NoiseSource) -> Outcome:
    """A data frame of `rows` rows: the count behind them is not there and is taken as zero (erratum 12)."""
    kept = Histogram(items=data.items[: plan.rows], counts=data.counts[: plan.rows], complete=True)
    return run_pcr(kept, plan, noise)


def rendered_step(call: AnyCall) -> AnyCall:
    """Epsilon grows to sqrt(2 epsilon) where sqrt(2) epsilon was charged (erratum 13)."""
    if not isinstance(call, Peel) or call.purpose == "pcr/0":
        return call
    before = float(call.rate) / math.sqrt(2)
    return replace(call, rate=Fraction(next_epsilon_as_rendered(before)))


_SPLIT = Original(
    mechanism="optimal",
    facts=Facts(max_items=2),
    plan=plan_optimal(epsilon_budget(1, "0.05"), 2),
    pairs=(
        table({}, ("a", "b"), "one person alone holds two items"),
        table({"a": 4, "b": 4}, ("a", "b"), "two items of four other people each, both held"),
    ),
)
_LEVELS = Original(
    mechanism="optimal",
    facts=Facts(max_items=1),
    plan=plan_optimal(epsilon_budget(1, "0.001"), 1),
    pairs=tuple(table({"a": n}, ("a",), f"an item of {n} other people") for n in range(1, 16)),
)
_TINY = Original(
    mechanism="optimal",
    facts=Facts(max_items=1),
    plan=plan_optimal(epsilon_budget(1, "1e-17"), 1),
    pairs=(table({}, ("a",), "one person alone"),),
)


def _past_crossover() -> OptimalPlan:
    """A table whose crossover is one too large (erratum 21)."""
    plan = plan_optimal(epsilon_budget(1, "0.001"), 1)
    crossover = 1 + math.floor(math.log1p(math.tanh(0.5) * (1 / 0.001 - 1)))
    chances = keep_table_past_crossover(1.0, 0.001, crossover=crossover + 1, length=len(plan.table) + 2)
    return replace(plan, table=tuple(int(Fraction(chance) * _ONE) for chance in chances))


def _by_doubles() -> OptimalPlan:
    """A table of the chances that a double of 53 random bits is at most the wanted one (erratum 21)."""
    plan = plan_optimal(epsilon_budget(1, "1e-17"), 1)
    chances = [min(Fraction(1), chance_of_double_at_most(entry / _ONE)) for entry in plan.table[1:]]
    return replace(plan, table=(0, *(int(chance * _ONE) for chance in chances)))


RANKING_TWINS: tuple[Twin, ...] = (
    Twin(
        name="unclamped sigma",
        erratum="erratum 11",
        what="A count gets less noise than its half of the step's reserve pays for.",
        caught_by="exact",
        broken=_PRECISE.twin(run=altered(run_pcr, unclamped)),
        sound=_PRECISE.sound,
    ),
    Twin(
        name="missing boundary as zero",
        erratum="erratum 12",
        what="The count behind the fetched rows is taken as zero, so an item that enters them is shown.",
        caught_by="exact",
        broken=_ONE_STEP.twin(run=missing_boundary),
        sound=_ONE_STEP.sound,
    ),
    Twin(
        name="step of sqrt(2 epsilon)",
        erratum="erratum 13",
        what="After each bottom epsilon grows further than what is charged.",
        caught_by="exact",
        broken=_PCR.twin(run=altered(run_pcr, rendered_step)),
        sound=_PCR.sound,
    ),
    Twin(
        name="budget not split over items",
        erratum="erratum 20",
        what="Each of a person's two items gets the whole budget.",
        caught_by="exact",
        broken=_SPLIT.twin(plan=replace(plan_optimal(epsilon_budget(1, "0.05"), 1), max_items=2)),
        sound=_SPLIT.sound,
    ),
    Twin(
        name="table past its crossover",
        erratum="erratum 21",
        what="The crossover of the optimal table is one too large.",
        caught_by="exact",
        broken=_LEVELS.twin(plan=_past_crossover()),
        sound=_LEVELS.sound,
    ),
    Twin(
        name="coins by comparing doubles",
        erratum="erratum 21",
        what="A double of 53 random bits is at most a tiny chance far more often than that chance.",
        caught_by="replay",
        broken=_TINY.twin(plan=_by_doubles()),
        sound=_TINY.sound,
    ),
)
