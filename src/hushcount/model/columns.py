"""Columns: their names and the kinds of values that they hold, in words of our own that every engine translates to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hushcount.model.frozen import frozen

# A moment is a time on a date, without a zone; "zoned" is a point in time. "other" are plain values of further kinds,
# such as bytes or a time of day; "nested" are lists, objects and all that is not one plain value.
Kind: TypeAlias = Literal["text", "integer", "decimal", "real", "boolean", "date", "moment", "zoned", "other", "nested"]


@frozen
class Column:
    """One column. An engine's own type names stay in the engine: they can hold private values, such as labels."""

    name: str
    kind: Kind
