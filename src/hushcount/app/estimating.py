"""Estimates: price and expected accuracy of a question, from public facts alone."""

from __future__ import annotations

from decimal import Decimal

from hushcount.app.planning import Planned, expect, make_plan
from hushcount.app.receipt import promise
from hushcount.app.receipt_page import table
from hushcount.app.request import Request
from hushcount.app.words import price_words
from hushcount.model.costs import Cost
from hushcount.model.expectations import Expectation
from hushcount.model.frozen import frozen


@frozen
class Estimate:
    """What a question costs at most, and what can be expected of its answer: no data was read.

    `epsilon` is what its receipt will state, at the same delta.
    """

    planned: Planned
    cost: Cost
    rho: float
    delta: float
    epsilon: float
    expectation: Expectation

    def __repr__(self) -> str:
        return f"<Estimate: at most {price_words(self.rho)}, by {self.planned.mechanism.name}>"

    def _repr_html_(self) -> str:
        expected = self.expectation
        rows = [("Price", f"at most {price_words(self.rho)}"), ("Method", self.planned.reason)]
        if expected.give_or_take is not None:
            rows.append(("Counts", f"give or take {expected.give_or_take:,} people, 95 times in 100"))
        if expected.cutoff is not None:
            rows.append(("Shows", f"items from about {expected.cutoff:,.0f} people on"))
        rows += [("", note) for note in expected.notes]
        return f"<div style='max-width:48em'>{table(rows)}</div>"


def estimate_request(request: Request, order: Decimal | None) -> Estimate:
    """The estimate of a request; `order` as in `make_plan`: that of the ledger, or another plan would be priced."""
    planned = make_plan(request, order)
    promised = promise(planned.plan.cost)
    return Estimate(
        planned=planned,
        cost=planned.plan.cost,
        rho=float(promised.rho),
        delta=float(promised.delta),
        epsilon=promised.epsilon,
        expectation=expect(planned),
    )
