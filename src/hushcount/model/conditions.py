"""The tree of a filter: conditions on one column each, joined by AND, OR and NOT; and the one way of writing it."""

from __future__ import annotations

import re
from datetime import date
from typing import Literal, TypeAlias

from hushcount.model.frozen import frozen

Value: TypeAlias = str | bool | int | float | date
Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

# Words that cannot name a column without double quotes.
KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "DATE"})


@frozen
class Compare:
    """column operator value."""

    column: str
    operator: Operator
    value: Value


@frozen
class Among:
    """column IN (values)."""

    column: str
    values: tuple[Value, ...]


@frozen
class Between:
    """column BETWEEN low AND high, both included."""

    column: str
    low: Value
    high: Value


@frozen
class Like:
    """column LIKE pattern."""

    column: str
    pattern: str


@frozen
class Missing:
    """column IS NULL."""

    column: str


@frozen
class Not:
    """The contrary; unknown stays unknown."""

    part: Condition


@frozen
class Joined:
    """All ("AND") or any ("OR") of two or more parts."""

    word: Literal["AND", "OR"]
    parts: tuple[Condition, ...]


Condition: TypeAlias = Compare | Among | Between | Like | Missing | Not | Joined


def literals(condition: Compare | Among | Between | Like) -> tuple[Value, ...]:
    """The literals of a condition, in order."""
    match condition:
        case Compare(value=value):
            return (value,)
        case Among(values=values):
            return values
        case Between(low=low, high=high):
            return (low, high)
        case Like(pattern=pattern):
            return (pattern,)


def columns_of(condition: Condition) -> tuple[str, ...]:
    """The columns that a filter names, each once, in order."""
    match condition:
        case Joined(parts=parts):
            return tuple(dict.fromkeys(name for part in parts for name in columns_of(part)))
        case Not(part=part):
            return columns_of(part)
        case _:
            return (condition.column,)


def terms_of(condition: Condition) -> int:
    """How many conditions on one column a filter joins."""
    match condition:
        case Joined(parts=parts):
            return sum(map(terms_of, parts))
        case Not(part=part):
            return terms_of(part)
        case _:
            return 1


def spell(condition: Condition) -> str:  # noqa: PLR0911  one for each kind of condition
    """The canonical text of a filter."""
    match condition:
        case Compare(column=column, operator=operator, value=value):
            return f"{spell_name(column)} {operator} {_literal(value)}"
        case Among(column=column, values=values):
            return f"{spell_name(column)} IN ({', '.join(sorted(set(map(_literal, values))))})"
        case Between(column=column, low=low, high=high):
            return f"{spell_name(column)} BETWEEN {_literal(low)} AND {_literal(high)}"
        case Like(column=column, pattern=pattern):
            return f"{spell_name(column)} LIKE {_literal(pattern)}"
        case Missing(column=column):
            return f"{spell_name(column)} IS NULL"
        case Not(part=part):
            return f"NOT ({spell(part)})"
        case Joined(word=word, parts=parts):
            return f" {word} ".join(f"({spell(part)})" if isinstance(part, Joined) else spell(part) for part in parts)


def spell_name(column: str) -> str:
    """A column as a filter names it: in double quotes where it must be."""
    plain = re.fullmatch(r"[^\W\d]\w*", column) and column.upper() not in KEYWORDS
    return column if plain else '"' + column.replace('"', '""') + '"'


def _literal(value: Value) -> str:
    match value:
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            return repr(value)
