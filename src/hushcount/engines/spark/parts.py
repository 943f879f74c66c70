"""Items of one column or several on Spark: the rules of `engines.parts` and `model.tuples` as expressions of Java."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

from hushcount.engines.columns import DAY, MOMENT
from hushcount.engines.parts import OFFSET, SINCE_1970, SPACE, WHOLE, Directive, MomentLayout, layout_of
from hushcount.errors import InvalidParameter
from hushcount.model.columns import Kind
from hushcount.model.queries import TupleItems, Unit
from hushcount.model.tuples import ESCAPES, SEPARATOR

_Session: TypeAlias = Any  # pyspark.sql.SparkSession
Column: TypeAlias = Any  # pyspark.sql.Column; pyspark is imported only where it is used


def require_zone(session: _Session, zone: str) -> None:
    """Refuse a time zone that Java does not know, before anything is charged: by a query that runs where it is asked.

    Raises:
        InvalidParameter: so it is.
    """
    from pyspark.errors import PySparkException

    try:
        session.sql("SELECT convert_timezone('UTC', :zone, TIMESTAMP_NTZ'2000-01-01')", {"zone": zone}).collect()
    except PySparkException:
        raise InvalidParameter("timezone", zone, "a time zone that Spark knows, such as Europe/Berlin") from None


def joined(texts: Sequence[Column]) -> Column:
    """Texts as one text; NULL where one of them is missing."""
    from pyspark.sql import functions as F

    if len(texts) == 1:
        return texts[0]
    escaped = [reduce(lambda text, pair: F.replace(text, *map(F.lit, pair)), ESCAPES, text) for text in texts]
    parts = [escaped[0]]
    for text in escaped[1:]:
        parts += [F.lit(SEPARATOR), text]
    return F.concat(*parts)


def everybody() -> Column:
    """The item of no parts: the same for all rows."""
    from pyspark.sql import functions as F

    return F.lit("")


def trimmed(text: Column) -> Column:
    """A text without white space at its ends."""
    from pyspark.sql import functions as F

    return F.btrim(text, F.lit(SPACE))


def in_utc(column: Column) -> Column:
    """A moment as a clock in UTC shows it, whatever the time zone of the session."""
    from pyspark.sql import functions as F

    epoch = F.lit("1970-01-01").cast("timestamp_ntz")
    return F.timestamp_add("MICROSECOND", F.unix_micros(column), epoch)


def part_column(column: Column, kind: Kind, unit: Unit, *, items: TupleItems) -> Column:
    """The text of the hour, day, week or month of a column's moments."""
    match kind:
        case "date":
            return _spelled(column, unit)
        case "moment":
            return _spelled(_local(column, items.zone), unit)
        case "zoned":
            return _spelled(_local(in_utc(column), items.zone), unit)
        case _:
            return _read(column.cast("string"), unit, items)


def _read(text: Column, unit: Unit, items: TupleItems) -> Column:
    """Of texts, and of numbers since 1970 by their texts."""
    from pyspark.sql import functions as F

    if items.date_format in SINCE_1970:
        micros = text.try_cast("decimal(38,0)") * F.lit(SINCE_1970[items.date_format])
        moment = in_utc(F.timestamp_micros(micros.try_cast("bigint")))
        return _where(text, WHOLE, _spelled(_local(moment, items.zone), unit))
    if items.date_format is not None:
        layout = layout_of(items.date_format)
        moment = _by_layout(text, layout)
        local = moment if layout.group("H") is None else _local(moment, items.zone)
        return _where(text, layout.pattern, _spelled(local, unit))
    day = F.lit(None).cast("string") if unit == "hour" else _spelled(text.try_cast("date"), unit)
    # What says its zone is read as a point in time, which the zone of the session does not alter.
    zoned = _where(text, MOMENT + OFFSET, in_utc(text.try_cast("timestamp")))
    plain = _where(text, MOMENT, text.try_cast("timestamp_ntz"))
    point = _spelled(_local(F.coalesce(zoned, plain), items.zone), unit)
    return F.when(text.rlike(rf"\A(?:{DAY})\z"), day).otherwise(point)


def _by_layout(text: Column, layout: MomentLayout) -> Column:
    from pyspark.sql import functions as F

    def said(directive: Directive) -> Column:
        group = layout.group(directive)
        return F.lit("00") if group is None else F.lpad(F.regexp_extract(text, layout.pattern, group), 2, "0")

    year = F.regexp_extract(text, layout.pattern, layout.group("Y") or 0)
    day = F.concat_ws("-", year, said("m"), said("d"))
    clock = F.concat_ws(":", said("H"), said("M"), said("S"))
    return F.concat_ws(" ", day, clock).try_cast("timestamp_ntz")


def _where(text: Column, pattern: str, value: Column) -> Column:
    from pyspark.sql import functions as F

    return F.when(text.rlike(rf"\A(?:{pattern})\z"), value)


def _local(moment: Column, zone: str) -> Column:
    from pyspark.sql import functions as F

    return moment if zone == "UTC" else F.convert_timezone(F.lit("UTC"), F.lit(zone), moment)


def _spelled(moment: Column, unit: Unit) -> Column:
    from pyspark.sql import functions as F

    day = moment.cast("date")
    year, month = F.year(day), F.month(day)
    if unit == "week":
        text = F.format_string("%04d-W%02d", F.extract(F.lit("YEAROFWEEK"), day), F.weekofyear(day))
    elif unit == "month":
        text = F.format_string("%04d-%02d", year, month)
    elif unit == "day":
        text = F.format_string("%04d-%02d-%02d", year, month, F.dayofmonth(day))
    else:
        text = F.format_string("%04d-%02d-%02d %02d:00", year, month, F.dayofmonth(day), F.hour(moment))
    # Java writes what is missing as a word.
    return F.when(moment.isNotNull(), text)
