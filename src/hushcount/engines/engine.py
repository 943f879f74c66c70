"""The engine port: three questions. Engines turn data into bounded inputs and know no privacy notion."""

from __future__ import annotations

from typing import Protocol

from hushcount.model.inputs import Bound, Histogram, Incidence
from hushcount.model.queries import Description, Selection


class Engine(Protocol):
    """One data set, opened. Rows whose user or item is NULL are left out, in every answer.

    An answer is complete or refused: an engine that cannot be sure to have seen every row raises instead of answering.
    """

    def describe(self) -> Description:
        """Columns and version id. Reads no values but what the version id needs."""
        ...

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Histogram:
        """People per item (capped sums, if the cap is above one), largest first, ties by item; `top` rows if given.

        With a bound, each person's items are bounded first, as the bound says.
        """
        ...

    def incidence(self, selection: Selection) -> Incidence:
        """A handle on who has what, for mechanisms that weigh people's lists. The per-item cap must be one."""
        ...
