"""Texts: numbers, days and items as people read them."""

from __future__ import annotations

import re
from datetime import datetime

from markupsafe import Markup

_LONGEST = 200
# What has no shape of its own, or turns what is beside it round, is shown by a sign that stands for it.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2069]")


def number(value: float | None) -> str:
    """A number of people, as people write it."""
    return "–" if value is None else f"{round(value):,}"


def amount(value: float | str | None) -> str:
    """A number of standard releases: two digits behind the point are enough to look at."""
    if value is None:
        return "–"
    given = float(value)
    if 0 < given < 0.01:
        return "less than 0.01"
    return f"{given:.2f}".rstrip("0").rstrip(".")


def releases(value: float | str) -> str:
    """So many standard releases, in words."""
    shown = amount(value)
    return f"{shown} release{'' if shown == '1' else 's'}"


def day(value: str | None) -> str:
    """A day as people say it."""
    if value is None:
        return "–"
    found = datetime.fromisoformat(value)
    return f"{found.day} {found:%B %Y}"


def moment(value: str | None) -> str:
    """A moment, in UTC."""
    if value is None:
        return "–"
    found = datetime.fromisoformat(value)
    return f"{found.day} {found:%B %Y, %H:%M} UTC"


def item(value: str | list[str]) -> Markup:
    """An item, which may be any text: on its own, whichever way it is read, and not longer than a page can bear."""
    if isinstance(value, list):
        return Markup(" · ").join(item(one) for one in value)
    if not value:
        return Markup('<i class="faint">(empty)</i>')
    shown = plain(value[:_LONGEST])
    more = "" if len(value) <= _LONGEST else f"… ({len(value):,} signs in all)"
    return Markup("<bdi>{}</bdi>{}").format(shown, more)


def plain(value: str) -> str:
    """A text in which what cannot be seen is shown."""
    return _UNSEEN.sub(lambda found: _sign(found[0]), value)


def _sign(unseen: str) -> str:
    code = ord(unseen)
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"
