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

from hushcount.engines.columns import Reading, find, read_value
from hushcount.errors import UnsafeFilter
from hushcount.model.columns import Kind
from hushcount.model.conditions import (
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
    spell_name,
)
from hushcount.model.queries import Description

Comparison: TypeAlias = Compare | Among | Between | Like

_READINGS: dict[Kind, set[Reading]] = {
    "text": {"text", "integer", "real", "boolean", "moment"},
    "integer": {"integer", "real"},
    "decimal": {"integer", "real"},
    "real": {"integer", "real"},
    "boolean": {"boolean"},
    "date": {"moment"},
    "moment": {"moment"},
    "zoned": {"moment"},
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def check(condition: Condition, data: Description) -> None:
    """Hold a filter against the columns of the data.

    Raises:
        UnsafeFilter: it compares a column with a literal of another kind.
        UnknownColumn: it names a column that is not there.
    """
    match condition:
        case Joined(parts=parts):
            for part in parts:
                check(part, data)
        case Not(part=part):
            check(part, data)
        case Missing(column=column):
            find(column, data)
        case _:
            reading_of(condition, find(condition.column, data))


def reading_of(condition: Comparison, kind: Kind) -> Reading:
    """How a column of this kind must be read to be compared with the literals of the condition."""
    found = {_literal_reading(value) for value in literals(condition)}
    if found == {"integer", "real"}:
        found = {"real"}
    if len(found) > 1 or not found <= _READINGS.get(kind, set()) or (isinstance(condition, Like) and kind != "text"):
        _mismatch(condition.column, kind)
    only = found.pop()
    return "real" if only == "integer" and kind != "integer" else only


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


def literal_as(value: Value, reading: Reading) -> Any:  # noqa: ANN401  comparable within one reading
    """A literal as the column is read."""
    if reading == "moment" and isinstance(value, date):
        return datetime.combine(value, time())
    return float(value) if reading == "real" and isinstance(value, int) else value


def holds(condition: Condition, row: Mapping[str, object], kinds: Mapping[str, Kind]) -> bool | None:
    """Whether a row passes, in Python; None if that is unknown."""
    match condition:
        case Joined(word=word, parts=parts):
            found = [holds(part, row, kinds) for part in parts]
            decides = word == "OR"
            return decides if decides in found else None if None in found else not decides
        case Not(part=part):
            inner = holds(part, row, kinds)
            return None if inner is None else not inner
        case Missing(column=column):
            return read_value(row[column], "text") is None
        case _:
            return _compares(condition, row[condition.column], kinds[condition.column])


def _compares(condition: Comparison, value: object, kind: Kind) -> bool | None:
    reading = reading_of(condition, kind)
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


def _mismatch(column: str, kind: Kind) -> NoReturn:
    name = spell_name(column)
    examples: dict[Kind, str] = {
        "text": f"with one kind of literal at a time: {name} IN ('a', 'b')",
        "integer": f"with numbers, without quotes: {name} >= 10",
        **dict.fromkeys(("decimal", "real"), f"with numbers, without quotes: {name} >= 1.5"),
        "boolean": f"with TRUE or FALSE: {name} = TRUE",
        **dict.fromkeys(("date", "moment", "zoned"), f"with dates: {name} >= DATE '2024-12-31'"),
    }
    how = examples.get(kind, f"with nothing, only be missing or not: {name} IS NOT NULL")
    raise UnsafeFilter(
        f"the filter compares column {column!r} with a literal of another kind; it can be compared {how}"
    )
