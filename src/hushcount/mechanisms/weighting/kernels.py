"""The passes of the sequential weightings: one visit of each person's list, in order, on integer weights.

Here in plain Python, on lists of ints, about 0.4 µs for each pair; in C (`compiled/passes.c`) where the package has it,
a hundredth of that. Both give the same integers: every one stays below 2^62, so 64 bits are never left, and floats are
IEEE doubles as written. The error bound in `hushcount.mechanisms.weighting.policy` counts on that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from hushcount.compiled import passes
from hushcount.model.inputs import Int64s, UserLists

_Ints: TypeAlias = list[int]
# Offsets and ids of people; weights by id, changed in place; the cutoff, and what one person may spend.
Kernel: TypeAlias = Callable[[tuple[_Ints, _Ints], _Ints, tuple[int, int]], None]

# So many pairs are Python's own ints at a time.
_PIECE = 1 << 16


def is_compiled() -> bool:
    """Whether they run as machine code. Says nothing of the data, so it may be told before anything is charged."""
    return passes.library() is not None


def weigh(kernel: Kernel, lists: UserLists, *, cutoff: int, budget: int) -> Int64s:
    """The weight of each item when all people have come, one after another, in the order of the lists."""
    found = passes.weigh(_NAMES[kernel], (lists.offsets, lists.ids), n_items=len(lists.items), limits=(cutoff, budget))
    return weigh_plainly(kernel, lists, (cutoff, budget)) if found is None else found


def weigh_plainly(kernel: Kernel, lists: UserLists, limits: tuple[int, int]) -> Int64s:
    """As `weigh`, in plain Python."""
    weights = [0] * len(lists.items)
    cuts = np.searchsorted(lists.offsets, np.arange(0, len(lists.ids), _PIECE))
    edges = np.unique(np.append(cuts, len(lists.offsets) - 1))
    for first, last in pairwise(edges.tolist()):
        offsets = lists.offsets[first : last + 1]
        kernel(((offsets - offsets[0]).tolist(), lists.ids[offsets[0] : offsets[-1]].tolist()), weights, limits)
    return np.array(weights, dtype=np.int64)


def fill_evenly(people: tuple[_Ints, _Ints], weights: _Ints, limits: tuple[int, int]) -> None:
    """Each person raises their items together, step by step, until the budget is used or all are at the cutoff."""
    offsets, ids = people
    cutoff, budget = limits
    for person in range(len(offsets) - 1):
        own = ids[offsets[person] : offsets[person + 1]]
        n_open = len(own)
        left = budget
        level = 0
        while n_open > 0:
            # The level can only rise when items below it are closed, so an item closed once stays closed.
            level = left // n_open
            still = 0
            for item in own:
                gap = cutoff - weights[item]
                if gap > level:
                    still += 1
                else:
                    weights[item] = cutoff
                    left -= gap
            if still == n_open:
                break
            n_open = still
        ones = left - level * n_open
        for item in own:
            if weights[item] < cutoff:
                weights[item] += level + 1 if ones > 0 else level
                ones -= 1


def fill_in_turn(people: tuple[_Ints, _Ints], weights: _Ints, limits: tuple[int, int]) -> None:
    """Each person fills their items to the cutoff one after another until the budget is used."""
    offsets, ids = people
    cutoff, budget = limits
    for person in range(len(offsets) - 1):
        left = budget
        for item in ids[offsets[person] : offsets[person + 1]]:
            step = min(cutoff - weights[item], left)
            weights[item] += step
            left -= step
            if left == 0:
                break


def step_straight(people: tuple[_Ints, _Ints], weights: _Ints, limits: tuple[int, int]) -> None:
    """Each person moves their items' weights straight towards (cutoff, ..., cutoff) by the budget, rounded down."""
    offsets, ids = people
    cutoff, radius = limits
    reach = float(radius)
    for person in range(len(offsets) - 1):
        own = ids[offsets[person] : offsets[person + 1]]
        # Kahan's sum: its relative error is 2u whatever the length of the list.
        squares = 0.0
        lost = 0.0
        for item in own:
            gap = float(cutoff - weights[item])
            term = gap * gap - lost
            total = squares + term
            lost = (total - squares) - term
            squares = total
        norm = math.sqrt(squares)
        if norm <= reach:
            for item in own:
                weights[item] = cutoff
        else:
            ratio = reach / norm
            for item in own:
                weights[item] += int(float(cutoff - weights[item]) * ratio)


# What each is called in C.
_NAMES: Final[dict[Kernel, passes.Weighting]] = {
    fill_evenly: "fill_evenly",
    fill_in_turn: "fill_in_turn",
    step_straight: "step_straight",
}
