"""What is asked of the data before any privacy: who is the person, what is the item, which rows count."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.columns import Column
from hushcount.model.conditions import Condition, columns_of
from hushcount.model.frozen import frozen

# Which items may be named; how many people have each; which are the most held.
Question: TypeAlias = Literal["vocab", "count", "top"]
# What can be asked: `people` is a count of everybody, or by groups that are public.
Verb: TypeAlias = Literal["vocab", "count", "top", "people"]

# A part of a moment: as an item, all moments within it are one.
Unit: TypeAlias = Literal["hour", "day", "week", "month"]

LONGEST_NGRAM = 8
MOST_PARTS = 8


@frozen
class TextItems:
    """Items are the words, or runs of words, of a text column; each row's text is split on its own.

    Attributes:
        column: the text column.
        shortest: the least number of words in an item.
        longest: the largest number of words in an item.
        lower: whether case is folded away first.
    """

    column: str
    shortest: int = 1
    longest: int = 1
    lower: bool = True

    def __post_init__(self) -> None:
        whole("shortest n-gram", self.shortest, most=LONGEST_NGRAM)
        whole("longest n-gram", self.longest, least=self.shortest, most=LONGEST_NGRAM)


@frozen
class Part:
    """One part of an item: the value of a column, or the hour, day, week or month in which its moment lies."""

    column: str
    unit: Unit | None = None

    @property
    def name(self) -> str:
        """What it is called in answers: the column, or `day(column)` as it was asked for."""
        return self.column if self.unit is None else f"{self.unit}({self.column})"


@frozen
class TupleItems:
    """Items are made of one column or several, a value of each; of several they are one text (`model.tuples`).

    A row in which a part is missing has no item. Without parts all rows have the same, and it counts people.

    Attributes:
        parts: the parts, in their order.
        zone: by whose clock hours and days begin; moments that do not say their zone are those of UTC.
        date_format: how moments are written in a column of texts, "seconds" or "milliseconds" since 1970 in one of
            numbers; None for ISO 8601. See `engines.parts`.
        trim: whether white space at both ends of a value is left off.
        lower: whether case is folded away.
    """

    parts: tuple[Part, ...]
    zone: str = "UTC"
    date_format: str | None = None
    trim: bool = False
    lower: bool = False

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        if len(names) > MOST_PARTS:
            raise InvalidParameter("item", ", ".join(names), f"one to {MOST_PARTS} columns")
        if len(set(names)) < len(names):
            raise InvalidParameter("item", ", ".join(names), "columns that differ")


@frozen
class Selection:
    """The rows and columns that a question is about.

    Attributes:
        user: the column that says who a row belongs to: the unit of protection.
        item: the item column, or how to make items from a text column or from several columns.
        where: a filter, as the tree that `engines.filters.grammar` made of its text; None for all rows.
        per_item_cap: how much one person may add to one count: 1 counts people, more counts rows up to the cap.
    """

    user: str
    item: str | TextItems | TupleItems
    where: Condition | None = None
    per_item_cap: int = 1

    def __post_init__(self) -> None:
        whole("per_item_cap", self.per_item_cap, most=2**31)
        if self.user in self.item_columns:
            raise InvalidParameter("user", self.user, "another column than the item", "A person is not their own item.")

    @property
    def item_columns(self) -> tuple[str, ...]:
        """The columns that items are made of."""
        match self.item:
            case str():
                return (self.item,)
            case TextItems():
                return (self.item.column,)
            case TupleItems():
                return tuple(part.column for part in self.item.parts)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, each once."""
        filtered = () if self.where is None else columns_of(self.where)
        return tuple(dict.fromkeys((self.user, *self.item_columns, *filtered)))


@frozen
class Description:
    """What an engine says of its data.

    Attributes:
        columns: names and kinds, in the data's own order.
        listed: False if the data does not list its columns, as JSON, whose keys are private values: any column may then
            be named, is read as text, and is missing where it is absent.
        told: False if errors must not list the columns, as those of CSV: where the first line is missing, the names
            would be somebody's values.
    """

    columns: tuple[Column, ...]
    listed: bool = True
    told: bool = True
