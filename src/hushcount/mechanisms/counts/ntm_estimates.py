"""NTM's estimates: two measurements of each count into one, with an interval that allows for what the clips took."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushcount.accounting.normal import tail
from hushcount.mechanisms.counts.ntm_course import Measured
from hushcount.mechanisms.counts.ntm_shape import Floats
from hushcount.model.inputs import Int64s, Items

_MISSED = 0.05
# The table of `deviations`: from nothing lost to so much that only one end can be missed.
_STEP, _LAST = 0.01, 4.0
# So far above the bar a count was not helped over it by its noise.
_FAR = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """Counts of items, largest first, equal ones by item: whole numbers, the deviation of their noise, their ends."""

    items: Items
    counts: Int64s
    stddevs: Floats
    low: Int64s
    high: Int64s


def combine(rough: Measured, final: Measured, *, most_noise: float) -> Estimates:
    """Both counts of each item weighed by their precision; left out where the noise is above a share of the estimate.

    Each of the two is low by at most what its clip took away, so the estimate by at most the same mean of both losses.
    The noise of the released losses is independent of the counts': the upper end takes all noises together.
    """
    place = {item: row for row, item in enumerate(final.items.tolist())}
    rows = np.array([place.get(item, -1) for item in rough.items.tolist()])
    first, second = 1 / rough.stddevs**2, np.where(rows >= 0, 1 / final.stddevs[rows] ** 2, 0)
    part = second / (first + second)
    counts = np.rint((1 - part) * rough.counts + part * final.counts[rows]).astype(np.int64)
    # Rounding to a whole number adds 1/12.
    stddevs = np.sqrt(1 / (first + second) + 1 / 12)
    lost = (1 - part) * rough.lost + part * final.lost
    wide = np.sqrt(stddevs**2 + ((1 - part) * rough.lost_stddev) ** 2 + (part * final.lost_stddev) ** 2)
    reach = deviations(lost, stddevs)
    high = np.ceil(counts + lost + reach * wide).astype(np.int64)
    bar = stddevs / most_noise
    shown = np.flatnonzero(counts >= bar)
    by_item = shown[np.argsort(rough.items[shown], kind="stable")]
    order = by_item[np.argsort(-counts[by_item], kind="stable")]
    low = [
        lower_end(count, above, stddev, reach=z)
        for count, above, stddev, z in zip(counts[order], bar[order], stddevs[order], reach[order], strict=True)
    ]
    return Estimates(
        items=rough.items[order],
        counts=counts[order],
        stddevs=stddevs[order],
        low=np.array(low, dtype=np.int64),
        high=high[order],
    )


def deviations(lost: Floats, stddevs: Floats) -> Floats:
    """How many standard deviations an interval goes to each side of [count, count + lost].

    The true count is `count + b + noise` with an unknown b from 0 to `lost`. Both ends together are missed most often
    where b is at an end of its range, with probability tail(z) + tail(z + lost/stddev): z is such that this is 5 %. It
    is 1.96 where nothing is lost and 1.64 where much is, since then only one end can be missed (Imbens and Manski
    2004). Rounded up, by a table.
    """
    ratios = np.minimum(lost / stddevs, _LAST)
    return np.array(_table())[np.floor(ratios / _STEP).astype(np.int64)]


@lru_cache(maxsize=1)
def _table() -> tuple[float, ...]:
    return tuple(_reach(step * _STEP) for step in range(round(_LAST / _STEP) + 1))


def _reach(ratio: float) -> float:
    return _solved(lambda z: tail(z) + tail(z + ratio) - _MISSED, 1.6, 2.0, steps=40)


def lower_end(count: float, bar: float, stddev: float, *, reach: float) -> int:
    """The lower end of a count that is shown because it is at or above a bar.

    Far above, `reach` deviations below it. Near the bar, the true count at which a count so large, *given that it is
    above the bar*, would have the same small probability: counts that were helped over the bar by their noise reach
    further down.
    """
    above = (count - bar) / stddev
    if above >= _FAR:
        return max(0, math.floor(count - reach * stddev))
    missed, deepest = tail(reach), count / stddev
    if above <= 0 or tail(deepest) > missed * tail(deepest - above):
        return 0
    # A millionth of a deviation is enough for a whole number of people, and thousands of rows may be near the bar.
    down = _solved(lambda x: tail(x) - missed * tail(x - above), reach, deepest, steps=24)
    return max(0, math.floor(count - down * stddev))


def _solved(falling: Callable[[float], float], low: float, high: float, *, steps: int) -> float:
    """Where a falling function is zero between two places, rounded up; each step halves what is left between them."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high
