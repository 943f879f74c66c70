"""Answers: what leaves, always whole and with its length."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from fastapi import Response


def to_json(form: Any) -> bytes:  # noqa: ANN401  whatever JSON can hold
    """A form as JSON in ASCII: an item may hold half a sign of UTF-16, which nothing but an escape can carry."""
    return json.dumps(_plain(form), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def answer(form: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:  # noqa: ANN401
    """An answer of JSON."""
    return Response(to_json(form), status_code=status, headers=dict(headers or {}), media_type="application/json")


def nothing() -> Response:
    """An answer that has nothing to say but that it was done."""
    return Response(status_code=204)


def page(entries: Sequence[Any], *, following: str | None) -> Response:
    """A part of a list; `next` is null at its end."""
    return answer({"data": list(entries), "next": following})


def joined(parts: Mapping[str, bytes]) -> bytes:
    """One object of members that are JSON already."""
    return b"{" + b",".join(json.dumps(name).encode() + b":" + value for name, value in parts.items()) + b"}"


_AS_IT_IS = frozenset((str, int, bool, type(None)))


def _plain(value: Any) -> Any:  # noqa: ANN401  whatever a form holds
    """What JSON can hold: times as RFC 3339, exact amounts as texts, no number that is none."""
    # Most of an answer is one of these; what is asked below takes longer than writing them.
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, dict | Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
