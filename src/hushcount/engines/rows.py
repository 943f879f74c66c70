"""Compressed rows: person j holds `ids[offsets[j]:offsets[j + 1]]`. How passes over them are cut into pieces.

Every pass is NumPy on pieces that stay in a core's cache: as fast as compiled loops, with nothing to compile, and no
array of temporary values is as long as the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.model.inputs import Int64s

Ids: TypeAlias = npt.NDArray[np.integer[Any]]

_PAIRS = 1 << 17


def pieces(lengths: Int64s) -> Iterator[slice]:
    """Slices of consecutive people who hold about so many pairs together, whatever one of them may hold."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(_PAIRS, total, _PAIRS))
    for first, last in pairwise(np.unique(np.concatenate(([0], cuts, [len(ends)]))).tolist()):
        yield slice(first, last)


def per_person(values: npt.NDArray[Any], lengths: Int64s) -> Int64s:
    """The sum over each person's values, which stand one person behind the other; nobody's list is empty."""
    if not len(lengths):
        return np.zeros(0, dtype=np.int64)
    sums: Int64s = np.add.reduceat(values, np.cumsum(lengths) - lengths, dtype=np.int64)
    return sums


def places(offsets: Int64s, people: Int64s) -> tuple[Int64s, Int64s]:
    """How many items these people hold, and where these stand, person by person."""
    lengths = offsets[people + 1] - offsets[people]
    ends = np.cumsum(lengths)
    shift = np.repeat(offsets[people] - (ends - lengths), lengths)
    shift += np.arange(len(shift))
    return lengths, shift
