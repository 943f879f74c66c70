"""A uniform number as words: each word read halves the interval 64 times."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hushcount.noise import uniform
from hushcount.noise.source import SeededSource
from tests.unit.noise.scripted import LAST, Scripted


def test_words_are_digits_in_base_two_to_the_64():
    """The first word is the coarse digit, the next words refine it, and the interval is one last digit wide."""
    draws = Scripted({5: [0, 1, LAST], 5 + (1 << 32): [7, 2, LAST]})

    assert uniform.enclose(draws, 1, number=5, depth=1) == (Fraction(1, 2**64), Fraction(2, 2**64))
    assert uniform.enclose(draws, 1, number=5, depth=2) == (Fraction(2**64 + 2, 2**128), Fraction(2**64 + 3, 2**128))
    assert uniform.enclose(draws, 0, number=5, depth=1)[0] == 0
    assert uniform.enclose(draws, 2, number=5, depth=2)[1] == 1


@given(row=st.integers(0, 4), number=st.integers(0, 2**32 - 1), depth=st.integers(1, 4))
def test_deeper_is_inside(row, number, depth):
    """Reading on narrows the interval and never leaves it."""
    draws = SeededSource(1).draws("x", 5)
    least, most = uniform.enclose(draws, row, number=number, depth=depth)
    inner_least, inner_most = uniform.enclose(draws, row, number=number, depth=depth + 1)

    assert most - least == Fraction(1, 2 ** (64 * depth))
    assert least <= inner_least < inner_most <= most


@given(
    one=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 99)), two=st.tuples(st.integers(0, 9), st.integers(0, 9))
)
def test_uniform_numbers_share_no_word(one, two):
    """Two uniform numbers of a row never read the same word, however deep."""
    read = []

    class Recorder:
        def word(self, row: int, counter: int) -> int:
            read.append(counter)
            return 0

    for number, depth in {one, two}:
        uniform.enclose(Recorder(), 0, number=number, depth=depth + 1)
    numbers = {one[0]: one[1], **({two[0]: two[1]} if two[0] != one[0] else {})}

    assert len(set(read)) >= sum(depth + 1 for depth in numbers.values())
    assert {counter % 2**32 for counter in read} == {one[0], two[0]}


@given(depth=st.integers(1, 50))
def test_digits_match_the_bits(depth):
    """The judge's decimals are finer than the interval that the words give."""
    assert Fraction(1, 10 ** uniform.digits_for(depth)) < Fraction(1, 2 ** (64 * depth))
