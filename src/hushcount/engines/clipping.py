"""Clipped sums over people, as `model.inputs.Clip` says, in NumPy: for small data, Spark's workers, and as the rule.

People are compressed rows: person j holds `ids[offsets[j]:offsets[j + 1]]`, and nobody's list is empty. What an item
counts stands in tables by id, with zeros for items that do not count. Only basic operations of IEEE doubles are used
(conversion, quotient, root, product), each correctly rounded everywhere: so NumPy, compiled code and every machine give
the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidInput
from hushcount.model.amounts import whole
from hushcount.model.inputs import LARGEST, Clip, Int64s, Ranked

Ids: TypeAlias = npt.NDArray[np.integer[Any]]

# Takes more off a factor than five roundings of doubles can add to it.
BELOW_ONE = 1 - 2.0**-40
# So many sums of people and numbers of items are held at a time.
_CELLS = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Clips and ranks as tables: an item of segment n counts in all clips whose own segment is n or later.

    Attributes:
        squares: the squared amplitude of each item by id; zero where it does not count.
        of_item: the segment of each item by id.
        of_clip: the segment of each clip.
        limits: the squared radius of each clip.
        grain: what makes up for floors, in units.
        unit: what one person counts.
    """

    squares: Int64s
    of_item: Int64s
    of_clip: Int64s
    limits: Int64s
    grain: int
    unit: int


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
    lost = np.zeros(len(tables.limits), dtype=np.int64)
    total = _per_person(tables.squares[ids], offsets)
    over = np.flatnonzero(total > tables.limits.min())
    width = int(tables.of_clip.max()) + 1
    for chunk in np.array_split(over, -(-len(over) * width // _CELLS) or 1):
        lengths, places = _places(offsets, chunk)
        held = ids[places]
        cells = np.zeros(len(chunk) * width, dtype=np.int64)
        np.add.at(cells, np.repeat(np.arange(len(chunk)) * width, lengths) + tables.of_item[held], tables.squares[held])
        sums = np.cumsum(cells.reshape(-1, width), axis=1)
        for number, (segment, limit) in enumerate(zip(tables.of_clip, tables.limits, strict=True)):
            clipped = sums[:, segment][sums[:, segment] > limit]
            parts = tables.unit - np.floor(tables.unit * factors(clipped, int(limit))).astype(np.int64) + tables.grain
            lost[number] += int(np.minimum(parts, tables.unit).sum())
    return lost


def clipped(offsets: Int64s, ids: Ids, amplitudes: Int64s, *, radius: int) -> Int64s:
    """For each id the sum of what people add to it, if the items with an amplitude count; see `Incidence.clipped`."""
    squares = _per_person((amplitudes * amplitudes)[ids], offsets)
    over = np.flatnonzero(squares > radius * radius)
    total = amplitudes * np.bincount(ids, minlength=len(amplitudes))
    lengths, places = _places(offsets, over)
    held = ids[places]
    steps = amplitudes[held]
    kept = np.floor(steps * np.repeat(factors(squares[over], radius * radius), lengths)).astype(np.int64)
    np.subtract.at(total, held, steps - kept)
    return total


def factors(squares: Int64s, limit: int) -> npt.NDArray[np.float64]:
    """G of people whose squared amplitudes come to more than the limit."""
    found: npt.NDArray[np.float64] = np.sqrt(float(limit) / squares.astype(np.float64)) * BELOW_ONE
    return found


def check_sums(ranked: Ranked, people: int) -> None:
    """Refuse so many people that a sum could leave 64 bits."""
    if people * int(ranked.amplitudes.max(initial=0)) >= LARGEST:
        raise InvalidInput("sums on so fine a grid could reach 2^62 for this many people; use smaller amplitudes")


def _per_person(values: Int64s, offsets: Int64s) -> Int64s:
    return np.add.reduceat(values, offsets[:-1]) if len(offsets) > 1 else np.zeros(0, dtype=np.int64)


def _places(offsets: Int64s, people: Int64s) -> tuple[Int64s, Int64s]:
    """How many items these people hold, and where these stand, person by person."""
    lengths = offsets[people + 1] - offsets[people]
    ends = np.cumsum(lengths)
    shift = np.repeat(offsets[people] - (ends - lengths), lengths)
    return lengths, np.arange(len(shift)) + shift
