"""NTM's estimates: two measurements of each count into one, with an interval that allows for what the clip took."""

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


def estimate(final: Measured, rough: Measured | None = None, *, most_noise: float) -> Estimates:
    """Each final count with its interval; left out where the noise of what is shown would be above a share of it.

    The noise of final counts is fresh: which items have one, and how good it is, was decided before it was drawn. So
    the interval and the test go by it alone, and hold given all of that. A rough count does not belong into them: an
    item has a final count because its rough one was high, to which its noise has helped some. In the count that is
    shown, the best guess, both are weighed by their precision, within the interval.

    A count is low by at most what the clip took away. The noise of the released loss is independent of the counts': the
    upper end takes both noises together.
    """
    counts = np.rint(final.counts).astype(np.int64)
    # Rounding to a whole number adds 1/12.
    stddevs = np.sqrt(final.stddevs**2 + 1 / 12)
    guesses, noise = (final.counts, final.stddevs) if rough is None else _weighed(final, rough)
    noise = np.sqrt(noise**2 + 1 / 12)
    bar, reach = noise / most_noise, deviations(np.full(len(counts), final.lost), stddevs)
    high = np.ceil(counts + final.lost + reach * np.hypot(stddevs, final.lost_stddev)).astype(np.int64)
    shown = np.flatnonzero(counts >= bar)
    ends = zip(counts[shown], bar[shown], stddevs[shown], reach[shown], strict=True)
    low = np.array([lower_end(count, above, stddev, reach=z) for count, above, stddev, z in ends], dtype=np.int64)
    best: Int64s = np.clip(np.rint(guesses[shown]).astype(np.int64), low, high[shown])
    by_item = np.argsort(final.items[shown], kind="stable")
    order = by_item[np.argsort(-best[by_item], kind="stable")]
    return Estimates(
        items=final.items[shown][order],
        counts=best[order],
        stddevs=noise[shown][order],
        low=low[order],
        high=high[shown][order],
    )


def _weighed(final: Measured, rough: Measured) -> tuple[Floats, Floats]:
    """Both counts of each item that has a final one, weighed by their precision, and the deviation of that."""
    place = {item: row for row, item in enumerate(rough.items.tolist())}
    rows = np.array([place[item] for item in final.items.tolist()])
    first, second = 1 / rough.stddevs[rows] ** 2, 1 / final.stddevs**2
    return (first * rough.counts[rows] + second * final.counts) / (first + second), 1 / np.sqrt(first + second)


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
