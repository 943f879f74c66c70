"""Exact coins: each row comes up true with a probability that is any computable real number."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.compiled.cores import on_two_cores
from hushcount.model.inputs import Int64s
from hushcount.noise import uniform
from hushcount.noise.enclosures import Interval
from hushcount.noise.source import Draws

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Judge: TypeAlias = Callable[[int, int], Interval]

# The filter trusts a double-precision probability to this relative error and this absolute error.
RELATIVE = 2.0**-36
ABSOLUTE = 2.0**-60
# So many rows are tossed together.
_ROWS = 1 << 16


def accept(draws: Draws, probability: Floats, judge: Judge, *, number: int = 0) -> Bools:
    """Exactly Bernoulli(p) for each row, p being the real number that `judge(row, digits)` encloses.

    `probability` approximates p within half of RELATIVE * p + ABSOLUTE. The uniform number, itself rounded to a double,
    is compared with it; a comparison closer than the whole is settled by the judge on as many bits as it takes. The
    result is exact: no error to charge.
    """
    first = draws.words(number).astype(np.float64) * 2.0**-64
    surely = first < probability * (1 - RELATIVE) - ABSOLUTE
    perhaps = first <= probability * (1 + RELATIVE) + ABSOLUTE
    for row in np.flatnonzero(perhaps & ~surely).tolist():
        surely[row] = _below(draws, row, number, judge)
    return surely


def accept_likely(
    draws: Draws, most: Floats, some: Callable[[npt.NDArray[np.int64]], Bools], *, number: int = 0
) -> Bools:
    """As `accept`, looking closely at those rows only whose uniform number does not exceed `most`.

    Of millions of rows nearly all have a tiny probability, and to be told so costs less than to compute it. `most` is
    no smaller than any double that approximates the row's p as in `accept`; `some` accepts the rows of these numbers,
    by the same draws.
    """
    first = draws.words(number).astype(np.float64) * 2.0**-64
    rows = np.flatnonzero(first <= most * (1 + 4 * RELATIVE) + 4 * ABSOLUTE)
    accepted = np.zeros(len(draws), dtype=np.bool_)
    accepted[rows] = some(rows)
    return accepted


def in_pieces(draws: Draws, values: Int64s, toss: Callable[[Draws, Int64s], Bools]) -> Bools:
    """Toss the coins of many rows, some after the other and on two cores: no coin depends on another row.

    What is worked out for the rows of a piece stays in a core's cache, where all rows together would fill memory with
    ten numbers for each.
    """
    if len(draws) <= _ROWS:
        return toss(draws, values)
    tossed = np.empty(len(draws), dtype=np.bool_)

    def some(rows: range) -> None:
        for first in rows[::_ROWS]:
            piece = slice(first, min(first + _ROWS, rows.stop))
            tossed[piece] = toss(draws.at(piece), values[piece])

    middle = len(draws) // 2
    on_two_cores(some, range(middle), range(middle, len(draws)))
    return tossed


def _below(draws: Draws, row: int, number: int, judge: Judge) -> bool:
    for depth in count(1):
        least, most = uniform.enclose(draws, row, number=number, depth=depth)
        low, high = judge(row, uniform.digits_for(depth))
        if most <= low:
            return True
        # A probability known exactly (low == high) may coincide with an end of the uniform's interval: "not below" is
        # then certain.
        if least >= high:
            return False
    raise AssertionError("unreachable: the loop above is endless")
