"""Clipped sums over people, as `model.inputs.Clip` says: in memory and on Spark's workers by the same code.

Each pass is there twice, in C and in NumPy (`_in_numpy`), with the same integers.

People are compressed rows: person j holds `ids[offsets[j]:offsets[j + 1]]`, and nobody's list is empty. What an item
counts stands in tables by id, with zeros for items that do not count. Only basic operations of IEEE doubles are used
(conversion, quotient, root, product), each correctly rounded everywhere: so every machine gives the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes
from hushcount.compiled.segments import Segments
from hushcount.engines.rows import Ids, per_person, pieces, places
from hushcount.errors import InvalidInput
from hushcount.model.amounts import whole
from hushcount.model.inputs import LARGEST, Clip, Int64s, Ranked

# Takes more off a factor than five roundings of doubles can add to it.
BELOW_ONE = 1 - 2.0**-40
# So many sums of people and segments are held at a time.
_CELLS = 1 << 20


def segments(ranked: Ranked, clips: Sequence[Clip], ranks: Int64s, *, unit: int) -> Segments:
    """Tables for some clips; `ranks` says for each id which ranked item it is, -1 for none."""
    for clip in clips:
        check_clip(ranked, clip)
    if whole("unit", unit, most=2**40) and not len(ranked.items):
        raise InvalidInput("nothing is ranked, so nothing can be clipped")
    ends = np.unique([clip.first for clip in clips])
    of_item = np.searchsorted(ends, ranks, side="right")
    counts = (ranks >= 0) & (of_item < len(ends))
    return Segments(
        squares=np.where(counts, ranked.amplitudes[ranks] ** 2, 0),
        of_item=np.where(counts, of_item, 0),
        of_clip=np.searchsorted(ends, [clip.first for clip in clips]),
        limits=np.array([clip.radius**2 for clip in clips], dtype=np.int64),
        grain=-(-unit // int(ranked.amplitudes.min())),
        unit=unit,
    )


def check_clip(ranked: Ranked, clip: Clip) -> None:
    """Refuse a clip that has no meaning for these items."""
    whole("first", clip.first, most=max(len(ranked.items), 1))
    whole("radius", clip.radius, most=2**31 - 1)


def losses(offsets: Int64s, ids: Ids, tables: Segments) -> Int64s:
    """What each clip takes away from all people together; see `Incidence.losses`."""
    found = passes.losses((offsets, ids), tables, below_one=BELOW_ONE)
    return _losses_in_numpy(offsets, ids, tables) if found is None else found


def _losses_in_numpy(offsets: Int64s, ids: Ids, tables: Segments) -> Int64s:
    lost = np.zeros(len(tables.limits), dtype=np.int64)
    lengths = np.diff(offsets)
    least, width = tables.limits.min(), int(tables.of_clip.max()) + 1
    for people in pieces(lengths):
        squares = tables.squares.take(ids[offsets[people.start] : offsets[people.stop]])
        over = people.start + np.flatnonzero(per_person(squares, lengths[people]) > least)
        for chunk in np.array_split(over, -(-len(over) * width // _CELLS) or 1):
            lost += _lost(_sums(offsets, ids, tables, people=chunk), tables)
    return lost


def _sums(offsets: Int64s, ids: Ids, tables: Segments, *, people: Int64s) -> Int64s:
    """Squared amplitudes of each of some people up to each segment: a row for each segment."""
    lengths, where = places(offsets, people)
    held = ids.take(where)
    cells = tables.of_item.take(held)
    cells *= len(people)
    cells += np.repeat(np.arange(len(people)), lengths)
    sums = np.zeros((int(tables.of_clip.max()) + 1, len(people)), dtype=np.int64)
    np.add.at(sums.reshape(-1), cells, tables.squares.take(held))
    for segment in range(1, len(sums)):  # np.cumsum along the first axis takes ten times as long
        sums[segment] += sums[segment - 1]
    return sums


def _lost(sums: Int64s, tables: Segments) -> Int64s:
    """What each clip takes away from the people of some sums: of each the smaller of the unit and its loss."""
    lost = np.zeros(len(tables.limits), dtype=np.int64)
    before, over = -1, sums[0]
    # The smallest limit of a segment first: whoever is not over it is over none of the segment's others.
    for number in np.lexsort((tables.limits, tables.of_clip)).tolist():
        segment, limit = int(tables.of_clip[number]), int(tables.limits[number])
        over = over if segment == before else sums[segment]
        before, over = segment, over[over > limit]
        kept = factors(over, limit)
        kept *= tables.unit
        np.floor(kept, out=kept)
        # min(unit, unit - kept + grain), for all of them
        np.maximum(kept, tables.grain, out=kept)
        lost[number] = len(over) * (tables.unit + tables.grain) - int(kept.astype(np.int64).sum())
    return lost


def clipped(offsets: Int64s, ids: Ids, amplitudes: Int64s, *, radius: int) -> Int64s:
    """For each id the sum of what people add to it, if the items with an amplitude count; see `Incidence.clipped`."""
    found = passes.clipped((offsets, ids), amplitudes, limit=radius * radius, below_one=BELOW_ONE)
    return _clipped_in_numpy(offsets, ids, amplitudes, radius=radius) if found is None else found


def _clipped_in_numpy(offsets: Int64s, ids: Ids, amplitudes: Int64s, *, radius: int) -> Int64s:
    lengths = np.diff(offsets)
    total = np.zeros(len(amplitudes), dtype=np.int64)
    for people in pieces(lengths):
        own = ids[offsets[people.start] : offsets[people.stop]]
        steps = amplitudes.take(own)
        np.add.at(total, own, steps)
        norms = per_person(steps * steps, lengths[people])
        over = np.flatnonzero(norms > radius * radius)
        held, where = places(offsets, people.start + over)
        steps = amplitudes[ids[where]]
        kept = np.floor(steps * np.repeat(factors(norms[over], radius * radius), held)).astype(np.int64)
        np.subtract.at(total, ids[where], steps - kept)
    return total


def factors(squares: Int64s, limit: int) -> npt.NDArray[np.float64]:
    """G of people whose squared amplitudes come to more than the limit."""
    found: npt.NDArray[np.float64] = float(limit) / squares.astype(np.float64)
    np.sqrt(found, out=found)
    found *= BELOW_ONE
    return found


def check_sums(ranked: Ranked, people: int) -> None:
    """Refuse so many people that a sum could leave 64 bits."""
    if people * int(ranked.amplitudes.max(initial=0)) >= LARGEST:
        raise InvalidInput("sums on so fine a grid could reach 2^62 for this many people; use smaller amplitudes")
