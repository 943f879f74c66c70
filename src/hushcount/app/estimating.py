"""Estimates: price and expected accuracy of a question, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.accounting import zcdp
from hushcount.app.planning import Planned, expect, make_plan
from hushcount.app.receipt import best_epsilon
from hushcount.app.request import Request
from hushcount.model.costs import Cost
from hushcount.model.expectations import Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a question costs at most, and what can be expected of its answer: no data was read."""

    planned: Planned
    cost: Cost
    rho: float
    delta: float
    epsilon: float
    expectation: Expectation


def estimate_request(request: Request) -> Estimate:
    """The estimate of a request."""
    planned = make_plan(request)
    spent = zcdp.spent(planned.plan.cost)
    total = 2 * float(spent.delta) or 1e-6
    return Estimate(
        planned=planned,
        cost=planned.plan.cost,
        rho=float(spent.rho),
        delta=float(spent.delta),
        epsilon=best_epsilon(planned.plan.cost, total),
        expectation=expect(planned),
    )
