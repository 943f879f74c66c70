"""Compiled passes of the sequential weightings: one visit of each person's list, in order, on integer weights.

Only the modules beside this one import it, inside the functions that need it, because importing it imports numba. No
kernel is compiled with fast-math: the error bound in `hushcount.mechanisms.weighting.policy` counts on IEEE
arithmetic as written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Int64s = npt.NDArray[np.int64]
_Int32s = npt.NDArray[np.int32]

SOUND, REPEATED, UNHELD = 0, 1, 2


def _compiled(function: _Function) -> _Function:
    try:
        return cast("_Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # nowhere to keep machine code, as in a read-only container: compile in each process
        return cast("_Function", numba.njit(nogil=True)(function))


@_compiled
def inspect(offsets: _Int64s, ids: _Int32s, n_items: int) -> int:
    """SOUND, or REPEATED if a person holds an item twice, or UNHELD if an item is held by nobody."""
    last = np.full(n_items, -1, np.int32)
    for person in range(len(offsets) - 1):
        for place in range(offsets[person], offsets[person + 1]):
            if last[ids[place]] == person:
                return REPEATED
            last[ids[place]] = person
    for holder in last:
        if holder < 0:
            return UNHELD
    return SOUND


@_compiled
def fill_evenly(offsets: _Int64s, ids: _Int32s, n_items: int, cutoff: int, budget: int) -> _Int64s:
    """Each person raises their items together, step by step, until the budget is used or all are at the cutoff."""
    weights = np.zeros(n_items, np.int64)
    longest = np.max(np.diff(offsets)) if len(offsets) > 1 else 0
    open_ids = np.empty(longest, np.int32)
    open_gaps = np.empty(longest, np.int64)
    for person in range(len(offsets) - 1):
        n_open = 0
        for place in range(offsets[person], offsets[person + 1]):
            gap = cutoff - weights[ids[place]]
            if gap > 0:
                open_ids[n_open] = ids[place]
                open_gaps[n_open] = gap
                n_open += 1
        left = budget
        level = 0
        while n_open > 0:
            # The level can only rise when items below it are closed, so an item closed once stays closed.
            level = left // n_open
            still = 0
            for n in range(n_open):
                if open_gaps[n] <= level:
                    weights[open_ids[n]] = cutoff
                    left -= open_gaps[n]
                else:
                    open_ids[still] = open_ids[n]
                    open_gaps[still] = open_gaps[n]
                    still += 1
            if still == n_open:
                break
            n_open = still
        ones = left - level * n_open
        for n in range(n_open):
            weights[open_ids[n]] += level + 1 if n < ones else level
    return weights


@_compiled
def fill_in_turn(offsets: _Int64s, ids: _Int32s, n_items: int, cutoff: int, budget: int) -> _Int64s:
    """Each person fills their items to the cutoff one after another until the budget is used."""
    weights = np.zeros(n_items, np.int64)
    for person in range(len(offsets) - 1):
        left = budget
        for place in range(offsets[person], offsets[person + 1]):
            step = min(cutoff - weights[ids[place]], left)
            weights[ids[place]] += step
            left -= step
            if left == 0:
                break
    return weights


@_compiled
def step_straight(offsets: _Int64s, ids: _Int32s, n_items: int, cutoff: int, radius: int) -> _Int64s:
    """Each person moves their items' weights straight towards (cutoff, ..., cutoff) by `radius`, rounded down."""
    weights = np.zeros(n_items, np.int64)
    longest = np.max(np.diff(offsets)) if len(offsets) > 1 else 0
    gaps = np.empty(longest, np.float64)
    reach = np.float64(radius)
    for person in range(len(offsets) - 1):
        start, stop = offsets[person], offsets[person + 1]
        # Kahan's sum: its relative error is 2u whatever the length of the list.
        squares = 0.0
        lost = 0.0
        for place in range(start, stop):
            gap = np.float64(cutoff - weights[ids[place]])
            gaps[place - start] = gap
            term = gap * gap - lost
            total = squares + term
            lost = (total - squares) - term
            squares = total
        norm = np.sqrt(squares)
        if norm <= reach:
            for place in range(start, stop):
                weights[ids[place]] = cutoff
        else:
            ratio = reach / norm
            for place in range(start, stop):
                weights[ids[place]] += np.int64(gaps[place - start] * ratio)
    return weights
