"""A uniform number as an endless row of bits: the first word for the fast filter, more words for the exact judge."""

from __future__ import annotations

from fractions import Fraction

from hushcount.noise.source import Draws

_DEPTH = (
    32  # word counter = number + depth * 2^32: each uniform number of a row owns its own words, however deep it is read
)


def enclose(draws: Draws, row: int, *, number: int, depth: int) -> tuple[Fraction, Fraction]:
    """The interval that uniform `number` of `row` lies in, from its first `depth` words: width 2^(-64 depth)."""
    bits = 0
    for level in range(depth):
        bits = (bits << 64) | draws.word(row, number + (level << _DEPTH))
    return Fraction(bits, 1 << (64 * depth)), Fraction(bits + 1, 1 << (64 * depth))


def digits_for(depth: int) -> int:
    """Decimal digits that match the resolution of `depth` words."""
    return 20 * depth + 2
