"""Calls into `passes.c`. Each has a twin in NumPy or plain Python with the same integers, used where it is missing.

The library is made when the package is built, if there is a C compiler then (`hatch_build.py`), and is loaded by the
first call: nothing is compiled while somebody waits, and nothing depends on the version of Python. Arrays are handed
over by their address, so every one is checked or made contiguous and of its type here. While C runs, other threads run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.compiled.cores import MANY_ROWS, on_two_cores
from hushcount.compiled.segments import Segments
from hushcount.model.inputs import Int64s

Ints: TypeAlias = npt.NDArray[np.integer[Any]]
Uint64s: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]

# Codes of people, where the list of each begins and the last ends, items, and how often each is there.
Split: TypeAlias = tuple[Int64s, Int64s, npt.NDArray[np.int32], Int64s]
Weighting: TypeAlias = Literal["fill_evenly", "fill_in_turn", "step_straight"]

# From so many texts on two cores digest them.
_MANY_TEXTS = 1 << 15
# A second table of sums has no more of them for each pair: it is no larger than the rows were when they were read.
_SUMS_OF_A_PAIR = 1
# Of no size: it is handed over by its address, whatever lies there.
_HERE = ctypes.c_char * 0

LIBRARY = Path(__file__).with_name("libpasses.so")


@cache
def library() -> ctypes.CDLL | None:
    """The compiled passes; None where there are none, or none for this machine."""
    try:
        return ctypes.CDLL(str(LIBRARY))
    except OSError:
        return None


def needed() -> Any:  # noqa: ANN401 (of ctypes, which has no types of its own)
    """The compiled passes, for whoever has looked before whether there are any."""
    found = library()
    if found is None:
        raise RuntimeError("this is done by machine code alone; there is none")
    return found


def count_pairs(ids: Ints, times: Int64s, *, cap: int, width: int) -> Int64s | None:
    """As `engines.pairs.count_pairs`."""
    if (found := library()) is None:
        return None
    stride = times.strides[0] // 8 and 1

    def count(pairs: slice, counts: Int64s) -> None:
        some, often = ids[pairs], times[pairs] if stride else times[:1]
        given = ctypes.c_int64(len(some)), read(some, np.int32), read(often)
        call(found.hush_count_pairs, *given, ctypes.c_int64(stride), ctypes.c_int64(cap), counts)

    return _in_two_tables(count, (width,), pairs=len(ids), parts=len(ids), middle=lambda: len(ids) // 2)


def split_keys(keys: Int64s, *, bits: int) -> Split | None:
    """As `engines.pairs.split_keys`."""
    if (found := library()) is None:
        return None
    rows, sizes = ctypes.c_int64(len(keys)), np.empty(2, dtype=np.int64)
    call(found.hush_split_sizes, rows, read(keys), ctypes.c_int64(bits), sizes)
    pairs, persons = sizes.tolist()
    people, starts = np.empty(persons, dtype=np.int64), np.empty(persons + 1, dtype=np.int64)
    ids = np.empty(pairs, dtype=np.int32)
    times = np.empty(pairs if pairs < len(keys) else 0, dtype=np.int64)
    starts[persons] = pairs
    call(
        *(found.hush_split_keys, rows, read(keys), ctypes.c_int64(bits)),
        *(ctypes.c_int64(len(times)), ids, times, people, starts),
    )
    return people, starts, ids, times if len(times) else once(pairs)


def once(pairs: int) -> Int64s:
    """How often each pair is there if none is there again: one number for all of them."""
    return np.broadcast_to(np.int64(1), pairs)


def losses(rows: tuple[Int64s, Ints], tables: Segments, *, below_one: float) -> Int64s | None:
    """As `engines.clipping.losses`."""
    if (found := library()) is None:
        return None
    order = np.lexsort((tables.limits, tables.of_clip))
    segments = int(tables.of_clip.max()) + 1
    firsts = np.searchsorted(tables.of_clip[order], np.arange(segments + 1))
    lost, sums = np.zeros(len(order), dtype=np.int64), np.empty(segments, dtype=np.int64)
    limits = tables.limits[order]
    leasts = np.minimum.accumulate(limits[firsts[:-1]])
    call(
        *(found.hush_losses, *_people(rows), read(tables.squares), read(tables.of_item, np.int32)),
        *(ctypes.c_int64(segments), read(firsts), leasts, read(limits), limits.astype(np.float64)),
        *(ctypes.c_int64(tables.unit), ctypes.c_int64(tables.grain), ctypes.c_double(below_one)),
        *(sums, np.zeros(len(order)), lost),
    )
    told = np.empty_like(lost)
    told[order] = lost
    return told


def clipped(rows: tuple[Int64s, Ints], amplitudes: Int64s, *, limit: int, below_one: float) -> Int64s | None:
    """As `engines.clipping.clipped`."""
    if (found := library()) is None:
        return None
    total = np.zeros(len(amplitudes), dtype=np.int64)
    call(
        *(found.hush_clipped, *_people(rows), read(amplitudes)),
        *(ctypes.c_int64(limit), ctypes.c_double(below_one), total),
    )
    return total


def climbed(weights: Int64s, bounds: Floats, places: Floats, *, shrink: float, sums: int) -> Floats | None:
    """As `mechanisms.ladders.tables.climbed`, before the largest monotone table is taken."""
    if (found := library()) is None:
        return None
    table, made = np.zeros(sums), np.empty(1, dtype=np.int64)
    call(
        *(found.hush_climbed, ctypes.c_int64(len(weights)), read(weights, np.int64)),
        *(ctypes.c_int64(len(places)), read(places, np.float64), read(bounds, np.float64), ctypes.c_double(shrink)),
        *(ctypes.c_int64(sums), table, np.empty(sums, dtype=np.int64), np.empty(sums), made),
    )
    return table[: int(made[0])]


def tangents(factor: int, count: int) -> Floats | None:
    """As `noise.steepest.tangents`."""
    if (found := library()) is None:
        return None
    made = np.empty(count)
    words = ctypes.c_uint64(factor >> 64), ctypes.c_uint64(factor & (2**64 - 1))
    call(found.hush_tangents, ctypes.c_int64(count), *words, made)
    return made


def keep_allowed(rows: tuple[Int64s, Ints], *, allowed: Bools, keep: Bools) -> Int64s | None:
    """As `engines.bounding.keep_allowed`."""
    if (found := library()) is None:
        return None
    held = np.empty(len(rows[0]) - 1, dtype=np.int64)
    call(found.hush_keep_allowed, *_people(rows), _bits(allowed), written(keep), held)
    return held


def keep_ids(ids: Ints, keep: Bools, numbers: Ints, *, kept: npt.NDArray[np.int32]) -> bool:
    """As `engines.bounding.keep_ids`; whether it was done."""
    if (found := library()) is None:
        return False
    given = ctypes.c_int64(len(ids)), read(ids, np.int32), read(keep), read(numbers, np.int32)
    call(found.hush_keep_ids, *given, ctypes.c_int64(len(kept)), written(kept))
    return True


def items_of(rows: tuple[Int64s, Ints], people: Int64s, *, n_items: int) -> Bools | None:
    """As `engines.bounding.items_of`."""
    if (found := library()) is None:
        return None
    held = np.zeros(n_items, dtype=np.bool_)
    call(found.hush_items_of, ctypes.c_int64(len(people)), read(people), *_people(rows)[1:], held)
    return held


def keep_smallest(
    rows: tuple[Int64s, Ints], *, held: Int64s, limit: int, hashes: tuple[Uint64s, Uint64s], keep: Bools
) -> bool:
    """As `engines.bounding.keep_smallest`; whether it was done."""
    if (found := library()) is None:
        return False
    room = np.empty((2, int(np.diff(rows[0]).max(initial=0))), dtype=np.int64)
    people, things = hashes
    call(
        *(found.hush_keep_smallest, *_people(rows), read(held), ctypes.c_int64(limit)),
        *(read(people, np.uint64), read(things, np.uint64), written(keep), room[0], room[1]),
    )
    return True


def add_rows(rows: tuple[Int64s, Ints], *, keep: Bools, held: Int64s, weights: Int64s, n_items: int) -> Int64s | None:
    """As `engines.bounding.add_rows`, without which items have a kept pair."""
    if (found := library()) is None:
        return None
    offsets, ids = rows
    columns, pairs = weights.shape[1], int(offsets[-1] - offsets[0])

    def add(people: slice, sums: Int64s) -> None:
        given = *_people((offsets[people.start : people.stop + 1], ids)), read(keep), read(held[people])
        call(found.hush_add_rows, *given, ctypes.c_int64(columns), read(weights), sums)

    def middle() -> int:
        return int(np.searchsorted(offsets, offsets[0] + pairs // 2))

    return _in_two_tables(add, (n_items, columns), pairs=pairs, parts=len(held), middle=middle)


def _in_two_tables(
    work: Callable[[slice, Int64s], None], shape: tuple[int, ...], *, pairs: int, parts: int, middle: Callable[[], int]
) -> Int64s:
    """Sums of all parts; where pairs are many, two cores each add up some of the parts, in a table of their own."""
    tables = [np.zeros(shape, dtype=np.int64)]
    if pairs < MANY_ROWS or tables[0].size > _SUMS_OF_A_PAIR * pairs:
        work(slice(0, parts), tables[0])
        return tables[0]
    tables.append(np.zeros(shape, dtype=np.int64))
    half = middle()
    on_two_cores(lambda number: work((slice(0, half), slice(half, parts))[number], tables[number]), 0, 1)
    tables[0] += tables[1]
    return tables[0]


def keep_rows(total: Int64s, wanted: Bools) -> Int64s | None:
    """As `total[wanted]`, of rows that nobody needs any more: in their place."""
    if (found := library()) is None or not total.flags.c_contiguous:
        return None
    call(found.hush_keep_rows, ctypes.c_int64(len(total)), read(wanted), ctypes.c_int64(total.shape[1]), written(total))
    return total[: np.count_nonzero(wanted)]


def weigh(weighting: Weighting, rows: tuple[Int64s, Ints], *, n_items: int, limits: tuple[int, int]) -> Int64s | None:
    """As `mechanisms.weighting.kernels.weigh`."""
    if (found := library()) is None:
        return None
    weights = np.zeros(n_items, dtype=np.int64)
    call(getattr(found, f"hush_{weighting}"), *_people(rows), weights, *map(ctypes.c_int64, limits))
    return weights


def hash_texts(buffer: Bytes, starts: Int64s, lengths: Int64s, *, seed: int) -> Int64s | None:
    """As `engines.xxh64.hash_texts`."""
    if (found := library()) is None:
        return None
    hashes = np.empty(len(starts), dtype=np.int64)
    call(
        *(found.hush_hash_texts, ctypes.c_int64(len(starts)), read(buffer, np.uint8)),
        *(read(starts), read(lengths), ctypes.c_uint64(seed), hashes),
    )
    return hashes


def digest(key: bytes, buffer: Bytes, lengths: Int64s) -> Uint64s | None:
    """As `noise.siphash.digest_slices`."""
    if (found := library()) is None:
        return None
    digests = np.empty((2, len(lengths)), dtype=np.uint64)
    middle = len(lengths) // 2 if len(lengths) >= _MANY_TEXTS else 0

    def some(part: slice) -> None:
        begun = int(lengths[: part.start].sum())
        given = ctypes.c_int64(part.stop - part.start), read(buffer, np.uint8)[begun:], read(lengths[part])
        call(found.hush_digest, *given, *_halves(key), digests[0][part], digests[1][part])

    parts = slice(0, middle), slice(middle, len(lengths))
    if middle:
        on_two_cores(some, *parts)
    else:
        some(parts[1])
    return digests


def _halves(key: bytes) -> tuple[ctypes.c_uint64, ctypes.c_uint64]:
    """A key of 16 bytes as two words."""
    first, second = (ctypes.c_uint64(int.from_bytes(key[at : at + 8], "little")) for at in (0, 8))
    return first, second


def words(key: bytes, digests: Uint64s, last: int) -> Uint64s | None:
    """As `noise.siphash.words`, for a last block."""
    if (found := library()) is None:
        return None
    made = np.empty(digests.shape[1], dtype=np.uint64)
    given = ctypes.c_int64(len(made)), read(digests[0]), read(digests[1]), *_halves(key)
    call(found.hush_words, *given, ctypes.c_uint64(last), made)
    return made


def _people(rows: tuple[Int64s, Ints]) -> tuple[ctypes.c_int64, Int64s, npt.NDArray[Any]]:
    """Compressed rows: how many people, their offsets, and the ids that offsets count from."""
    offsets, ids = rows
    return ctypes.c_int64(len(offsets) - 1), read(offsets), read(ids, np.int32)


def read(values: npt.NDArray[Any], kind: type[Any] | None = None) -> npt.NDArray[Any]:
    """An array to read from; copied only where it lies or is written in another way than C expects."""
    return np.ascontiguousarray(values, dtype=kind)


def _bits(values: Bools) -> Bytes:
    """One bit for each, the lowest first."""
    return np.packbits(values, bitorder="little")


def written(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array to write to, which cannot be a copy."""
    if not values.flags.c_contiguous or not values.flags.writeable:
        raise ValueError("an array that C writes to must be contiguous and writeable")
    return values


def call(function: Any, *given: Any) -> None:  # noqa: ANN401 (of ctypes, which has no types of its own)
    """Call C; arrays live until it returns."""
    function.restype = None
    function(*(_address(one) if isinstance(one, np.ndarray) else one for one in given))


def _address(values: npt.NDArray[Any]) -> object:
    """Where an array lies. NumPy's own way takes five times as long, of which calls with few rows mostly consist."""
    if not values.flags.writeable:
        return ctypes.c_void_p(values.ctypes.data)
    return _HERE.from_buffer(values)  # type: ignore[arg-type]  # it is one
