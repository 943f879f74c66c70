"""What mechanisms work on: a bounded histogram, or a handle on the person-item incidence that gives bounded weights.

Engines make these from data; mechanisms know nothing else. The bounds written here are what the privacy proofs rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidInput
from hushcount.model.frozen import frozen
from hushcount.model.texts import Items as Items  # noqa: PLC0414  everything else about inputs is had from here
from hushcount.model.texts import SortedTexts

Int64s: TypeAlias = npt.NDArray[np.int64]
Shown: TypeAlias = tuple[Items, Int64s]  # items and what is released of each

# Counts and weights stay below 2^62, so that adding noise or a threshold to one can never wrap an int64.
LARGEST = 2**62


@frozen
class Histogram:
    """Distinct items and how many people have each (a person adds at most the per-item cap to any one count).

    Attributes:
        items: the items, each once, in any order.
        counts: positive integers, one for each item.
        complete: True if the data holds no further item; False if these are only its largest counts. A row that is
            missing from an incomplete histogram has a count no larger than the smallest one here.
    """

    items: Items | SortedTexts
    counts: Int64s
    complete: bool

    def __post_init__(self) -> None:
        _check_rows(self.items, self.counts, least=1)

    def each(self, step: Callable[[Histogram], Shown]) -> Shown:
        """See `Counts`."""
        return step(self)

    def of(self, listed: Items) -> Int64s:
        """See `Counts`."""
        known = dict(zip(self.items.tolist(), self.counts.tolist(), strict=True))
        return np.array([known.get(item, 0) for item in listed.tolist()], dtype=np.int64)


class Counts(Protocol):
    """All items and how many people have each, perhaps spread over many machines. A `Histogram` is one in memory."""

    @property
    def complete(self) -> bool:
        """Whether the data holds no further item."""
        ...

    def each(self, step: Callable[[Histogram], Shown]) -> Shown:
        """Apply a step that treats every item by itself to all items; what it shows, in any order.

        The step gets every item once, in one or many blocks, perhaps on other machines: it must be picklable.
        """
        ...

    def of(self, listed: Items) -> Int64s:
        """The count of each item of a list, zeros included, in the list's own order; other items are left out.

        The list must be public or already released, never the items observed (erratum 4).
        """
        ...


@frozen
class WeightedHistogram:
    """Integer weights on a grid: `unit` steps are a weight of one, and one person moves the whole by `unit` at most.

    Every item of every bounded list is here, items of weight zero included: the set of items that can be named must not
    depend on weights (erratum 25).
    """

    items: Items | SortedTexts
    weights: Int64s
    unit: int

    def __post_init__(self) -> None:
        _check_rows(self.items, self.weights, least=0)

    def each(self, step: Callable[[WeightedHistogram], Items]) -> Items:
        """See `Weights`."""
        return step(self)


class Weights(Protocol):
    """All items and their weights, perhaps spread over many machines. A `WeightedHistogram` is one in memory."""

    def each(self, step: Callable[[WeightedHistogram], Items]) -> Items:
        """Apply a step that treats every item by itself to all items; what it names, in any order.

        The step gets every item once, in one or many blocks, perhaps on other machines: it must be picklable.
        """
        ...


@frozen
class SummedItems:
    """Items and what their people add to them, by several rules at once: one row for each item, a column for a rule.

    Every item of every bounded list is here, once.
    """

    items: Items | SortedTexts
    sums: Int64s

    def __post_init__(self) -> None:
        if self.sums.ndim != 2 or not self.sums.shape[1]:
            raise InvalidInput("sums must have a row for each item and a column for each rule")
        # The items need to be looked at once. All sums together: NumPy takes ten times as long for those of each row.
        _check_rows(self.items, self.sums[:, 0], least=0)
        if len(self.items) and (int(self.sums.min()) < 0 or int(self.sums.max()) >= LARGEST):
            raise InvalidInput("sums must be from zero up to 2^62")

    def each(self, step: Callable[[SummedItems], Items]) -> Items:
        """See `Sums`."""
        return step(self)


class Sums(Protocol):
    """All items and their sums, perhaps spread over many machines. `SummedItems` are those in memory."""

    def each(self, step: Callable[[SummedItems], Items]) -> Items:
        """As `Weights.each`."""
        ...


@frozen
class Bound:
    """How each person's items are bounded, by that person's own items and a salt only (errata 28, 34, 38).

    Attributes:
        max_items: at most this many distinct items are kept for each person, chosen by a keyed hash of (person, item).
        salt: the key of that hash; a fresh one for each round, drawn by the caller, never by the engine.
        without: items already named, left out before the bound is applied (None: nothing is left out).
        only: if given, all other items are left out before the bound is applied (must be a released set).
    """

    max_items: int
    salt: bytes
    without: Items | None = None
    only: Items | None = None


@frozen
class UniformWeights:
    """Each person gives each of their d bounded items floor(2^bits / share^(1/norm)) grid steps.

    `share` is d for weighting "held" (the weighted mechanisms) and max_items for weighting "bound" (the count
    mechanisms). Either way one person's steps have l_norm at most 2^bits, exactly, whatever the rounding.
    """

    bound: Bound
    norm: Literal[1, 2]
    share: Literal["held", "bound"]
    bits: int = 30


@frozen
class LengthWeights:
    """Each person adds to each of their d bounded items `columns[c][d - 1]`, in every column c at once.

    All columns go by the same bounded list and the same d: proofs about the largest of several sums rest on it.
    """

    bound: Bound
    columns: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.columns or any(len(column) != self.bound.max_items for column in self.columns):
            raise InvalidInput("every column needs a weight for each length up to the bound")
        if any(not 0 <= weight < LARGEST for column in self.columns for weight in column):
            raise InvalidInput("weights must be from 0 up to 2^62")


@frozen
class UserLists:
    """Bounded item lists of all people, encoded, for policies that visit people one after another.

    Person j holds `items[ids[offsets[j]:offsets[j + 1]]]`. People stand in an order that depends on the salt and on
    their own identifier only (erratum 28); ids of one person are distinct, in the order asked for. `items` holds
    exactly the items that occur.
    """

    items: Items | SortedTexts
    offsets: Int64s
    ids: npt.NDArray[np.int32]


@frozen
class Ranked:
    """Released items in an order, and how much each of them takes up of a person's room.

    Attributes:
        items: the items, each once, in order of rank. A released or public list, never the items observed (erratum 4).
        amplitudes: positive integers, one for each; the sum of their squares is below 2^62.
    """

    items: Items
    amplitudes: Int64s

    def __post_init__(self) -> None:
        _check_rows(self.items, self.amplitudes, least=1)
        # Doubles are off by far less than a half of it; thousands of whole numbers take a hundred times as long.
        about = float(np.square(self.amplitudes, dtype=np.float64).sum())
        if about >= LARGEST / 2 and sum(step * step for step in self.amplitudes.tolist()) >= LARGEST:
            raise InvalidInput("the squares of amplitudes come to 2^62 or more, where sums of 64 bits end")


@frozen
class Clip:
    """The room that a person has: the amplitudes of what they hold, as a vector, are shortened to this length.

    Of a person who holds ranked items with amplitudes A among the first `first`, s is the sum of A². If s is at most
    radius², the person adds A to each. If not, they add floor(A g) with g = sqrt(radius²/s) (1 - 2^-40) in doubles,
    whose five roundings come to less than 2^-50: so floor(A g) <= A sqrt(radius²/s), and what one person adds, as a
    vector of integers, is never longer than `radius`.

    Attributes:
        first: how many of the ranked items count.
        radius: the length.
    """

    first: int
    radius: int


class Incidence(Protocol):
    """A handle on who has what. Duplicated (person, item) rows count once."""

    def weights(self, rule: UniformWeights) -> Weights:
        """Sum of everyone's uniform weights after bounding. Sums do not depend on the order of people."""
        ...

    def sums(self, rule: LengthWeights) -> Sums:
        """Sums of what everyone adds after bounding, by several rules at once. They do not depend on any order."""
        ...

    def counts(self, bound: Bound) -> Counts:
        """How many people hold each item after bounding. Always complete."""
        ...

    def lists(self, bound: Bound, order: Literal["key", "frequency"]) -> UserLists:
        """Bounded lists for sequential policies; "frequency" puts each person's own most frequent items first."""
        ...

    def everyone(self, rule: UniformWeights) -> int:
        """What an item would weigh that everybody had: the sum over people of the step that they give each item.

        Lists are as long as they are, whatever the bound leaves out. One person adds at most one unit.
        """
        ...

    def held(self, listed: Items) -> int:
        """How many pairs of a person and a listed item there are; one person adds at most the length of the list."""
        ...

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """For each clip, the part of everybody's items that it takes away, in units of one person.

        The sum over people of 0 if they are not clipped, else of min(unit, unit - floor(unit g) + grain), where grain =
        ceil(unit / least amplitude) makes up for the floors of `clipped`: so one person adds from 0 to `unit` to each,
        and the clipped count of an item is below its true count by at most losses / unit people.
        """
        ...

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """For each of the first ranked items, the sum of what people add to it under a clip."""
        ...

    def largest(self, top: int) -> Histogram:
        """People per item, nobody bounded: the `top` largest counts, ties by item."""
        ...


class Holdings(Protocol):
    """Both views of the same rows, for mechanisms that may do with one: each is read when it is asked for."""

    def top(self, rows: int) -> Histogram:
        """The largest counts of all items, nobody's list bounded."""
        ...

    def incidence(self) -> Incidence:
        """Who has what."""
        ...

    def counts_of(self, items: Items) -> Int64s:
        """The count of each of these items, zeros included, nobody's list bounded; they must be released already."""
        ...


def _check_rows(items: Items | SortedTexts, values: Int64s, *, least: int) -> None:
    if (not isinstance(items, SortedTexts) and items.ndim != 1) or values.ndim != 1 or len(items) != len(values):
        raise InvalidInput("items and counts must be one-dimensional and of the same length")
    # An item in two rows would let one person move two counts of the same item.
    if not isinstance(items, SortedTexts) and len(set(items.tolist())) != len(items):
        raise InvalidInput("an item stands in more than one row; each must be there once")
    if values.dtype != np.int64:
        raise InvalidInput(f"counts must be int64, not {values.dtype}; NaN and fractions cannot be counts of people")
    if len(values) and (int(values.min()) < least or int(values.max()) >= LARGEST):
        raise InvalidInput(
            f"counts must be from {least} up to 2^62; a count outside would break the stated sensitivity"
        )
