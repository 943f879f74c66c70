"""Geometric and discrete Laplace numbers: exact to the last bit, one word for each geometric number."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hushcount.errors import InvalidParameter
from hushcount.noise import enclosures, laplace
from hushcount.noise.laplace import LARGEST_SCALE, discrete_laplace, geometric
from hushcount.noise.source import SeededSource
from tests.unit.noise.scripted import LAST, SECOND, THIRD, Counting, Scripted, pairs

WORD = st.integers(0, LAST) | st.integers(0, 64).map(lambda shift: LAST >> shift) | st.integers(0, 10)
RATE = st.fractions(Fraction(1, LARGEST_SCALE), 50) | st.sampled_from([Fraction(8), Fraction(45), Fraction(1, 10**9)])


def floor_of(number: int, rate: Fraction) -> int:
    """floor(-ln(number / 2^128) / rate), apart from the library."""
    with mpmath.workdps(80):
        rate_here = mpmath.mpf(rate.numerator) / rate.denominator
        return int(mpmath.floor(-mpmath.log(mpmath.mpf(number) / 2**128) / rate_here))


@given(rows=st.lists(st.tuples(WORD, WORD), min_size=1, max_size=6), rate=RATE)
@example(rows=[(0, 1), (0, LAST), (1, 0), (LAST, 0), (LAST, LAST - 1)], rate=Fraction(8))
@example(rows=[(0, 1), (0, 1 << 57)], rate=Fraction(16))
def test_geometric_inverts_the_uniform_number(rows, rate):
    """For any words and rate the number is floor(-ln(U) / rate) for all 128 bits of U."""
    numbers = [(first << 64) | second for first, second in rows]
    assume(0 not in numbers)
    expected = [floor_of(number, rate) for number in numbers]
    # The last bit read leaves U in an interval: both ends must say the same, or a third word would have to decide.
    assume(expected == [floor_of(number + 1, rate) for number in numbers])

    assert geometric(pairs(*rows), rate).tolist() == expected


@pytest.mark.parametrize(("second", "value"), [(LAST, 5), (1 << 63, 5), (1 << 57, 6), (1 << 40, 7), (1, 11)])
def test_a_first_word_of_zero_is_read_on(second, value):
    """A first word of zero only says that U is below 2^-64: how large the number is, the second word says."""
    assert geometric(pairs((0, second)), Fraction(8)).tolist() == [value]


def test_the_last_word_is_zero():
    """The largest uniform number gives zero at any rate."""
    assert geometric(pairs((LAST, LAST)), Fraction(1, LARGEST_SCALE)).tolist() == [0]
    assert geometric(pairs((LAST, 0)), Fraction(30)).tolist() == [0]


@pytest.mark.parametrize("k", [1, 2, 7, 30])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 3), Fraction(5, 7)], ids=str)
def test_the_second_word_decides_at_a_boundary(rate, k):
    """If the first word is the first 64 bits of e^(-rate k), the second decides between k - 1 and k."""
    bits = int(enclosures.exp(-rate * k, 80)[0] * 2**128)
    first, second = bits >> 64, bits % 2**64
    rows = [(first, second - 1), (first, second + 1), (first, 0), (first, LAST)]
    draws = Counting(pairs(*rows))

    assert geometric(draws, rate).tolist() == [k, k - 1, k, k - 1]
    assert (draws.singles >= 2).all()


@pytest.mark.parametrize(("third", "value"), [(-1, 3), (1, 2)])
def test_the_third_word_decides_if_two_are_not_enough(third, value):
    """The judge reads on as long as it takes: here to 192 bits of e^-3."""
    bits = int(enclosures.exp(Fraction(-3), 100)[0] * 2**192)
    first, second, exact = bits >> 128, (bits >> 64) % 2**64, bits % 2**64

    assert geometric(Scripted({0: [first], SECOND: [second], THIRD: [exact + third]}), Fraction(1)).tolist() == [value]


def test_two_words_of_zero_are_read_on():
    """As long as U may be zero, more words are read: -ln(2^-129) / 8 is 11.2."""
    script = {0: [0], SECOND: [0], THIRD: [2**63]}

    assert geometric(Scripted(script), Fraction(8)).tolist() == [11]


@pytest.mark.parametrize("scale", [Fraction(1, 10), 1, 7, Fraction(70, 3), 1000, 10**6, 10**9], ids=str)
def test_all_rows_through_the_judge_give_the_same(monkeypatch, scale):
    """With margins so wide that no row is decided by doubles, every row comes out as before."""
    source = SeededSource(2)
    names = np.array([f"item {i}" for i in range(300)], dtype=object)
    for draws in (source.item_draws("geometric", source.identify(names)), source.draws("geometric", 300)):
        with monkeypatch.context() as patch:
            fast = geometric(draws, 1 / Fraction(scale)).tolist()
            patch.setattr(laplace, "_RELATIVE", 1e12)
            patch.setattr(laplace, "_ABSOLUTE", 1e12)
            counting = Counting(draws)
            slow = geometric(counting, 1 / Fraction(scale)).tolist()

        assert slow == fast
        assert (counting.singles >= 2).all()


def test_geometric_reads_one_word():
    """Every row reads exactly one word, so time does not tell a large draw."""
    draws = Counting(SeededSource(3).draws("x", 200_000))
    values = geometric(draws, Fraction(1, 50))

    assert values.max() > 400
    assert (draws.columns == 1).all()
    assert (draws.singles == 0).all()


def test_discrete_laplace_reads_two_words():
    """Every row reads exactly two words, whatever its value."""
    draws = Counting(SeededSource(3).draws("x", 200_000))
    values = discrete_laplace(draws, Fraction(1, 50))

    assert np.abs(values).max() > 400
    assert (draws.columns == 2).all()
    assert (draws.singles == 0).all()


def test_discrete_laplace_is_a_difference_of_two_numbers():
    """Uniform numbers n and n + 1 are used, and no others."""
    draws = SeededSource(3).draws("x", 500)
    rate = Fraction(1, 9)
    values = discrete_laplace(draws, rate, number=6)

    assert (values == geometric(draws, rate, number=6) - geometric(draws, rate, number=7)).all()
    assert (values != discrete_laplace(draws, rate)).any()


def test_uniform_numbers_do_not_overlap_in_depth():
    """The second word of number 0 is not the first word of any other number in use."""
    script = {0: [0], SECOND: [1 << 57], 1: [LAST], 1 + SECOND: [LAST]}

    assert discrete_laplace(Scripted(script), Fraction(8)).tolist() == [6]


@pytest.mark.parametrize("sampler", [geometric, discrete_laplace])
@pytest.mark.parametrize(
    "rate", [0, -1, Fraction(-1, 2), Fraction(1, LARGEST_SCALE + 1), Fraction(1, 10**400)], ids=str
)
def test_bad_rates_are_refused(sampler, rate):
    """A rate of zero, below zero, or too small to count with is refused before a word is read."""
    draws = Counting(SeededSource(1).draws("x", 3))

    with pytest.raises(InvalidParameter) as caught:
        sampler(draws, Fraction(rate))

    assert caught.value.name == "noise rate"
    assert not draws.columns.any()


def test_the_largest_scale_works():
    """At the largest scale that is allowed numbers are large, exact, and far from overflow."""
    rate = Fraction(1, LARGEST_SCALE)
    values = geometric(pairs((1, 0), (2**63, 12345)), rate).tolist()

    assert values == [floor_of(1 << 64, rate), floor_of((2**63 << 64) + 12345, rate)]
    assert values[0] > 2**37


@pytest.mark.parametrize("sampler", [geometric, discrete_laplace])
def test_no_rows(sampler):
    """No rows give no numbers, as integers."""
    values = sampler(SeededSource(1).draws("x", 0), Fraction(1))

    assert values.tolist() == []
    assert values.dtype == np.int64
