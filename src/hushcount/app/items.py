"""What is counted, as it was said: columns, parts of moments, words of a text; and the public list of it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast
from zoneinfo import ZoneInfo

import numpy as np

from hushcount.app.paths import read_text
from hushcount.engines.parts import SINCE_1970, layout_of
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.inputs import Items
from hushcount.model.queries import Part, TextItems, TupleItems, Unit
from hushcount.model.tuples import join

if TYPE_CHECKING:
    from hushcount.app.options import Options

_OF_MOMENTS = re.compile(r"(hour|day|week|month)\((.+)\)", re.DOTALL)


def make_items(item: str | Sequence[str] | None, options: Options) -> str | TextItems | TupleItems:
    """The items of a question.

    Args:
        item: a column, `day(column)` and the like, or several of them; None where the words of a text are counted.
        options: the options that say more; those that would not be used are refused.
    """
    text = options.get("text")
    if item is None and text is None:
        raise InvalidParameter("item", None, "given, or else a text column")
    if item is not None and text is not None:
        raise InvalidParameter("item", item, "left out where the words of a text are counted")
    if text is not None:
        _refuse(options, ("by", "timezone", "date_format", "trim"), "left out where the words of a text are counted")
        shortest, longest = _ngrams(options.get("ngrams", (1, 1)))
        return TextItems(column=text, shortest=shortest, longest=longest, lower=options.get("lower", True))
    _refuse(options, ("ngrams",), "left out where the values of a column are counted", "It is for --text.")
    parts = tuple(map(_part, (*_several(options.get("by", ())), *_several(item or ()))))
    if not parts:
        raise InvalidParameter("item", item, "a column, or several")
    if all(part.unit is None for part in parts):
        _refuse(options, ("timezone", "date_format"), "said with day(COLUMN), hour(COLUMN), week(...) or month(...)")
    made = TupleItems(
        parts=parts,
        zone=_zone(options.get("timezone", "UTC")),
        date_format=_date_format(options.get("date_format")),
        trim=options.get("trim", False),
        lower=options.get("lower", False),
    )
    # A column as it is has one name: the same question however it was said.
    return parts[0].column if made == TupleItems(parts=(Part(column=parts[0].column),)) else made


def everybody(options: Options) -> tuple[str | TextItems | TupleItems, Options]:
    """What `people` counts: everybody, or by groups; as items and options of a count.

    A count of everybody is one over a list of a single item that all have: nobody learns an item's name, so no delta is
    spent, and nobody can hold more than one.
    """
    refused = ("text", "ngrams", "max_items_per_user", "per_item_cap", "k", "counts")
    _refuse(options, refused, "left out where people are counted")
    if "by" not in options:
        _refuse(options, ("keys", "timezone", "date_format", "trim", "lower"), "said with by: for people in groups")
        return TupleItems(parts=()), {**options, "keys": [()], "max_items_per_user": 1}
    if "keys" not in options:
        raise InvalidParameter(
            "keys", None, "given with by", "Groups are counted over a public list; for a private one, ask for a count."
        )
    return make_items((), options), options


def _several(said: str | Sequence[str]) -> Sequence[str]:
    return (said,) if isinstance(said, str) else said


def _part(said: str) -> Part:
    found = _OF_MOMENTS.fullmatch(said)
    return Part(column=said) if found is None else Part(column=found[2], unit=cast("Unit", found[1]))


def _refuse(options: Options, names: tuple[str, ...], wanted: str, hint: str = "") -> None:
    """Refuse options that would not be used: nothing is ignored."""
    for name, value in options.items():
        if name in names:
            raise InvalidParameter(name, value, wanted, hint)


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        raise InvalidParameter("timezone", name, "the name of a time zone, such as Europe/Berlin") from None
    return name


def _date_format(said: str | None) -> str | None:
    if said is not None and said not in SINCE_1970:
        layout_of(said)
    return said


def _ngrams(value: str | tuple[int, int]) -> tuple[int, int]:
    if isinstance(value, tuple):
        return value
    first, _, last = value.partition("-")
    if not first.isascii() or not first.isdigit() or (last and not (last.isascii() and last.isdigit())):
        raise InvalidParameter("ngrams", value, "a number of words or a range, such as 1 or 1-3")
    return int(first), int(last or first)


def tuple_words(items: TupleItems) -> str:
    """What is counted, in a few words."""
    if not items.parts:
        return "people"
    names = [part.column if part.unit is None else f"{part.unit} of {part.column}" for part in items.parts]
    words = " and ".join(names)
    if items.zone != "UTC":
        words += f" by the clock of {items.zone}"
    if items.trim or items.lower:
        said = [name for name, on in (("trimmed", items.trim), ("in lower case", items.lower)) if on]
        words += f", {' and '.join(said)}"
    return words


def column_names(items: str | TextItems | TupleItems) -> tuple[str, ...]:
    """What the columns of items are called in an answer: as they are in the data; words have no column of their own."""
    match items:
        case str():
            return (items,)
        case TextItems():
            return ("item",)
        case TupleItems():
            return tuple(part.name for part in items.parts)


def public_items(
    keys: str | Path | Sequence[str] | Sequence[tuple[str, ...]] | None, items: str | TextItems | TupleItems
) -> Items | None:
    """A public list as mechanisms take it, each item once; from a file, or the items themselves."""
    if keys is None:
        return None
    names = column_names(items)
    if isinstance(keys, str | Path):
        return listed(read_list(Path(keys)) if len(names) == 1 else read_tuples(Path(keys), names))
    wrong = next((key for key in keys if _width(key) != len(names)), None)
    if wrong is not None:
        wanted = "texts" if len(names) == 1 else f"tuples of {len(names)} texts: {', '.join(names)}"
        raise InvalidParameter("keys", wrong, wanted)
    return listed([key if isinstance(key, str) else join(key) for key in keys])


def _width(key: object) -> int | None:
    if isinstance(key, str):
        return 1
    return len(key) if isinstance(key, Sequence) and all(isinstance(text, str) for text in key) else None


def read_list(path: Path) -> list[str]:
    """A public list from a file: one item on each line, empty lines left out."""
    items = [line for line in _read(path).splitlines() if line]
    if not items:
        raise UnreadableSource(
            f"the public list {str(path)!r} cannot be used: no item stands in it; write one on each line"
        )
    return items


def read_tuples(path: Path, names: tuple[str, ...]) -> list[str]:
    """A public list of several columns from a CSV file that has a column for each, by name."""
    rows = list(csv.DictReader(io.StringIO(_read(path), newline="")))
    missing = [name for name in names if not rows or name not in rows[0]]
    if missing:
        raise UnreadableSource(
            f"the public list {str(path)!r} cannot be used: it has no column {missing[0]!r}, or no rows; write CSV "
            f"whose first line is {','.join(names)}"
        )
    short = next((n for n, row in enumerate(rows, 2) if None in (row[name] for name in names)), None)
    if short is not None:
        raise UnreadableSource(f"the public list {str(path)!r} cannot be used: line {short} has too few columns")
    return [join([row[name] for name in names]) for row in rows]


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError:
        raise UnreadableSource(
            f"the public list {str(path)!r} cannot be read: there is no such file; check the name and the directory"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableSource(f"the public list {str(path)!r} cannot be read ({type(error).__name__})") from None


def listed(items: Sequence[str]) -> Items:
    """A public list as mechanisms take it: each item once."""
    return np.array(list(dict.fromkeys(items)), dtype=object)
