"""Ceilings: how large the first word of a uniform number may be for a coin to come up at all.

Of millions of items nearly all have a tiny probability, and to be told so by a table costs less than to compute it. A
ceiling may be too high, never too low: a row whose word is not above it is looked at closely.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hushcount.model.frozen import frozen
from hushcount.model.inputs import LARGEST, Int64s
from hushcount.noise.bernoulli import ABSOLUTE, RELATIVE, Floats
from hushcount.noise.siphash import Words

# A table of values that are not listed one by one has so many cells at most, as a power of two.
_CELL_BITS = 11


@frozen
class Ceiling:
    """A ceiling for each whole value: that of its cell, which has all values that differ in the last `shift` bits only.

    Attributes:
        shift: as above.
        words: a ceiling for each cell from that of zero on; the last is for all larger values, too.
    """

    shift: int
    words: Words

    def of(self, values: Int64s) -> Words:
        """The ceiling of each value; a negative one is taken for zero, whose probability is no smaller."""
        found: Words = self.words.take(values >> self.shift, mode="clip")
        return found


def rising(probability: Callable[[Int64s], Floats], *, common: float) -> Ceiling:
    """By a probability that rises with the value: where a cell ends, it is no smaller than anywhere in the cell.

    Of values from `common` on nothing is said: all of them are looked at.
    """
    last = math.ceil(min(max(common, 0.0), LARGEST))
    shift = max(0, last.bit_length() - _CELL_BITS)
    ends = np.arange(1, (last >> shift) + 1) << shift
    return Ceiling(shift=shift, words=np.append(_words(probability(ends)), _words(np.ones(1))))


def listed(probabilities: Floats) -> Ceiling:
    """By the probability of each value from zero on; the last is that of all larger ones, too."""
    return Ceiling(shift=0, words=_words(probabilities))


def _words(probabilities: Floats) -> Words:
    """Words that no row exceeds which `bernoulli.accept` would accept: both errors that it allows for are added."""
    raised = probabilities * (1 + 4 * RELATIVE) + 4 * ABSOLUTE
    below_one = raised < 1
    # The largest double below one is 2^11 words below 2^64.
    words = (np.where(below_one, raised, 0) * 2.0**64).astype(np.uint64)
    return np.where(below_one, words, np.uint64(2**64 - 1))
