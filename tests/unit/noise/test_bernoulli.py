"""Exact coins: the fast filter and the judge say the same, and at a boundary the next word decides."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hushcount.noise import bernoulli, enclosures
from hushcount.noise.bernoulli import accept
from hushcount.noise.source import SeededSource
from tests.unit.noise.scripted import LAST, SECOND, THIRD, Counting, Scripted, pairs

WORD = st.integers(0, LAST) | st.sampled_from([0, 1, 2**63 - 1, 2**63, LAST - 1, LAST])
THIRD_OF_WORDS = 0x5555555555555555  # floor(2^64 / 3), and every further word of one third


def coin(p: Fraction):
    """A judge that knows p exactly."""
    return lambda row, digits: (p, p)


def toss(draws, p: Fraction) -> list[bool]:
    """The coins of all rows, each of probability p."""
    return accept(draws, np.full(len(draws), float(p)), judge=coin(p)).tolist()


@pytest.mark.parametrize(
    "p",
    [
        *(Fraction(0), Fraction(1), Fraction(1, 3), Fraction(1, 2), Fraction(1, 1000), Fraction(999, 1000)),
        *(Fraction(1, 10**12), 1 - Fraction(1, 10**12), Fraction(1, 2**70), 1 - Fraction(1, 2**70)),
    ],
    ids=str,
)
def test_all_rows_through_the_judge_give_the_same(monkeypatch, p):
    """With margins so wide that no row is decided by doubles, every row comes out as before."""
    draws = SeededSource(1).draws("coins", 2000)
    fast = toss(draws, p)
    judged = []

    def judge(row, digits):
        judged.append(row)
        return p, p

    monkeypatch.setattr(bernoulli, "RELATIVE", 8.0)
    monkeypatch.setattr(bernoulli, "ABSOLUTE", 8.0)
    slow = accept(draws, np.full(2000, float(p)), judge=judge).tolist()

    assert slow == fast
    assert set(judged) == set(range(2000))
    assert slow == [bool(Fraction(word, 2**64) < p) for word in draws.words(0).tolist()]


def test_the_filter_decides_almost_always():
    """In the common path the judge is not asked at all."""

    def never(row, digits):
        pytest.fail("the judge was asked")

    draws = SeededSource(1).draws("coins", 100_000)
    kept = accept(draws, np.full(100_000, 0.3), judge=never)

    assert 0.29 < kept.mean() < 0.31


@given(
    rows=st.lists(st.tuples(WORD, WORD), min_size=1, max_size=8),
    p=st.fractions(0, 1) | WORD.map(lambda word: Fraction(word, 2**64)) | WORD.map(lambda word: Fraction(word, 2**128)),
)
@example(rows=[(0, 0), (0, 1), (LAST, LAST)], p=Fraction(1, 2**128))
@example(rows=[(LAST, LAST - 1), (LAST, LAST)], p=1 - Fraction(1, 2**128))
def test_coin_is_uniform_below_p(rows, p):
    """For any words and any p the coin is true exactly if the uniform number, to its last bit, is below p."""
    numbers = [Fraction((first << 64) | second, 2**128) for first, second in rows]
    assume(not any(number < p < number + Fraction(1, 2**128) for number in numbers))

    assert toss(pairs(*rows), p) == [number < p for number in numbers]


@pytest.mark.parametrize(
    ("second", "kept"), [(0, True), (THIRD_OF_WORDS - 1, True), (THIRD_OF_WORDS + 1, False), (LAST, False)]
)
def test_the_second_word_decides_at_one_third(second, kept):
    """If the first word is the first 64 bits of p, the second word decides."""
    draws = Counting(pairs((THIRD_OF_WORDS, second)))

    assert toss(draws, Fraction(1, 3)) == [kept]
    assert draws.singles.tolist() == [1 + 2]


@pytest.mark.parametrize(("third", "kept"), [(THIRD_OF_WORDS - 1, True), (THIRD_OF_WORDS + 1, False)])
def test_the_third_word_decides_if_two_are_not_enough(third, kept):
    """The judge reads on as long as it takes."""
    draws = Scripted({0: [THIRD_OF_WORDS], SECOND: [THIRD_OF_WORDS], THIRD: [third]})

    assert toss(draws, Fraction(1, 3)) == [kept]


@pytest.mark.parametrize(("change", "kept"), [(-1, True), (1, False)])
def test_the_second_word_decides_at_an_irrational_p(change, kept):
    """The same for e^-1, which only certified decimals know."""
    bits = int(enclosures.exp(Fraction(-1), 60)[0] * 2**128)
    first, second = bits >> 64, bits % 2**64
    draws = Scripted({0: [first], SECOND: [second + change]})
    kept_now = accept(draws, np.exp([-1.0]), judge=lambda row, digits: enclosures.exp(Fraction(-1), digits))

    assert kept_now.tolist() == [kept]


@pytest.mark.parametrize(
    ("p", "word", "kept"),
    [
        (Fraction(0), 0, False),
        (Fraction(1), LAST, True),
        (Fraction(1, 2), 2**63 - 1, True),
        (Fraction(1, 2), 2**63, False),
        (Fraction(1, 2**64), 0, True),
        (Fraction(1, 2**64), 1, False),
        (1 - Fraction(1, 2**64), LAST - 1, True),
        (1 - Fraction(1, 2**64), LAST, False),
    ],
    ids=str,
)
def test_edges_need_one_word(p, word, kept):
    """Where p is a multiple of 2^-64 the first word alone decides: no draw is lost at 0, at 1, or at p itself."""
    assert toss(Scripted({0: [word]}), p) == [kept]


@pytest.mark.parametrize("error", [-0.5, 0.5])
@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2**50), 1 - Fraction(1, 2**30)], ids=str)
def test_the_stated_error_of_the_probability_is_harmless(p, error):
    """A double that is off by all that the docstring allows changes no coin, not even next to p."""
    off = float(p) * (1 + error * bernoulli.RELATIVE) + error * bernoulli.ABSOLUTE
    near = int(p * 2**64)
    steps = sorted({0, *(sign << shift for shift in range(58) for sign in (1, -1))})
    words = [near + step for step in steps if 0 <= near + step <= LAST and step]
    kept = accept(Scripted({0: words, SECOND: [0] * len(words)}), np.full(len(words), off), judge=coin(p))

    assert kept.tolist() == [Fraction(word, 2**64) < p for word in words]


def test_rows_have_their_own_probability():
    """Row i is compared with probability i and judged as row i."""
    draws = Scripted({0: [2**63] * 3})
    ps = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    kept = accept(draws, np.array([0.25, 0.5, 0.75]), judge=lambda row, digits: (ps[row], ps[row]))

    assert kept.tolist() == [False, False, True]


def test_the_uniform_number_can_be_chosen():
    """With another number the coin reads that number's words only."""
    draws = Scripted({4: [0, LAST]})
    kept = accept(draws, np.array([0.5, 0.5]), judge=coin(Fraction(1, 2)), number=4)

    assert kept.tolist() == [True, False]


def test_no_rows():
    """No rows give no coins."""
    assert toss(SeededSource(1).draws("coins", 0), Fraction(1, 2)) == []
