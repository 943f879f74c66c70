"""A small table as an engine: a few made-up rows, answered by the code that every engine shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.audit.neighbours import Table
from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.model.columns import Column
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Histogram, Items
from hushcount.model.queries import Description, Selection

USER, ITEM = "user", "item"


@dataclass(frozen=True, slots=True)
class SmallTable:
    """The engine of a table of two columns that is encoded already."""

    held: MemoryIncidence

    def describe(self) -> Description:
        """Two columns of text."""
        return Description(columns=(Column(name=USER, kind="text"), Column(name=ITEM, kind="text")))

    def validate(self, selection: Selection) -> None:
        """The questions of the auditor are about these two columns."""

    def fingerprint(self, key: bytes) -> str:  # noqa: ARG002  the port's signature
        """No answer here is kept by version, so one name does for all."""
        return "made up"

    def sighting(self, key: bytes) -> Sighting:  # noqa: ARG002  as above
        """Nobody keeps count of made-up data."""
        return Sighting(title="made up", finds=(), binds=())

    def rows_identity(self, key: bytes) -> Identity:  # noqa: ARG002  as above
        """As above."""
        return Identity(kind="rows", value="made up")

    def close(self) -> None:
        """Nothing to let go of."""

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
