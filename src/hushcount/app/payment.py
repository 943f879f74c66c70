"""Payment: a planned question as the ledger wants it, with cheaper ways to ask in case it does not fit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial

from hushcount.accounting import zcdp
from hushcount.accounting.spent import EXACT, Spent
from hushcount.app.estimating import Estimate, estimate_request
from hushcount.app.planning import Planned
from hushcount.app.request import Request
from hushcount.errors import HushcountError
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import Ask, Variant, Way
from hushcount.model.budgets import PRESETS, RhoBudget, rho_budget
from hushcount.model.frozen import frozen
from hushcount.noise.source import new_secret

# How often delta is divided by ten, at most, for what is offered in a refusal.
_STEPS = 4


def make_ask(planned: Planned, dataset: Dataset, *, version: str, by: str, key: str | None) -> Ask:
    """The question with its worst case."""
    request = planned.request
    return Ask(
        analyst=by,
        dataset=dataset.id,
        version=version,
        query=request.canonical(),
        cost=planned.plan.cost,
        key=new_secret().hex() if key is None else key,
        fresh=request.fresh,
        what=f"{request.question} of {request.item_words()} per {request.selection.user}",
        family=f"{request.question}/{request.selection.user}/{request.selection.item}/{request.filter_words()}",
        variants=Cheaper(request=request, order=planned.order),
    )


@frozen
class Cheaper:
    """Cheaper ways to ask the same question, each planned only when somebody looks: most questions fit."""

    request: Request
    order: Decimal | None
    presets: tuple[str, ...] = tuple(PRESETS)

    def __iter__(self) -> Iterator[Variant | Way]:
        for change, request in ways(self.request, self.presets, steps=range(_STEPS)):
            plan, budget = partial(self._variant, change, request), request.budget
            if request.people_error is None and isinstance(budget, RhoBudget):
                yield Way(most=Spent(rho=budget.rho, delta=budget.delta), plan=plan)
            elif (variant := plan()) is not None:
                # It takes as much as its error needs, whatever its budget says.
                yield variant

    def _variant(self, change: dict[str, str], request: Request) -> Variant | None:
        estimate = estimated(change, request, self.order)
        if estimate is None:
            return None
        return Variant(
            label=", ".join(f"{name} {value}" for name, value in change.items()),
            cost=estimate.cost,
            change=change,
            give_or_take=estimate.expectation.give_or_take,
            cutoff=estimate.expectation.cutoff,
        )


def ways(
    request: Request, presets: tuple[str, ...], *, steps: Iterable[int]
) -> Iterator[tuple[dict[str, str], Request]]:
    """The same question at smaller presets, dearest first, and at a tenth, a hundredth, ... of its delta.

    All presets take the same delta, so that where less of it is left none of them fits without the latter.

    Args:
        request: the question.
        presets: what may be chosen.
        steps: powers of ten by which its delta is divided.
    """
    budget = request.budget
    if not isinstance(budget, RhoBudget):
        return
    smaller = {name: PRESETS[name] for name in presets if Decimal(PRESETS[name]) < budget.rho}
    named = sorted(smaller.items(), key=lambda pair: Decimal(pair[1]), reverse=True)
    for step in steps:
        delta = EXACT.scaleb(budget.delta, -step)
        less = {"delta": f"{delta.normalize():e}"} if step else {}
        own = [(less, str(budget.rho), request.people_error)] if step else []
        tried = [*own, *(({"preset": name, **less}, rho, None) for name, rho in named)]
        for change, rho, error in tried:
            with contextlib.suppress(HushcountError):
                yield change, replace(request, budget=rho_budget(rho, delta), people_error=error)


def estimated(change: dict[str, str], request: Request, order: Decimal | None) -> Estimate | None:
    """What one of the `ways` would cost; None if it cannot be asked like that. `order` as in `make_plan`."""
    with contextlib.suppress(HushcountError):
        estimate = estimate_request(request, order)
        # What needs no delta at all does not fit better with less of it.
        if "delta" not in change or zcdp.spent(estimate.cost).delta:
            return estimate
    return None
