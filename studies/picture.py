"""Charts as plain SVG: the same bytes for the same numbers, readable in light and dark, no script and no font."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from studies.findings import Chart, Series

# Okabe and Ito's colours, which people tell apart who see few.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6bb1", "#7f7f7f")
_WIDE, _HIGH = 470, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 22, 34, 48
_LINE = 15


def draw(charts: Sequence[Chart], title: str) -> str:
    """All charts of a page in one picture, two in a row, each with its names below it."""
    across = min(2, len(charts))
    rows = [charts[n : n + across] for n in range(0, len(charts), across)]
    heights = [_HIGH + _LINE * max(_names_rows(chart) for chart in row) for row in rows]
    parts = []
    for number, row in enumerate(rows):
        for place, chart in enumerate(row):
            body = "\n".join(_chart(chart))
            parts.append(f'<g transform="translate({place * _WIDE},{sum(heights[:number])})">\n{body}\n</g>')
    wide, high = across * _WIDE, sum(heights)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'font-family="sans-serif" font-size="11" role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, f'<rect width="{wide}" height="{high}" fill="#ffffff"/>', *parts, "</svg>", ""])


@dataclass(frozen=True)
class _Axis:
    """From values to places on paper, and where its marks stand."""

    low: float
    high: float
    log: bool
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value stands."""
        low, high, here = (self._bent(number) for number in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / (high - low or 1.0)

    def _bent(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def marks(self) -> list[float]:
        """Round values along the axis."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            every = max(1, (len(powers) + 5) // 6)
            parts = (1,) if len(powers) > 3 else (1, 2, 5)
            marks = [part * 10.0**power for power in list(powers)[::every] for part in parts]
            return [mark for mark in marks if self.low * 0.999 <= mark <= self.high * 1.001]
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _round_step(wanted: float) -> float:
    power = 10.0 ** math.floor(math.log10(wanted)) if wanted > 0 else 1.0
    return next(power * part for part in (1, 2, 2.5, 5, 10) if power * part >= wanted * 0.999)


def _axis(values: Sequence[float], *, log: bool, start: float, end: float, from_zero: bool) -> _Axis:
    kept = [value for value in values if math.isfinite(value) and (value > 0 or not log)] or [0.0, 1.0]
    low, high = min(kept), max(kept)
    if log:
        wide = (high / low) ** 0.04
        return _Axis(low / wide, high * wide if high > low else low * 10, log, start, end)
    if from_zero and low > 0 and low < 0.6 * high:
        low = 0.0
    spare = 0.04 * (high - low or abs(high) or 1.0)
    return _Axis(low if low == 0 else low - spare, high + spare, log, start, end)


def _chart(chart: Chart) -> list[str]:
    xs = [x for series in chart.series for x, _ in series.points]
    ys = [y for series in chart.series for pair in (*series.band, *((y, y) for _, y in series.points)) for y in pair]
    across = _axis(xs, log=chart.log_x, start=_LEFT, end=_WIDE - _RIGHT, from_zero=False)
    if chart.places:
        across = _Axis(-0.5, len(chart.places) - 0.5, False, _LEFT, _WIDE - _RIGHT)  # noqa: FBT003  no logarithm
    up = _axis(ys, log=chart.log_y, start=_HIGH - _BOTTOM, end=_TOP, from_zero=True)
    parts = [_text(_WIDE / 2, 18, chart.title, anchor="middle", bold=True)]
    parts += _frame(chart, across, up)
    for number, series in enumerate(chart.series):
        parts += _series(series, _COLOURS[number % len(_COLOURS)], across.at, up.at)
    return parts + _names(chart)


def _frame(chart: Chart, across: _Axis, up: _Axis) -> list[str]:
    bottom = _HIGH - _BOTTOM
    parts = []
    for mark in up.marks():
        y = up.at(mark)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDE - _RIGHT}" stroke="#dddddd"/>')
        parts.append(_text(_LEFT - 6, y + 4, _label(mark), anchor="end"))
    if chart.places:
        for n, name in enumerate(chart.places):
            first = 14 + 12 * (n % 2) if _long(chart) else 16
            parts.append(_text(across.at(n), bottom + first, name, anchor="middle"))
    else:
        for mark in across.marks():
            parts.append(f'<path d="M{across.at(mark):.1f} {bottom}v4" stroke="#333333"/>')
            parts.append(_text(across.at(mark), bottom + 16, _label(mark), anchor="middle"))
    parts.append(f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDE - _RIGHT}" fill="none" stroke="#333333"/>')
    parts.append(_text((_LEFT + _WIDE - _RIGHT) / 2, bottom + (38 if _long(chart) else 34), chart.x, anchor="middle"))
    middle = (_TOP + bottom) / 2
    parts.append(
        f'<text x="14" y="{middle:.1f}" text-anchor="middle" fill="#222222" '
        f'transform="rotate(-90 14 {middle:.1f})">{escape(chart.y)}</text>'
    )
    return parts


def _long(chart: Chart) -> bool:
    """Whether names of places are so long that they stand in two lines, in turn."""
    return max(map(len, chart.places), default=0) > 4


def _series(series: Series, colour: str, across: Callable[[float], float], up: Callable[[float], float]) -> list[str]:
    parts = []
    shown = [(across(x), up(y)) for x, y in series.points if math.isfinite(y)]
    if series.band and series.dots:
        for (x, _), (low, high) in zip(series.points, series.band, strict=True):
            parts.append(f'<path d="M{across(x):.1f} {up(low):.1f}V{up(high):.1f}" stroke="{colour}"/>')
    elif series.band:
        ends = list(zip(series.points, series.band, strict=True))
        there = " ".join(f"{across(x):.1f},{up(high):.1f}" for (x, _), (_, high) in ends)
        back = " ".join(f"{across(x):.1f},{up(low):.1f}" for (x, _), (low, _) in reversed(ends))
        parts.append(f'<polygon points="{there} {back}" fill="{colour}" fill-opacity="0.18"/>')
    if not series.dots:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)
        dash = ' stroke-dasharray="5 4"' if series.dashed else ""
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
    if series.dots or len(shown) <= 24:
        fill = "#ffffff" if series.dashed else colour
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8" fill="{fill}" stroke="{colour}"/>' for x, y in shown]
    return parts


def _names(chart: Chart) -> list[str]:
    parts, across = [], _names_across(chart)
    for number, series in enumerate(chart.series):
        x, y = 24 + (number % across) * (_WIDE - 24) / 2, _HIGH + 4 + _LINE * (number // across)
        colour = _COLOURS[number % len(_COLOURS)]
        dash = ' stroke-dasharray="5 4"' if series.dashed else ""
        if series.dots:
            parts.append(f'<circle cx="{x + 9:.0f}" cy="{y - 4}" r="3" fill="{colour}"/>')
        else:
            parts.append(f'<path d="M{x:.0f} {y - 4}h18" stroke="{colour}" stroke-width="2.5"{dash}/>')
        parts.append(_text(x + 23, y, series.name))
    return parts


def _names_across(chart: Chart) -> int:
    """How many names stand in a line: two, or one if a name would run into the next."""
    return 2 if max(len(series.name) for series in chart.series) <= 30 else 1


def _names_rows(chart: Chart) -> int:
    return math.ceil(len(chart.series) / _names_across(chart)) + 1


def _text(x: float, y: float, words: str, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222222"{weight}>{escape(words)}</text>'


def _label(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
