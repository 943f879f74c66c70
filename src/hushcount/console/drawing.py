"""Drawing: numbers as pictures of our own, as text. Nothing in them is placed by a style, which the policy refuses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from hushcount.console.texts import plain
from hushcount.model.frozen import frozen

MOST_BARS = 25
_TOP, _BOTTOM = 26, 30
_TICKS = 5


@frozen
class Layout:
    """Where the parts of a picture stand.

    Attributes:
        kind: what the style sheet calls it.
        wide: how wide all of it is.
        left: where bars begin.
        right: how much is kept free for the numbers behind them.
        row: how high a row is.
        above: how much of that is for the name above the bar; nothing where names stand before bars.
        letters: how long a name may be.
    """

    kind: str
    wide: int
    left: int
    right: int
    row: int
    above: int
    letters: int


_WIDE = Layout(kind="bars", wide=760, left=230, right=84, row=30, above=0, letters=28)
# For small screens: shrunk to their width, the other one could not be read.
_NARROW = Layout(kind="narrow", wide=330, left=8, right=62, row=48, above=18, letters=40)


@frozen
class Bar:
    """One bar: its name, how long it is, and how far its whiskers reach."""

    name: str
    value: float
    low: float
    high: float


def bars(rows: Sequence[Mapping[str, Any]], cutoff: float | None, *, narrow: bool = False) -> Markup:
    """Bars with whiskers, largest first, and the cut-off as a line; at most `MOST_BARS`.

    Args:
        rows: the rows, as the interface has them.
        cutoff: where the line is; None for none.
        narrow: with names above the bars, for small screens.
    """
    layout = _NARROW if narrow else _WIDE
    found = [_bar(row, layout.letters) for row in rows[:MOST_BARS]]
    if not found:
        return Markup()
    most = max(*(bar.high for bar in found), *(bar.value for bar in found), cutoff or 0, 1)
    step = _step(most)
    scale = (layout.wide - layout.left - layout.right) / most
    high = _TOP + layout.row * len(found) + _BOTTOM
    parts = [
        Markup(
            '<svg class="chart {0}" viewBox="0 0 {1} {2}" role="img" aria-labelledby="{0}-title {0}-desc">'
            '<title id="{0}-title">People for each item</title>'
            '<desc id="{0}-desc">{3} bars; the numbers are in the table below.</desc>'
        ).format(layout.kind, layout.wide, high, len(found)),
        *_grid(step, most, scale=scale, high=high, left=layout.left),
        *(part for place, bar in enumerate(found) for part in _drawn(bar, layout, place, scale=scale)),
        *_cut(cutoff, scale=scale, high=high, left=layout.left),
        Markup("</svg>"),
    ]
    return Markup().join(parts)


def _bar(row: Mapping[str, Any], letters: int) -> Bar:
    item = row["item"]
    name = plain(item if isinstance(item, str) else ", ".join(item)) or "(empty)"
    short = name if len(name) <= letters else name[: letters - 1] + "…"
    return Bar(name=short, value=row["count"], low=row["low"], high=row["high"])


def _drawn(bar: Bar, layout: Layout, place: int, *, scale: float) -> list[Markup]:
    y, thick = _TOP + layout.row * place + layout.above, layout.row - layout.above
    middle = y + thick / 2
    value, low, high = (layout.left + max(0.0, one) * scale for one in (bar.value, bar.low, bar.high))
    x, height, anchor = (layout.left, y + 2, "start") if layout.above else (layout.left - 12, middle + 4.5, "end")
    return [
        Markup('<text x="{}" y="{}" text-anchor="{}" direction="ltr" unicode-bidi="isolate">{}</text>').format(
            x, height, anchor, bar.name
        ),
        Markup('<rect class="bar" x="{}" y="{:.1f}" width="{:.1f}" height="{}" rx="2"/>').format(
            layout.left, y + 6, max(0.0, value - layout.left), thick - 12
        ),
        Markup('<path class="whisker" d="M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8"/>').format(
            low, high, middle, middle - 4
        ),
        Markup('<text x="{:.1f}" y="{:.1f}">{:,}</text>').format(max(value, high) + 9, middle + 4.5, bar.value),
    ]


def _grid(step: float, most: float, *, scale: float, high: float, left: int) -> list[Markup]:
    places = [step * number for number in range(int(most / step) + 1)]
    line = Markup(
        '<path class="grid" d="M{0:.1f} {1}V{2}"/><text class="soft" x="{0:.1f}" y="{3}" text-anchor="middle">'
        "{4:,.0f}</text>"
    )
    return [line.format(left + place * scale, _TOP - 6, high - _BOTTOM, high - 10, place) for place in places]


def _cut(cutoff: float | None, *, scale: float, high: float, left: int) -> list[Markup]:
    if cutoff is None:
        return []
    x = left + cutoff * scale
    line = Markup('<path class="cut" d="M{:.1f} {}V{}"/>').format(x, _TOP - 6, high - _BOTTOM)
    words = Markup('<text class="cut" x="{:.1f}" y="{}">cut-off, about {:,.0f}</text>')
    return [line, words.format(x + 5, _TOP - 10, cutoff)]


def _step(most: float) -> float:
    """A round number, so that there are about five lines."""
    rough = most / _TICKS
    base = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1
    return max(1.0, next(base * times for times in (1, 2, 5, 10) if base * times >= rough))
