"""From a request to a plan: which mechanism, calibrated how, at what price, and what to expect. No data is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hushcount.app.intervals import half_width
from hushcount.app.request import Request
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.chooser import choose
from hushcount.mechanisms.counts.gaussian_threshold import GaussianThresholdPlan
from hushcount.mechanisms.counts.known_domain import KnownLaplacePlan
from hushcount.mechanisms.counts.pcr import PcrPlan, clamped_stddev, level_epsilon
from hushcount.mechanisms.counts.plume import PlumePlan
from hushcount.mechanisms.counts.tsgd import TsgdPlan
from hushcount.mechanisms.counts.unknown_domain import UnknownLaplacePlan
from hushcount.mechanisms.released import unit_stddev
from hushcount.mechanisms.selection.optimal import OptimalPlan, midpoint
from hushcount.mechanisms.selection.sips import SipsPlan
from hushcount.mechanisms.selection.union import UnionPlan
from hushcount.mechanisms.table import MECHANISMS, Mechanism, find
from hushcount.mechanisms.topk.known_domain import KnownGumbelPlan
from hushcount.mechanisms.topk.unknown_domain import UnknownGumbelPlan
from hushcount.model.budgets import EpsilonBudget, RhoBudget
from hushcount.model.outcomes import Law

_CHEAPEST, _DEAREST = Decimal("1e-9"), Decimal(100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A mechanism, its calibrated plan, and why it was chosen."""

    request: Request
    mechanism: Mechanism
    plan: Plan
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What can be said of the answer from public facts alone.

    Attributes:
        give_or_take: half the width of a 95 % interval, in people; None if there are no counts or it varies by row.
        cutoff: about how many people an item needs to be shown; None if every listed item is shown.
        notes: sentences for a person.
    """

    give_or_take: int | None
    cutoff: float | None
    notes: tuple[str, ...] = ()


def make_plan(request: Request) -> Planned:
    """Choose the mechanism, or take the one asked for, and calibrate it to the budget or to the wanted error."""
    if request.people_error is not None:
        return _plan_for_error(request, request.people_error)
    return _plan(request)


def _plan(request: Request) -> Planned:
    if request.method is None:
        choice = choose(request.question, request.budget, request.facts)
        mechanism, reason = choice.mechanism, choice.reason
    else:
        mechanism, reason = find(request.method), f"{request.method}: asked for by name"
        if mechanism.question != request.question:
            names = ", ".join(m.name for m in MECHANISMS if m.question == request.question)
            raise InvalidParameter("method", request.method, f"one that answers '{request.question}': {names}")
    return Planned(
        request=request, mechanism=mechanism, plan=mechanism.plan(request.budget, request.facts), reason=reason
    )


def _plan_for_error(request: Request, people: float) -> Planned:
    """The cheapest budget whose give or take is at most `people`, found by bisection on a logarithmic scale."""

    def at(amount: Decimal) -> Planned:
        budget = request.budget
        part = (
            EpsilonBudget(amount, budget.delta)
            if isinstance(budget, EpsilonBudget)
            else RhoBudget(amount, budget.delta)
        )
        return _plan(replace(request, budget=part))

    def fits(planned: Planned) -> bool:
        width = expect(planned).give_or_take
        if width is None:
            raise InvalidParameter(
                "error", people, "a share such as 10% for this question", "Its noise differs from row to row."
            )
        return width <= people

    low, high = math.log(_CHEAPEST), math.log(_DEAREST)
    if not fits(at(_DEAREST)):
        raise InvalidParameter("error", people, "larger", "No reasonable budget reaches it.")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(at(_amount(middle))) else (middle, high)
    return at(_amount(high))


def _amount(logarithm: float) -> Decimal:
    return Decimal(f"{math.exp(logarithm):.9e}")


def expect(planned: Planned) -> Expectation:
    """Cut-off and give or take of a plan, from its parameters alone."""
    return _EXPECTATIONS[type(planned.plan)](planned.plan)


_WEIGHT_NOTE = (
    "A person with one item counts one towards the cut-off; a person with many items counts less towards each of them."
)


def _shown_from(cutoff: float) -> Expectation:
    return Expectation(give_or_take=None, cutoff=cutoff, notes=(_WEIGHT_NOTE,))


def _width(law: Law, scale: float, cutoff: float | None) -> Expectation:
    return Expectation(give_or_take=half_width(law, scale), cutoff=None if cutoff is None else float(cutoff))


def _unknown_laplace(plan: UnknownLaplacePlan) -> Expectation:
    scale = plan.per_item_cap * plan.max_items / float(plan.epsilon)
    return _width("discrete-laplace", scale, plan.offset + plan.per_item_cap)


def _plume(plan: PlumePlan) -> Expectation:
    return _width("discrete-gaussian", plan.gaussian_stddev, max(plan.selection.threshold, plan.least))


def _top(plan: KnownGumbelPlan | UnknownGumbelPlan) -> Expectation:
    epsilon = float(plan.epsilon)
    stddev = unit_stddev(Fraction(plan.epsilon), plan.per_item_cap)
    width = half_width("discrete-gaussian", stddev) if plan.counts else None
    if isinstance(plan, KnownGumbelPlan):
        return Expectation(give_or_take=width, cutoff=None)
    cutoff = plan.per_item_cap * (1 + math.log(plan.k / float(plan.delta)) / epsilon)
    note = f"An item must be held by about {cutoff:.0f} more people than the items just below the list."
    return Expectation(give_or_take=width, cutoff=cutoff, notes=(note,))


def _pcr_notes(plan: PcrPlan) -> tuple[str, ...]:
    """For a few list lengths: the cut-off that the budget can reach, and the noise there."""
    odds = math.log(plan.rows / float(plan.delta_step))
    notes = []
    for length in (10, 100, 1000):
        epsilon = math.sqrt(float(plan.rho) / length / 0.22)
        if epsilon < float(plan.epsilon_first):
            continue
        level = max(0, math.floor(2 * math.log2(epsilon / float(plan.epsilon_first))))
        stddev = clamped_stddev(plan, level_epsilon(plan, level)) * plan.per_item_cap
        width, cutoff = half_width("discrete-gaussian", stddev), plan.per_item_cap * (1 + odds / epsilon)
        notes.append(
            f"If {length:,} items are shown, the rarest has about {cutoff:,.0f} people, give or take {width:,}."
        )
    return tuple(notes)


_EXPECTATIONS: dict[type, Callable[[Any], Expectation]] = {
    PcrPlan: lambda plan: Expectation(give_or_take=None, cutoff=None, notes=_pcr_notes(plan)),
    TsgdPlan: lambda plan: _width("truncated-geometric", 1 / float(plan.epsilon), plan.bound + 1),
    GaussianThresholdPlan: lambda plan: _width("discrete-gaussian", plan.gaussian_stddev, plan.threshold),
    PlumePlan: _plume,
    KnownLaplacePlan: lambda plan: _width("discrete-laplace", plan.per_item_cap / float(plan.epsilon), None),
    UnknownLaplacePlan: _unknown_laplace,
    KnownGumbelPlan: _top,
    UnknownGumbelPlan: _top,
    OptimalPlan: lambda plan: Expectation(give_or_take=None, cutoff=float(midpoint(plan))),
    UnionPlan: lambda plan: _shown_from(plan.threshold),
    SipsPlan: lambda plan: _shown_from(plan.rounds[-1].threshold),
}
