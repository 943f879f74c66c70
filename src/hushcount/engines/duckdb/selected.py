"""The rows of a question, as SQL over the table `data`: who, and what; and the fingerprint of all rows."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.engines.duckdb.sql import Typed, filter_sql, quoted, spelled, text_sql
from hushcount.engines.text import grams_sql, words_sql
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


def select_rows(selection: Selection, columns: Typed) -> SelectedRows:
    """The rows that a selection takes, which was held against the columns before."""
    person = columns[selection.user]
    integer = quoted(selection.user) if person.is_small_integer else None
    who = integer or text_sql(person)
    where, parameters = "TRUE", list[object]()
    if selection.where is not None:
        where, parameters = filter_sql(selection.where, columns)
    if isinstance(selection.item, TextItems):
        words = words_sql(text_sql(columns[selection.item.column]), lower=selection.item.lower)
        split = f"SELECT {who} AS person, {words} AS words FROM data WHERE {where}"  # noqa: S608
        sql = f"SELECT person, unnest({grams_sql(selection.item, 'words')}) AS item FROM ({split})"  # noqa: S608
    else:
        item = text_sql(columns[selection.item])
        sql = f"SELECT {who} AS person, {item} AS item FROM data WHERE {where}"  # noqa: S608
    sql = f"SELECT person, item FROM ({sql}) WHERE person IS NOT NULL AND item IS NOT NULL"  # noqa: S608
    return SelectedRows(sql=sql, parameters=parameters, integer=integer)


def fingerprint_sql(columns: Typed) -> str:
    """A SELECT of one text that changes with any row or column, and not with the order of rows.

    Three 64-bit hashes of each row: two are added up, so that repeated rows count; one is combined by exclusive or.
    """
    values = ", ".join(map(quoted, columns))
    shape = tuple((column.name, column.type_name) for column in columns.values())
    parts = (
        "count(*)",
        f"sum(hash({values})::HUGEINT)",
        f"sum(hash({values}, 1)::HUGEINT)",
        f"bit_xor(hash({values}, 2))",
        f"hash({spelled(repr(shape))})",
    )
    return f"SELECT concat_ws('-', 'rows', {', '.join(parts)}) AS version FROM data"  # noqa: S608
