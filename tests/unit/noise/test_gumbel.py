"""Peeling by Gumbel keys: the order is exact, ties of the first words included."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hushcount.noise import gumbel
from hushcount.noise.gumbel import Candidates, peel
from hushcount.noise.source import SeededSource
from tests.unit.noise.scripted import LAST, SECOND, Counting, Scripted, pairs

WORD = (
    st.integers(0, LAST) | st.integers(0, 63).map(lambda shift: LAST >> shift) | st.sampled_from([0, 1, LAST - 1, LAST])
)
HALF = 2**63


def candidates(scores, rate=1, priors=None) -> Candidates:
    """Candidates with integer scores."""
    return Candidates(scores=np.array(scores, dtype=np.int64), rate=Fraction(rate), priors=priors or {})


def keys(rows, of: Candidates, *, last: int) -> list[mpmath.mpf]:
    """The keys rate * score + ln(prior) - ln(-ln(1 - U)), `last` added to bit 128 of U, apart from the library."""
    found = []
    for row, (first, second) in enumerate(rows):
        u = mpmath.mpf((first << 64) + second + last) / mpmath.mpf(2) ** 128
        prior, tilt = of.priors.get(row, Fraction(1)), of.rate * int(of.scores[row])
        key = mpmath.mpf(tilt.numerator) / tilt.denominator - mpmath.log(-mpmath.log(1 - u))
        found.append(key + mpmath.log(mpmath.mpf(prior.numerator) / prior.denominator))
    return found


@given(
    rows=st.lists(st.tuples(WORD, st.integers(1, LAST - 1), st.integers(-60, 60)), min_size=1, max_size=7, unique=True),
    rate=st.fractions(Fraction(1, 1000), 3),
    prior=st.fractions(Fraction(1, 10**9), 10**9),
    most=st.integers(0, 8) | st.none(),
)
@example(rows=[(0, 1, 0), (HALF, 1, 60), (LAST, 5, 50)], rate=Fraction(1), prior=Fraction(1), most=None)
@example(rows=[(LAST, LAST - 1, 3), (LAST, 1, 0), (HALF, 1, -3)], rate=Fraction(1), prior=Fraction(1), most=None)
def test_order_is_that_of_the_exact_keys(rows, rate, prior, most):
    """For any words, scores and priors the rows come in the order of their keys, computed apart to 100 digits."""
    words = [(first, second) for first, second, _ in rows]
    given_candidates = candidates([score for _, _, score in rows], rate, {0: prior})
    with mpmath.workdps(100):
        highest, lowest = (keys(words, given_candidates, last=last) for last in (0, 1))
        expected = sorted(range(len(rows)), key=highest.__getitem__, reverse=True)
        # The last bit read leaves each key in an interval: where two of them meet, a third word would have to decide.
        assume(all(lowest[one] > highest[two] + mpmath.mpf(10) ** -20 for one, two in pairwise(expected)))

    assert peel(pairs(*words), given_candidates, most=most).tolist() == expected[:most]


@pytest.mark.parametrize(
    ("scores", "rate", "priors"),
    [
        ([0] * 24, Fraction(1), {}),
        ([i % 4 for i in range(24)], Fraction(1, 3), {}),
        ([2**61 + i for i in range(24)], Fraction(1, 7), {}),
        ([10**15 * i for i in range(24)], Fraction(1, 10**15), {}),
        ([-(2**60)] * 12 + [2**60] * 12, Fraction(1, 2**60), {}),
        ([5] * 24, Fraction(1, 2), {0: Fraction(10**7), 1: Fraction(1, 10**7), 23: Fraction(1000, 3)}),
    ],
    ids=["ties", "near ties", "big scores", "big steps", "both signs", "priors"],
)
def test_all_rows_through_the_judge_give_the_same(monkeypatch, scores, rate, priors):
    """With a margin so wide that no two rows are told apart by doubles, the order comes out as before."""
    source = SeededSource(6)
    names = np.array([f"item {i}" for i in range(24)], dtype=object)
    for draws in (source.item_draws("pick", source.identify(names)), source.draws("pick", 24)):
        with monkeypatch.context() as patch:
            fast = peel(draws, candidates(scores, rate, priors)).tolist()
            patch.setattr(gumbel, "_RELATIVE", 1e12)
            counting = Counting(draws)
            slow = peel(counting, candidates(scores, rate, priors)).tolist()

        assert slow == fast
        assert sorted(slow) == list(range(24))
        assert (counting.singles >= 2).all()


@pytest.mark.parametrize(
    ("first", "seconds", "order"),
    [
        (HALF, (7, 9), [0, 1]),
        (HALF, (9, 7), [1, 0]),
        (0, (1, LAST), [0, 1]),
        (0, (LAST, 1), [1, 0]),
        (LAST, (1, LAST - 1), [0, 1]),
        (LAST, (LAST - 1, 1), [1, 0]),
        (1, (0, LAST), [0, 1]),
        (LAST - 1, (LAST, 0), [1, 0]),
    ],
)
def test_the_second_word_breaks_a_tie(first, seconds, order):
    """Equal scores and equal first words: the smaller uniform number has the larger key, also at both ends."""
    draws = pairs((first, seconds[0]), (first, seconds[1]))

    assert peel(draws, candidates([3, 3])).tolist() == order


@pytest.mark.parametrize(("seconds", "order"), [((7, 9), [2, 0, 1]), ((9, 7), [2, 1, 0])])
def test_a_tie_below_a_certain_place(seconds, order):
    """A tie of second and third place is broken by the second word, if these places are wanted, and left if not."""
    scores = candidates([3, 3, 100])

    assert peel(pairs((HALF, seconds[0]), (HALF, seconds[1]), (HALF, 0)), scores).tolist() == order
    assert peel(pairs((HALF, seconds[0]), (HALF, seconds[1]), (HALF, 0)), scores, most=2).tolist() == order[:2]
    assert peel(Scripted({0: [HALF] * 3}), scores, most=1).tolist() == order[:1]


def test_the_third_word_breaks_a_tie_of_two():
    """The judge reads on as long as it takes."""
    draws = Scripted({0: [HALF, HALF], SECOND: [5, 5], 2 << 32: [LAST, 0]})

    assert peel(draws, candidates([3, 3])).tolist() == [1, 0]


@pytest.mark.parametrize(("second", "order"), [(1, [0, 1]), (LAST, [1, 0])])
def test_a_first_word_of_zero_is_read_on(second, order):
    """A first word of zero only bounds the key from below: the second word says whether it beats a score of 60."""
    assert peel(pairs((0, second), (HALF, 0)), candidates([0, 60])).tolist() == order


@pytest.mark.parametrize(("score", "order"), [(-6206, [1, 0]), (-6306, [0, 1])])
def test_a_last_word_is_read_on(score, order):
    """A first word of all ones only bounds the key from above: the words that follow say how far down it is."""
    # After eight words of ones E is 512 ln 2 = 354.9 and the key of row 0 is -5.87; row 1 stands at -5.84 or -5.94.
    script = {level << 32: [LAST, HALF] for level in range(8)} | {8 << 32: [0, 0]}

    assert peel(Scripted(script), candidates([0, score], Fraction(1, 1000))).tolist() == order


@pytest.mark.parametrize(("second", "order"), [(LAST, [1, 2, 0]), (0, [0, 1, 2])])
def test_a_wide_margin_reaches_over_several_narrow_ones(second, order):
    """A row whose first word leaves much open may fall below several rows that are certain among themselves."""
    # Row 0: U is 1 to 2 times 2^-64, so its key is 43.67 to 44.36. Row 1 stands at 43.95 and row 2 at 43.76.
    base = -float(np.log(np.log(2)))
    scores = [0, round((43.95 - base) * 1000), round((43.76 - base) * 1000)]
    draws = pairs((1, second), (HALF, 0), (HALF, 1))

    assert peel(draws, candidates(scores, Fraction(1, 1000))).tolist() == order


def test_one_word_for_each_row():
    """In the common path every row reads exactly one word, and no coin is asked twice."""
    draws = Counting(SeededSource(6).draws("x", 20_000))
    order = peel(draws, candidates(np.arange(20_000) % 50, Fraction(1, 10)))

    assert sorted(order.tolist()) == list(range(20_000))
    assert (draws.columns == 1).all()
    assert (draws.singles == 0).all()


@pytest.mark.parametrize("most", [0, 1, 3, 40, 100, None])
def test_at_most_so_many(most):
    """The first places of the whole order, and no more places than rows."""
    draws = SeededSource(6).draws("x", 40)
    whole = peel(draws, candidates(range(40), Fraction(1, 8))).tolist()

    assert peel(draws, candidates(range(40), Fraction(1, 8)), most=most).tolist() == whole[:most]


def test_larger_scores_come_first():
    """With steps far above the noise the order is that of the scores, largest first."""
    draws = SeededSource(6).draws("x", 10)

    assert peel(draws, candidates([3, 9, 1, 7, 5, 0, 2, 8, 4, 6], 1000)).tolist() == [1, 7, 3, 9, 4, 8, 0, 6, 2, 5]


def test_larger_priors_come_first():
    """With priors far apart the order is that of the priors, and a row without one has prior one."""
    priors = {0: Fraction(10) ** 150, 1: Fraction(1, 10**150), 3: Fraction(10) ** 80}
    draws = SeededSource(6).draws("x", 4)

    assert peel(draws, candidates([0] * 4, 1, priors)).tolist() == [0, 3, 2, 1]


def test_a_prior_is_a_shift_of_the_score():
    """A prior of p counts like ln(p) / rate of score: between two whole scores, neither above nor below both."""
    draws = SeededSource(6).draws("x", 400)
    scores = [0] * 400

    def place(row_score, prior) -> int:
        changed = [row_score, *scores[1:]]
        return peel(draws, candidates(changed, Fraction(1), {0: prior})).tolist().index(0)

    assert place(3, Fraction(1)) < place(0, Fraction(10)) < place(2, Fraction(1))


def test_no_rows_and_one_row():
    """No candidates have an empty order, and one candidate is first."""
    source = SeededSource(6)

    assert peel(source.draws("x", 0), candidates([])).tolist() == []
    assert peel(source.draws("x", 0), candidates([]), most=3).tolist() == []
    assert peel(source.draws("x", 1), candidates([5])).tolist() == [0]
