"""Rendering: forms become pages. Whatever stands in them is text, and nothing but text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import escape

from hushcount.api.answers import to_json
from hushcount.app.serving.questions.prices import several
from hushcount.console import curves, drawing, texts

_HERE = Path(__file__).parent
STATIC = _HERE / "static"


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


def static(name: str) -> str:
    """Where a file lies, with a part that changes when it does, so that browsers keep it for ever."""
    return f"/console/static/{name}?v={_digest(name)}"


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
    shown = (several, texts.number, texts.amount, texts.releases, texts.day, texts.moment, texts.item)
    made.filters |= {one.__name__: one for one in shown}
    made.filters["plain"] = lambda value: escape(texts.plain(value))
    made.globals |= {"static": static, "bars": drawing.bars, "figure": curves.figure}
    return made
