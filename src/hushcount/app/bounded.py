"""The bounded input of a mechanism: the one place where a plan says what is read, for the product and the auditor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.facts import Facts
from hushcount.model.inputs import LARGEST, Bound, Counts, Histogram, Incidence, Int64s, Items
from hushcount.model.queries import Selection
from hushcount.noise.source import NoiseSource

if TYPE_CHECKING:
    from hushcount.model.inputs import Holdings


class Readable(Protocol):
    """Data that can be counted: the part of an engine that looks at what rows hold."""

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Counts:
        """People per item, as `Engine.histogram`."""
        ...

    def incidence(self, selection: Selection) -> Incidence:
        """Who has what, as `Engine.incidence`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Both views of the rows of a selection. Nothing is read before it is asked for, and lists only once."""

    data: Readable
    selection: Selection
    salt: bytes

    def top(self, rows: int) -> Histogram:
        """The largest counts, found where the data is."""
        found = self.data.histogram(self.selection, top=rows)
        assert isinstance(found, Histogram), "cut to so many rows it is in memory"  # noqa: S101  for the type checker
        return found

    def incidence(self) -> Incidence:
        """Who has what, however often."""
        return self._held

    def counts_of(self, items: Items) -> Int64s:
        """From the lists that are held already, or, where rows count up to a cap, from the rows."""
        nobody_is_over = Bound(max_items=LARGEST, salt=self.salt, only=items)
        if self.selection.per_item_cap == 1:
            return self._held.counts(nobody_is_over).of(items)
        return self.data.histogram(self.selection, bound=nobody_is_over).of(items)

    @cached_property
    def _held(self) -> Incidence:
        return self.data.incidence(replace(self.selection, per_item_cap=1))


def bounded_input(
    data: Readable, mechanism: Mechanism, *, plan: Plan, facts: Facts, selection: Selection, noise: NoiseSource
) -> Counts | Incidence | Holdings:
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
    if mechanism.wants == "holdings":
        return Reading(data=data, selection=selection, salt=noise.salt("bound"))
    bound = None
    if plan.max_items is not None:
        only = facts.public_items if mechanism.listed_only else None
        bound = Bound(max_items=plan.max_items, salt=noise.salt("bound"), only=only)
    return data.histogram(selection, bound=bound, top=mechanism.fetch(plan))


def needs_rows(mechanism: Mechanism, plan: Plan, selection: Selection) -> bool:
    """Whether the bounded input is made from rows or people's lists, and not from counts of people alone."""
    return mechanism.wants != "histogram" or plan.max_items is not None or selection.per_item_cap != 1


if TYPE_CHECKING:
    _is_holdings: type[Holdings] = Reading
