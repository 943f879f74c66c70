"""Columns: how a value becomes text, and how a filter reads it. The rules of every engine, in Python.

A person and an item are known by the text of their value, so that 7 and "7" are the same. What is missing is NULL:
None, and NaN in a column of floating-point numbers, which is how many programs write a missing value. Rows whose
person or item is missing are left out; the empty text is a value like any other.

A text column can be compared with a number, a truth value or a date: each text is then read as one if it is written
like one, and counts as missing if it is not. Files without types (CSV, JSON) therefore never fail half-way.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from hushcount.errors import InvalidInput, UnknownColumn
from hushcount.model.columns import Kind
from hushcount.model.queries import Description

# How a filter reads a column: as what its literals are.
Reading: TypeAlias = Literal["text", "integer", "real", "boolean", "moment"]

NUMBER = " *-?[0-9]{1,40}(?:[.][0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})? *"
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
DAY = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
MOMENT = f"{DAY}(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{{1,6}})?)?)?"


def find(name: str, data: Description) -> Kind:
    """The kind of a column by its exact name. Where columns are not listed, any name is that of a text column."""
    kinds = {column.name: column.kind for column in data.columns}
    if name in kinds:
        return kinds[name]
    if not data.listed:
        return "text"
    alike = {column.casefold(): column for column in reversed(kinds)}
    near = get_close_matches(name.casefold(), alike, n=1)
    raise UnknownColumn(name, tuple(kinds) if data.told else (), alike[near[0]] if near else None)


def text_of(value: object) -> str | None:
    """The text of a person or an item in Python, the same from every engine; None where it is missing."""
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


def read_value(value: object, reading: Reading) -> Any:  # noqa: ANN401  comparable within one reading
    """The value that a filter compares, in Python, the same from every engine; None where it is missing."""
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
