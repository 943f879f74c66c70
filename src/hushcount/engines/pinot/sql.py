"""Statements to Pinot: names and literals in quotes, and filters.

Pinot knows true and false, and compares the fillings of gaps like any other value. So a filter is written twice over:
where it is true, and where it is false; a missing value is neither. What is always or never so is settled here:
no statement says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from hushcount.engines.filters.filter import OPERATORS, Comparison, literal_as, reading_of
from hushcount.engines.pinot.schema import PinotColumn
from hushcount.errors import UnsafeFilter
from hushcount.model.conditions import Among, Between, Compare, Condition, Joined, Like, Missing, Not, Value, literals

Columns: TypeAlias = Mapping[str, PinotColumn]
# SQL, or what is so of every row.
Truth: TypeAlias = str | bool

# Beyond it a whole number and the nearest double differ.
_EXACT: Final = float(2**53)
# In regular expressions of Java, the ends of the whole text.
_START, _END = r"\A", r"\z"
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def quoted(name: str) -> str:
    """A name of a column or a table."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def spelled(value: str | int) -> str:
    """A literal. Pinot reads the text of a number as one where the column holds numbers, to the ends of their range."""
    return "'" + str(value).replace("'", "''") + "'"


def encodes(text: str) -> bool:
    """Whether a text can be sent, and be in a table: halves of characters cannot."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def all_of(parts: Sequence[Truth]) -> Truth:
    """True where all of them are."""
    if any(part is False for part in parts):
        return False
    said = [part for part in parts if isinstance(part, str)]
    return " AND ".join(f"({part})" for part in said) if said else True


def any_of(parts: Sequence[Truth]) -> Truth:
    """True where one of them is."""
    if any(part is True for part in parts):
        return True
    said = [part for part in parts if isinstance(part, str)]
    return " OR ".join(f"({part})" for part in said) if said else False


def present(column: PinotColumn) -> Truth:
    """Where a column's value is not missing."""
    return True if column.missing is None else f"{quoted(column.name)} <> {spelled(column.missing)}"


def among(column: PinotColumn, texts: Sequence[str]) -> Truth:
    """Where the text of a column's value is one of some; those that no value of its type has are passed over."""
    held = [text for text in texts if _is_text_of(column, text)]
    return f"{quoted(column.name)} IN ({', '.join(map(spelled, held))})" if held else False


def _is_text_of(column: PinotColumn, text: str) -> bool:
    match column.kind:
        case "integer":
            low, high = column.span
            digits = text.removeprefix("-")
            return digits.isascii() and digits.isdecimal() and str(int(text)) == text and low <= int(text) <= high
        case "boolean":
            return text in {"true", "false"}
        case _:
            return encodes(text)


def where_true(condition: Condition, columns: Columns) -> Truth:
    """Where a filter is true; it was held against the columns before."""
    return _where(condition, columns, wanted=True)


def _where(condition: Condition, columns: Columns, *, wanted: bool) -> Truth:
    match condition:
        case Joined(word=word, parts=parts):
            joined = all_of if (word == "AND") == wanted else any_of
            return joined([_where(part, columns, wanted=wanted) for part in parts])
        case Not(part=part):
            return _where(part, columns, wanted=not wanted)
        case Missing(column=name):
            column = columns[name]
            return present(column) if not wanted else f"{quoted(name)} = {spelled(_filling(column))}"
        case _:
            column = columns[condition.column]
            return all_of([present(column), _COMPARED[column.kind](condition, column, wanted)])


def _filling(column: PinotColumn) -> str | int:
    if column.missing is None:
        raise UnsafeFilter(
            f"the filter asks where column {column.name!r} is missing, which Pinot does not keep: it fills gaps of "
            "this column with a value that occurs; leave IS NULL out"
        )
    return column.missing


def _texts(condition: Comparison, column: PinotColumn, wanted: bool) -> Truth:  # noqa: FBT001  one of a table
    if reading_of(condition, "text") != "text":
        raise UnsafeFilter(
            f"the filter compares the text column {column.name!r} of Pinot with something else than a text, and Pinot "
            f"does not read texts; write it in quotes: {column.name} >= '2024-12-31'"
        )
    name, (first, *rest) = quoted(column.name), map(str, literals(condition))
    match condition:
        case Like():
            return _like(name, first) if wanted else _not(_like(name, first))
        case Among():
            held = [text for text in (first, *rest) if encodes(text)]
            listed = ", ".join(map(spelled, held))
            return f"{name} {'IN' if wanted else 'NOT IN'} ({listed})" if held else not wanted
        case Between():
            low, high = spelled(first), spelled(rest[0])
            return f"{name} >= {low} AND {name} <= {high}" if wanted else f"{name} < {low} OR {name} > {high}"
        case Compare(operator=operator):
            return f"{name} {operator if wanted else _OPPOSITE[operator]} {spelled(first)}"


def _not(part: str) -> str:
    return f"NOT {part}"


def _like(name: str, pattern: str) -> str:
    """A pattern as a regular expression of Java, in which case matters and a character may be a break of lines."""
    signs = {"%": ".*", "_": "."}
    body = "".join(signs.get(sign) or (sign if sign.isalnum() else rf"\x{{{ord(sign):x}}}") for sign in pattern)
    return f"REGEXP_LIKE({name}, {spelled('(?s-iu)' + _START + body + _END)})"


def _integers(condition: Comparison, column: PinotColumn, wanted: bool) -> Truth:  # noqa: FBT001  one of a table
    """Ranges of whole numbers, cut to those of the type: Pinot refuses literals that its type does not hold."""
    name = quoted(column.name)
    match condition:
        case Among():
            low, high = column.span
            whole = {int(_number(value)) for value in condition.values if _number(value) == int(_number(value))}
            held = sorted(value for value in whole if low <= value <= high)
            listed = ", ".join(map(spelled, held))
            return f"{name} {'IN' if wanted else 'NOT IN'} ({listed})" if held else not wanted
        case Between():
            both = [_bounded(name, column, ">=", condition.low), _bounded(name, column, "<=", condition.high)]
            neither = [_bounded(name, column, "<", condition.low), _bounded(name, column, ">", condition.high)]
            return all_of(both) if wanted else any_of(neither)
        case Compare(operator=operator):
            return _bounded(name, column, operator if wanted else _OPPOSITE[operator], condition.value)
        case Like():  # pragma: no cover (refused before)
            return False


def _bounded(name: str, column: PinotColumn, operator: str, value: Value) -> Truth:
    number = _number(value)
    if operator in {"=", "!="} and number != int(number):
        return operator == "!="
    # The whole numbers beyond 1.5 are those from 2 on.
    if operator in {">", "<="}:
        edge = math.floor(number)
    elif operator in {"<", ">="}:
        edge = math.ceil(number)
    else:
        edge = int(number)
    low, high = column.span
    if not low <= edge <= high:
        # All that the type holds is on one side.
        return OPERATORS[operator](low, edge) is True
    return f"{name} {operator} {spelled(edge)}"


def _number(value: Value) -> int | float:
    if isinstance(value, float) and not abs(value) < _EXACT:
        raise UnsafeFilter("the filter compares whole numbers of Pinot with a number of 2^53 or more; write it whole")
    return value if isinstance(value, int | float) else 0


def _booleans(condition: Comparison, column: PinotColumn, wanted: bool) -> Truth:  # noqa: FBT001  one of a table
    held = [value for value in (True, False) if _compares(condition, value) is wanted]
    return f"{quoted(column.name)} = {spelled(str(held[0]).lower())}" if len(held) == 1 else bool(held)


def _compares(condition: Comparison, own: object) -> bool:
    others = literals(condition)
    match condition:
        case Compare(operator=operator):
            return bool(OPERATORS[operator](own, others[0]))
        case Between():
            return bool(others[0] <= own <= others[1])  # type: ignore[operator]  # all of one kind
        case _:
            return own in others


def _moments(condition: Comparison, column: PinotColumn, wanted: bool) -> Truth:  # noqa: FBT001  one of a table
    """By milliseconds since 1970, whatever the zones of the servers."""
    name, marks = quoted(column.name), [_milliseconds(value) for value in literals(condition)]
    match condition:
        case Among():
            return f"{name} {'IN' if wanted else 'NOT IN'} ({', '.join(map(str, marks))})"
        case Between():
            low, high = marks
            return f"{name} >= {low} AND {name} <= {high}" if wanted else f"{name} < {low} OR {name} > {high}"
        case Compare(operator=operator):
            return f"{name} {operator if wanted else _OPPOSITE[operator]} {marks[0]}"
        case Like():  # pragma: no cover (refused before)
            return False


def _milliseconds(value: Value) -> int:
    moment: datetime = literal_as(value, "moment")
    return int((moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


_COMPARED: dict[str, Callable[[Comparison, PinotColumn, bool], Truth]] = {
    "text": _texts,
    "integer": _integers,
    "boolean": _booleans,
    "moment": _moments,
}
