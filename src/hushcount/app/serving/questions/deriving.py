"""Arithmetic on released rows: sums, differences, shares and ratios, each with a 95 % interval. Free: nothing is read.

The noise of each row is known by its law and its half width, and rows have noise of their own. So the law of a sum is
the convolution of their laws, computed exactly on whole numbers; a share or ratio is bounded by intervals of its two
parts at 97.5 % each (Bonferroni). As with single rows, those that the noise itself helped over a threshold hold a
little less often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.app.release import Release
from hushcount.errors import InvalidParameter
from hushcount.model.outcomes import Law
from hushcount.noise.widths import half_width

Deed: TypeAlias = Literal["sum", "difference", "share", "ratio"]
DEEDS: tuple[Deed, ...] = ("sum", "difference", "share", "ratio")
LEVEL = 0.95
# A tail beyond this has less mass than anybody can see.
_NEGLIGIBLE = 1e-13
_MOST_ROWS = 1000
# So far from zero a sum of noise is followed value by value; further out several values are taken together, or a tiny
# budget, whose noise is wide, would take all memory.
_FARTHEST = 2**19


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A number made of released rows, with the ends of its 95 % interval; None where there is no end."""

    value: float | None
    low: float | None
    high: float | None


def derive(release: Release, deed: Deed, items: Sequence[str], *, against: Sequence[str] = ()) -> Derived:
    """What the rows of some items add up to, alone or beside the rows of others.

    Args:
        release: the released rows.
        deed: "sum" of `items`; "difference" of the sums of `items` and `against`; "share" of `items` in all of
            `against`, which must hold them; "ratio" of the two sums.
        items: the items.
        against: the others.
    """
    if deed not in DEEDS:
        raise InvalidParameter("deed", deed, f"one of {', '.join(DEEDS)}")
    if (deed == "sum") == bool(against):
        want = "left out for a sum" if deed == "sum" else f"given for a {deed}"
        raise InvalidParameter("against", list(against)[:3], want)
    first = _rows(release, "items", items)
    if deed == "sum":
        return _signed(release, first, {})
    second = _rows(release, "against", against)
    if deed == "difference":
        return _signed(release, first, second)
    if deed == "share" and not set(first) <= set(second):
        raise InvalidParameter("against", list(against)[:3], "all items of the whole, those of the share among them")
    return _quotient(release, first, second)


def _rows(release: Release, name: str, items: Sequence[str]) -> dict[str, int]:
    """The places of the items' rows; one that was not released cannot be reckoned with."""
    if release.counts is None:
        raise InvalidParameter(name, "names only", "of a release with counts")
    if not items or len(items) > _MOST_ROWS:
        raise InvalidParameter(name, len(items), f"1 to {_MOST_ROWS:,} items")
    places = {item: place for place, item in enumerate(release.items.tolist())}
    for item in items:
        if item not in places:
            raise InvalidParameter(name, item, "an item of this release")
    return {item: places[item] for item in items}


def _signed(release: Release, plus: dict[str, int], minus: dict[str, int]) -> Derived:
    """A sum minus another; what is in both cancels, noise and all."""
    value, width = _sum(release, set(plus) - set(minus), set(minus) - set(plus), {**plus, **minus}, level=LEVEL)
    low = value - width
    return Derived(value=value, low=max(0, low) if not minus else low, high=value + width)


def _quotient(release: Release, part: dict[str, int], whole: dict[str, int]) -> Derived:
    """Ends from the extremes of both parts. If the whole is in doubt of being nobody, there is no upper end."""
    level = 1 - (1 - LEVEL) / 2
    top, over = _sum(release, set(part), set(), part, level=level)
    bottom, under = _sum(release, set(whole), set(), whole, level=level)
    inside = set(part) <= set(whole)
    low = max(0, top - over) / (bottom + under) if bottom + under > 0 else 0.0
    high = (top + over) / (bottom - under) if bottom - under > 0 else None
    if inside:
        high = 1.0 if high is None else min(1.0, high)
    value = top / bottom if bottom > 0 else None
    return Derived(value=value, low=low, high=high)


def _sum(release: Release, plus: set[str], minus: set[str], places: dict[str, int], *, level: float) -> tuple[int, int]:
    """The value of a signed sum, and the half width of its noise at a level."""
    if release.counts is None or release.high is None:  # pragma: no cover (looked at before)
        raise LookupError("counts")
    value = sum(int(release.counts[places[item]]) for item in plus)
    value -= sum(int(release.counts[places[item]]) for item in minus)
    widths = [int(release.high[places[item]] - release.counts[places[item]]) for item in sorted(plus | minus)]
    law: Law = _law(release.receipt.noise)
    return value, width_of_sum(law, tuple(sorted(widths)), level)


def _law(said: str) -> Law:
    for law in ("none", "discrete-gaussian", "discrete-laplace", "truncated-geometric"):
        if said == law:
            return law
    raise InvalidParameter("noise", said, "of a law that is known here")


@lru_cache(maxsize=256)
def width_of_sum(law: Law, widths: tuple[int, ...], level: float) -> int:
    """The least w with P[|sum of noise| <= w] >= level, where each row's noise has the law and its 95 % half width."""
    if law == "none" or not widths:
        return 0
    if len(widths) == 1 and level == LEVEL:
        # As it was released.
        return widths[0]
    scales = [largest_scale(law, width) for width in widths]
    step = max(1, math.ceil(sum(_reach(law, scale) for scale in scales) / _FARTHEST))
    # On fewer values a law is a little narrower: half a step makes up for that, and one at the end for the rounding.
    laws = [_masses(law, scale if step == 1 else math.hypot(scale / step, 0.5)) for scale in scales]
    reach = sum(len(mass) // 2 for mass in laws)
    size = 1 << (2 * reach + 1).bit_length()
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for mass, times in _grouped(laws):
        product *= np.fft.rfft(mass, size) ** times
    total = np.clip(np.fft.irfft(product, size)[: 2 * reach + 1], 0, None)
    outward = total[reach:] + np.where(np.arange(reach + 1) > 0, total[reach::-1], 0)
    width = int(np.argmax(np.cumsum(outward) >= level * total.sum()))
    return width if step == 1 else (width + 1) * step


def _grouped(laws: list[npt.NDArray[np.float64]]) -> list[tuple[npt.NDArray[np.float64], int]]:
    found: dict[bytes, tuple[npt.NDArray[np.float64], int]] = {}
    for mass in laws:
        key = mass.tobytes()
        found[key] = (mass, found.get(key, (mass, 0))[1] + 1)
    return list(found.values())


def _reach(law: Law, scale: float) -> int:
    """How far from zero there is mass that anybody can see."""
    if law == "discrete-gaussian":
        return math.ceil(scale * math.sqrt(-2 * math.log(_NEGLIGIBLE))) + 1
    # A truncated law is narrower than the one that it is cut from.
    return math.ceil(-scale * math.log(_NEGLIGIBLE)) + 1


def _masses(law: Law, scale: float) -> npt.NDArray[np.float64]:
    """The probabilities of -n to n, as far as anybody can see."""
    reach = _reach(law, scale)
    places = np.arange(-reach, reach + 1) / scale
    mass = np.exp(-0.5 * places**2) if law == "discrete-gaussian" else np.exp(-np.abs(places))
    scaled: npt.NDArray[np.float64] = mass / mass.sum()
    return scaled


@lru_cache(maxsize=1024)
def largest_scale(law: Law, width: int) -> float:
    """The largest scale whose 95 % half width is this one: no interval is too narrow for having been rounded."""
    low, high = 1e-3, 2.0 * width + 4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if half_width(law, middle) <= width else (low, middle)
    return low
