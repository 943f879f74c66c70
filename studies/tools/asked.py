"""What a tool answers when it is asked for more: an answer, or its refusal in its own words."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType

NOTHING_DECLARED, TOP, TWICE = "nothing declared", "top ten", "asked twice"


class HasNone(Exception):
    """A tool has no such question to ask."""


def tell(questions: dict[str, Callable[[], object]]) -> None:
    """Ask each, and print as JSON what came of it."""
    print(json.dumps({name: _answer(question) for name, question in questions.items()}))


def search(place: ModuleType | type, word: str) -> object:
    """What of a tool could be asked for this, by its public names."""
    names = [name for name in dir(place) if not name.startswith("_")]
    found = [name for name in names if word in name.lower()]
    if not found:
        raise HasNone(f"none of the {len(names)} public names of {place.__name__} has '{word}' in it")
    return found


def _answer(question: Callable[[], object]) -> str:
    try:
        return f"answered: {question()}"
    except HasNone as nothing:
        return f"has none: {nothing}"
    except Exception as refusal:  # noqa: BLE001  whatever it is: it is what is asked for
        lines = [line.strip() for line in str(refusal).splitlines() if line.strip()]
        return f"refused: {type(refusal).__name__}: {lines[0] if lines else ''}"
