"""NTM's estimates: two measurements of each count into one, with an interval that allows for what the clip took."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np

from hushcount.accounting.normal import tail
from hushcount.mechanisms.counts.ntm_course import Measured
from hushcount.mechanisms.counts.ntm_shape import Floats
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s, Items

Numbers = TypeVar("Numbers", Floats, Int64s)

_MISSED = 0.05
_ONE_SIDED = 1.645
# The table of `deviations`: from nothing lost to so much that only one end can be missed.
_STEP, _LAST = 0.01, 4.0
# So many deviations above the bar a count was not helped over it by its noise. Between this and the next an interval
# reaches as far as either of two: further than noise moves a count from one border to the other.
_FAR, _FARTHER = 5.0, 11.0


@frozen
class Estimates:
    """Counts of items, largest first, equal ones by item: whole numbers, the deviation of their noise, their ends.

    `lost` is the most that an upper end allows for what a clip took, in people; zero if nothing could be taken.
    """

    items: Items
    counts: Int64s
    stddevs: Floats
    low: Int64s
    high: Int64s
    lost: int


def estimate(
    final: Measured, rough: Measured | None = None, *, most_noise: float, asked: float | None = None
) -> Estimates:
    """Each count with its interval; left out where the noise of what is shown would be above a share of it.

    Args:
        final: the final counts.
        rough: the rough ones, if there are any.
        most_noise: the noise of a count that is shown is at most this share of it.
        asked: half of an interval is to be at most this share of the count. A row that is foreseen to be wider is left
            out. Foreseen means from its predicted count and from widths that are known before the final noise is drawn,
            so that leaving it out tells nothing of that noise, and the others hold what they held.

    The noise of final counts is fresh: which items have one, and how good it is, was decided before it was drawn. So
    an interval and a test by them alone hold given all of that. A rough count does not always belong into them: an item
    has a final count because its rough one was high, to which its noise has helped some. But far above the last item
    that has one, nothing was decided by its noise, and there both counts weighed by their precision have the least
    noise: of the largest counts by far, since rough noise is about the same for all. So the interval goes by the final
    count near the bar and by both far above it, and between reaches as far as either of the two: whichever way noise
    moves a row over a border, it is held at least as often as it would be on the side where that is 95 %.

    A count is low by at most what its clip took away, and the mean of two by at most the same mean of both. The noise
    of released losses is independent of the counts': the upper end takes all noises together.
    """
    # Rounding to a whole number adds 1/12.
    alone = replace(final, counts=np.rint(final.counts), stddevs=np.sqrt(final.stddevs**2 + 1 / 12))
    both = alone if rough is None else _weighed(final, rough)
    bar = both.stddevs / most_noise
    ahead = np.inf if asked is None else _ahead(alone, asked)
    shown = np.flatnonzero((alone.counts >= bar) & (ahead >= 0))
    low, high = _ends(alone, bar)
    lost = _allowance(alone)
    if rough is not None:
        margins = np.minimum(_margins(alone, rough, bar), ahead / rough.stddevs[_rows(final, rough)])
        sharper = _ends(both, bar - math.inf)
        low = _by_margin(margins, low, sharper[0], np.minimum)
        high = _by_margin(margins, high, sharper[1], np.maximum)
        lost = _by_margin(margins, lost, _allowance(both), np.maximum)
    best: Int64s = np.clip(both.counts.astype(np.int64), low, high)[shown]
    by_item = np.argsort(final.items[shown], kind="stable")
    order = by_item[np.argsort(-best[by_item], kind="stable")]
    return Estimates(
        items=final.items[shown][order],
        counts=best[order],
        stddevs=both.stddevs[shown][order],
        low=low[shown][order],
        high=high[shown][order],
        lost=math.ceil(lost[shown].max(initial=0)),
    )


def _allowance(measured: Measured) -> Floats:
    """How many people each count may lack for its clip: what was released of it, and its noise; missed once in 20."""
    return np.broadcast_to(measured.lost + _ONE_SIDED * measured.lost_stddev, measured.counts.shape)


def _ends(measured: Measured, bar: Floats) -> tuple[Int64s, Int64s]:
    """The ends of all intervals, as they are for counts that are shown because they are at or above a bar."""
    reach = deviations(np.broadcast_to(measured.lost, measured.counts.shape), measured.stddevs)
    spread = np.hypot(measured.stddevs, measured.lost_stddev)
    high = np.ceil(measured.counts + measured.lost + reach * spread).astype(np.int64)
    # As `lower_end` has it far above the bar, where most rows are; it is asked about the others.
    low = np.maximum(np.floor(measured.counts - reach * measured.stddevs), 0)
    for row in np.flatnonzero(~((measured.counts - bar) / measured.stddevs >= _FAR)).tolist():
        count, above = float(measured.counts[row]), float(bar[row])
        shown = count >= above
        low[row] = lower_end(count, above, float(measured.stddevs[row]), reach=float(reach[row])) if shown else 0
    return low.astype(np.int64), high


def _ahead(final: Measured, asked: float) -> Floats:
    """By how much each predicted count is above the one of which half of its interval would be the share asked for.

    A prediction moves with its rough count, and by no more than that: so this is no more than how far the rough count
    is from where it decided.
    """
    if final.predicted is None:  # pragma: no cover (a course has them)
        raise LookupError("predictions")
    reach = deviations(np.broadcast_to(final.lost, final.counts.shape), final.stddevs)
    width = reach * final.stddevs + final.lost + reach * np.hypot(final.stddevs, final.lost_stddev)
    return final.predicted - width / 2 / asked


def _by_margin(
    margins: Floats, alone: Numbers, both: Numbers, either: Callable[[Numbers, Numbers], Numbers]
) -> Numbers:
    """By the final count where margins are small, by both counts where they are large, by either between."""
    found: Numbers = np.where(margins < _FAR, alone, np.where(margins >= _FARTHER, both, either(alone, both)))
    return found


def _margins(final: Measured, rough: Measured, bar: Floats) -> Floats:
    """How many deviations of its own noise each count is away from what decided about it.

    That is, for the rough count, the last item with a final one, and for the final count the bar.
    """
    rows = _rows(final, rough)
    last = max(final.smallest, float(rough.counts[rows].min(initial=math.inf)))
    return np.minimum((rough.counts[rows] - last) / rough.stddevs[rows], (final.counts - bar) / final.stddevs)


def _weighed(final: Measured, rough: Measured) -> Measured:
    """Both counts of each item that has a final one, weighed by their precision, rounded."""
    rows = _rows(final, rough)
    first, second = 1 / rough.stddevs[rows] ** 2, 1 / final.stddevs**2
    part = first / (first + second)
    return Measured(
        items=final.items,
        counts=np.rint(part * rough.counts[rows] + (1 - part) * final.counts),
        stddevs=np.sqrt(1 / (first + second) + 1 / 12),
        smallest=final.smallest,
        lost=part * rough.lost + (1 - part) * final.lost,
        lost_stddev=np.hypot(part * rough.lost_stddev, (1 - part) * final.lost_stddev),
    )


def _rows(final: Measured, rough: Measured) -> Int64s:
    """Where the rough counts of the items with final ones are."""
    place = {item: row for row, item in enumerate(rough.items.tolist())}
    return np.array([place[item] for item in final.items.tolist()], dtype=np.int64)


def deviations(lost: Floats, stddevs: Floats) -> Floats:
    """How many standard deviations an interval goes to each side of [count, count + lost].

    The true count is `count + b + noise` with an unknown b from 0 to `lost`. Both ends together are missed most often
    where b is at an end of its range, with probability tail(z) + tail(z + lost/stddev): z is such that this is 5 %. It
    is 1.96 where nothing is lost and 1.64 where much is, since then only one end can be missed (Imbens and Manski
    2004). Rounded up, in steps of the ratio.
    """
    steps, rows = np.unique(np.floor(np.minimum(lost / stddevs, _LAST) / _STEP), return_inverse=True)
    return np.array([_reach(step) for step in steps.tolist()])[rows]


@cache
def _reach(step: float) -> float:
    ratio, low, high = step * _STEP, 1.6, 2.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) + tail(middle + ratio) > _MISSED else (low, middle)
    return high


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
    shallow = reach
    for _ in range(24):
        middle = (shallow + deepest) / 2
        if tail(middle) > missed * tail(middle - above):
            shallow = middle
        else:
            deepest = middle
    return max(0, math.floor(count - deepest * stddev))
