"""Checking a question against the columns of the data: all that is public, before anything is read or charged."""

from __future__ import annotations

import re

from hushcount.engines.columns import find
from hushcount.engines.filters.filter import check
from hushcount.engines.parts import check_parts
from hushcount.errors import InvalidInput
from hushcount.model.queries import Description, Selection, TextItems, TupleItems

# Surrogates that stand alone.
_HALVES = re.compile("[\ud800-\udfff]")


def check_selection(selection: Selection, data: Description) -> None:
    """Refuse a question that these columns cannot answer.

    Raises:
        UnknownColumn: it names a column that is not there.
        UnsafeFilter: its filter compares a column with a literal of another kind.
        InvalidInput: a column holds lists or other nested values, or words are asked of numbers, or days of names.
        InvalidParameter: a zone or a date format is said that no column needs.
    """
    if not data.listed:
        _check_names(selection.columns)
    _check_flat(selection.user, data)
    for name in selection.item_columns:
        _check_flat(name, data)
    if isinstance(selection.item, TextItems):
        _check_text(selection.item.column, data)
    if isinstance(selection.item, TupleItems):
        check_parts(selection.item, [find(name, data) for name in selection.item_columns])
    if selection.where is not None:
        check(selection.where, data)


def _check_names(names: tuple[str, ...]) -> None:
    """Any name may be that of a column here, if it is one at all."""
    if any(not name or (not name.isascii() and _HALVES.search(name)) for name in names):
        raise InvalidInput("a column without a name, or named by half of a character, cannot be read; name another")


def _check_flat(name: str, data: Description) -> None:
    if find(name, data) == "nested":
        # Not the type itself: the names of its fields and its labels are values.
        raise InvalidInput(
            f"column {name!r} holds lists or objects, and a person or an item must be one plain value; "
            "take a field out of it first, or flatten it into rows"
        )


def _check_text(name: str, data: Description) -> None:
    kind = find(name, data)
    if kind != "text":
        raise InvalidInput(f"column {name!r} holds values of kind {kind}, not text; name a text column")
