"""Rendering: forms become pages. Whatever stands in them is text, and nothing but text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from hushcount.api.answers import to_json

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_LONGEST = 200
# What has no shape of its own is shown by the sign that stands for it.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2069]")


def to_html(template: str, form: Mapping[str, Any], **around: Any) -> bytes:  # noqa: ANN401  whatever the frame shows
    """A page.

    Args:
        template: its file.
        form: what it shows; the template sees what its JSON says, and nothing else.
        around: what is around every page.
    """
    told = json.loads(to_json(form))
    text = _environment().get_template(template).render(page=told, **around)
    # An item may hold half a sign of UTF-16, which no text can carry.
    return text.encode("utf-8", "backslashreplace")


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
    """A day as people say it; of the year only if it is another one."""
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


def static(name: str) -> str:
    """Where a file lies, with a part that changes when it does, so that browsers keep it for ever."""
    return f"/console/static/{name}?v={_digest(name)}"


def _sign(unseen: str) -> str:
    code = ord(unseen)
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"


@lru_cache(maxsize=20)
def _digest(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "number": number,
        "amount": amount,
        "releases": releases,
        "day": day,
        "moment": moment,
        "item": item,
        "plain": lambda value: escape(plain(value)),
    }
    made.globals |= {"static": static}
    return made
