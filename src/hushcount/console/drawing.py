"""Drawing: numbers as pictures of our own, as text. Nothing in them is placed by a style, which the policy refuses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hushcount.console.texts import plain

MOST_BARS = 25
_WIDE, _NAMES, _ROW, _TOP, _BOTTOM = 760, 230, 30, 26, 30
_RIGHT = 84
_LETTERS = 28
_TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: its name, how long it is, and how far its whiskers reach."""

    name: str
    value: float
    low: float
    high: float


def bars(rows: Sequence[Mapping[str, Any]], cutoff: float | None) -> Markup:
    """Bars with whiskers, largest first, and the cut-off as a line; at most `MOST_BARS`."""
    found = [_bar(row) for row in rows[:MOST_BARS]]
    if not found:
        return Markup()
    most = max(*(bar.high for bar in found), *(bar.value for bar in found), cutoff or 0, 1)
    step = _step(most)
    scale = (_WIDE - _NAMES - _RIGHT) / most
    high = _TOP + _ROW * len(found) + _BOTTOM
    parts = [
        Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="chart-title chart-desc">').format(
            _WIDE, high
        ),
        Markup('<title id="chart-title">People for each item</title>'),
        Markup('<desc id="chart-desc">{} bars; the numbers are in the table below.</desc>').format(len(found)),
        *_grid(step, most, scale=scale, high=high),
        *(part for place, bar in enumerate(found) for part in _drawn(bar, _TOP + _ROW * place, scale)),
        *_cut(cutoff, scale=scale, high=high),
        Markup("</svg>"),
    ]
    return Markup().join(parts)


def _bar(row: Mapping[str, Any]) -> Bar:
    item = row["item"]
    name = plain(item if isinstance(item, str) else ", ".join(item)) or "(empty)"
    short = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
    return Bar(name=short, value=row["count"], low=row["low"], high=row["high"])


def _drawn(bar: Bar, y: int, scale: float) -> list[Markup]:
    middle = y + _ROW / 2
    value, low, high = (_NAMES + max(0.0, one) * scale for one in (bar.value, bar.low, bar.high))
    return [
        Markup('<text x="{}" y="{}" text-anchor="end" direction="ltr" unicode-bidi="isolate">{}</text>').format(
            _NAMES - 12, middle + 4.5, bar.name
        ),
        Markup('<rect class="bar" x="{}" y="{:.1f}" width="{:.1f}" height="{}" rx="2"/>').format(
            _NAMES, y + 6, max(0.0, value - _NAMES), _ROW - 12
        ),
        Markup('<path class="whisker" d="M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8"/>').format(
            low, high, middle, middle - 4
        ),
        Markup('<text x="{:.1f}" y="{:.1f}">{:,}</text>').format(max(value, high) + 9, middle + 4.5, bar.value),
    ]


def _grid(step: float, most: float, *, scale: float, high: float) -> list[Markup]:
    places = [step * number for number in range(int(most / step) + 1)]
    line = Markup(
        '<path class="grid" d="M{0:.1f} {1}V{2}"/><text class="soft" x="{0:.1f}" y="{3}" text-anchor="middle">'
        "{4:,.0f}</text>"
    )
    return [line.format(_NAMES + place * scale, _TOP - 6, high - _BOTTOM, high - 10, place) for place in places]


def _cut(cutoff: float | None, *, scale: float, high: float) -> list[Markup]:
    if cutoff is None:
        return []
    x = _NAMES + cutoff * scale
    line = Markup('<path class="cut" d="M{:.1f} {}V{}"/>').format(x, _TOP - 6, high - _BOTTOM)
    words = Markup('<text class="cut" x="{:.1f}" y="{}">cut-off, about {:,.0f}</text>')
    return [line, words.format(x + 5, _TOP - 10, cutoff)]


def _step(most: float) -> float:
    """A round number, so that there are about five lines."""
    rough = most / _TICKS
    base = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1
    return max(1.0, next(base * times for times in (1, 2, 5, 10) if base * times >= rough))
