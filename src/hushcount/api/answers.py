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
    try:
        return _JSON.encode(form).encode()
    except ValueError:
        # A number that is none, which is rare: the others are not looked at one by one.
        return _JSON.encode(_finite(form)).encode()


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


def _plain(value: Any) -> Any:  # noqa: ANN401  whatever a form holds
    """What JSON can hold of what it does not know: times as RFC 3339, exact amounts as texts."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return list(value)
    raise TypeError(type(value).__name__)


def _finite(value: Any) -> Any:  # noqa: ANN401  as above
    """The same without numbers that are none."""
    if isinstance(value, dict | Mapping):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_JSON = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_plain)
