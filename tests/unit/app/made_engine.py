"""A tiny engine over made-up rows, so that use cases are tested without a database."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.model.columns import Column
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Histogram
from hushcount.model.queries import Description, Selection


@dataclass
class MadeEngine:
    """Answers from two columns; notes what was asked of it, in order."""

    users: list[int]
    items: list[str]
    version: str = "v1"
    name: str = "made"
    reads: list[str] = field(default_factory=list)
    closed: bool = False

    @cached_property
    def held(self) -> MemoryIncidence:
        """Who has what, encoded once."""
        return incidence(self.users, self.items)

    def describe(self) -> Description:
        """Two columns."""
        return Description(columns=(Column(name="user", kind="integer"), Column(name="item", kind="text")))

    def validate(self, selection: Selection) -> None:
        """Everything may be asked."""

    def fingerprint(self, key: bytes) -> str:
        """The version that the test set."""
        return self.version

    def sighting(self, key: bytes) -> Sighting:
        """Known as a table of the test's own name."""
        own = (Identity(kind="table", value=f"made:{self.name}"),)
        return Sighting(title=self.name, finds=own, binds=own)

    def rows_identity(self, key: bytes) -> Identity:
        """One for each version."""
        return Identity(kind="rows", value=f"{self.name}-{self.version}")

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Histogram:
        """People per item."""
        self.reads.append("histogram")
        return self.held.histogram(top) if bound is None else self.held.counts(bound)

    def incidence(self, selection: Selection) -> MemoryIncidence:
        """The handle itself."""
        self.reads.append("incidence")
        return self.held

    def close(self) -> None:
        """Nothing to let go of."""
        self.closed = True


def made_engine(people: int = 4000, kinds: int = 8) -> MadeEngine:
    """Person p holds items 0..p mod kinds: item j is held by about people * (1 - j/kinds)."""
    users = [person for person in range(people) for _ in range(person % kinds + 1)]
    items = [f"item-{place}" for person in range(people) for place in range(person % kinds + 1)]
    return MadeEngine(users, items)
