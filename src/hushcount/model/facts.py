"""What is declared about a question before any data is read: never inferred from private values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.inputs import Items


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Public facts and enforced bounds: a wrong guess would weaken privacy, so each is declared or enforced.

    Attributes:
        max_items: at most this many items for each person: a public fact or a bound that the engine enforces; None if
            unbounded.
        per_item_cap: how much one person may add to one count (tau); 1 counts people.
        public_items: the public list of items, zeros included, if there is one; None if the list itself is private.
        k: how many items a top list asks for.
        with_counts: whether counts are wanted beside names.
        relative_error: the share of a count by which it may be off, for mechanisms that aim at one.
    """

    max_items: int | None = None
    per_item_cap: int = 1
    public_items: Items | None = None
    k: int | None = None
    with_counts: bool = True
    relative_error: float = 0.1

    def __post_init__(self) -> None:
        whole("per_item_cap", self.per_item_cap, most=2**31)
        if not 0 < self.relative_error < math.inf:
            raise InvalidParameter("relative_error", self.relative_error, "above zero", "0.1 asks for ten per cent.")
        for name in ("max_items", "k"):
            value = getattr(self, name)
            if value is not None:
                whole(name, value, most=2**31)
