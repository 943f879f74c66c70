"""Persons: what a column that says who a row belongs to would protect, and when its name says that it protects less.

Told by the name and the kind of a column alone: to look at its values would be a question, and cost something.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_PEOPLE = frozenset(
    {
        "user",
        "users",
        "person",
        "people",
        "member",
        "customer",
        "reader",
        "patient",
        "employee",
        "client",
        "visitor",
        "author",
        "student",
        "who",
        "email",
        "buyer",
        "player",
        "viewer",
        "listener",
        "voter",
        "citizen",
        "subscriber",
        "account",
        "owner",
        "driver",
        "rider",
        "guest",
        "pupil",
        "worker",
    }
)
_VISITS = frozenset(
    {
        "session",
        "sess",
        "visit",
        "cookie",
        "device",
        "browser",
        "ip",
        "request",
        "trace",
        "click",
        "connection",
        "tab",
        "install",
    }
)
_ROWS = frozenset(
    {
        "row",
        "event",
        "record",
        "line",
        "order",
        "transaction",
        "txn",
        "message",
        "log",
        "entry",
        "uuid",
        "guid",
        "hash",
        "index",
        "key",
        "pk",
        "rowid",
        "seq",
        "number",
        "receipt",
        "invoice",
        "ticket",
        "payment",
    }
)
_MEASURES = {
    "real": "a measure",
    "decimal": "a measure",
    "boolean": "a yes or no",
    "date": "a day",
    "moment": "a moment",
    "zoned": "a moment",
    "nested": "several values",
}


def looks_like_people(column: str) -> bool:
    """Whether the name of a column says that it stands for people."""
    return bool({word.lower() for word in _WORDS.findall(column)} & _PEOPLE)


def person_warning(column: str, kind: str) -> str | None:
    """Why a column may not stand for people, in a sentence; None if nothing speaks against it."""
    words = {word.lower() for word in _WORDS.findall(column)}
    if kind in _MEASURES:
        return f"This column holds {_MEASURES[kind]}: it does not say who."
    if words & _PEOPLE:
        return None
    if words & _VISITS:
        return (
            "This looks like a visit or a device. It would protect one visit, and not a person: whoever comes back is "
            "counted anew each time, and can be recognised by all of them together."
        )
    if words & _ROWS or words == {"id"}:
        return (
            "This looks like the number of a row. It would protect one row, and not a person: somebody with many rows "
            "can be recognised by all of them together."
        )
    return None
