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
from hushcount.noise.siphash import Words
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
    draws: Draws, values: Int64s, *, ceiling: Callable[[Int64s], Words], closely: Callable[[Draws, Int64s], Bools]
) -> Bools:
    """Toss the coins of many rows, those alone whose first word is not above the ceiling of its value.

    `ceiling` is told values and gives words, as `ceilings` has them; `closely` tosses coins by draws and values.

    Some rows after the other and on two cores, since no coin depends on another row: what is worked out for a piece
    stays in a core's cache, where all rows together would fill memory.
    """
    accepted = np.zeros(len(draws), dtype=np.bool_)

    def some(rows: range) -> None:
        for first in rows[::_ROWS]:
            piece = slice(first, min(first + _ROWS, rows.stop))
            own, few = draws.at(piece), values[piece]
            likely = np.flatnonzero(own.words(0) <= ceiling(few))
            accepted[first + likely] = closely(own.at(likely), few[likely])

    middle = len(draws) // 2 if len(draws) > _ROWS else 0
    if middle:
        on_two_cores(some, range(middle), range(middle, len(draws)))
    else:
        some(range(len(draws)))
    return accepted


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
