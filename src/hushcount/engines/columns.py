"""Columns: what kind of values they hold, how a value becomes text, and how a filter reads it. In SQL and in Python.

A person and an item are known by the text of their value, so that 7 and "7" are the same. What is missing is NULL:
None, and NaN in a column of floating-point numbers, which is how many programs write a missing value. Rows whose
person or item is missing are left out; the empty text is a value like any other.

A text column can be compared with a number, a truth value or a date: each text is then read as one if it is written
like one, and counts as missing if it is not. Files without types (CSV, JSON) therefore never fail half-way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, assert_never

from hushcount.errors import InvalidInput, UnknownColumn

Columns: TypeAlias = Iterable[tuple[str, str]]
Kind: TypeAlias = Literal["integer", "real", "text", "boolean", "date", "moment", "zoned", "other", "nested"]
# How a filter reads a column: as what its literals are. A moment is a date or a time on a date, without a zone.
Reading: TypeAlias = Literal["text", "integer", "real", "boolean", "moment"]

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "real"),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), "text"),
    **dict.fromkeys(("BLOB", "BIT", "TIME", "INTERVAL", '"NULL"', "NULL"), "other"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "moment"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "zoned",
}
# Integers that fit into 64 bits with a sign: people with such numbers need no texts.
_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}

NUMBER = " *-?[0-9]{1,40}(?:[.][0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})? *"
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_DAY = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
MOMENT = f"{_DAY}(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{{1,6}})?)?)?"


def kind(type_name: str) -> Kind:
    """The kind of a column of the given DuckDB type. Lists, structures and unknown types are "nested"."""
    if type_name.endswith("]"):
        return "nested"
    return _KINDS.get(type_name.split("(", maxsplit=1)[0], "nested")


def is_small_integer(type_name: str) -> bool:
    """Whether every value is an integer of at most 64 bits with a sign."""
    return type_name in _SMALL


def find(name: str, columns: Columns) -> str:
    """The type of a column by its exact name."""
    types = dict(columns)
    if name not in types:
        alike = {column.casefold(): column for column in reversed(types)}
        near = get_close_matches(name.casefold(), alike, n=1)
        raise UnknownColumn(name, tuple(types), alike[near[0]] if near else None)
    return types[name]


def find_flat(name: str, columns: Columns) -> str:
    """The type of a column whose values can be people or items."""
    found = find(name, columns)
    if kind(found) == "nested":
        raise InvalidInput(
            f"column {name!r} holds values of type {found}, and a person or an item must be one plain value; "
            "take a field out of it first, or flatten it into rows"
        )
    return found


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def spelled(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def text_sql(name: str, type_name: str) -> str:
    """SQL for the text of a person or an item; NULL where it is missing."""
    column = quoted(name)
    match kind(type_name):
        case "text" if type_name == "VARCHAR":
            return column
        case "real" if not type_name.startswith("DECIMAL"):
            # Both zeros are one value, as they are everywhere else in SQL.
            return f"CASE WHEN {_is_nan(column)} THEN NULL WHEN {column} = 0 THEN '0.0' ELSE {column}::VARCHAR END"
        case "zoned":
            return f"({column} AT TIME ZONE 'UTC')::VARCHAR || '+00'"
        case _:
            return f"{column}::VARCHAR"


def _is_nan(column: str) -> str:
    """SQL for whether a number is NaN. By its text: DuckDB drops isnan() where the statistics of a file hold no NaN."""
    return f"ends_with({column}::VARCHAR, 'nan')"


def text_of(value: object) -> str | None:
    """The text of a person or an item in Python, as `text_sql` gives it; None where it is missing."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case float():
            return None if math.isnan(value) else repr(value + 0.0)
        case datetime():
            plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            whole, dot, fraction = plain.isoformat(sep=" ").partition(".")
            zone = "" if value.tzinfo is None else "+00"
            return whole + dot + fraction.rstrip("0") + zone
        case str() | int() | date() | Decimal():
            return str(value)
        case _:
            raise InvalidInput("a person or an item must be one plain value")


def reading_sql(name: str, type_name: str, reading: Reading) -> str:
    """SQL for the value that a filter compares; NULL where it is missing or is not written like one."""
    column = quoted(name)
    if kind(type_name) == "text":
        return _text_reading_sql(column if type_name == "VARCHAR" else f"{column}::VARCHAR", reading)
    match reading:
        case "real":
            return f"CASE WHEN NOT {_is_nan(column)} THEN {column}::DOUBLE END"
        case "moment":
            zone = " AT TIME ZONE 'UTC'" if kind(type_name) == "zoned" else ""
            return f"TRY_CAST({column}{zone} AS TIMESTAMP)"
        case _:
            return column


def _text_reading_sql(column: str, reading: Reading) -> str:
    match reading:
        case "text":
            return column
        case "integer" | "real":
            return f"CASE WHEN regexp_full_match({column}, '{NUMBER}') THEN TRY_CAST({column} AS DOUBLE) END"
        case "boolean":
            true, false = (", ".join(map(spelled, words)) for words in (TRUE, FALSE))
            return f"CASE WHEN {column} IN ({true}) THEN TRUE WHEN {column} IN ({false}) THEN FALSE END"
        case "moment":
            return f"CASE WHEN regexp_full_match({column}, '{MOMENT}') THEN TRY_CAST({column} AS TIMESTAMP) END"
        case _:  # pragma: no cover
            assert_never(reading)


def read_value(value: object, reading: Reading) -> Any:  # noqa: ANN401  comparable within one reading
    """The value that a filter compares, in Python, as `reading_sql` gives it; None where it is missing."""
    if isinstance(value, str) and reading != "text":
        return _read_text(value, reading)
    match value:
        case float() if math.isnan(value):
            return None
        case float() | Decimal() | int() if reading == "real":
            return float(value)
        case datetime():
            return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        case date():
            return datetime.combine(value, time())
        case _:
            return value


def _read_text(text: str, reading: Reading) -> float | bool | datetime | None:
    if reading == "boolean":
        return True if text in TRUE else False if text in FALSE else None
    if reading == "moment":
        try:
            return datetime.fromisoformat(text) if re.fullmatch(MOMENT, text) else None
        except ValueError:
            return None
    return float(text) if re.fullmatch(NUMBER, text) else None
