"""Attempts: whatever a database is asked to do may fail, and its own words may quote values. Ours do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hushcount.engines.sources import Files, Frame, Source
from hushcount.errors import UnreadableSource

_T = TypeVar("_T")
_NO_ROOM = "there was not enough memory or disk space; free some, or ask about fewer rows"


def attempt(source: Source, action: Callable[[], _T]) -> _T:
    """Do something with a database; if it fails, say so without its own words."""
    import duckdb

    try:
        return action()
    except duckdb.Error as error:
        kind = type(error).__name__
    # Raised outside the handler, so that the database's exception is not attached to it either. What it says depends
    # on the kind of failure and of source alone: even to choose between texts by what a value holds would tell of it.
    reason = _NO_ROOM if kind == "OutOfMemoryException" else _broken(source)
    raise UnreadableSource(f"{source.name} cannot be read: {reason} ({kind}; no values are shown: they are private)")


def hold(source: Source, action: Callable[[], _T]) -> _T:
    """Hold rows in memory and on the disk; where there is no room for them, say so without the system's own words."""
    try:
        return action()
    except (MemoryError, OSError) as error:
        kind = type(error).__name__
    # Outside the handler, as above: a full disk's error names a place.
    raise UnreadableSource(f"{source.name} cannot be read: {_NO_ROOM} ({kind})")


def _broken(source: Source) -> str:
    match source:
        case Files(format="csv" | "tsv"):
            return (
                "a row does not have the columns of the first line, a quote is left open, or it is not in UTF-8; "
                "in the last case convert it with: iconv -f latin1 -t utf-8"
            )
        case Files(format="json" | "jsonl"):
            return "it is not JSON with one object in each line, or it is not written in UTF-8"
        case Files():
            return "it is not a whole Parquet file, or its files do not have the same columns; write it anew"
        case Frame():
            return "a column holds values that cannot be stored as one type; convert the column to text first"
        case _:
            return "the database is not whole, locked by another program, or of a later version; try its own tools"
