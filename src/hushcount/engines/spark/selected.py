"""The rows of a question on Spark: who, and what, as texts; and the filter. The rules of `columns`, `filter`, `text`.

Columns of the frame are called c0, c1 and so on, in the order of the table: names in Spark may differ by case alone, or
hold dots, which Spark would read as fields.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from hushcount.engines import columns as rules
from hushcount.engines.columns import Reading
from hushcount.engines.filters.filter import OPERATORS, Comparison, literal_as, reading_of
from hushcount.engines.parts import dressed
from hushcount.engines.spark.parts import everybody, in_utc, joined, part_column, trimmed
from hushcount.engines.spark.session import mapped
from hushcount.engines.text import grams
from hushcount.model import columns as model
from hushcount.model.columns import Kind
from hushcount.model.conditions import Among, Between, Compare, Condition, Joined, Like, Missing, Not, literals
from hushcount.model.frozen import frozen
from hushcount.model.queries import Selection, TextItems, TupleItems
from hushcount.model.tuples import join

Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
Column: TypeAlias = Any  # pyspark.sql.Column
_Batch: TypeAlias = Any  # pyarrow.RecordBatch

# What is not here counts as nested and is refused.
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "real"),
    "boolean": "boolean",
    "date": "date",
    "timestamp_ntz": "moment",
    "timestamp": "zoned",
    "void": "other",
}


@frozen
class SparkColumn:
    """A column as Spark has it. The name of its type is never shown: it may hold names of fields.

    Attributes:
        name: the name in the table.
        type_name: Spark's own name of the type.
        place: what the column is called in the frame.
    """

    name: str
    type_name: str
    place: str

    @property
    def kind(self) -> Kind:
        """Lists, structures and unknown types are "nested"."""
        if self.type_name.startswith(("string", "char(", "varchar(")):
            return "text"
        return "decimal" if self.type_name.startswith("decimal(") else _KINDS.get(self.type_name, "nested")

    @property
    def plain(self) -> model.Column:
        """The column as everybody else knows it."""
        return model.Column(name=self.name, kind=self.kind)

    @property
    def needs_python(self) -> bool:
        """Whether Java writes a number differently: as 1.0E16 where we write 1e+16."""
        return self.kind == "real" or (self.kind == "decimal" and not self.type_name.endswith(",0)"))


Typed: TypeAlias = Mapping[str, SparkColumn]


def columns_of(frame: Frame) -> tuple[SparkColumn, ...]:
    """The columns of a frame as it was given; their places are those of `numbered`."""
    return tuple(
        SparkColumn(name=field.name, type_name=str(field.dataType.simpleString()), place=f"c{n}")
        for n, field in enumerate(frame.schema.fields)
    )


def select_rows(frame: Frame, selection: Selection, columns: Typed, *, spelled: bool = True) -> Frame:
    """The rows that a selection takes, as texts person and item, both present.

    Args:
        frame: its columns are named by their places.
        selection: what is asked; it was held against the columns before.
        columns: the columns by name.
        spelled: whether people are texts, too. Where they need only be told apart integers may stay integers.
    """
    if selection.where is not None:
        frame = frame.where(_filter(selection.where, frame, columns))
    person = columns[selection.user]
    parts, in_python = _parts(frame, selection, columns)
    whole = not spelled and not in_python and person.kind == "integer"
    rows = frame.select((frame[person.place] if whole else text_column(frame, person)).alias("person"), *parts)
    if in_python or person.needs_python:
        rows = mapped(rows, _speller(selection.item), "person string, item string")
    elif isinstance(selection.item, TupleItems) and selection.item.parts:
        rows = rows.select("person", joined([rows[name] for name in rows.columns[1:]]).alias("item"))
    return rows.where(rows["person"].isNotNull() & rows["item"].isNotNull())


def _parts(frame: Frame, selection: Selection, columns: Typed) -> tuple[list[Column], bool]:
    """What items are made of, as far as Java makes it, and whether Python must do the rest."""
    if isinstance(selection.item, TupleItems) and not selection.item.parts:
        return [everybody().alias("item")], False
    if not isinstance(selection.item, TupleItems):
        held = columns[selection.item_columns[0]]
        return [text_column(frame, held).alias("item")], isinstance(selection.item, TextItems) or held.needs_python
    made, in_python = list[Column](), selection.item.lower
    for n, part in enumerate(selection.item.parts):
        held = columns[part.column]
        if part.unit is None:
            in_python |= held.needs_python
            text = text_column(frame, held)
            made.append(trimmed(text) if selection.item.trim and not held.needs_python else text)
        else:
            made.append(part_column(frame[held.place], held.kind, part.unit, items=selection.item))
        made[-1] = made[-1].alias(f"part{n}")
    return made, in_python


def numbered(frame: Frame) -> Frame:
    """The frame with its columns called by their places.

    Texts lose a collation of their own, under which "A" and "a" could be one item, shown as either of them.
    """
    frame = frame.toDF(*(f"c{n}" for n in range(len(frame.schema.fields))))
    held = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    collated = [name for name, of_type in held.items() if of_type.startswith("string collate")]
    return frame.withColumns({name: frame[name].cast("string") for name in collated}) if collated else frame


def text_column(frame: Frame, column: SparkColumn) -> Column:
    """The text of a person or an item; numbers that Java writes differently stay numbers."""
    held = frame[column.place]
    if column.kind == "text" or column.needs_python:
        return held
    if column.kind == "zoned":
        from pyspark.sql import functions as F

        return F.concat(in_utc(held).cast("string"), F.lit("+00"))
    return held.cast("string")


def _speller(item: str | TextItems | TupleItems) -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    """What a worker does with rows that Java cannot spell: numbers become texts, texts become words."""

    def spell(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        import pyarrow as pa

        for batch in batches:
            people, things = spelled(batch.column(0)), spelled(batch.column(1))
            if isinstance(item, TupleItems) and item.parts:
                things = _joined_texts(item, [things, *(spelled(held) for held in batch.columns[2:])])
            elif isinstance(item, TextItems):
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


def _joined_texts(items: TupleItems, columns: list[list[str | None]]) -> list[str | None]:
    """One text of each row's parts; None where one of them is missing."""
    made: list[str | None] = []
    for row in zip(*columns, strict=True):
        texts = [
            text if part.unit is not None else dressed(text, items)
            for text, part in zip(row, items.parts, strict=True)
            if text is not None
        ]
        made.append(join(texts) if len(texts) == len(items.parts) else None)
    return made


def spelled(values: Any) -> list[str | None]:  # noqa: ANN401  a pyarrow.Array
    """Texts as they are; numbers as DuckDB and Python write them, NaN as missing."""
    import pyarrow as pa

    if pa.types.is_decimal(values.type):
        return [None if value is None else format(value, "f") for value in values.to_pylist()]
    if pa.types.is_float32(values.type):
        import numpy as np

        # As few digits as tell a number of 32 bits from its neighbours; then as Python sets them.
        values = [None if value is None else float(str(np.float32(value))) for value in values.to_pylist()]
        return [rules.text_of(value) for value in values]
    return [rules.text_of(value) for value in values.to_pylist()]


def _filter(condition: Condition, frame: Frame, columns: Typed) -> Column:
    """The filter as a condition of Spark; literals are literals of the plan, never text of a query."""
    match condition:
        case Joined(word=word, parts=parts):
            join = operator.and_ if word == "AND" else operator.or_
            return _joined(join, [_filter(part, frame, columns) for part in parts])
        case Not(part=part):
            return ~_filter(part, frame, columns)
        case Missing(column=name):
            held = columns[name]
            return (_real(frame[held.place], held.kind) if held.kind == "real" else frame[held.place]).isNull()
        case _:
            held = columns[condition.column]
            return _comparison(condition, frame[held.place], held.kind)


def _joined(join: Callable[[Column, Column], Column], parts: list[Column]) -> Column:
    """Halves joined, so that thousands of parts are a dozen deep: Java walks such a tree by recursion."""
    middle = len(parts) // 2
    return join(_joined(join, parts[:middle]), _joined(join, parts[middle:])) if middle else parts[0]


def _comparison(condition: Comparison, column: Column, kind: Kind) -> Column:
    from pyspark.sql import functions as F

    reading = reading_of(condition, kind)
    own = _read(column, kind, reading)
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
    from pyspark.sql import functions as F

    if isinstance(value, datetime):
        return F.lit(value.isoformat(sep=" ")).cast("timestamp_ntz")
    return F.lit(value).cast("bigint") if type(value) is int else F.lit(value)


def _read(column: Column, kind: Kind, reading: Reading) -> Column:
    """The value that a filter compares; NULL where it is missing or is not written like one."""
    if kind == "text":
        return _read_text(column, reading)
    match reading:
        case "real":
            return _real(column, kind)
        case "moment":
            return (in_utc(column) if kind == "zoned" else column).cast("timestamp_ntz")
        case _:
            return column


def _real(column: Column, kind: Kind) -> Column:
    from pyspark.sql import functions as F

    number = column.cast("double")
    return F.nanvl(number, F.lit(None)) if kind == "real" else number


def _read_text(column: Column, reading: Reading) -> Column:
    from pyspark.sql import functions as F

    match reading:
        case "text":
            return column
        case "integer" | "real":
            return F.when(column.rlike(rf"\A(?:{rules.NUMBER})\z"), column.try_cast("double"))
        case "boolean":
            return F.when(column.isin(*rules.TRUE), F.lit(True)).when(column.isin(*rules.FALSE), F.lit(False))  # noqa: FBT003
        case "moment":
            return F.when(column.rlike(rf"\A(?:{rules.MOMENT})\z"), column.try_cast("timestamp_ntz"))
