"""Encoded pairs: every row as one integer, person in the high bits, item in the low.

Where people are numbered closely, their lists are made by counting, and each is sorted by itself; else all rows are
sorted. Repeats stand together then.
"""

from __future__ import annotations

import numpy as np

from hushcount.compiled import lists, passes
from hushcount.compiled.lists import Int32s
from hushcount.model.inputs import Int64s

# A key of rows in any order is the number of a person and, in so many lower bits, that of an item.
NUMBER_BITS = 32
# So many rows are looked at together: they stay in a core's cache.
_ROWS = 1 << 16
# Lists are made by counting where no more than so many numbers of people come on each row.
_FREE_NUMBERS, _FEW = 4, 1 << 16


def item_bits(n_items: int) -> int:
    """How many bits number so many items. Bits are shifted and masked ten times as fast as a number is divided."""
    return max(n_items - 1, 0).bit_length()


def split_rows(batches: list[Int64s], places: Int32s, *, numbers: range) -> passes.Split:
    """As `split_keys`, of keys in any order, which are gone then; people are numbered anew, from zero.

    Args:
        batches: keys: the number of a person * 2^NUMBER_BITS + the number of an item.
        places: the place of each item, by its number.
        numbers: all numbers that people may have.
    """
    rows = sum(map(len, batches))
    found = None
    if len(numbers) <= _FREE_NUMBERS * rows + _FEW:
        found = lists.split_rows(batches, places, numbers=numbers)
    if found is None:
        keys, bits = np.concatenate(batches) if batches else np.zeros(0, dtype=np.int64), item_bits(len(places))
        batches.clear()
        for first in range(0, len(keys), _ROWS):
            part = keys[first : first + _ROWS]
            own = places[part & ((1 << NUMBER_BITS) - 1)]
            part >>= NUMBER_BITS
            part -= numbers.start
            part <<= bits
            part |= own
        keys.sort()
        found = split_keys(keys, width=len(places))
    return found


def count_pairs(ids: Int32s, times: Int64s, *, cap: int, width: int) -> Int64s:
    """For each item the people who have it, or their rows with it, at most `cap` of each."""
    found = passes.count_pairs(ids, times, cap=cap, width=width)
    if found is None:
        # Sums of float64 weights are exact: they stay below the number of rows, so far below 2^53.
        often = None if cap == 1 else np.minimum(times, cap)
        found = np.bincount(ids, weights=often, minlength=width).astype(np.int64, copy=False)
    return found


def split_keys(keys: Int64s, *, width: int) -> passes.Split:
    """Codes of people in order, where the list of each begins and the last ends, items, how often each is there.

    Keys ascend. Where nothing is repeated, as is usual, one number stands for all of the last.
    """
    found = passes.split_keys(keys, bits=item_bits(width))
    return _split_in_numpy(keys, item_bits(width)) if found is None else found


def _split_in_numpy(keys: Int64s, bits: int) -> passes.Split:
    places = np.flatnonzero(_changes(keys))
    distinct = keys[places]
    starts = np.flatnonzero(_changes(distinct >> bits))
    # Written as int32 at once: a further array of this length costs as much as the arithmetic.
    ids = np.empty(len(distinct), dtype=np.int32)
    np.bitwise_and(distinct, (1 << bits) - 1, out=ids, casting="unsafe")
    times = passes.once(len(ids)) if len(ids) == len(keys) else np.diff(places, append=len(keys))
    return distinct[starts] >> bits, np.append(starts, len(distinct)), ids, times


def _changes(values: Int64s) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a sorted array holds another value than before."""
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first
