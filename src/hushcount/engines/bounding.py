"""Passes over encoded person-item pairs: which pairs stay under the bound, and what they add up to.

Pairs are in compressed rows: person j holds `ids[offsets[j]:offsets[j + 1]]`, ascending, so that a person's items stand
in the order of their texts, and nobody's list is empty. `offsets` may be those of some people only. What is said of one
person depends on nobody else, so two threads may take two halves of them.

The passes that take longest are there twice, in C and in NumPy (`_in_numpy`), with the same integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes
from hushcount.engines.rows import per_person, pieces, places
from hushcount.engines.xxh64 import Uint64s, joined
from hushcount.model.inputs import Int64s

_Int32s: TypeAlias = npt.NDArray[np.int32]
_Bools: TypeAlias = npt.NDArray[np.bool_]
_Ints = TypeVar("_Ints", Int64s, _Int32s)

_LARGEST_HASH = np.iinfo(np.int64).max
# Hashes that are looked at together, in rows of one person each, which are filled up to the longest.
_CELLS = 1 << 16


def keep_allowed(offsets: Int64s, ids: _Int32s, *, allowed: _Bools, keep: _Bools) -> Int64s:
    """Mark in `keep` each person's allowed pairs. Returns how many each person has."""
    found = passes.keep_allowed((offsets, ids), allowed=allowed, keep=keep)
    return _keep_allowed_in_numpy(offsets, ids, allowed=allowed, keep=keep) if found is None else found


def _keep_allowed_in_numpy(offsets: Int64s, ids: _Int32s, *, allowed: _Bools, keep: _Bools) -> Int64s:
    lengths = np.diff(offsets)
    held = np.empty(len(lengths), dtype=np.int64)
    for people in pieces(lengths):
        pairs = slice(offsets[people.start], offsets[people.stop])
        keep[pairs] = allowed.take(ids[pairs])
        held[people] = per_person(keep[pairs], lengths[people])
    return held


def keep_ids(ids: _Int32s, keep: _Bools, numbers: _Int32s, *, kept: _Int32s) -> None:
    """Write the numbers of the kept ids to `kept`, which has room for exactly these."""
    if not passes.keep_ids(ids, keep, numbers, kept=kept):
        kept[:] = numbers.take(ids[keep])


def items_of(offsets: Int64s, ids: _Int32s, *, people: Int64s, n_items: int) -> _Bools:
    """Which items some people hold, allowed or not."""
    found = passes.items_of((offsets, ids), people, n_items=n_items)
    return _items_of_in_numpy(offsets, ids, people=people, n_items=n_items) if found is None else found


def _items_of_in_numpy(offsets: Int64s, ids: _Int32s, *, people: Int64s, n_items: int) -> _Bools:
    found = np.zeros(n_items, dtype=np.bool_)
    for part in pieces(offsets[people + 1] - offsets[people]):
        found[ids[places(offsets, people[part])[1]]] = True
    return found


def keep_smallest(
    offsets: Int64s, ids: _Int32s, *, held: Int64s, limit: int, hashes: tuple[Uint64s, Uint64s], keep: _Bools
) -> None:
    """Of people with more than `limit` pairs in `keep`, leave those with the smallest hashes (ties: the smaller id)."""
    if not passes.keep_smallest((offsets, ids), held=held, limit=limit, hashes=hashes, keep=keep):
        _keep_smallest_in_numpy(offsets, ids, held=held, limit=limit, hashes=hashes, keep=keep)


def _keep_smallest_in_numpy(
    offsets: Int64s, ids: _Int32s, *, held: Int64s, limit: int, hashes: tuple[Uint64s, Uint64s], keep: _Bools
) -> None:
    starts, things = hashes  # as `person_starts` and `item_words` made them
    for people in _alike(np.diff(offsets), np.flatnonzero(held > limit)):
        lengths = (offsets[people + 1] - offsets[people])[:, None]
        columns = np.arange(int(lengths.max()))
        inside = columns < lengths
        # Behind a person's end stands somebody else, or nobody: masked.
        where = np.minimum(offsets[people][:, None] + columns, offsets[-1] - 1)
        known = keep.take(where)
        known &= inside
        mixed = joined(starts[people][:, None], things.take(ids.take(where)))
        # Everybody here has more than `limit` hashes of their own, so these never decide, not even as equals.
        mixed[~known] = _LARGEST_HASH
        worst = np.partition(mixed, limit - 1, axis=1)[:, limit - 1 : limit]
        known &= mixed <= worst
        if int(np.count_nonzero(known)) > limit * len(people):
            equal = known & (mixed == worst)
            smaller = np.count_nonzero(known & ~equal, axis=1)[:, None]
            known &= ~equal | (np.cumsum(equal, axis=1) <= limit - smaller)
        keep[where[inside]] = known[inside]


def _alike(lengths: Int64s, people: Int64s) -> Iterator[Int64s]:
    """These people in groups whose lists are nearly equally long."""
    people = people[np.argsort(lengths[people], kind="stable")]
    sizes = lengths[people]
    first = 0
    while first < len(people):
        last = int(np.searchsorted(sizes, 8 + sizes[first] * 9 // 8, side="right"))
        last = min(last, first + max(1, _CELLS // int(sizes[last - 1])))
        yield people[first:last]
        first = last


def add_rows(
    offsets: Int64s, ids: _Int32s, *, keep: _Bools, held: Int64s, weights: Int64s, n_items: int
) -> tuple[Int64s, _Bools]:
    """Sums over the kept pairs of each item, and which items have a kept pair at all.

    To each kept item a person adds the row of `weights` for how many items they hold.
    """
    total = passes.add_rows((offsets, ids), keep=keep, held=held, weights=weights, n_items=n_items)
    if total is None:
        return _add_rows_in_numpy(offsets, ids, keep=keep, held=held, weights=weights, n_items=n_items)
    nothing = weights[:, 0] == 0
    nothing[0] = False
    if not bool(nothing[held].any()):
        # Whoever keeps an item adds to its first sum.
        return total, total[:, 0] > 0
    seen = np.zeros(n_items, dtype=np.bool_)
    for people in pieces(np.diff(offsets)):
        pairs = slice(offsets[people.start], offsets[people.stop])
        seen[ids[pairs][keep[pairs]]] = True
    return total, seen


def _add_rows_in_numpy(
    offsets: Int64s, ids: _Int32s, *, keep: _Bools, held: Int64s, weights: Int64s, n_items: int
) -> tuple[Int64s, _Bools]:
    total = np.zeros((weights.shape[1], n_items), dtype=np.int64)
    seen = np.zeros(n_items, dtype=np.bool_)
    columns = np.ascontiguousarray(weights.T)
    for people in pieces(np.diff(offsets)):
        pairs = slice(offsets[people.start], offsets[people.stop])
        chosen = ids[pairs][keep[pairs]]
        seen[chosen] = True
        lengths = held[people]
        for sums, column in zip(total, columns, strict=True):
            np.add.at(sums, chosen, np.repeat(column[lengths], lengths))
    return total.T, seen


def gather(offsets: Int64s, keep: _Bools, *, held: Int64s, order: Int64s, values: _Ints) -> tuple[Int64s, _Ints]:
    """Offsets, and the value of each kept pair, people in `order`."""
    kept = values[offsets[0] : offsets[-1]][keep[offsets[0] : offsets[-1]]]
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(held)))
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(held[order])))
    chosen = np.empty(starts[-1], dtype=values.dtype)
    for people in pieces(held[order]):
        chosen[starts[people.start] : starts[people.stop]] = kept[places(ends, order[people])[1]]
    return starts, chosen


def sort_by_frequency(starts: Int64s, pairs: Int64s, times: Int64s) -> None:
    """Reorder each person's pairs in situ: most frequent first, equally frequent ones as they were."""
    lengths = np.diff(starts)
    for people in pieces(lengths):
        own = pairs[starts[people.start] : starts[people.stop]]
        often, person = times[own], np.repeat(np.arange(people.stop - people.start), lengths[people])
        if bool(np.any((often[1:] > often[:-1]) & (person[1:] == person[:-1]))):
            own[:] = own[np.lexsort((-often, person))]
