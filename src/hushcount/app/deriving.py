"""Arithmetic on released rows: sums, differences, shares and ratios, each with a 95 % interval. Free: nothing is read.

The noise of each row is known by its law and its half width, and rows have noise of their own. So the law of a sum is
the convolution of their laws, computed exactly on whole numbers; a share or ratio is bounded by intervals of its two
parts at 97.5 % each (Bonferroni).

A row that had to pass a threshold has more noise upwards than its law says, given that it passed. Where it stands far
above the threshold nobody can see that; nearer, its own reach downwards, at its share of what may be missed, is added
to that of the rest. Upwards nothing changes: given that it passed, noise is only larger, and the true count smaller.

A row that was clipped (`ntm`) may lack up to what was lost, and all rows of its release share the noise with which that
is known. So such rows are not independent upwards: their reaches upwards are added up one by one. What was lost is
bounded for each row, and not for all of them together: a person who counts as 0.9 lacks a tenth in every row that they
are in, so k rows together may lack k times the loss of one.

Two releases have noise of their own if they are not the same one: noise is drawn for each question on each version of
the data, or for each reservation (`answer._noise`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.app.release import Release
from hushcount.errors import InvalidParameter
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.model.outcomes import Law
from hushcount.noise.widths import ShownCounts, half_width

Deed: TypeAlias = Literal["sum", "difference", "share", "ratio"]
DEEDS: tuple[Deed, ...] = ("sum", "difference", "share", "ratio")
LEVEL = 0.95
# A tail beyond this has less mass than anybody can see.
_NEGLIGIBLE = 1e-13
_MOST_ROWS = 1000
# So far from zero a sum of noise is followed value by value; further out several values are taken together, or a tiny
# budget, whose noise is wide, would take all memory.
_FARTHEST = 2**19


@frozen
class Derived:
    """A number made of released rows, with the ends of its 95 % interval; None where there is no end."""

    value: float | None
    low: float | None
    high: float | None


@frozen
class Side:
    """Some rows of a release, by their places."""

    release: Release
    rows: Int64s


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


def side(release: Release, items: Sequence[str], name: str = "items") -> Side:
    """The rows of some items; one that was not released cannot be reckoned with."""
    places = _rows(release, name, items)
    return Side(release=release, rows=np.array(sorted(places.values()), dtype=np.int64))


def added(sides: Sequence[Side]) -> Derived:
    """What the rows of several releases add up to; no row may be among them twice."""
    value, down, up = _sum(sides, (), level=LEVEL)
    return Derived(value=value, low=max(min(0, value), value - down), high=value + up)


def subtracted(plus: Sequence[Side], minus: Sequence[Side]) -> Derived:
    """How much more some rows are than others; no row may be on both sides."""
    value, down, up = _sum(plus, minus, level=LEVEL)
    return Derived(value=value, low=value - down, high=value + up)


def _rows(release: Release, name: str, items: Sequence[str]) -> dict[str, int]:
    """The places of the items' rows."""
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
    more, less = set(plus) - set(minus), set(minus) - set(plus)
    sides = [[_placed(release, {**plus, **minus}, one)] if one else [] for one in (more, less)]
    return subtracted(*sides) if minus else added(sides[0])


def _placed(release: Release, places: dict[str, int], items: set[str]) -> Side:
    return Side(release=release, rows=np.array(sorted(places[item] for item in items), dtype=np.int64))


def _quotient(release: Release, part: dict[str, int], whole: dict[str, int]) -> Derived:
    """Ends from the extremes of both parts. If the whole is in doubt of being nobody, there is no upper end."""
    level = 1 - (1 - LEVEL) / 2
    top, top_down, top_up = _sum([_placed(release, part, set(part))], (), level=level)
    bottom, bottom_down, bottom_up = _sum([_placed(release, whole, set(whole))], (), level=level)
    inside = set(part) <= set(whole)
    low = max(0, top - top_down) / (bottom + bottom_up) if bottom + bottom_up > 0 else 0.0
    high = (top + top_up) / (bottom - bottom_down) if bottom - bottom_down > 0 else None
    if inside:
        high = 1.0 if high is None else min(1.0, high)
    value = top / bottom if bottom > 0 else None
    return Derived(value=value, low=low, high=high)


def _sum(plus: Sequence[Side], minus: Sequence[Side], *, level: float) -> tuple[int, int, int]:
    """The value of a signed sum, and how far below and above it the true one may be at a level."""
    for one in (*plus, *minus):
        _law(one.release.receipt.noise)
    value = sum(int(_counts(one).sum()) for one in plus) - sum(int(_counts(one).sum()) for one in minus)
    if not minus and level == LEVEL and sum(len(one.rows) for one in plus) == 1:
        (alone,) = [one for one in plus if len(one.rows)]
        low, high = alone.release.low, alone.release.high
        if low is None or high is None:  # pragma: no cover (looked at before)
            raise LookupError("ends")
        # As it was released.
        return value, value - int(low[alone.rows[0]]), int(high[alone.rows[0]]) - value
    # What lifted a row over its threshold makes the truth smaller where it is added, and larger where it is taken off.
    return value, _reach_of(plus, minus, level=level), _reach_of(minus, plus, level=level)


def _reach_of(lifted: Sequence[Side], others: Sequence[Side], *, level: float) -> int:
    """How far the noise of some rows, less that of others, and what these lost, may reach; missed half as often.

    What may be missed is shared evenly by its parts: rows near a threshold, rows that lost something, and for each law
    the noise of all others, whose sum is convolved.
    """
    near = [(one.release, _near(one.release, one.rows)) for one in lifted]
    clipped = [one for one in others if _loses(one.release)]
    free = [(one.release, np.setdiff1d(one.rows, rows)) for one, (_, rows) in zip(lifted, near, strict=True)]
    free += [(one.release, one.rows) for one in others if not _loses(one.release)]
    widths: dict[Law, list[int]] = {}
    for release, rows in free:
        widths.setdefault(_law(release.receipt.noise), []).extend(_widths(release, rows).tolist())
    laws = [(law, tuple(sorted(found))) for law, found in widths.items() if found]
    crowd = sum(len(rows) for _, rows in near)
    miss = (1 - level) / 2 / max(1, bool(crowd) + bool(clipped) + len(laws))
    reach = sum(int(_lifted(release, rows, miss=miss / crowd).sum()) for release, rows in near if len(rows))
    reach += sum(width_of_sum(law, found, 1 - 2 * miss) for law, found in laws)
    return reach + _lost(clipped, miss=miss)


def _loses(release: Release) -> bool:
    """Whether rows may lack what a clip took: then the receipt has a remark, and intervals reach further up than down.

    An end that was cut at nobody does not tell, so that a release of such rows alone is taken for one.
    """
    receipt, counts, low, high = release.receipt, release.counts, release.low, release.high
    if receipt.noise != "discrete-gaussian":
        # A remark may also say which rows are as sharp as was asked.
        return False
    if receipt.remark is None or receipt.shown_above is not None or counts is None or low is None or high is None:
        return False
    whole = low > 0
    return not whole.any() or bool((high - counts > counts - low)[whole].any())


def _lost(clipped: Sequence[Side], *, miss: float) -> int:
    """How far above their sum the true one of clipped rows may be.

    Of each row the upper end is `lost + z * wide` above the count, with a z of 1.645 and more and a `wide` that holds
    its own noise and the shared noise of `lost`. The standard deviation of a sum is at most the sum of these `wide`,
    however they hang together, so that scaling z up to what may be missed is enough.
    """
    if not clipped:
        return 0
    normal = NormalDist()
    scale = normal.inv_cdf(1 - miss) / normal.inv_cdf(0.95)
    above = sum(
        int((one.release.high[one.rows] - _counts(one)).sum()) for one in clipped if one.release.high is not None
    )
    return math.ceil(scale * above)


def _counts(one: Side) -> Int64s:
    if one.release.counts is None:  # pragma: no cover (looked at before)
        raise LookupError("counts")
    return one.release.counts[one.rows]


def _near(release: Release, rows: Int64s) -> Int64s:
    """Which of the rows are so near to the threshold that it must be reckoned with."""
    shown = _shown(release, rows)
    return rows[:0] if shown is None else rows[~shown.far()]


def _lifted(release: Release, rows: Int64s, *, miss: float) -> Int64s:
    """How far each row may have been lifted."""
    shown = _shown(release, rows)
    if shown is None or release.counts is None:  # pragma: no cover (there is a threshold)
        raise LookupError("threshold")
    return shown.down(release.counts[rows], miss=miss)


def _shown(release: Release, rows: Int64s) -> ShownCounts | None:
    """The rows as counts that passed a threshold; None if there is none."""
    receipt, counts = release.receipt, release.counts
    if receipt.shown_above is None or receipt.noise_scale is None or counts is None:
        return None
    # A row that is not above the threshold is one of a public list, which are shown above zero.
    gaps = np.where(counts[rows] > receipt.shown_above, counts[rows] - receipt.shown_above, counts[rows])
    return ShownCounts(law=_law(receipt.noise), scale=receipt.noise_scale, gaps=gaps, bound=receipt.noise_bound)


def _widths(release: Release, rows: Int64s) -> Int64s:
    """The half widths of the rows' noise: of a threshold from its scale, since its intervals are not even."""
    if release.counts is None or release.high is None:  # pragma: no cover (looked at before)
        raise LookupError("counts")
    receipt = release.receipt
    if receipt.shown_above is None or receipt.noise_scale is None:
        return release.high[rows] - release.counts[rows]
    return np.full(len(rows), half_width(_law(receipt.noise), receipt.noise_scale), dtype=np.int64)


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
