"""Items of one column or several in DuckDB's SQL: the rules of `engines.parts` and `model.tuples`."""

from __future__ import annotations

from functools import cache

from hushcount.engines.columns import DAY, MOMENT
from hushcount.engines.duckdb.sql import DuckDBColumn, Typed, quoted, spelled, text_sql
from hushcount.engines.parts import OFFSET, SINCE_1970, SPACE, WHOLE, Directive, MomentLayout, layout_of
from hushcount.engines.text import lower_sql
from hushcount.model.queries import Part, TupleItems, Unit
from hushcount.model.tuples import ESCAPES, SEPARATOR

_SPELLED: dict[Unit, str] = {
    "hour": "printf('%04d-%02d-%02d %02d:00', year({0}), month({0}), day({0}), hour({0}))",
    "day": "printf('%04d-%02d-%02d', year({0}), month({0}), day({0}))",
    "week": "printf('%04d-W%02d', isoyear({0}), week({0}))",
    "month": "printf('%04d-%02d', year({0}), month({0}))",
}


@cache
def zones() -> frozenset[str]:
    """The time zones that DuckDB knows by name."""
    import duckdb

    with duckdb.connect() as connection:
        return frozenset(name for (name,) in connection.execute("SELECT name FROM pg_timezone_names()").fetchall())


def item_sql(items: TupleItems, columns: Typed) -> str:
    """SQL for the text of an item; NULL where a part of it is missing."""
    texts = [_part_sql(part, items, columns[part.column]) for part in items.parts]
    if len(texts) <= 1:
        return texts[0] if texts else "''"
    # Operators, not concat(): that leaves out what is missing.
    return f" || {_sign(SEPARATOR)} || ".join(f"({_escaped(text)})" for text in texts)


def _part_sql(part: Part, items: TupleItems, column: DuckDBColumn) -> str:
    if part.unit is not None:
        return _unit_sql(column, part.unit, items)
    text = text_sql(column)
    if items.trim:
        text = f"trim({text}, {' || '.join(map(_sign, SPACE))})"
    return lower_sql(text) if items.lower else text


def _escaped(text: str) -> str:
    for sign, escape in ESCAPES:
        text = f"replace({text}, {_sign(sign)}, {spelled(escape)})"
    return text


def _sign(sign: str) -> str:
    """A sign by its number: some would not be seen in the text of a query."""
    return f"chr({ord(sign)})"


def _unit_sql(column: DuckDBColumn, unit: Unit, items: TupleItems) -> str:
    name = quoted(column.name)
    match column.kind:
        case "date":
            return _of(name, unit)
        case "moment":
            return _of(_local(f"{name}::TIMESTAMP", items.zone), unit)
        case "zoned":
            return _of(_local(f"{name} AT TIME ZONE 'UTC'", items.zone), unit)
        case _:
            return _read_sql(text_sql(column), unit, items)


def _read_sql(text: str, unit: Unit, items: TupleItems) -> str:
    """Of texts, and of numbers since 1970 by their texts."""
    if items.date_format in SINCE_1970:
        micros = f"{text}::BIGINT * {SINCE_1970[items.date_format]}"
        return _where(text, WHOLE, _of(_local(f"make_timestamp({micros})", items.zone), unit))
    if items.date_format is not None:
        layout = layout_of(items.date_format)
        read = _layout_sql(text, layout)
        local = read if layout.group("H") is None else _local(read, items.zone)
        return _where(text, layout.pattern, _of(local, unit))
    day = "NULL" if unit == "hour" else _of(f"TRY_CAST({text} AS DATE)", unit)
    moment = f"TRY_CAST({text} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
    point = _where(text, f"{MOMENT}(?:{OFFSET})?", _of(_local(moment, items.zone), unit))
    return f"CASE WHEN regexp_full_match({text}, {spelled(DAY)}) THEN {day} ELSE {point} END"


def _layout_sql(text: str, layout: MomentLayout) -> str:
    def said(directive: Directive) -> str:
        group = layout.group(directive)
        return "'00'" if group is None else f"lpad(regexp_extract({text}, {spelled(layout.pattern)}, {group}), 2, '0')"

    year = f"regexp_extract({text}, {spelled(layout.pattern)}, {layout.group('Y')})"
    day = " || '-' || ".join((year, said("m"), said("d")))
    clock = " || ':' || ".join((said("H"), said("M"), said("S")))
    return f"TRY_CAST({day} || ' ' || {clock} AS TIMESTAMP)"


def _where(text: str, pattern: str, value: str) -> str:
    return f"CASE WHEN regexp_full_match({text}, {spelled(pattern)}) THEN {value} END"


def _local(moment: str, zone: str) -> str:
    """A moment of UTC as a clock of the zone shows it; NULL beyond the years that the database knows."""
    shown = moment if zone == "UTC" else f"(({moment}) AT TIME ZONE 'UTC') AT TIME ZONE {spelled(zone)}"
    return f"TRY({shown})"


def _of(moment: str, unit: Unit) -> str:
    return _SPELLED[unit].format(f"({moment})")
