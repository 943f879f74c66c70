"""A small chart of one mechanism as SVG text: the claimed curve from epsilon to delta, and the measured points."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from hushcount.audit.finding import Finding, Point, Step
from hushcount.model.frozen import frozen

_WIDTH, _HEIGHT = 420, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 12, 12, 50
# Deltas below this are drawn at the bottom line, as are those of zero.
_LOWEST = 1e-6
# More marks of one step would hide the curve.
_MOST_MARKS = 14
_LINES: dict[Step, str] = {"exact": "", "replay": "2 4", "black box": "7 4", "system": ""}


@frozen
class _Frame:
    """Where epsilon and delta are on the paper: epsilon on a plain scale, delta on a logarithmic one."""

    first: float
    last: float
    floor: int

    def x(self, epsilon: float) -> float:
        share = (epsilon - self.first) / (self.last - self.first)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, delta: float) -> float:
        share = math.log10(min(1.0, max(delta, 10.0**self.floor))) / self.floor
        return round(_TOP + share * (_HEIGHT - _TOP - _BOTTOM), 1)


def draw_chart(name: str, findings: Sequence[Finding]) -> str:
    """The chart of the findings that have a curve or points, one of each step; empty if none has."""
    drawn = [finding for finding in findings if finding.claim or finding.points]
    points = [point for finding in drawn for point in (*finding.claim, *finding.points)]
    if not points:
        return ""
    frame = _frame(points)
    curves: dict[tuple[Point, ...], str] = {}
    for finding in drawn:
        if finding.claim:
            curves.setdefault(finding.claim, _curve(frame, finding))
    marks = "".join(_mark(frame, finding, point) for finding in drawn for point in _shown(finding))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" class="chart">'
        f"<title>{html.escape(name)}: claimed curve and measured points</title>"
        f"<desc>{html.escape(_describe(drawn))}</desc>"
        f"{_axes(frame)}{''.join(curves.values())}{marks}</svg>"
    )


def draw_key(step: Step) -> str:
    """The mark of a step, as it stands in the legend."""
    return f'<svg viewBox="-8 -8 16 16" class="key" aria-hidden="true">{_shape(step, 0, 0)}</svg>'


def _shown(finding: Finding) -> list[Point]:
    """The points above zero, thinned out, with the one nearest to the claim; if there are none, the first."""
    above = [point for point in finding.points if point.delta > 0] or list(finding.points[:1])
    claimed = {point.epsilon: point.delta for point in finding.claim}
    nearest = max(above, key=lambda point: point.delta / (claimed.get(point.epsilon) or 1.0), default=None)
    stride = -(-len(above) // _MOST_MARKS)
    return [point for place, point in enumerate(above) if place % max(1, stride) == 0 or point == nearest]


def _frame(points: Sequence[Point]) -> _Frame:
    epsilons = [point.epsilon for point in points if math.isfinite(point.epsilon)] or [0.0]
    deltas = [point.delta for point in points if point.delta >= _LOWEST]
    floor = min(-1, math.floor(math.log10(min(deltas)))) if deltas else -1
    first, last = min(epsilons), max(epsilons)
    return _Frame(first=first, last=last if last > first else first + 1, floor=floor)


def _axes(frame: _Frame) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>']
    for power in range(frame.floor, 1):
        level = frame.y(10.0**power)
        parts.append(f'<path class="grid" d="M{_LEFT} {level}H{right}"/>')
        label = f"{10.0**power:g}" if power > frame.floor else f"≤ {10.0**power:g}"
        parts.append(f'<text x="{_LEFT - 6}" y="{level + 5}" text-anchor="end">{label}</text>')
    parts += [
        f'<text x="{frame.x(tick)}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>'
        for tick in _ticks(frame.first, frame.last)
    ]
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">epsilon</text>')
    middle = (_TOP + bottom) / 2
    parts.append(f'<text x="13" y="{middle}" text-anchor="middle" transform="rotate(-90 13 {middle})">delta</text>')
    return "".join(parts)


def _ticks(first: float, last: float) -> list[float]:
    """Four to nine round numbers between two."""
    step = 10.0 ** math.floor(math.log10((last - first) / 2))
    step *= next((factor for factor in (1, 2, 5) if (last - first) / (step * factor) <= 6), 10)
    begin = math.ceil(first / step - 1e-9)
    return [round(number * step, 10) for number in range(begin, math.floor(last / step + 1e-9) + 1)]


def _curve(frame: _Frame, finding: Finding) -> str:
    spots = [(frame.x(point.epsilon), frame.y(point.delta)) for point in sorted(finding.claim, key=lambda p: p.epsilon)]
    path = "L".join(f"{x} {y}" for x, y in spots)
    dash = _LINES[finding.step]
    return f'<path class="claim" d="M{path}"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>"


def _mark(frame: _Frame, finding: Finding, point: Point) -> str:
    label = f"{finding.step}: delta {point.delta:.3g} at epsilon {point.epsilon:.3g}"
    x, y = frame.x(point.epsilon), frame.y(point.delta)
    ring = ""
    if not finding.holds and any(one.epsilon == point.epsilon and point.delta > one.delta for one in finding.claim):
        ring, label = f'<circle class="above" cx="{x}" cy="{y}" r="9"/>', f"{label}: ABOVE THE CLAIM"
    return f"<g>{ring}{_shape(finding.step, x, y)}<title>{label}</title></g>"


def _shape(step: Step, x: float, y: float) -> str:
    """A ring for exact, a filled square for black box, a cross for anything else: told apart without colour."""
    if step == "exact":
        return f'<circle class="exact" cx="{x}" cy="{y}" r="4"/>'
    if step == "black box":
        return f'<rect class="blackbox" x="{x - 3}" y="{y - 3}" width="6" height="6"/>'
    return f'<path class="other" d="M{x - 4} {y - 4}l8 8m0 -8l-8 8"/>'


def _describe(findings: Sequence[Finding]) -> str:
    """The chart for those who cannot see it."""
    return " ".join(
        f"Step {finding.step}: claimed {finding.claimed}; measured {finding.measured}; "
        f"{'every point is on or under the claim' if finding.holds else 'A POINT IS ABOVE THE CLAIM'}."
        for finding in findings
    )
