"""The bounded input of a mechanism: the one place where a plan says what is read, for the product and the auditor."""

from __future__ import annotations

from typing import Protocol

from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.facts import Facts
from hushcount.model.inputs import Bound, Counts, Incidence
from hushcount.model.queries import Selection
from hushcount.noise.source import NoiseSource


class Readable(Protocol):
    """Data that can be counted: the part of an engine that looks at what rows hold."""

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Counts:
        """People per item, as `Engine.histogram`."""
        ...

    def incidence(self, selection: Selection) -> Incidence:
        """Who has what, as `Engine.incidence`."""
        ...


def bounded_input(
    data: Readable, mechanism: Mechanism, *, plan: Plan, facts: Facts, selection: Selection, noise: NoiseSource
) -> Counts | Incidence:
    """The bounded input that the mechanism wants: nothing else of the data goes any further.

    Args:
        data: what is read.
        mechanism: what the input is for.
        plan: its plan, which says how each person's items are bounded.
        facts: what the plan was made from.
        selection: which columns and rows.
        noise: where the key of the bounding hash comes from.
    """
    if mechanism.wants == "incidence":
        return data.incidence(selection)
    bound = None
    if plan.max_items is not None:
        only = facts.public_items if mechanism.listed_only else None
        bound = Bound(max_items=plan.max_items, salt=noise.salt("bound"), only=only)
    return data.histogram(selection, bound=bound, top=mechanism.fetch(plan))
