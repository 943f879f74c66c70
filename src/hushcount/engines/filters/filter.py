"""The filter: which rows count. A small grammar in which a row is kept or left out by its own values alone.

    filter      conditions joined by AND, OR, NOT and parentheses
    condition   column = | != | <> | < | <= | > | >= literal     (or with the literal first)
                column [NOT] IN (literal, ...)
                column [NOT] BETWEEN literal AND literal
                column [NOT] LIKE 'pattern'                       % any text, _ one character; case matters
                column IS [NOT] NULL
    column      country, or "any name" in double quotes; case matters
    literal     'text' (a quote within is doubled), 7, 1.5, TRUE, FALSE, DATE '2024-12-31' or date('2024-12-31')

There are no functions, no arithmetic, no subqueries, no comments and no second statement: nothing in which one person's
rows could decide about another's, or that a database would run. A comparison with a missing value is unknown, as in
SQL, and a row is kept only if the whole filter is true. `engines.columns` says how columns are read.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any, NoReturn, TypeAlias, assert_never

from hushcount.engines.columns import Columns, Kind, Reading, find, kind, quoted, read_value, reading_sql
from hushcount.engines.filters import grammar
from hushcount.engines.filters.conditions import (
    Among,
    Between,
    Compare,
    Condition,
    Joined,
    Like,
    Missing,
    Not,
    Value,
    literals,
    spell,
    spell_name,
)
from hushcount.errors import UnsafeFilter

Types: TypeAlias = Mapping[str, str]
_Comparison: TypeAlias = Compare | Among | Between | Like

_READINGS: dict[Kind, set[Reading]] = {
    "text": {"text", "integer", "real", "boolean", "moment"},
    "integer": {"integer", "real"},
    "real": {"integer", "real"},
    "boolean": {"boolean"},
    "date": {"moment"},
    "moment": {"moment"},
    "zoned": {"moment"},
}
_CASTS: dict[Reading, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "real": "DOUBLE",
    "boolean": "BOOLEAN",
    "moment": "TIMESTAMP",
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def canonical(text: str, columns: Columns) -> str:
    """The one way of writing a filter: equal for filters that differ in spaces, case of keywords or spare parentheses.

    Args:
        text: the filter.
        columns: names and DuckDB types of the columns.

    Raises:
        UnsafeFilter: it is outside the grammar, or compares a column with a literal of another kind.
        UnknownColumn: it names a column that is not there.
    """
    return spell(parse(text, columns))


def parse(text: str, columns: Columns) -> Condition:
    """The filter as a tree, its columns and literals checked."""
    condition = grammar.read(text)
    _check(condition, dict(columns))
    return condition


def filter_sql(condition: Condition, types: Types) -> tuple[str, list[object]]:
    """SQL for the filter, and the values of its parameters."""
    match condition:
        case Joined(word=word, parts=parts):
            found = [filter_sql(part, types) for part in parts]
            return f" {word} ".join(f"({sql})" for sql, _ in found), [value for _, values in found for value in values]
        case Not(part=part):
            sql, values = filter_sql(part, types)
            return f"NOT ({sql})", values
        case Missing(column=column):
            return f"{_present_sql(column, types[column])} IS NULL", []
        case _:
            return _comparison_sql(condition, types[condition.column])


def holds(condition: Condition, row: Mapping[str, object], types: Types) -> bool | None:
    """Whether a row passes, in Python; None if that is unknown."""
    match condition:
        case Joined(word=word, parts=parts):
            found = [holds(part, row, types) for part in parts]
            decides = word == "OR"
            return decides if decides in found else None if None in found else not decides
        case Not(part=part):
            inner = holds(part, row, types)
            return None if inner is None else not inner
        case Missing(column=column):
            return read_value(row[column], "text") is None
        case _:
            return _compares(condition, row[condition.column], types[condition.column])


def _check(condition: Condition, types: Types) -> None:
    match condition:
        case Joined(parts=parts):
            for part in parts:
                _check(part, types)
        case Not(part=part):
            _check(part, types)
        case Missing(column=column):
            find(column, types.items())
        case _:
            reading_of(condition, find(condition.column, types.items()))


def reading_of(condition: _Comparison, type_name: str) -> Reading:
    """How the column must be read to be compared with the literals of the condition."""
    held = kind(type_name)
    found = {_literal_reading(value) for value in literals(condition)}
    if found == {"integer", "real"}:
        found = {"real"}
    if len(found) > 1 or not found <= _READINGS.get(held, set()) or (isinstance(condition, Like) and held != "text"):
        _mismatch(condition.column, held)
    only = found.pop()
    return "real" if only == "integer" and held != "integer" else only


def _literal_reading(value: Value) -> Reading:
    match value:
        case bool():
            return "boolean"
        case str():
            return "text"
        case int():
            return "integer"
        case float():
            return "real"
        case date():
            return "moment"
        case _:  # pragma: no cover
            assert_never(value)


def _comparison_sql(condition: _Comparison, type_name: str) -> tuple[str, list[object]]:
    reading = reading_of(condition, type_name)
    column, hole = reading_sql(condition.column, type_name, reading), f"?::{_CASTS[reading]}"
    values: list[object] = [literal_as(value, reading) for value in literals(condition)]
    match condition:
        case Compare():
            return f"{column} {condition.operator} {hole}", values
        case Among():
            return f"{column} IN ({', '.join([hole] * len(values))})", values
        case Between():
            return f"{column} BETWEEN {hole} AND {hole}", values
        case Like():
            return f"{column} LIKE {hole}", values


def _compares(condition: _Comparison, value: object, type_name: str) -> bool | None:
    reading = reading_of(condition, type_name)
    own = read_value(value, reading)
    if own is None:
        return None
    others = [literal_as(other, reading) for other in literals(condition)]
    match condition:
        case Compare():
            return bool(OPERATORS[condition.operator](own, others[0]))
        case Among():
            return own in others
        case Between():
            return bool(others[0] <= own <= others[1])
        case Like():
            pattern = "".join({"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in condition.pattern)
            return re.fullmatch(pattern, own, re.DOTALL) is not None


def _present_sql(column: str, type_name: str) -> str:
    # NaN is how a missing number is written.
    return reading_sql(column, type_name, "real") if kind(type_name) == "real" else quoted(column)


def literal_as(value: Value, reading: Reading) -> Any:  # noqa: ANN401  comparable within one reading
    """A literal as the column is read."""
    if reading == "moment" and isinstance(value, date):
        return datetime.combine(value, time())
    return float(value) if reading == "real" and isinstance(value, int) else value


def _mismatch(column: str, held: Kind) -> NoReturn:
    name = spell_name(column)
    examples: dict[Kind, str] = {
        "text": f"with one kind of literal at a time: {name} IN ('a', 'b')",
        "integer": f"with numbers, without quotes: {name} >= 10",
        "real": f"with numbers, without quotes: {name} >= 1.5",
        "boolean": f"with TRUE or FALSE: {name} = TRUE",
        **dict.fromkeys(("date", "moment", "zoned"), f"with dates: {name} >= DATE '2024-12-31'"),
    }
    how = examples.get(held, f"with nothing, only be missing or not: {name} IS NOT NULL")
    raise UnsafeFilter(
        f"the filter compares column {column!r} with a literal of another kind; it can be compared {how}"
    )
