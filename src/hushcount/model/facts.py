"""What is declared about a question before any data is read: never inferred from private values."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any, Literal, TypeAlias, get_args

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Items

Fact: TypeAlias = Literal["max_items", "per_item_cap", "public_items", "k", "with_counts", "relative_error"]
FACTS: tuple[Fact, ...] = get_args(Fact)

_RELATIVE_ERROR = 0.1


@frozen
class Facts:
    """Public facts and enforced bounds: a wrong guess would weaken privacy, so each is declared or enforced.

    Attributes:
        max_items: at most this many items for each person: a public fact or a bound that the engine enforces; None if
            unbounded.
        per_item_cap: how much one person may add to one count (tau); 1 counts people.
        public_items: the public list of items, zeros included, if there is one; None if the list itself is private.
        k: how many items a top list asks for.
        with_counts: whether counts are wanted beside names.
        relative_error: the share of a count by which it may be off, for mechanisms that aim at one; None if not said.
    """

    max_items: int | None = None
    per_item_cap: int = 1
    public_items: Items | None = None
    k: int | None = None
    with_counts: bool = True
    relative_error: float | None = None

    def __post_init__(self) -> None:
        whole("per_item_cap", self.per_item_cap, most=2**31)
        if not 0 < self.aim < math.inf:
            raise InvalidParameter("relative_error", self.relative_error, "above zero", "0.1 asks for ten per cent.")
        for name in ("max_items", "k"):
            value = getattr(self, name)
            if value is not None:
                whole(name, value, most=2**31)

    @property
    def aim(self) -> float:
        """The relative error to aim at: ten per cent where nothing was said."""
        return _RELATIVE_ERROR if self.relative_error is None else self.relative_error

    @property
    def declared(self) -> frozenset[Fact]:
        """Which facts were declared: those that are not as they are where nothing is said."""
        return frozenset(fact for fact in FACTS if _differ(getattr(self, fact), _UNSAID[fact]))

    def only(self, names: Collection[Fact]) -> Facts:
        """These facts, and all others as where nothing is said."""
        return replace(self, **{fact: unsaid for fact, unsaid in _UNSAID.items() if fact not in names})


_UNSAID: dict[str, Any] = {field.name: field.default for field in fields(Facts)}


def _differ(value: object, unsaid: object) -> bool:
    # A list is compared item by item, so that it is asked only whether there is one.
    return value is not None if unsaid is None else value != unsaid
