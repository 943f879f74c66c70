"""Texts in one buffer are the texts that they were made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.errors import InvalidInput
from hushcount.model.texts import in_order
from hushcount.noise.source import SeededSource

# Lone halves of pairs of code units are texts of Python's, too.
WORDS = st.sets(st.text(max_size=6) | st.sampled_from(["\ud800", "\udfff", "\ue000", "\U0001f600", ""]), max_size=20)


@given(words=WORDS, data=st.data())
def test_texts_come_back(words, data):
    """All of them, a choice of them, and those at any places in any order."""
    listed = sorted(words)
    texts = in_order(listed)
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=len(listed), max_size=len(listed))), dtype=np.bool_)
    places = np.array(data.draw(st.lists(st.integers(0, max(len(listed) - 1, 0)), max_size=9)), dtype=np.int64)
    places = places[: 9 if listed else 0]

    assert texts.tolist() == list(texts) == listed
    assert texts.those(wanted).tolist() == [word for word, one in zip(listed, wanted, strict=True) if one]
    assert texts[places].tolist() == texts.taken(places).tolist() == [listed[place] for place in places]
    assert texts[:].tolist() == listed


@pytest.mark.parametrize("words", [["b", "a"], ["a", "a"], ["\U0001f600", "\ue000"]])
def test_texts_that_are_not_in_order_are_refused(words):
    """By code points, in which pairs of code units come last; a text that is there twice would be two items."""
    with pytest.raises(InvalidInput, match="order"):
        in_order(words)


@given(words=WORDS)
def test_noise_belongs_to_the_text(words):
    """Whether it lies in a buffer or is a text of Python's."""
    listed, source = sorted(words), SeededSource(3)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed

    assert source.identify(in_order(listed)).digests.tolist() == source.identify(array).digests.tolist()
