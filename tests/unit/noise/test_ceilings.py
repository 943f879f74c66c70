"""Ceilings: no coin that could come up is left out, and most of those that could not are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.model.inputs import LARGEST
from hushcount.noise import ceilings
from hushcount.noise.bernoulli import ABSOLUTE, RELATIVE, accept
from hushcount.noise.ceilings import Ceiling, listed, rising
from hushcount.noise.coins import KearnsSaul, Laplace, NormalTail, ceiling_of
from tests.unit.noise.scripted import LAST, SECOND, Scripted

UNIT = 1 << 30
LAWS = [law(unit=UNIT, scale=3.0, threshold=40.0) for law in (NormalTail, Laplace, KearnsSaul)]


def most_word(law, value):
    """The largest first word of a uniform number with which `accept` may take a value."""
    chance = law.probability(np.array([(law.threshold - value / law.unit) / law.scale]))[0]
    return min(LAST, int((Fraction(float(chance)) * (1 + Fraction(RELATIVE)) + Fraction(ABSOLUTE)) * 2**64))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@given(value=st.one_of(st.integers(0, 100 * UNIT), st.integers(-LARGEST, LARGEST - 1)))
def test_no_ceiling_is_too_low(law, value):
    """Of any value, below zero and far beyond the common ones too: what it leaves out could not have come up."""
    assert int(ceiling_of(law).of(np.array([value]))[0]) >= most_word(law, value)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_no_ceiling_is_too_low_where_a_cell_ends(law):
    """The largest value of a cell has the largest chance of all in it, and the first of the next is another's."""
    ceiling = ceiling_of(law)
    for cell in range(len(ceiling.words)):
        last = ((cell + 1) << ceiling.shift) - 1
        assert int(ceiling.of(np.array([last]))[0]) >= most_word(law, last)
        assert int(ceiling.of(np.array([last + 1]))[0]) >= most_word(law, last + 1)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_rare_items_are_left_out(law):
    """Else nothing would be saved: of items with four people, less than one in a hundred is looked at closely."""
    weights = np.arange(0, 4 * UNIT, UNIT // 100)

    assert ceiling_of(law).of(weights).max() < 2**64 // 100
    # And a curve of few values has a cell for each.
    assert ceiling_of(type(law)(unit=1, scale=3.0, threshold=40.0)).shift == 0


def test_a_ceiling_where_a_cell_begins_would_be_caught():
    """Broken twin: the chance of a cell's first value is too low for the others in it."""
    law = LAWS[0]
    right = ceiling_of(law)
    twin = Ceiling(shift=right.shift, words=np.concatenate([right.words[:1], right.words[:-1]]))
    lasts = (np.arange(100, len(right.words) - 1) + 1 << right.shift) - 1

    assert all(int(right.of(lasts[n : n + 1])[0]) >= most_word(law, int(last)) for n, last in enumerate(lasts))
    assert any(int(twin.of(lasts[n : n + 1])[0]) < most_word(law, int(last)) for n, last in enumerate(lasts))


@given(chance=st.floats(0, 1), more=st.integers(-3, 3))
def test_a_ceiling_lets_through_all_that_is_accepted(chance, more):
    """Words around the chance itself: whichever `accept` takes, a ceiling does not leave out."""
    word = min(max(int(Fraction(chance) * 2**64) + more, 0), LAST)
    # A chance may have more digits than one word, down to 2^-1074.
    draws = Scripted({0: [word], **{place * SECOND: [0] for place in range(1, 32)}})
    taken = accept(draws, np.array([chance]), lambda *_: (Fraction(chance), Fraction(chance)))[0]

    assert not taken or word <= int(listed(np.array([chance])).of(np.array([0]))[0])


def test_margins_of_an_exact_ceiling_would_be_caught(monkeypatch):
    """Broken twin: without the errors that `accept` allows for, a row that it takes may be left out."""
    monkeypatch.setattr(ceilings, "RELATIVE", -RELATIVE)
    monkeypatch.setattr(ceilings, "ABSOLUTE", 0.0)
    word = int(Fraction(0.7) * 2**64) - 1
    draws = Scripted({0: [word], SECOND: [LAST]})

    assert accept(draws, np.array([0.7]), lambda *_: (Fraction(0.7), Fraction(0.7)))[0]
    assert word > int(listed(np.array([0.7])).of(np.array([0]))[0])


def test_listed_values_end_as_their_table_does():
    """The last entry stands for all larger values, the first for all smaller ones."""
    ceiling = listed(np.array([0.0, 0.25, 1.0]))
    told = ceiling.of(np.array([-5, 0, 1, 2, LARGEST])).tolist()

    assert told[0] == told[1] < 2**10
    assert told[2] == pytest.approx(2**62, rel=1e-9)
    assert told[3] == told[4] == LAST


@pytest.mark.parametrize("common", [-5.0, 0.0, 1.0, 1e30, math.inf])
def test_any_bar_will_do(common):
    """A bar below zero, where all values are common, or beyond all that there may be."""
    ceiling = rising(lambda values: np.full(len(values), 0.5), common=common)

    assert ceiling.of(np.array([LARGEST - 1])).tolist() in ([LAST], [pytest.approx(2**63, rel=1e-9)])
    assert len(ceiling.words) <= 1 + 2**11
