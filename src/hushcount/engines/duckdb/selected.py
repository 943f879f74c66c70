"""The rows of a question, as SQL: who, and what."""

from __future__ import annotations

from hushcount.engines.duckdb.parts import item_sql
from hushcount.engines.duckdb.sql import Typed, filter_sql, quoted, text_sql
from hushcount.engines.text import grams_sql, words_sql
from hushcount.model.frozen import frozen
from hushcount.model.queries import Selection, TextItems, TupleItems


@frozen
class SelectedRows:
    """SQL that yields the columns person and item, both present, and its parameters.

    Attributes:
        sql: a SELECT.
        parameters: the values of its parameters.
        table: what they were selected from.
        integer: the column of people, if they are integers of at most 64 bits; they stay integers.
    """

    sql: str
    parameters: list[object]
    table: str
    integer: str | None


def select_rows(selection: Selection, columns: Typed, table: str) -> SelectedRows:
    """The rows that a selection takes of a table; it was held against the columns before."""
    person = columns[selection.user]
    integer = quoted(selection.user) if person.is_small_integer else None
    who = integer or text_sql(person)
    where, parameters = "TRUE", list[object]()
    if selection.where is not None:
        where, parameters = filter_sql(selection.where, columns)
    if isinstance(selection.item, TextItems):
        words = words_sql(text_sql(columns[selection.item.column]), lower=selection.item.lower)
        split = f"SELECT {who} AS person, {words} AS words FROM {table} WHERE {where}"  # noqa: S608
        sql = f"SELECT person, unnest({grams_sql(selection.item, 'words')}) AS item FROM ({split})"  # noqa: S608
    else:
        items = selection.item
        item = item_sql(items, columns) if isinstance(items, TupleItems) else text_sql(columns[items])
        sql = f"SELECT {who} AS person, {item} AS item FROM {table} WHERE {where}"  # noqa: S608
    sql = f"SELECT person, item FROM ({sql}) WHERE person IS NOT NULL AND item IS NOT NULL"  # noqa: S608
    return SelectedRows(sql=sql, parameters=parameters, table=table, integer=integer)
