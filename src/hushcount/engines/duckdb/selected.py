"""The rows of a question, as SQL over the table `data`: who, and what; and the fingerprint of all rows."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.engines.columns import find, find_flat, is_small_integer, kind, quoted, spelled, text_sql
from hushcount.engines.filters.filter import filter_sql, parse
from hushcount.engines.text import grams_sql, words_sql
from hushcount.errors import InvalidInput
from hushcount.model.queries import Selection, TextItems


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRows:
    """SQL that yields the columns person and item, both present, and its parameters.

    Attributes:
        sql: a SELECT.
        parameters: the values of its parameters.
        integer: the column of people, if they are integers of at most 64 bits; they stay integers.
    """

    sql: str
    parameters: list[object]
    integer: str | None


def select_rows(selection: Selection, columns: tuple[tuple[str, str], ...]) -> SelectedRows:
    """The rows that a selection takes.

    Raises:
        UnknownColumn: it names a column that is not there.
        UnsafeFilter: its filter is outside the safe grammar.
        InvalidInput: a column holds lists or other nested values, or words are asked of numbers.
    """
    person = find_flat(selection.user, columns)
    integer = quoted(selection.user) if is_small_integer(person) else None
    who = integer or text_sql(selection.user, person)
    where, parameters = "TRUE", list[object]()
    if selection.where is not None:
        where, parameters = filter_sql(parse(selection.where, columns), dict(columns))
    if isinstance(selection.item, TextItems):
        words = _words_sql(selection.item, columns)
        split = f"SELECT {who} AS person, {words} AS words FROM data WHERE {where}"  # noqa: S608
        sql = f"SELECT person, unnest({grams_sql(selection.item, 'words')}) AS item FROM ({split})"  # noqa: S608
    else:
        item = text_sql(selection.item, find_flat(selection.item, columns))
        sql = f"SELECT {who} AS person, {item} AS item FROM data WHERE {where}"  # noqa: S608
    sql = f"SELECT person, item FROM ({sql}) WHERE person IS NOT NULL AND item IS NOT NULL"  # noqa: S608
    return SelectedRows(sql=sql, parameters=parameters, integer=integer)


def fingerprint_sql(columns: tuple[tuple[str, str], ...]) -> str:
    """A SELECT of one text that changes with any row or column, and not with the order of rows.

    Three 64-bit hashes of each row: two are added up, so that repeated rows count; one is combined by exclusive or.
    """
    values = ", ".join(quoted(name) for name, _ in columns)
    parts = (
        "count(*)",
        f"sum(hash({values})::HUGEINT)",
        f"sum(hash({values}, 1)::HUGEINT)",
        f"bit_xor(hash({values}, 2))",
        f"hash({spelled(repr(columns))})",
    )
    return f"SELECT concat_ws('-', 'rows', {', '.join(parts)}) AS version FROM data"  # noqa: S608


def _words_sql(items: TextItems, columns: tuple[tuple[str, str], ...]) -> str:
    held = find(items.column, columns)
    if kind(held) != "text":
        raise InvalidInput(f"column {items.column!r} holds values of type {held}, not text; name a text column")
    return words_sql(text_sql(items.column, held), lower=items.lower)
