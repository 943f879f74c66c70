"""Tuples as one text: no two have the same, and each comes back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hushcount.model.tuples import SEPARATOR, join, split

# Signs that mean something here, and any others, halves of signs included.
TEXTS = st.text(st.sampled_from([SEPARATOR, "\\", "s", "\x00", "é"]) | st.characters(), max_size=6)
TUPLES = st.lists(TEXTS, min_size=1, max_size=4).map(tuple)


@given(one=TUPLES)
@example(one=("", ""))
@example(one=("\\", "s"))
@example(one=(f"\\{SEPARATOR}", "\\s"))
def test_a_tuple_comes_back(one):
    """From its text and its width."""
    assert split(join(one), len(one)) == one


@given(one=TUPLES, other=TUPLES)
@example(one=("a\x1f", "b"), other=("a", "\x1fb"))
def test_no_two_tuples_of_a_width_share_a_text(one, other):
    """So that no item stands for two."""
    width = min(len(one), len(other))

    assert (join(one[:width]) == join(other[:width])) == (one[:width] == other[:width])


def test_joining_without_escapes_would_mix_them():
    """The twin: two tuples, one text."""
    one, other = ("a\x1f", "b"), ("a", "\x1fb")

    assert SEPARATOR.join(one) == SEPARATOR.join(other)
    assert join(one) != join(other)


@pytest.mark.parametrize("text", ["a", "a\x1fb\x1fc", "a\\x\x1fb", "a\x1fb\\"])
def test_a_text_of_no_tuple_is_refused(text):
    """Of another width, or with an escape that is none."""
    with pytest.raises(ValueError, match="no tuple of 2 texts"):
        split(text, 2)
