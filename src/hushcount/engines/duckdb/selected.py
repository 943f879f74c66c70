"""The rows of a question, as SQL: who, and what."""

from __future__ import annotations

import numpy as np

from hushcount.engines.duckdb.parts import item_sql
from hushcount.engines.duckdb.sql import Typed, filter_sql, quoted, text_sql
from hushcount.engines.text import grams_sql, words_sql
from hushcount.model.frozen import frozen
from hushcount.model.queries import Selection, TextItems, TupleItems

# How people are read, by how many bits an integer of theirs has; none if they are texts.
_READ: dict[int | None, tuple[str, type[str | np.int32 | np.int64]]] = {
    None: ("person", str),
    32: ("person::INTEGER", np.int32),
    64: ("person::BIGINT", np.int64),
}


@frozen
class SelectedRows:
    """SQL that yields the columns person and item, both present, and its parameters.

    Attributes:
        sql: a SELECT.
        parameters: the values of its parameters.
        person: SQL for a person of these rows, as they are read.
        kind: what that is: `str`, or an integer of NumPy's, for people who are integers of at most 64 bits.
        text: the name of the column of items, if they are texts as they are stored.
        few: whether these look few, and
        close: whether people are integers close together; as far as the whole table says, whatever is selected of it.
            Nothing but time depends on these.
    """

    sql: str
    parameters: list[object]
    person: str
    kind: type[str | np.int32 | np.int64]
    text: str | None
    few: bool = False
    close: bool = False


def select_rows(selection: Selection, columns: Typed, table: str) -> SelectedRows:
    """The rows that a selection takes of a table; it was held against the columns before."""
    person = columns[selection.user]
    who = quoted(selection.user) if person.integer_bits else text_sql(person)
    where, parameters, text = "TRUE", list[object](), None
    if selection.where is not None:
        where, parameters = filter_sql(selection.where, columns)
    if isinstance(selection.item, TextItems):
        words = words_sql(text_sql(columns[selection.item.column]), lower=selection.item.lower)
        split = f"SELECT {who} AS person, {words} AS words FROM {table} WHERE {where}"  # noqa: S608
        sql = f"SELECT person, unnest({grams_sql(selection.item, 'words')}) AS item FROM ({split})"  # noqa: S608
    else:
        items = selection.item
        item = item_sql(items, columns) if isinstance(items, TupleItems) else text_sql(columns[items])
        text = items if isinstance(items, str) and columns[items].is_varchar else None
        sql = f"SELECT {who} AS person, {item} AS item FROM {table} WHERE {where}"  # noqa: S608
    sql = f"SELECT person, item FROM ({sql}) WHERE person IS NOT NULL AND item IS NOT NULL"  # noqa: S608
    read, kind = _READ[person.integer_bits]
    return SelectedRows(sql=sql, parameters=parameters, person=read, kind=kind, text=text)
