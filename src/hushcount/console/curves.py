"""Curves: figure 5 of "LinkedIn's Audience Engagements API" as a picture of our own: who is over a limit, by days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from markupsafe import Markup

_WIDE, _HIGH = 400, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 40, 14, 44
_LOOKS = ("fainter", "main", "faint")
Lines: TypeAlias = Sequence[tuple[str, Sequence[float]]]
# How far up a scale may reach.
_TOPS = (0.2, 0.4, 1.0)
# Names that would stand closer than this are moved apart.
_APART = 15.0


def figure(name: str, words: str, lines: Lines, *, most: float) -> Markup:
    """One panel: for each limit that was tried, the share of analysts who were over it by the end of each day.

    Args:
        name: what makes the ids of the picture its own.
        words: what is shown, for those who do not see it.
        lines: of each limit, its name and the shares by day.
        most: the largest share in all panels that stand side by side, so that their scales are the same.
    """
    days = max((len(shares) for _, shares in lines), default=0)
    if not days:
        return Markup()
    wide, high = _WIDE - _LEFT - _RIGHT, _HIGH - _TOP - _BOTTOM
    top = next(one for one in _TOPS if one >= most)
    drawn = [
        (label, look, _steps([one / top for one in shares], wide, high))
        for (label, shares), look in zip(lines, _LOOKS, strict=False)
    ]
    ends = _ends([_TOP + high * (1 - shares[-1] / top) for _, shares in lines])
    return Markup().join(
        [
            Markup('<svg class="chart" viewBox="0 0 {0} {1}" role="img" aria-labelledby="{2}-title">').format(
                _WIDE, _HIGH, name
            ),
            Markup('<title id="{}-title">{}</title>').format(name, words),
            *_grid(days, wide, high, top=top),
            *(Markup('<path class="line {}" d="{}"/>').format(look, path) for _, look, path in drawn),
            *(
                Markup('<text class="{}" x="{}" y="{:.1f}">{}</text>').format(look, _WIDE - _RIGHT + 8, y + 4.5, label)
                for (label, look, _), y in zip(drawn, ends, strict=True)
            ),
            Markup("</svg>"),
        ]
    )


def _steps(shares: Sequence[float], wide: float, high: float) -> str:
    """A line that stays level for a day and then steps up: each day has one share."""
    each = wide / len(shares)
    path = f"M{_LEFT} {_TOP + high:.1f}"
    for day, share in enumerate(shares):
        path += f"V{_TOP + high * (1 - share):.1f}H{_LEFT + each * (day + 1):.1f}"
    return path


def _grid(days: int, wide: float, high: float, *, top: float) -> list[Markup]:
    line = Markup(
        '<path class="grid" d="M{} {:.1f}H{}"/><text class="soft" x="{}" y="{:.1f}" text-anchor="end">{}</text>'
    )
    level = [
        line.format(
            _LEFT,
            _TOP + high * (1 - part / 4),
            _WIDE - _RIGHT,
            _LEFT - 8,
            _TOP + high * (1 - part / 4) + 4,
            f"{25 * part * top:g} %",
        )
        for part in range(5)
    ]
    step = 5 if days > 7 else 1
    mark = Markup('<text class="soft" x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
    marks = [
        mark.format(_LEFT + wide / days * (day - 0.5), _HIGH - _BOTTOM + 18, day)
        for day in range(1, days + 1)
        if day == 1 or day % step == 0
    ]
    middle = _LEFT + wide / 2
    return [*level, *marks, mark.format(middle, _HIGH - 5, "days since their budget was renewed")]


def _ends(heights: Sequence[float]) -> list[float]:
    """Where the names of lines stand: beside their ends, and never on one another; from the lowest line up."""
    placed: dict[int, float] = {}
    below = float(_HIGH)
    for place in sorted(range(len(heights)), key=lambda one: (-heights[one], -one)):
        below = placed[place] = min(heights[place], below - _APART)
    return [placed[place] for place in range(len(heights))]
