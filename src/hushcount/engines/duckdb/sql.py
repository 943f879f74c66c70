"""Columns in DuckDB's SQL: its types as kinds, the text of a value, and what a filter compares. Rules: `columns`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from hushcount.engines.columns import FALSE, MOMENT, NUMBER, TRUE, Reading
from hushcount.engines.filters.filter import Comparison, literal_as, reading_of
from hushcount.model.columns import Column, Kind
from hushcount.model.conditions import Among, Between, Compare, Condition, Joined, Like, Missing, Not, literals
from hushcount.model.frozen import frozen

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "real"),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), "text"),
    **dict.fromkeys(("BLOB", "BIT", "TIME", "TIME_NS", "TIME WITH TIME ZONE", "INTERVAL"), "other"),
    **dict.fromkeys(("BIGNUM", '"NULL"', "NULL"), "other"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "moment"),
    "DECIMAL": "decimal",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "zoned",
}
# Integers that fit into so many bits with a sign: people with such numbers need no texts.
_BITS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT"), 32),
    **dict.fromkeys(("UINTEGER", "BIGINT"), 64),
}
_CASTS: dict[Reading, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "real": "DOUBLE",
    "boolean": "BOOLEAN",
    "moment": "TIMESTAMP",
}


@frozen
class DuckDBColumn:
    """A column as DuckDB has it. The name of its type is never shown: it may hold labels and names of fields."""

    name: str
    type_name: str

    @property
    def kind(self) -> Kind:
        """Lists, structures and unknown types are "nested"."""
        if self.type_name.endswith("]"):
            return "nested"
        return _KINDS.get(self.type_name.split("(", maxsplit=1)[0], "nested")

    @property
    def plain(self) -> Column:
        """The column as everybody else knows it."""
        return Column(name=self.name, kind=self.kind)

    @property
    def integer_bits(self) -> int | None:
        """32 or 64 if every value is an integer that fits into so many bits with a sign."""
        return _BITS.get(self.type_name)

    @property
    def is_varchar(self) -> bool:
        """Whether values are texts as they are stored, and not only when they are shown."""
        return self.type_name == "VARCHAR"


Typed: TypeAlias = Mapping[str, DuckDBColumn]


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def spelled(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def text_sql(column: DuckDBColumn) -> str:
    """SQL for the text of a person or an item, as `columns.text_of` gives it; NULL where it is missing.

    The time zone of the engine's connection is UTC.
    """
    name = quoted(column.name)
    if column.is_varchar:
        return name
    if column.kind == "real":
        # Both zeros are one value, as they are everywhere else in SQL.
        return f"CASE WHEN {_is_nan(name)} THEN NULL WHEN {name} = 0 THEN '0.0' ELSE {name}::VARCHAR END"
    return f"{name}::VARCHAR"


def _is_nan(name: str) -> str:
    """SQL for whether a number is NaN. By its text: DuckDB drops isnan() where the statistics of a file hold no NaN."""
    return f"ends_with({name}::VARCHAR, 'nan')"


def reading_sql(column: DuckDBColumn, reading: Reading) -> str:
    """SQL for the value that a filter compares; NULL where it is missing or is not written like one."""
    name = quoted(column.name)
    if column.kind == "text":
        return _text_reading_sql(name if column.is_varchar else f"{name}::VARCHAR", reading)
    match reading:
        case "real":
            return f"CASE WHEN NOT {_is_nan(name)} THEN {name}::DOUBLE END"
        case "moment":
            return _moment_sql(name, column.kind)
        case _:
            return name


def _moment_sql(name: str, kind: Kind) -> str:
    if kind == "date":
        return name  # dates reach further than moments
    zone = " AT TIME ZONE 'UTC'" if kind == "zoned" else ""
    return f"TRY_CAST({name}{zone} AS TIMESTAMP)"


def _text_reading_sql(text: str, reading: Reading) -> str:
    match reading:
        case "text":
            return text
        case "integer" | "real":
            return f"CASE WHEN regexp_full_match({text}, '{NUMBER}') THEN TRY_CAST({text} AS DOUBLE) END"
        case "boolean":
            true, false = (", ".join(map(spelled, words)) for words in (TRUE, FALSE))
            return f"CASE WHEN {text} IN ({true}) THEN TRUE WHEN {text} IN ({false}) THEN FALSE END"
        case "moment":
            return f"CASE WHEN regexp_full_match({text}, '{MOMENT}') THEN TRY_CAST({text} AS TIMESTAMP) END"
        case _:  # pragma: no cover
            assert_never(reading)


def filter_sql(condition: Condition, columns: Typed) -> tuple[str, list[object]]:
    """SQL for a filter, and the values of its parameters."""
    match condition:
        case Joined(word=word, parts=parts):
            found = [filter_sql(part, columns) for part in parts]
            return f" {word} ".join(f"({sql})" for sql, _ in found), [value for _, values in found for value in values]
        case Not(part=part):
            sql, values = filter_sql(part, columns)
            return f"NOT ({sql})", values
        case Missing(column=column):
            return f"{_present_sql(columns[column])} IS NULL", []
        case _:
            return _comparison_sql(condition, columns[condition.column])


def _comparison_sql(condition: Comparison, held: DuckDBColumn) -> tuple[str, list[object]]:
    reading = reading_of(condition, held.kind)
    column, hole = reading_sql(held, reading), f"?::{'DATE' if held.kind == 'date' else _CASTS[reading]}"
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


def _present_sql(column: DuckDBColumn) -> str:
    # NaN is how a missing number is written.
    return reading_sql(column, "real") if column.kind == "real" else quoted(column.name)
