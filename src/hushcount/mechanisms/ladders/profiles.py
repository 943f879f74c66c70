"""Profiles: how much a person with d items adds to each of them, in whole numbers; four ways, for different data.

A profile that falls more slowly with d gives people with long lists more say, one that is flat for short lists gives
people with few items no more than those with ten or thirty. No one is best for all data, and the largest of several
keep probabilities is as private as each (`tables`), so several are tried at once.
"""

from __future__ import annotations

import math

from hushcount.model.frozen import frozen

# Every profile gives so much for the longest list: fine enough that rounding down costs little.
_LEAST_WEIGHT = 16
# Lists of this length and longer set the scale; shorter bounds leave it as it is, on a finer grid.
_REFERENCE = 100
# d^-1/2 from these lengths on, and the same for all shorter lists.
_FLAT_UP_TO = (1, 10, 30)


@frozen
class Profile:
    """What a person with d items adds to each: `weights[d - 1]`. Positive, and never more for a longer list."""

    weights: tuple[int, ...]

    @property
    def rungs(self) -> tuple[tuple[int, int], ...]:
        """Each weight with the longest list that has it: what holds for that list holds for the shorter ones.

        Of two lists with one weight the longer has less of rho and of delta for each item.
        """
        return tuple({weight: length for length, weight in enumerate(self.weights, 1)}.items())


def profiles(max_items: int) -> tuple[Profile, ...]:
    """d^-1/2, d^-0.35, and d^-1/2 that is flat up to 10 and up to 30 items, scaled to 16 at 100 items, rounded down."""
    reference, lengths = max(_REFERENCE, max_items), range(1, max_items + 1)
    square = _LEAST_WEIGHT**2 * reference
    falling = [Profile(weights=tuple(math.isqrt(square // max(d, flat)) for d in lengths)) for flat in _FLAT_UP_TO]
    slow = Profile(weights=tuple(_slowly(reference, d) for d in lengths))
    return (falling[0], slow, *falling[1:])


def _slowly(reference: int, length: int) -> int:
    """floor(16 (reference/length)^0.35), exactly: x <= (r/d)^(7/20) 16 if and only if x^20 d^7 <= 16^20 r^7."""
    guess = int(_LEAST_WEIGHT * (reference / length) ** 0.35) + 1
    while guess**20 * length**7 > _LEAST_WEIGHT**20 * reference**7:
        guess -= 1
    return guess
