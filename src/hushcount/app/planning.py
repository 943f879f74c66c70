"""From a request to a plan: which mechanism, calibrated how, at what price, and what to expect. No data is read."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from hushcount.app.aims import share_words
from hushcount.app.request import Request
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.chooser import choose
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.table import find
from hushcount.model.budgets import EpsilonBudget, RhoBudget
from hushcount.model.expectations import Expectation
from hushcount.model.frozen import frozen

_CHEAPEST, _DEAREST = Decimal("1e-9"), Decimal(100)
_SLACK = 0.005
_WEIGHT_NOTE = (
    "A person with one item counts one towards the cut-off; a person with many items counts less towards each of them."
)


@frozen
class Planned:
    """A mechanism, its calibrated plan, why it was chosen, and for which Renyi orders (see `make_plan`)."""

    request: Request
    mechanism: Mechanism
    plan: Plan
    reason: str
    order: Decimal | None = None


def make_plan(request: Request, order: Decimal | None = None) -> Planned:
    """Choose the mechanism, or take the one asked for, and calibrate it to the budget or to the wanted error.

    Args:
        request: what is asked.
        order: whoever adds up the costs converts them at Renyi orders up to this; None if nobody does.
    """
    if request.people_error is not None:
        return _plan_for_error(request, request.people_error, order)
    return _plan(request, order)


def _plan(request: Request, order: Decimal | None) -> Planned:
    budget = request.budget if order is None else replace(request.budget, order=order)
    if request.method is None:
        choice = choose(request.question, budget, request.facts)
        mechanism, reason = choice.mechanism, choice.reason
    else:
        mechanism, reason = find(request.method, request.question), f"{request.method}: asked for by name"
    share = request.facts.relative_error
    if share is not None and "relative_error" not in mechanism.takes:
        raise _no_share(mechanism, mechanism.plan(budget, replace(request.facts, relative_error=None)), share)
    plan = mechanism.plan(budget, request.facts)
    return Planned(request=request, mechanism=mechanism, plan=plan, reason=reason, order=order)


def _plan_for_error(request: Request, people: float, order: Decimal | None) -> Planned:
    """The cheapest budget whose give or take is at most `people`, found by bisection on a logarithmic scale."""

    def at(amount: Decimal) -> Planned:
        budget = request.budget
        part = (
            EpsilonBudget(amount, budget.delta)
            if isinstance(budget, EpsilonBudget)
            else RhoBudget(amount, budget.delta)
        )
        return _plan(replace(request, budget=part), order)

    def fits(planned: Planned) -> bool:
        width = expect(planned).give_or_take
        if width is None:
            raise _no_single_width(planned.mechanism, people)
        return width <= people

    def fits_at(amount: Decimal) -> bool:
        try:
            return fits(at(amount))
        except InvalidParameter:
            # So little that its noise could not be drawn.
            return False

    low, high = math.log(_CHEAPEST), math.log(_DEAREST)
    if not fits(at(_DEAREST)):
        raise InvalidParameter("error", people, "larger", "No reasonable budget reaches it.")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if fits_at(_amount(middle)) else (middle, high)
    # A little more than just enough: at the very edge an interval near a threshold is wider by one, for nothing.
    return at(_amount(high + _SLACK))


def _no_single_width(mechanism: Mechanism, people: float) -> InvalidParameter:
    if "relative_error" in mechanism.takes:
        return InvalidParameter(
            "error", f"{people:g}", "a share such as 10% here", "Its noise differs from row to row."
        )
    return InvalidParameter("error", people, f"left out for '{mechanism.name}'", "It shows names, and no counts.")


def _no_share(mechanism: Mechanism, plan: Plan, share: float) -> InvalidParameter:
    """Why a share cannot be aimed at where all rows have the same noise, and what that noise is worth."""
    asked, width = share_words(share), mechanism.expect(plan).give_or_take
    if width is None:
        return InvalidParameter("error", asked, f"left out for '{mechanism.name}'", "It shows names, and no counts.")
    return InvalidParameter(
        "error",
        asked,
        f"a number of people here, such as {width}",
        f"All its rows have the same noise: for this price give or take {width:,} people, which is {asked} of "
        f"{math.ceil(width / share):,} people and more. Say how many people it may be, and it is priced.",
    )


def _amount(logarithm: float) -> Decimal:
    return Decimal(f"{math.exp(logarithm):.9e}")


def expect(planned: Planned) -> Expectation:
    """Cut-off and give or take of a plan, from its parameters alone."""
    said = planned.mechanism.expect(planned.plan)
    return replace(said, notes=(*said.notes, _WEIGHT_NOTE)) if planned.mechanism.weighs else said
