"""Payment: a planned question as the ledger wants it, with cheaper ways to ask in case it does not fit."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from hushcount.app.planning import Planned, make_plan
from hushcount.errors import HushcountError
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import Ask, Variant
from hushcount.model.budgets import PRESETS, RhoBudget, rho_budget
from hushcount.noise.source import new_secret


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
        variants=tuple(_cheaper(planned)),
    )


def _cheaper(planned: Planned) -> list[Variant]:
    """The same question at smaller presets, dearest first."""
    budget = planned.request.budget
    if not isinstance(budget, RhoBudget):
        return []
    found = []
    for name, rho in sorted(PRESETS.items(), key=lambda pair: float(pair[1]), reverse=True):
        smaller = rho_budget(rho, budget.delta)
        if smaller.rho >= budget.rho:
            continue
        with contextlib.suppress(HushcountError):
            plan = make_plan(replace(planned.request, budget=smaller, people_error=None)).plan
            found.append(Variant(label=f"preset {name}", cost=plan.cost))
    return found
