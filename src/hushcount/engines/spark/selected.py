"""The rows of a question on Spark: who, and what, as texts; and the filter. The rules of `columns`, `filter`, `text`.

Columns of the frame are called c0, c1 and so on, in the order of the table: names in Spark may differ by case alone, or
hold dots, which Spark would read as fields.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeAlias

from hushcount.engines import columns as rules
from hushcount.engines.columns import Reading, find, find_flat, kind
from hushcount.engines.filters.conditions import (
    Among,
    Between,
    Compare,
    Condition,
    Joined,
    Like,
    Missing,
    Not,
    literals,
)
from hushcount.engines.filters.filter import OPERATORS, literal_as, parse, reading_of
from hushcount.engines.spark.session import mapped
from hushcount.engines.text import grams
from hushcount.errors import InvalidInput
from hushcount.model.queries import Selection, TextItems

Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
Column: TypeAlias = Any  # pyspark.sql.Column
_Columns: TypeAlias = tuple[tuple[str, str], ...]
_Batch: TypeAlias = Any  # pyarrow.RecordBatch

# The names that the rest of the engines has for Spark's types. What is not here counts as nested and is refused.
_TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "void": "NULL",
}


def columns_of(frame: Frame) -> _Columns:
    """Names and types of the columns."""
    return tuple((field.name, _type_name(field.dataType)) for field in frame.schema.fields)


def _type_name(found: Any) -> str:  # noqa: ANN401  a type of Spark
    plain = str(found.simpleString())
    if plain.startswith(("string", "char(", "varchar(")):
        return "VARCHAR"
    return plain.upper() if plain.startswith("decimal(") else _TYPES.get(plain, plain)


def select_rows(frame: Frame, selection: Selection, columns: _Columns) -> Frame:
    """The rows that a selection takes, as texts person and item, both present.

    Args:
        frame: its columns are named c0, c1, ...
        selection: what is asked.
        columns: names and types of the columns, in the order of the frame.
    """
    frame = _by_bytes(frame)
    place = {name: f"c{n}" for n, (name, _) in enumerate(columns)}
    person = find_flat(selection.user, columns)
    item = _item_type(selection, columns)
    if selection.where is not None:
        held = {name: frame[own] for name, own in place.items()}
        frame = frame.where(_filter(parse(selection.where, columns), dict(columns), held))
    of = selection.item.column if isinstance(selection.item, TextItems) else selection.item
    rows = frame.select(
        _text(frame[place[selection.user]], person).alias("person"), _text(frame[place[of]], item).alias("item")
    )
    if isinstance(selection.item, TextItems) or _needs_python(person) or _needs_python(item):
        rows = mapped(rows, _speller(selection.item), "person string, item string")
    return rows.where(rows["person"].isNotNull() & rows["item"].isNotNull())


def _by_bytes(frame: Frame) -> Frame:
    """Texts without a collation of their own, under which "A" and "a" could be one item, shown as either of them."""
    held = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    collated = [name for name, of_type in held.items() if of_type.startswith("string collate")]
    return frame.withColumns({name: frame[name].cast("string") for name in collated}) if collated else frame


def _item_type(selection: Selection, columns: _Columns) -> str:
    if not isinstance(selection.item, TextItems):
        return find_flat(selection.item, columns)
    held = find(selection.item.column, columns)
    if kind(held) != "text":
        raise InvalidInput(
            f"column {selection.item.column!r} holds values of type {held}, not text; name a text column"
        )
    return held


def _needs_python(type_name: str) -> bool:
    """Whether Java writes a number differently: as 1.0E16 where we write 1e+16."""
    return kind(type_name) == "real" and not type_name.endswith(",0)")


def _text(column: Column, type_name: str) -> Column:
    """The text of a person or an item; numbers that Java writes differently stay numbers."""
    if type_name == "VARCHAR" or _needs_python(type_name):
        return column
    if kind(type_name) == "zoned":
        from pyspark.sql import functions as F  # noqa: N812, PLC0415  heavy

        return F.concat(_in_utc(column).cast("string"), F.lit("+00"))
    return column.cast("string")


def _in_utc(column: Column) -> Column:
    """A moment as a clock in UTC shows it, whatever the time zone of the session."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  heavy

    epoch = F.lit("1970-01-01").cast("timestamp_ntz")
    return F.timestamp_add("MICROSECOND", F.unix_micros(column), epoch)


def _speller(item: str | TextItems) -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    """What a worker does with rows that Java cannot spell: numbers become texts, texts become words."""

    def spell(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        import pyarrow as pa  # noqa: PLC0415  comes with Spark

        for batch in batches:
            people, things = (spelled(batch.column(n)) for n in range(2))
            if isinstance(item, TextItems):
                split = [
                    (person, gram)
                    for person, text in zip(people, things, strict=True)
                    if person is not None and text is not None
                    for gram in grams(item, text)
                ]
                people, things = [person for person, _ in split], [gram for _, gram in split]
            arrays = [pa.array(values, pa.string()) for values in (people, things)]
            yield pa.RecordBatch.from_arrays(arrays, ["person", "item"])

    return spell


def spelled(values: Any) -> list[str | None]:  # noqa: ANN401  a pyarrow.Array
    """Texts as they are; numbers as DuckDB and Python write them, NaN as missing."""
    import pyarrow as pa  # noqa: PLC0415  comes with Spark

    if pa.types.is_decimal(values.type):
        return [None if value is None else format(value, "f") for value in values.to_pylist()]
    if pa.types.is_float32(values.type):
        import numpy as np  # noqa: PLC0415  as above

        # As few digits as tell a number of 32 bits from its neighbours; then as Python sets them.
        values = [None if value is None else float(str(np.float32(value))) for value in values.to_pylist()]
        return [rules.text_of(value) for value in values]
    return [rules.text_of(value) for value in values.to_pylist()]


def _filter(condition: Condition, types: dict[str, str], held: dict[str, Column]) -> Column:
    """The filter as a condition of Spark; literals are literals of the plan, never text of a query."""
    match condition:
        case Joined(word=word, parts=parts):
            join = operator.and_ if word == "AND" else operator.or_
            return functools.reduce(join, [_filter(part, types, held) for part in parts])
        case Not(part=part):
            return ~_filter(part, types, held)
        case Missing(column=column):
            found = held[column]
            return (_real(found, types[column]) if kind(types[column]) == "real" else found).isNull()
        case _:
            return _comparison(condition, types[condition.column], held[condition.column])


def _comparison(condition: Compare | Among | Between | Like, type_name: str, column: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  heavy

    reading = reading_of(condition, type_name)
    own = _read(column, type_name, reading)
    values = [_literal(literal_as(value, reading)) for value in literals(condition)]
    match condition:
        case Compare():
            return OPERATORS[condition.operator](own, values[0])
        case Among():
            return own.isin(*values)
        case Between():
            return own.between(*values)
        case Like():
            # Any sign that the pattern does not hold: ours has no escapes.
            escape = next(sign for sign in map(chr, range(1, 0xD800)) if sign not in condition.pattern)
            return F.like(own, values[0], F.lit(escape))


def _literal(value: object) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  heavy

    if isinstance(value, datetime):
        return F.lit(value.isoformat(sep=" ")).cast("timestamp_ntz")
    return F.lit(value).cast("bigint") if type(value) is int else F.lit(value)


def _read(column: Column, type_name: str, reading: Reading) -> Column:
    """The value that a filter compares; NULL where it is missing or is not written like one."""
    if kind(type_name) == "text":
        return _read_text(column, reading)
    match reading:
        case "real":
            return _real(column, type_name)
        case "moment":
            return (_in_utc(column) if kind(type_name) == "zoned" else column).cast("timestamp_ntz")
        case _:
            return column


def _real(column: Column, type_name: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  heavy

    number = column.cast("double")
    return number if type_name.startswith("DECIMAL") or kind(type_name) == "integer" else F.nanvl(number, F.lit(None))


def _read_text(column: Column, reading: Reading) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  heavy

    match reading:
        case "text":
            return column
        case "integer" | "real":
            return F.when(column.rlike(rf"\A(?:{rules.NUMBER})\z"), column.try_cast("double"))
        case "boolean":
            return F.when(column.isin(*rules.TRUE), F.lit(True)).when(column.isin(*rules.FALSE), F.lit(False))  # noqa: FBT003
        case "moment":
            return F.when(column.rlike(rf"\A(?:{rules.MOMENT})\z"), column.try_cast("timestamp_ntz"))
