"""A small table as an engine: a few made-up rows, answered by the code that every engine shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.audit.neighbours import Table
from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.model.inputs import Bound, Histogram, Items
from hushcount.model.queries import Description, Selection

USER, ITEM = "user", "item"


@dataclass(frozen=True, slots=True)
class SmallTable:
    """The engine of a table of two columns that is encoded already."""

    held: MemoryIncidence

    def describe(self) -> Description:
        """Two columns of text. No answer here is kept by version, so one name does for all."""
        return Description(columns=((USER, "VARCHAR"), (ITEM, "VARCHAR")), version="made up")

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Histogram:
        """People per item."""
        return self.held.histogram(top, bound=bound, cap=selection.per_item_cap)

    def incidence(self, selection: Selection) -> MemoryIncidence:  # noqa: ARG002  the port's signature
        """Who has what."""
        return self.held


def listed(*texts: str) -> Items:
    """Texts as a public list."""
    items = np.empty(len(texts), dtype=object)
    items[:] = texts
    return items


def small_table(rows: Table) -> SmallTable:
    """An engine for rows of a person and an item."""
    return SmallTable(incidence([user for user, _ in rows], [item for _, item in rows]))
