"""The columns of a conformance test as a table of Pinot, in two segments, one on each server."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time

from hushcount.engines.columns import text_of
from hushcount.engines.pinot.engine import PinotEngine, open_pinot
from tests.conformance.engines.openers import typed
from tests.pinot import shared_cluster

_NUMBERS = itertools.count()


def load_columns(
    columns: Mapping[str, Sequence[object]], *, types: Mapping[str, str] | None = None, **config: object
) -> str:
    """Load columns and give the address. Types that Pinot has no missing values of are texts, unless they are said."""
    said = types or {}
    kinds = {name: said.get(name) or _type(kind) for name, (kind, _) in typed(columns).items()}
    rows = [
        {name: _value(value, kinds[name]) for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]
    parts = [part for part in (rows[::2], rows[1::2]) if part]
    return shared_cluster().load(f"table{next(_NUMBERS)}", kinds, *parts, **config)


def open_columns(
    columns: Mapping[str, Sequence[object]], *, types: Mapping[str, str] | None = None, **config: object
) -> PinotEngine:
    """The same, opened."""
    return open_pinot(load_columns(columns, types=types, **config))


def _type(kind: str) -> str:
    return "LONG" if kind == "integer" else "STRING"


def _value(value: object, kind: str) -> object:
    if value is None:
        return None
    if kind == "STRING":
        return text_of(value)
    if kind == "TIMESTAMP" and isinstance(value, date):
        return int(datetime.combine(value, time(), UTC).timestamp() * 1000)
    return value
