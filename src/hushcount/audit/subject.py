"""Subjects of the audit: every mechanism of the table with a plan small enough to be looked at whole.

A mechanism is audited by being listed: its record says which facts it takes, each of which is tried at several values
(see `variants`), and plans it small where its numbers are large by design (ten thousand rows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from hushcount.app.bounded import bounded_input
from hushcount.audit.claim import Claim, cost_claim
from hushcount.audit.neighbours import Neighbours, Table, family, sizes_of
from hushcount.audit.small_table import ITEM, USER, listed, small_table
from hushcount.audit.variants import Circumstances, variants_of
from hushcount.mechanisms import table
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Histogram, Holdings, Incidence
from hushcount.model.outcomes import Outcome
from hushcount.model.queries import Selection
from hushcount.noise.source import NoiseSource, SeededSource

Run: TypeAlias = Callable[[Any, Any, NoiseSource], Outcome]

# No table of a family has more different items, or its law would have too many outputs.
_MOST_ITEMS = 4


@frozen
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

    def read(self, rows: Table, noise: NoiseSource) -> Counts | Incidence | Holdings:
        """The bounded input that the mechanism gets of a table: made by the product's own function."""
        return bounded_input(
            small_table(rows),
            self.mechanism,
            plan=self.plan,
            facts=self.facts,
            selection=Selection(user=USER, item=ITEM, per_item_cap=self.facts.per_item_cap),
            noise=noise,
        )

    def answer(self, rows: Table, noise: NoiseSource) -> Outcome:
        """Read a table and run on it."""
        return self.run(self.read(rows, noise), self.plan, noise)


def subjects(*, quick: bool) -> tuple[Subject, ...]:
    """Every mechanism of the table, in one variant or more: fewer if it must be quick."""
    return tuple(subject for mechanism in table.MECHANISMS for subject in subjects_of(mechanism, quick=quick))


def subjects_of(mechanism: Mechanism, *, quick: bool) -> tuple[Subject, ...]:
    """The variants of one mechanism: every fact that it needs or takes at more than one value.

    Raises:
        InvalidParameter: its planner refuses facts that its record says it takes.
    """
    # Equal plans of two variants are two subjects: a planner that forgets the cap makes them, and the inputs differ.
    return tuple(make_subject(mechanism, variant) for variant in variants_of(mechanism, quick=quick))


def make_subject(mechanism: Mechanism, variant: Circumstances) -> Subject:
    """A mechanism with a small plan for this budget and these facts, and the neighbours that they make dangerous."""
    facts = variant.facts
    plan = mechanism.plan_small(variant.budget, facts)
    sizes = sizes_of(plan, cutoff=_cutoff(mechanism, plan), most_items=_MOST_ITEMS, cap=facts.per_item_cap)
    return Subject(
        name=mechanism.name,
        variant=variant.words,
        mechanism=mechanism,
        facts=facts,
        plan=plan,
        run=mechanism.run,
        neighbours=lambda: family(sizes),
    )


def _cutoff(mechanism: Mechanism, plan: Plan) -> float | None:
    """About how many people an item needs, which a release without data tells; weighted ones have it in their plan."""
    if mechanism.wants != "histogram":
        return None
    nothing = Histogram(items=listed(), counts=np.array([], dtype=np.int64), complete=True)
    return mechanism.run(nothing, plan, SeededSource(0)).cutoff
