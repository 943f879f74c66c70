"""Parts of items: the text of a value, and hours, days, weeks and months of moments. How several are joined: `tuples`.

The rules of every engine, in Python; `duckdb/parts.py` and `spark/parts.py` say the same in their own words.

1. A value that says its zone, in its type or by an offset in its text, is that point in time. One that does not is
   taken as UTC. A date, also one in a text, is the day that it says, whatever the zone, and has no hour.
2. Texts are read as ISO 8601, or as `date_format` says: the directives %Y %m %d %H %M %S, each once, and other signs as
   they are. Numbers are read only if `date_format` says whether they are seconds or milliseconds since 1970.
   What is not written so, and what no calendar has, is missing.
3. By the clock of the zone the item is `2026-03-29 14:00` (the hour), `2026-03-29` (the day), `2026-W13` (the week by
   ISO 8601, which begins on Monday) or `2026-03` (the month). Where clocks are set back, two hours have one text.
   Years have four digits, or more from 10000 on; before the year 1 the engine decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Literal, TypeAlias, cast
from zoneinfo import ZoneInfo

from hushcount.engines.columns import DAY, MOMENT
from hushcount.engines.text import lowered
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.model.columns import Kind
from hushcount.model.frozen import frozen
from hushcount.model.queries import Part, TupleItems, Unit

Directive: TypeAlias = Literal["Y", "m", "d", "H", "M", "S"]

# Where a point in time is written with its zone.
OFFSET = "(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)"
# Numbers of seconds or milliseconds since 1970, also as text.
SINCE_1970 = {"seconds": 1_000_000, "milliseconds": 1000}
WHOLE = "-?[0-9]{1,18}"
# What `trim` leaves off: what Unicode calls white space, but for the separators of ASCII, which no keyboard types.
SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_TWO = "[0-9]{1,2}"
_DIRECTIVES: dict[str, str] = {"Y": "[0-9]{4}", "m": _TWO, "d": _TWO, "H": _TWO, "M": _TWO, "S": _TWO}
_NEEDED = ("Y", "m", "d")


@frozen
class MomentLayout:
    """How moments are written: a regular expression that Python, RE2 and Java read alike, and what its groups are."""

    pattern: str
    groups: tuple[Directive, ...]

    def group(self, directive: Directive) -> int | None:
        """The number of the group that holds it, from one; None if it is not written."""
        return self.groups.index(directive) + 1 if directive in self.groups else None


@cache
def layout_of(date_format: str) -> MomentLayout:
    """What a date format means.

    Raises:
        InvalidParameter: it has a directive that is not known, one twice, or not year, month and day.
    """
    if not date_format.isprintable():
        # A sign that is not seen could end the text of a query, after it was paid for.
        raise _no_format(date_format)
    pattern, groups = "", list[Directive]()
    for found in re.finditer(r"%(.?)|[^%]+", date_format, re.DOTALL):
        letter = found[1]
        if letter is None or letter == "%":
            pattern += _plain(found[0] if letter is None else "%")
        elif letter in _DIRECTIVES and letter not in groups:
            groups.append(cast("Directive", letter))
            pattern += f"({_DIRECTIVES[letter]})"
        else:
            raise _no_format(date_format)
    if not set(_NEEDED) <= set(groups):
        raise _no_format(date_format)
    return MomentLayout(pattern=pattern, groups=tuple(groups))


def _no_format(date_format: str) -> InvalidParameter:
    return InvalidParameter(
        "date_format",
        date_format,
        "made of %Y %m %d and, if times are written, %H %M %S, each once; or 'seconds' or 'milliseconds'",
        "Write '%d/%m/%Y %H:%M' for 29/03/2026 14:05.",
    )


def _plain(text: str) -> str:
    """Signs as they are: in brackets none of them means anything else, but for those that are escaped."""
    return "".join(sign if sign.isalnum() else f"[{sign}]" if sign not in "\\[]^" else f"\\{sign}" for sign in text)


def check_parts(items: TupleItems, kinds: Iterable[Kind]) -> None:
    """Refuse a part of a moment of columns that hold none, and a zone or a format that nothing is read by.

    Raises:
        InvalidInput: a column holds no moments, or no hours.
        InvalidParameter: a zone or a format is said that no column needs.
    """
    zoned, written = False, False
    for part, kind in zip(items.parts, kinds, strict=True):
        if part.unit is None:
            continue
        is_number = kind == "integer"
        if kind not in {"text", "date", "moment", "zoned"} and not (is_number and items.date_format in SINCE_1970):
            raise InvalidInput(f"{part.name!r} needs moments, and column {part.column!r} holds {_held(kind)}")
        has_times = kind != "date" and (kind != "text" or _writes_times(items.date_format))
        if part.unit == "hour" and not has_times:
            raise InvalidInput(f"column {part.column!r} holds dates, which have no hours; ask for its day")
        zoned |= has_times
        written |= kind == "text" or is_number
    if items.date_format is not None and not written:
        raise InvalidParameter("date_format", items.date_format, "left out: no column is read by it")
    if items.zone != "UTC" and not zoned:
        raise InvalidParameter("timezone", items.zone, "left out: dates begin where they say, whatever the zone")


def _writes_times(date_format: str | None) -> bool:
    return date_format is None or date_format in SINCE_1970 or layout_of(date_format).group("H") is not None


def _held(kind: Kind) -> str:
    if kind == "integer":
        return (
            "whole numbers; if they count from 1970 on, say date_format='seconds' or 'milliseconds' "
            "(--date-format seconds)"
        )
    return f"values of kind {kind}"


def dressed(text: str, items: TupleItems) -> str:
    """A text without what `trim` and `lower` take away."""
    text = text.strip(SPACE) if items.trim else text
    return lowered(text) if items.lower else text


def text_of_part(value: object, part: Part, items: TupleItems) -> str | None:
    """The item's text of a value of a part that has a unit; None where it is missing or is no moment."""
    if part.unit is None:  # pragma: no cover (who calls has looked)
        raise LookupError(part.name)
    found = _moment(value, items.date_format)
    if not isinstance(found, datetime):
        return None if found is None or part.unit == "hour" else _spelled(found, part.unit)
    try:
        return _spelled(found.astimezone(ZoneInfo(items.zone)), part.unit)
    except OverflowError:
        # Beyond the years that Python knows.
        return None


def _moment(value: object, date_format: str | None) -> datetime | date | None:
    """A value as a point in time, or as a date where it has no time of day."""
    match value:
        case datetime():
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value
        case date():
            return value
        case str() | int() if date_format in SINCE_1970:
            return _since_1970(str(value), SINCE_1970[date_format or ""])
        case str() if date_format is not None:
            return _by_layout(value, layout_of(date_format))
        case str():
            return _by_iso(value)
        case _:
            return None


def _since_1970(text: str, micros: int) -> datetime | None:
    if not re.fullmatch(WHOLE, text):
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(text) * micros)
    except OverflowError:
        return None


def _by_layout(text: str, layout: MomentLayout) -> datetime | date | None:
    found = re.fullmatch(layout.pattern, text)
    if found is None:
        return None
    said = dict(zip(layout.groups, map(int, found.groups()), strict=True))
    try:
        day = date(said["Y"], said["m"], said["d"])
        return (
            datetime.combine(day, time(said["H"], said.get("M", 0), said.get("S", 0), tzinfo=UTC))
            if "H" in said
            else day
        )
    except ValueError:
        return None


def _by_iso(text: str) -> datetime | date | None:
    try:
        if re.fullmatch(DAY, text):
            return date.fromisoformat(text)
        if not re.fullmatch(f"{MOMENT}(?:{OFFSET})?", text):
            return None
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _spelled(local: datetime | date, unit: Unit) -> str:
    day = f"{local.year:04d}-{local.month:02d}-{local.day:02d}"
    match unit:
        case "hour":
            return f"{day} {local:%H}:00"
        case "day":
            return day
        case "week":
            year, week, _ = local.isocalendar()
            return f"{year:04d}-W{week:02d}"
        case "month":
            return day[:-3]
