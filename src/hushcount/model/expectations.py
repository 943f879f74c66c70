"""What can be said of an answer before any data is read."""

from __future__ import annotations

from hushcount.model.frozen import frozen


@frozen
class Expectation:
    """What can be said of the answer from public facts alone.

    Attributes:
        give_or_take: half the width of a 95 % interval, in people; None if there are no counts or it varies by row.
        cutoff: about how many people an item needs to be shown; None if every listed item is shown.
        notes: sentences for a person.
    """

    give_or_take: int | None = None
    cutoff: float | None = None
    notes: tuple[str, ...] = ()
