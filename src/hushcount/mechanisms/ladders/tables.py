"""Tables: for each profile, the keep probability of an item by the sum of what its people add, as steep as allowed.

    table[0] = 0;   table[j] = the least of step_d(table[j - W_d]) over d with W_d <= j;

and then the largest monotone table below that. So one person with d items lifts an item from q to at most step_d(q),
whatever the sum was before, which is all that privacy needs (`steps`). The table is built in doubles from proven lower
bounds of the steps and then checked as it is, entry by entry and length by length: each double is an exact number, and
it is the number that the coin is tossed with.
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache

import numpy as np

from hushcount.accounting.convert import split_delta
from hushcount.compiled import passes
from hushcount.errors import InvalidParameter
from hushcount.mechanisms.ladders import standard
from hushcount.mechanisms.ladders.certificate import OUTWARDS, Floats
from hushcount.mechanisms.ladders.profiles import Profile, profiles
from hushcount.mechanisms.ladders.steps import Allowance, grid, staircase
from hushcount.model.amounts import float_below, share
from hushcount.model.inputs import Int64s
from hushcount.noise.chances import Chances

# Longer tables are not made: where noise asks for so many people, they gain nothing over the KS curve.
_LONGEST = 1 << 17
# Longer lists have so many different weights that certifying all of their steps would take long.
_MOST_ITEMS = 1000
# A double just below one cannot tell probabilities apart that differ by much less.
_LEAST_DELTA = 1e-12


@lru_cache(maxsize=64)
def ladders(rho: Decimal, delta: Decimal, *, max_items: int, cap: float) -> tuple[tuple[Profile, Chances], ...]:
    """A certified table for each profile; none where they would be too long, or have too many steps to certify.

    Guarantee: an item's chance q without a person of d items and p with them have q <= p <= step_d(q) in each table,
    and so in the largest of them, since steps never fall with q. So with probability 1 - delta one round tells no more
    than D_a <= rho a for all orders 1 < a <= cap.
    """
    # Without a cap all profiles climb alike, and the first gives everybody most.
    shapes = profiles(min(max_items, _MOST_ITEMS))[: 1 if cap == math.inf else None]
    if kept := standard.tables(rho, delta, max_items=max_items, cap=cap):
        return tuple(zip(shapes, kept, strict=True))
    least = split_delta(delta, max_items)
    if max_items > _MOST_ITEMS or least < _LEAST_DELTA or _expected_length(rho, least, shapes) > _LONGEST:
        return ()
    lengths = sorted({length for shape in shapes for _, length in shape.rungs})
    allowances = [Allowance(rho=float_below(share(rho, d)), delta=split_delta(delta, d), cap=cap) for d in lengths]
    places = grid(least)
    rows = dict(zip(lengths, staircase(allowances, places), strict=True))
    made = []
    for shape in shapes:
        weights = np.array([weight for weight, _ in shape.rungs])
        bounds = np.array([rows[length] for _, length in shape.rungs])
        table = climbed(weights, bounds, places)
        if table[-1] < 1:
            return ()
        check(table, weights, bounds, places=places)
        made.append((shape, Chances(table.astype(np.float64).tobytes())))
    return tuple(made)


def check(table: Floats, weights: Int64s, bounds: Floats, *, places: Floats) -> None:
    """Refuse a table that climbs faster than proven steps allow; the last entry stands for all larger sums.

    Args:
        table: the keep probabilities, the first of them that of a sum of zero.
        weights: what people add.
        bounds: for each weight, lower bounds of its step at the places; lines between them are bounds too.
        places: probabilities from zero to one.

    Raises:
        InvalidParameter: it does. Nothing can be drawn from it.
    """
    sound = table[0] == 0 and bool(np.all(np.diff(table) >= 0)) and table[-1] <= 1
    sums = np.arange(len(table))
    for weight, bound in zip(weights.tolist(), bounds, strict=True):
        after = table[np.minimum(sums + weight, len(table) - 1)]
        allowed = np.interp(table, places, bound)
        # Lines are read off in doubles: a few roundings, unless nothing is certain any more.
        sound = sound and bool(np.all((after <= allowed * (1 - OUTWARDS / 4)) | (allowed >= 1)))
    if not sound:
        raise InvalidParameter("table", "a table that climbs too fast", "within its certificate")


def climbed(weights: Int64s, bounds: Floats, places: Floats) -> Floats:
    """The recursion, and then the largest monotone table below it; up to the first sum that is certain.

    Args:
        weights: what people add.
        bounds: for each weight, lower bounds of its step at the places.
        places: probabilities from zero to one.
    """
    least = int(weights.min())
    # Whole blocks of as many sums as the smallest weight allows to work out at once.
    sums = least * math.ceil(_LONGEST / least)
    table = passes.climbed(weights, bounds, places, shrink=1 - OUTWARDS, sums=sums)
    if table is None:
        table = _climbed_in_blocks(weights, bounds, places, sums=sums)
    steepest = np.minimum.accumulate(table[::-1])[::-1]
    return steepest[: int(np.searchsorted(steepest, 1.0)) + 1]


def _climbed_in_blocks(weights: Int64s, bounds: Floats, places: Floats, *, sums: int) -> Floats:
    """As many sums at once as the smallest weight allows: they depend on smaller ones only."""
    least, many = int(weights.min()), int(weights.max())
    # Sums below zero stand in front, and bind nobody.
    table, shape = np.full(sums + many, np.inf), np.arange(len(weights))[:, None] * bounds.shape[1]
    flat, back = bounds.ravel(), weights[:, None] - many
    table[many : many + least] = 0
    # For each sum so far: between which places its probability is, and how far between them.
    place, part = np.zeros(len(table), dtype=np.int64), np.zeros(len(table))
    part[:many] = np.inf
    certain = 0
    for start in range(least, sums, least):
        before = np.arange(start, start + least) - back
        below = shape + place[before]
        low = flat[below]
        found = (low + part[before] * (flat[below + 1] - low)).min(axis=0)
        found = np.where(found >= 1, 1.0, found * (1 - OUTWARDS))
        block = slice(start + many, start + many + least)
        table[block] = found
        place[block] = k = np.clip(np.searchsorted(places, found, side="right") - 1, 0, len(places) - 2)
        part[block] = (found - places[k]) / (places[k + 1] - places[k])
        certain = certain + least if found[0] >= 1 else 0
        if certain > many:
            break
    return table[many : start + many + least]


def _expected_length(rho: Decimal, delta: float, shapes: tuple[Profile, ...]) -> float:
    """About twice the sum at which an item is named with even chance, by the tail bound of Gaussian noise."""
    deviations = math.sqrt(-2 * math.log(delta))
    return 2 * shapes[0].weights[0] * (1 + deviations / math.sqrt(2 * float(rho)))
