"""What is asked of the data before any privacy: who is the person, what is the item, which rows count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.columns import Column
from hushcount.model.conditions import Condition, columns_of

# Which items may be named; how many people have each; which are the most held.
Question: TypeAlias = Literal["vocab", "count", "top"]

LONGEST_NGRAM = 8


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The rows and columns that a question is about.

    Attributes:
        user: the column that says who a row belongs to: the unit of protection.
        item: the item column, or how to make items from a text column.
        where: a filter, as the tree that `engines.filters.grammar` made of its text; None for all rows.
        per_item_cap: how much one person may add to one count: 1 counts people, more counts rows up to the cap.
    """

    user: str
    item: str | TextItems
    where: Condition | None = None
    per_item_cap: int = 1

    def __post_init__(self) -> None:
        whole("per_item_cap", self.per_item_cap, most=2**31)
        column = self.item.column if isinstance(self.item, TextItems) else self.item
        if self.user == column:
            raise InvalidParameter("user", self.user, "another column than the item", "A person is not their own item.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, each once."""
        item = self.item.column if isinstance(self.item, TextItems) else self.item
        filtered = () if self.where is None else columns_of(self.where)
        return tuple(dict.fromkeys((self.user, item, *filtered)))


@dataclass(frozen=True, slots=True, kw_only=True)
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
