"""Subjects of the audit: every mechanism of the table with a plan small enough to be looked at whole.

A mechanism is audited by being listed: its facts are found by asking its planner, and a planner whose numbers are
large by design (ten thousand rows) is asked for small ones by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from hushcount.audit.claim import Claim, cost_claim
from hushcount.audit.neighbours import Neighbours, Table, family, sizes_of
from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.counts.pcr import plan_pcr
from hushcount.mechanisms.counts.unknown_domain import plan_unknown_laplace
from hushcount.mechanisms.table import MECHANISMS, Mechanism, Planner
from hushcount.mechanisms.topk.unknown_domain import plan_unknown_gumbel
from hushcount.model.amounts import share
from hushcount.model.budgets import Budget, epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Bound, Histogram, Items
from hushcount.model.outcomes import Outcome
from hushcount.noise.source import NoiseSource, SeededSource

Input: TypeAlias = Histogram | MemoryIncidence
Run: TypeAlias = Callable[[Any, Any, NoiseSource], Outcome]

# How many rows a mechanism may look at that looks at the largest counts only, and in how many steps PCR uses its delta.
_ROWS = 2
_PCR_STEPS = 2
# No table of a family has more different items, or its law would have too many outputs.
_MOST_ITEMS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something to audit: a mechanism with a plan, and how it is run. A broken twin is one with another plan or run.

    Attributes:
        name: the mechanism's name in `mechanisms.table`, or the twin's.
        variant: the public facts and the budget, in words.
        mechanism: what input it wants.
        facts: what was declared.
        plan: the calibrated plan, whose cost is the claim.
        run: from an input, the plan and a noise source to an outcome.
        neighbours: the tables to try, the worst first; a new iterator at each call.
    """

    name: str
    variant: str
    mechanism: Mechanism
    facts: Facts
    plan: Plan
    run: Run
    neighbours: Callable[[], Iterator[Neighbours]]

    @property
    def claim(self) -> Claim:
        """What the plan says about its privacy."""
        return cost_claim(self.plan.cost)

    def read(self, rows: Table, noise: NoiseSource) -> Input:
        """The bounded input that the mechanism gets of a table, as `app.answer` makes it."""
        data = incidence([person for person, _ in rows], [item for _, item in rows])
        if self.mechanism.wants == "incidence":
            return data
        bound = None
        if self.plan.max_items is not None:
            only = self.facts.public_items if self.mechanism.listed_only else None
            bound = Bound(max_items=self.plan.max_items, salt=noise.salt("bound"), only=only)
        return data.histogram(self.mechanism.fetch(self.plan), bound=bound, cap=self.facts.per_item_cap)

    def answer(self, rows: Table, noise: NoiseSource) -> Outcome:
        """Read a table and run on it."""
        return self.run(self.read(rows, noise), self.plan, noise)


def subjects(*, quick: bool) -> tuple[Subject, ...]:
    """Every mechanism of the table, in one variant or more: fewer if it must be quick."""
    return tuple(subject for mechanism in MECHANISMS for subject in subjects_of(mechanism, quick=quick))


def subjects_of(mechanism: Mechanism, *, quick: bool) -> tuple[Subject, ...]:
    """The variants of one mechanism that its planner accepts, at least one.

    Raises:
        InvalidParameter: its planner accepts none of the facts that are known here: a new kind of fact must be added.
    """
    found: dict[str, Subject] = {}
    refusal: InvalidParameter | None = None
    for budget, facts in _VARIANTS[: 2 if quick else None]:
        try:
            subject = _subject(mechanism, budget, facts)
        except InvalidParameter as refused:
            refusal = refused
        else:
            # Facts that make no difference to this mechanism make no further subject.
            found.setdefault(repr(subject.plan), subject)
    if not found:
        raise refusal or InvalidParameter("method", mechanism.name, "a mechanism that can be planned")
    return tuple(found.values())


def _subject(mechanism: Mechanism, budget: Budget, facts: Facts) -> Subject:
    plan = _accepted_plan(mechanism, budget, facts)
    sizes = sizes_of(plan, cutoff=_cutoff(mechanism, plan), most_items=_MOST_ITEMS, cap=facts.per_item_cap)
    return Subject(
        name=mechanism.name,
        variant=_words(budget, facts),
        mechanism=mechanism,
        facts=facts,
        plan=plan,
        run=mechanism.run,
        neighbours=lambda: family(sizes),
    )


def _accepted_plan(mechanism: Mechanism, budget: Budget, facts: Facts) -> Plan:
    """The plan for all facts together, or, if the planner refuses one of them, for those that it takes."""
    planner = _SMALL.get(mechanism.name, mechanism.plan)
    refusal: InvalidParameter | None = None
    for listed, held, asked in product((True, False), repeat=3):
        fewer = replace(
            facts,
            public_items=facts.public_items if listed else None,
            max_items=facts.max_items if held else None,
            k=facts.k if asked else None,
        )
        try:
            return planner(budget, fewer)
        except InvalidParameter as refused:
            refusal = refusal or refused
    assert refusal is not None, "every way to leave the loop without a plan is a refusal"  # noqa: S101
    raise refusal


def _cutoff(mechanism: Mechanism, plan: Plan) -> float | None:
    """About how many people an item needs, which a release without data tells; weighted ones have it in their plan."""
    if mechanism.wants != "histogram":
        return None
    nothing = Histogram(items=_listed(), counts=np.array([], dtype=np.int64), complete=True)
    return mechanism.run(nothing, plan, SeededSource(0)).cutoff


def _small_pcr(budget: Budget, facts: Facts) -> Plan:
    """Few rows, few selections to share delta, and a first epsilon with which all of them fit.

    A bottom costs epsilon²/8 and doubles epsilon², of which the next step reserves a quarter: 5/8 epsilon² is rho.
    """
    plan = plan_pcr(budget, facts.per_item_cap, rows=_ROWS, epsilon_first="0.001")
    first = (plan.rho * Decimal("1.599")).sqrt()
    plan = plan_pcr(budget, facts.per_item_cap, rows=_ROWS, epsilon_first=first, relative_error=facts.relative_error)
    return replace(plan, delta_step=share(plan.delta, _PCR_STEPS))


_SMALL: dict[str, Planner] = {
    "pcr": _small_pcr,
    "unknown-laplace": lambda budget, facts: plan_unknown_laplace(
        budget, facts.max_items or 1, facts.per_item_cap, rows=max(facts.max_items or 1, facts.per_item_cap)
    ),
    "unknown-gumbel": lambda budget, facts: plan_unknown_gumbel(budget, facts, rows=max(_ROWS, facts.k or 0) + 1),
}


def _listed(*texts: str) -> Items:
    items = np.empty(len(texts), dtype=object)
    items[:] = texts
    return items


# Delta is large, so that what it pays for shows; budgets are large, so that noise is narrow and laws are small.
_VARIANTS: tuple[tuple[Budget, Facts], ...] = (
    (
        epsilon_budget(4, "0.05"),
        Facts(max_items=2, k=2, with_counts=False, public_items=_listed("a", "b"), relative_error=0.5),
    ),
    (rho_budget(1, "0.01"), Facts(max_items=1, k=1, public_items=_listed("a", "c"), relative_error=0.5)),
    (rho_budget(2, "0.001"), Facts(max_items=2, k=1, public_items=_listed("a"), relative_error=0.5)),
    (epsilon_budget(6, "0.1"), Facts(max_items=1, k=1, per_item_cap=2, public_items=_listed("b", "c"))),
)


def _words(budget: Budget, facts: Facts) -> str:
    total = f"rho {budget.rho}" if hasattr(budget, "rho") else f"epsilon {budget.epsilon}"
    words = f"{total}, delta {budget.delta}, up to {facts.max_items} items a person"
    return words + (f", rows counted up to {facts.per_item_cap} times" if facts.per_item_cap > 1 else "")
