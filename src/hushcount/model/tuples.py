"""Tuples of texts as one text, for mechanisms that know items by one text each.

The texts are joined by U+001F, the separator that ASCII has for it. Where a text holds that sign, or the sign that
escapes it, these are escaped: a backslash becomes two, and a separator becomes a backslash and an `s`. So no two tuples
have the same text, whatever they hold, and every engine can do it by replacing signs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SEPARATOR = "\x1f"
# In this order.
ESCAPES = (("\\", "\\\\"), (SEPARATOR, "\\s"))

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def join(texts: Sequence[str]) -> str:
    """A tuple as one text; a tuple of one is its text as it is, and one of nothing is empty."""
    return texts[0] if len(texts) == 1 else SEPARATOR.join(map(_escaped, texts))


def split(text: str, width: int) -> tuple[str, ...]:
    """The tuple that `join` made one text of.

    Raises:
        ValueError: it is no text of such a tuple.
    """
    if width == 1:
        return (text,)
    if not width and not text:
        return ()
    parts = tuple(
        _ESCAPED.sub(lambda found: SEPARATOR if found[1] == "s" else found[1], part) for part in text.split(SEPARATOR)
    )
    if len(parts) != width or join(parts) != text:
        raise ValueError(f"no tuple of {width} texts")
    return parts


def _escaped(text: str) -> str:
    for sign, escape in ESCAPES:
        text = text.replace(sign, escape)
    return text
