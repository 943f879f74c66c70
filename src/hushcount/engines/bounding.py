"""Compiled passes over encoded person-item pairs: who is over the bound, which pairs stay, what they add up to.

Only `hushcount.engines.incidence` imports this module, inside the functions that need it, because importing it imports
numba. Pairs are in compressed rows: person j holds `ids[offsets[j]:offsets[j + 1]]`, ascending, so that a person's
items stand in the order of their texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from hushcount.engines.clipping import BELOW_ONE
from hushcount.engines.hashing import FIRST_SEED, PRIMES

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Int64s = npt.NDArray[np.int64]
_Int32s = npt.NDArray[np.int32]
_Uint64s = npt.NDArray[np.uint64]
_Ints = TypeVar("_Ints", _Int64s, _Int32s)
_Bools = npt.NDArray[np.bool_]

_P1, _P2, _P3, _P4, _P5 = (np.uint64(prime) for prime in PRIMES)
_FIRST = np.uint64(FIRST_SEED)
_BELOW_ONE = np.float64(BELOW_ONE)


def _compiled(function: _Function) -> _Function:
    try:
        return cast("_Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # nowhere to keep machine code, as in a read-only container: compile in each process
        return cast("_Function", numba.njit(nogil=True)(function))


@_compiled
def find_over(offsets: _Int64s, ids: _Int32s, allowed: _Bools, limit: int) -> tuple[_Bools, _Bools]:
    """Which people hold more than `limit` allowed items, and which items such people hold. Only these need a hash."""
    over = np.zeros(len(offsets) - 1, np.bool_)
    wanted = np.zeros(len(allowed), np.bool_)
    for person in range(len(offsets) - 1):
        held = 0
        for place in range(offsets[person], offsets[person + 1]):
            if allowed[ids[place]]:
                held += 1
        if held > limit:
            over[person] = True
            for place in range(offsets[person], offsets[person + 1]):
                wanted[ids[place]] = True
    return over, wanted


@_compiled
def turned(word: np.uint64, bits: int) -> np.uint64:
    """The bits of a word, rotated to the left."""
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@_compiled
def finished(state: np.uint64) -> np.uint64:
    """The last steps of XXH64."""
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))


@_compiled
def rounded(lane: np.uint64, word: np.uint64) -> np.uint64:
    """One word into one lane of XXH64."""
    return turned(lane + word * _P2, 31) * _P1


@_compiled
def joined(person: np.uint64, item: np.uint64) -> np.int64:
    """The hash of a pair from what `person_starts` and `item_words` made of the two hashes; with a sign."""
    return np.int64(finished(turned(person ^ item, 27) * _P1 + _P4))


@_compiled
def person_starts(hashes: _Int64s) -> _Uint64s:
    """What the hash of a pair begins with, for each person: so it is computed once and not for each of their items."""
    starts = np.empty(len(hashes), np.uint64)
    first = _FIRST + _P5 + np.uint64(8)
    for row in range(len(hashes)):
        begun = turned(first ^ rounded(np.uint64(0), np.uint64(hashes[row])), 27) * _P1 + _P4
        starts[row] = finished(begun) + _P5 + np.uint64(8)
    return starts


@_compiled
def item_words(hashes: _Int64s) -> _Uint64s:
    """What an item brings into the hash of a pair: once for each item and not for each of its people."""
    words = np.empty(len(hashes), np.uint64)
    for row in range(len(hashes)):
        words[row] = rounded(np.uint64(0), np.uint64(hashes[row]))
    return words


@_compiled
def select(values: _Int64s, count: int, rank: int) -> np.int64:
    """The value of the given rank (0 is the smallest) among the first `count`; permutes them (Hoare's quickselect)."""
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            break
    found: np.int64 = values[rank]
    return found


@_compiled
def keep_smallest(
    offsets: _Int64s, ids: _Int32s, allowed: _Bools, limit: int, hashes: tuple[_Uint64s, _Uint64s], keep: _Bools
) -> _Int64s:
    """Mark in `keep` each person's allowed pairs with the `limit` smallest hashes (ties: the smaller id).

    Returns how many stay for each person.
    """
    people, things = hashes  # as `person_starts` and `item_words` made them
    held = np.zeros(len(offsets) - 1, np.int64)
    longest = np.max(np.diff(offsets)) if len(offsets) > 1 else 0
    mixed = np.empty(longest, np.int64)
    scratch = np.empty(longest, np.int64)
    for person in range(len(offsets) - 1):
        start, stop = offsets[person], offsets[person + 1]
        count = 0
        for place in range(start, stop):
            if allowed[ids[place]]:
                keep[place] = True
                count += 1
        if count > limit:
            _drop_largest(keep[start:stop], ids[start:stop], limit, people[person], (things, mixed, scratch))
            count = limit
        held[person] = count
    return held


@_compiled
def _drop_largest(
    keep: _Bools, ids: _Int32s, limit: int, person: np.uint64, buffers: tuple[_Uint64s, _Int64s, _Int64s]
) -> None:
    things, mixed, scratch = buffers
    n = 0
    for place in range(len(ids)):
        if keep[place]:
            mixed[n] = joined(person, things[ids[place]])
            scratch[n] = mixed[n]
            n += 1
    worst = select(scratch, n, limit - 1)
    ties = limit
    for k in range(n):
        if mixed[k] < worst:
            ties -= 1
    n = 0
    for place in range(len(ids)):
        if keep[place]:
            if mixed[n] == worst and ties > 0:
                ties -= 1
            elif mixed[n] >= worst:
                keep[place] = False
            n += 1


@_compiled
def add_steps(offsets: _Int64s, ids: _Int32s, keep: _Bools, steps: _Int64s, n_items: int) -> tuple[_Int64s, _Bools]:
    """Sum of each person's steps over the kept pairs of each item, and which items have a kept pair at all."""
    total = np.zeros(n_items, np.int64)
    seen = np.zeros(n_items, np.bool_)
    for person in range(len(offsets) - 1):
        step = steps[person]
        for place in range(offsets[person], offsets[person + 1]):
            if keep[place]:
                total[ids[place]] += step
                seen[ids[place]] = True
    return total, seen


@_compiled
def add_rows(
    offsets: _Int64s, ids: _Int32s, keep: _Bools, held: _Int64s, weights: _Int64s, n_items: int
) -> tuple[_Int64s, _Bools]:
    """As `add_steps`, several sums at once: to each kept item a person adds the row of `weights` for what they hold."""
    total = np.zeros((n_items, weights.shape[1]), np.int64)
    seen = np.zeros(n_items, np.bool_)
    for person in range(len(offsets) - 1):
        row = weights[held[person]]
        for place in range(offsets[person], offsets[person + 1]):
            if keep[place]:
                for column in range(len(row)):
                    total[ids[place], column] += row[column]
                seen[ids[place]] = True
    return total, seen


@_compiled
def gather(offsets: _Int64s, keep: _Bools, held: _Int64s, order: _Int64s, values: _Ints) -> tuple[_Int64s, _Ints]:
    """Offsets, and the value of each kept pair, people in `order`."""
    starts = np.zeros(len(order) + 1, np.int64)
    starts[1:] = np.cumsum(held[order])
    chosen = np.empty(starts[-1], values.dtype)
    n = 0
    for person in order:
        for place in range(offsets[person], offsets[person + 1]):
            if keep[place]:
                chosen[n] = values[place]
                n += 1
    return starts, chosen


@_compiled
def sort_by_frequency(starts: _Int64s, places: _Int64s, times: _Int64s) -> None:
    """Reorder each person's places in situ: most frequent first, equally frequent ones as they were."""
    for person in range(len(starts) - 1):
        start, stop = starts[person], starts[person + 1]
        sorted_already = True
        for n in range(start + 1, stop):
            if times[places[n]] > times[places[n - 1]]:
                sorted_already = False
        if not sorted_already:
            own = places[start:stop].copy()
            places[start:stop] = own[np.argsort(-times[own], kind="mergesort")]


@_compiled
def word_at(buffer: npt.NDArray[np.uint8], place: int) -> np.uint64:
    """Eight bytes of a buffer as one word, little end first; the compiler makes one load of it."""
    word = np.uint64(buffer[place])
    for byte in range(1, 8):
        word |= np.uint64(buffer[place + byte]) << np.uint64(8 * byte)
    return word


@_compiled
def hash_stripes(buffer: npt.NDArray[np.uint8], start: int, length: int, seed: np.uint64) -> np.uint64:
    """The part of XXH64 that takes 32 bytes at a time, for texts that have so many."""
    one, two, three, four = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
    for place in range(start, start + length - length % 32, 32):
        one = rounded(one, word_at(buffer, place))
        two = rounded(two, word_at(buffer, place + 8))
        three = rounded(three, word_at(buffer, place + 16))
        four = rounded(four, word_at(buffer, place + 24))
    state = turned(one, 1) + turned(two, 7) + turned(three, 12) + turned(four, 18)
    for lane in (one, two, three, four):
        state = (state ^ rounded(np.uint64(0), lane)) * _P1 + _P4
    return state


@_compiled
def hash_text(buffer: npt.NDArray[np.uint8], start: int, length: int, seed: np.uint64) -> np.int64:
    """XXH64 of the bytes of one text, with a sign."""
    place, end = start, start + length
    state = seed + _P5
    if length >= 32:
        state = hash_stripes(buffer, start, length, seed)
        place = end - length % 32
    state += np.uint64(length)
    while place + 8 <= end:
        state = turned(state ^ rounded(np.uint64(0), word_at(buffer, place)), 27) * _P1 + _P4
        place += 8
    if place + 4 <= end:
        half = np.uint64(0)
        for byte in range(4):
            half |= np.uint64(buffer[place + byte]) << np.uint64(8 * byte)
        state = turned(state ^ (half * _P1), 23) * _P2 + _P3
        place += 4
    while place < end:
        state = turned(state ^ (np.uint64(buffer[place]) * _P5), 11) * _P1
        place += 1
    return np.int64(finished(state))


@_compiled
def hash_texts(buffer: npt.NDArray[np.uint8], starts: _Int64s, lengths: _Int64s, seed: np.uint64) -> _Int64s:
    """The hash of each of several texts in a buffer."""
    hashes = np.empty(len(starts), np.int64)
    for row in range(len(starts)):
        hashes[row] = hash_text(buffer, starts[row], lengths[row], seed)
    return hashes


@_compiled
def hash_integers(values: _Int64s, seed: np.uint64) -> _Int64s:
    """The hash of each whole number's decimal text, so that 7 and "7" are the same person."""
    hashes = np.empty(len(values), np.int64)
    digits = np.empty(20, np.uint8)
    ten = np.uint64(10)
    for row in range(len(values)):
        negative = values[row] < 0
        # The smallest int64 has no positive counterpart, its unsigned distance from zero has.
        rest = np.uint64(-(values[row] + 1)) + np.uint64(1) if negative else np.uint64(values[row])
        first = 20
        while first == 20 or rest > np.uint64(0):
            first -= 1
            digits[first] = np.uint8(48 + rest % ten)
            rest = rest // ten
        if negative:
            first -= 1
            digits[first] = np.uint8(45)
        hashes[row] = hash_text(digits, first, 20 - first, seed)
    return hashes


@_compiled
def add_losses(
    offsets: _Int64s,
    ids: _Int32s,
    items: tuple[_Int64s, _Int64s],
    clips: tuple[_Int64s, _Int64s],
    grid: tuple[int, int],
) -> _Int64s:
    """What each clip takes away from all people together: `clipping.losses`, the same integers, in one pass."""
    squares, of_item = items
    of_clip, limits = clips
    unit, grain = grid
    lost = np.zeros(len(limits), np.int64)
    sums = np.zeros(np.max(of_clip) + 1, np.int64)
    least = np.min(limits)
    for person in range(len(offsets) - 1):
        total = 0
        for place in range(offsets[person], offsets[person + 1]):
            total += squares[ids[place]]
        if total <= least:
            continue
        sums[:] = 0
        for place in range(offsets[person], offsets[person + 1]):
            sums[of_item[ids[place]]] += squares[ids[place]]
        for segment in range(1, len(sums)):
            sums[segment] += sums[segment - 1]
        for number in range(len(limits)):
            held = sums[of_clip[number]]
            if held > limits[number]:
                factor = np.sqrt(np.float64(limits[number]) / np.float64(held)) * _BELOW_ONE
                lost[number] += min(unit, unit - np.int64(np.floor(np.float64(unit) * factor)) + grain)
    return lost


@_compiled
def add_clipped(offsets: _Int64s, ids: _Int32s, amplitudes: _Int64s, limit: int) -> _Int64s:
    """For each item the sum of what people add to it: `clipping.clipped`, the same integers, in one pass."""
    total = np.zeros(len(amplitudes), np.int64)
    for person in range(len(offsets) - 1):
        held = 0
        for place in range(offsets[person], offsets[person + 1]):
            held += amplitudes[ids[place]] * amplitudes[ids[place]]
        if held <= limit:
            for place in range(offsets[person], offsets[person + 1]):
                total[ids[place]] += amplitudes[ids[place]]
        else:
            factor = np.sqrt(np.float64(limit) / np.float64(held)) * _BELOW_ONE
            for place in range(offsets[person], offsets[person + 1]):
                total[ids[place]] += np.int64(np.floor(np.float64(amplitudes[ids[place]]) * factor))
    return total
