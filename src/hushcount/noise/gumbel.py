"""The exponential mechanism with rational priors, and its one-shot top k by Gumbel noise, drawn exactly.

Candidate i is first with probability proportional to prior_i * exp(rate * score_i); then the same among the rest, and
so on ("peeling"). Adding Gumbel noise once to rate * score_i + ln(prior_i) and sorting gives that order in one shot
(Durfee and Rogers 2019); this holds for Gumbel noise only. A bottom candidate is a score and a prior like any other, so
no threshold is ever a rounded float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, cmp_to_key
from itertools import count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.errors import InvalidParameter
from hushcount.model.frozen import frozen
from hushcount.noise import enclosures, uniform
from hushcount.noise.laplace import Int64s
from hushcount.noise.source import Draws

Floats: TypeAlias = npt.NDArray[np.float64]

_RELATIVE = 2.0**-45
_LARGEST_RATE = 10**6
_HALF = np.uint64(1 << 63)


class Priors(dict[int, Fraction]):
    """Priors other than one, by row. Never changed: whoever draws by the same ones again has their logarithms."""

    @cached_property
    def logs(self) -> tuple[Int64s, Floats]:
        """Rows, and the logarithm of the prior of each."""
        # As `float(weight)`, which would look for its parts in a slower way.
        found = [math.log(weight.numerator / weight.denominator) for weight in self.values()]
        return np.fromiter(self, dtype=np.int64, count=len(self)), np.array(found)


@frozen
class Candidates:
    """Integer scores; what one unit of score counts for (epsilon / range of scores); priors other than one, by row."""

    scores: Int64s
    rate: Fraction
    priors: Mapping[int, Fraction]


def peel(draws: Draws, candidates: Candidates, most: int | None = None, *, last: int | None = None) -> Int64s:
    """Rows in the order in which the exponential mechanism without replacement picks them, at most `most` of them.

    Exact: places that the double-precision keys cannot tell apart are compared with certified enclosures. With `last`
    the rows that surely come after that one are left out.
    """
    if not 0 < candidates.rate <= _LARGEST_RATE:
        raise InvalidParameter("rate", float(candidates.rate), f"above zero and at most {_LARGEST_RATE}")
    key, margin = _keys(draws, candidates)
    kept = slice(None) if last is None else np.flatnonzero(key + margin >= key[last] - margin[last])
    order = np.arange(len(key))[kept][np.argsort(-key[kept], kind="stable")]
    wanted = len(order) if most is None else min(most, len(order))
    low, high = (key - margin)[order], (key + margin)[order]
    # Place j is certain if the lowest possible key up to it is above the highest possible key of all that follow.
    # The one before j may have the wider margin, so its own lowest key counts too.
    follow = np.maximum.accumulate(high[::-1])[::-1]
    certain = np.minimum.accumulate(low)[:-1] > follow[1:]
    if not certain[:wanted].all():
        order = _settle(order, certain, lambda one, two: _compare(draws, candidates, one, two))
    return order[:wanted]


def _keys(draws: Draws, candidates: Candidates) -> tuple[Floats, Floats]:
    words = draws.words(0)
    # E = -ln(1 - x) is a standard exponential number, accurate at both ends; the Gumbel number is -ln(E).
    low = (words.astype(np.float64) + 0.5) * 2.0**-64
    high = ((~words).astype(np.float64) + 0.5) * 2.0**-64
    exponential = np.where(words < _HALF, -np.log1p(-np.minimum(low, 0.5)), -np.log(high))
    # The first and the last word leave the Gumbel number unbounded on one side.
    edge = np.minimum(low, high)
    blur = np.where(edge < 2.0**-64, np.inf, _RELATIVE + 2.0**-64 / edge)
    gumbel = -np.log(exponential)
    tilt = candidates.scores.astype(np.float64) * float(candidates.rate)
    prior = np.zeros(len(tilt))
    rows, logs = (candidates.priors if isinstance(candidates.priors, Priors) else Priors(candidates.priors)).logs
    prior[rows] = logs
    margin = blur + _RELATIVE * (np.abs(tilt) + np.abs(prior) + np.abs(gumbel))
    return tilt + prior + gumbel, margin


def _settle(order: Int64s, certain: npt.NDArray[np.bool_], compare: Callable[[int, int], int]) -> Int64s:
    """Sort again, with an exact comparison, inside each run of places that ends at the next certain one."""
    rows = order.tolist()
    first = 0
    for place in range(len(rows)):
        # A run ends where all of its places are surely above all that follow.
        if place == len(rows) - 1 or certain[place]:
            rows[first : place + 1] = sorted(rows[first : place + 1], key=cmp_to_key(compare), reverse=True)
            first = place + 1
    return np.array(rows, dtype=np.int64)


def _compare(draws: Draws, candidates: Candidates, one: int, two: int) -> int:
    """Sign of key_one - key_two, on as many bits as it takes."""
    if one == two:
        return 0
    for depth in count(2):
        low_one, high_one = _exact_key(draws, candidates, one, depth)
        low_two, high_two = _exact_key(draws, candidates, two, depth)
        if low_one > high_two:
            return 1
        if low_two > high_one:
            return -1
    raise AssertionError("unreachable: the loop above is endless")


def _exact_key(draws: Draws, candidates: Candidates, row: int, depth: int) -> enclosures.Interval:
    least, most = uniform.enclose(draws, row, number=0, depth=depth)
    if most == 1 or least == 0:  # an end where a logarithm is infinite: read one word more
        return _exact_key(draws, candidates, row, depth + 1)
    digits = uniform.digits_for(depth)
    small, large = -enclosures.ln(1 - least, digits)[1], -enclosures.ln(1 - most, digits)[0]
    if small <= 0:
        return _exact_key(draws, candidates, row, depth + 1)
    prior = enclosures.ln(candidates.priors.get(row, Fraction(1)), digits)
    tilt = int(candidates.scores[row]) * candidates.rate
    return tilt + prior[0] - enclosures.ln(large, digits)[1], tilt + prior[1] - enclosures.ln(small, digits)[0]
