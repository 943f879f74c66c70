"""Encoded pairs: every row as one integer, person in the high bits, item in the low: sorting finds repeats."""

from __future__ import annotations

import numpy as np

from hushcount.compiled import passes
from hushcount.model.inputs import Int64s


def item_bits(n_items: int) -> int:
    """How many bits number so many items. Bits are shifted and masked ten times as fast as a number is divided."""
    return max(n_items - 1, 0).bit_length()


def count_keys(keys: Int64s, *, cap: int, width: int) -> Int64s:
    """For each item the people who have it, or their rows with it, at most `cap` of each. Keys ascend."""
    found = passes.count_keys(keys, bits=item_bits(width), cap=cap, width=width)
    return _count_in_numpy(keys, cap, width) if found is None else found


def _count_in_numpy(keys: Int64s, cap: int, width: int) -> Int64s:
    _, _, ids, times = _split_in_numpy(keys, item_bits(width))
    # Sums of float64 weights are exact: they stay below the number of rows, so far below 2^53.
    often = None if cap == 1 else np.minimum(times, cap)
    return np.bincount(ids, weights=often, minlength=width).astype(np.int64, copy=False)


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
