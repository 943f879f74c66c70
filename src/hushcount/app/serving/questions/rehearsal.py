"""Rehearsals: the same question on a look-alike table, made of the names of columns and of declared lists alone.

No value of the data is read, so a rehearsal is free and may be repeated at will. In the look-alike the item of rank r
is held by one in r of twenty thousand people; only the shape of the answer means anything, and it says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hushcount.app.answer import answer
from hushcount.app.items import column_names
from hushcount.app.release import Release
from hushcount.app.request import Request
from hushcount.app.setting import passing_setting
from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Histogram
from hushcount.model.queries import Description, Selection
from hushcount.model.tuples import join

MADE_UP = "This answer is made up: it shows what an answer looks like, and tells nothing of the data."
_PEOPLE = 20_000
_ITEMS = 500


@dataclass(frozen=True, slots=True)
class LookAlike:
    """An engine of people who were made up; filters take all of them."""

    held: MemoryIncidence

    def describe(self) -> Description:
        """Whatever is asked for is there."""
        return Description(columns=(), listed=False)

    def validate(self, selection: Selection) -> None:
        """The question was held against the real columns before."""

    def fingerprint(self, key: bytes) -> str:  # noqa: ARG002  the port's signature
        """Nothing is kept by version."""
        return "made up"

    def sighting(self, key: bytes) -> Sighting:  # noqa: ARG002  as above
        """Nobody keeps count of it."""
        return Sighting(title="made up", finds=(), binds=())

    def rows_identity(self, key: bytes) -> Identity:  # noqa: ARG002  as above
        """As above."""
        return Identity(kind="rows", value="made up")

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Histogram:
        """People per item."""
        return self.held.histogram(top, bound=bound, cap=selection.per_item_cap)

    def incidence(self, selection: Selection) -> MemoryIncidence:  # noqa: ARG002  the port's signature
        """Who has what."""
        return self.held

    def close(self) -> None:
        """Nothing to let go of."""


def rehearse(request: Request) -> Release:
    """The answer that the question would have on the look-alike, with noise as it would have it."""
    public = request.facts.public_items
    items = _names(column_names(request.selection.item)) if public is None else tuple(public.tolist()[:_ITEMS])
    release = answer(replace(request, fresh=True), LookAlike(_made_up(items)), passing_setting())
    return replace(release, notes=(MADE_UP,))


def _names(columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(join([f"made-up {column} {rank}" for column in columns]) for rank in range(1, _ITEMS + 1))


@lru_cache(maxsize=8)
def _made_up(items: tuple[str, ...]) -> MemoryIncidence:
    """Person j holds the item of rank r if r divides j: so one in r people does."""
    people = [np.arange(0, _PEOPLE, rank) for rank in range(1, len(items) + 1)]
    held = np.repeat(np.array(items, dtype=object), [len(own) for own in people])
    return incidence(np.concatenate(people), held)
