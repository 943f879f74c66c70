"""Texts in one buffer: numbered, sorted and found by machine code as Python numbers, sorts and finds them."""

from __future__ import annotations

import shutil
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.compiled import texts
from hushcount.compiled.texts import NumberedIntegers, NumberedTexts
from hushcount.engines.incidence import places_of
from hushcount.model.texts import edges_of, encoded, in_order, objects
from tests.plainly import plainly
from tests.unit.compiled.edge import Edge

if shutil.which("cc") is None:
    pytest.skip("no C compiler here, so there is no machine code to test", allow_module_level=True)

# Long alike beginnings, ends of zero bytes, signs beyond ASCII, and everything up to two words of eight bytes.
TEXTS = st.one_of(
    st.text(max_size=17),
    st.text("\0a", max_size=20),
    st.integers(0, 40).map(lambda n: "https://www.example.org/" + "a/" * n),
    st.integers(0, 30).map(lambda n: "\0" * n),
)


EDGE = Edge()


def numbered(words, size):
    """Texts numbered in batches of so many, where every array must grow; nothing may be read behind the last one."""
    table = NumberedTexts()
    buffer, lengths = encoded(words)
    edges = edges_of(lengths)
    buffer = EDGE.laid(bytes(buffer))
    parts = [table.numbers(buffer, edges[first : first + size + 1]) for first in range(0, len(words), size)]
    return table, np.concatenate([np.zeros(0, np.int32), *parts]).tolist()


@given(words=st.lists(TEXTS, max_size=60), size=st.integers(1, 9))
def test_texts_are_numbered_as_they_are_met(words, size):
    """Equal texts have one number, others have others, from zero up, whatever the batches."""
    with patch.object(texts, "_FEW", 2), patch.object(texts, "_FEW_BYTES", 3):
        table, numbers = numbered(words, size)
    met = list(dict.fromkeys(words))

    assert numbers == [met.index(word) for word in words]
    assert table.all().tolist() == met


@given(words=st.lists(TEXTS, max_size=60), size=st.integers(1, 9), large=st.integers(1, 200), ahead=st.integers(1, 9))
def test_tables_grow_where_they_are(words, size, large, ahead):
    """From some size on there is room to grow into: the same numbers, and nothing is filled that is not there."""
    with (
        patch.multiple(texts, _FEW=2, _FEW_BYTES=3, _LARGE=large, _AHEAD=ahead),
        patch.object(NumberedTexts, "_grow", _checked(NumberedTexts._grow)),  # noqa: SLF001
    ):
        table, numbers = numbered(words, size)
    met = list(dict.fromkeys(words))

    assert numbers == [met.index(word) for word in words]
    assert table.all().tolist() == met


def _checked(grow):
    """As `grow`, of a table that is looked at afterwards: what it may fill is there, and is not much more."""

    def checked(table, length):
        known, filled = len(table), int(table._edges[len(table)])  # noqa: SLF001
        grow(table, length)
        _, _, texts_fit, bytes_fit = table._sizes.tolist()  # noqa: SLF001

        assert known < texts_fit <= max(2 * known, 2)
        assert bytes_fit <= max(4 * (filled + length), 2 * (3 + length))
        assert len(table._buffer) >= bytes_fit  # noqa: SLF001
        assert len(table._edges) > texts_fit  # noqa: SLF001
        assert len(table._cells) >= 2 * texts_fit  # noqa: SLF001
        assert len(table._slots) >= table._used == 2 * texts_fit  # noqa: SLF001
        assert np.count_nonzero(table._slots) == known  # noqa: SLF001

    return checked


def test_no_more_room_than_a_process_may_have():
    """Where addresses are as scarce as memory, an array has the size that is needed."""

    def scarce(size, kind):
        if size > 10:
            raise MemoryError
        return np.zeros(size, kind)

    with patch.multiple(texts, _LARGE=1, _AHEAD=4):
        roomy = texts._roomy(scarce, 2, np.dtype(np.int64))  # noqa: SLF001
        tight = texts._roomy(scarce, 8, np.dtype(np.int64))  # noqa: SLF001
        with pytest.raises(MemoryError):
            texts._roomy(scarce, 11, np.dtype(np.int64))  # noqa: SLF001

    assert (len(roomy), len(tight)) == (8, 8)


@given(words=st.lists(TEXTS, max_size=80))
def test_texts_are_sorted_by_code_points(words):
    """As Python sorts them, with the place of each number."""
    table, numbers = numbered(words, 100)
    found, places = table.in_order()

    assert found.tolist() == sorted(set(words))
    assert found[places[np.array(numbers, dtype=np.int64)]].tolist() == words


def test_texts_that_differ_in_nothing_but_their_length():
    """Around one word, two and three, of which zeros are a part or stand behind; wherever a text lies in a buffer."""
    made = [sign * length for sign in ("x", "\0", "\xff") for length in range(30)]
    made += [f"{'x' * length}{end}" for length in range(20) for end in ("\0", "\0\0", "y")]
    met = list(dict.fromkeys(made))
    for first in range(len(made)):
        turned = made[first:] + made[:first]
        table, numbers = numbered([*met, *turned], len(met))

        assert numbers == [met.index(text) for text in [*met, *turned]]
        assert table.all().tolist() == met


def test_words_that_undo_each_other_do_not_share_a_slot():
    """Two words that a product with a known number would mix to the same, in every combination of twelve places."""
    pairs = "a" * 16, "aaaaaaa!aaa!aaa!"
    table, _ = numbered(["".join(pairs[n >> k & 1] for k in range(12)) for n in range(4096)], 4096)
    slots = table._slots[table._slots > 0]  # noqa: SLF001  what the table looks like

    assert len(np.unique(slots >> np.uint64(32))) > 4000


@pytest.mark.parametrize("shape", ["alike", "one begins the other", "numbers", "zeros", "zeros behind"])
@pytest.mark.parametrize("many", [0, 1 << 20])
def test_many_texts_are_sorted(monkeypatch, shape, many):
    """Thousands that differ late, that begin one another, or that are spread evenly; by two cores and by one."""
    monkeypatch.setattr(texts, "_MANY", many)
    made = {
        "alike": [f"{'x' * 1000}{n:05d}" for n in range(3000)],
        "one begins the other": ["ab" * n for n in range(2000)],
        "numbers": [f"item {n * 7919 % 100_003}" for n in range(50_000)],
        # Words of nothing, before which there are none.
        "zeros": ["\0" * n for n in range(400)],
        "zeros behind": ["x" * 80 + "\0" * n for n in range(400)],
    }[shape]
    table, _ = numbered(made, len(made))

    assert table.in_order()[0].tolist() == sorted(made)


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), max_size=60))
def test_integers_are_numbered_as_they_are_met(values):
    """To the ends of their range, in a table that must grow, at first elsewhere and then where it is."""
    with patch.multiple(texts, _FEW=2, _LARGE=200, _AHEAD=4):
        table = NumberedIntegers()
        numbers = table.numbers(np.array(values, dtype=np.int64))
    met = list(dict.fromkeys(values))

    assert numbers.tolist() == [met.index(value) for value in values]
    assert table.all().tolist() == met


@given(words=st.sets(TEXTS, max_size=40), chance=st.randoms(use_true_random=False))
def test_a_choice_of_texts(words, chance):
    """Neighbours, single ones, none and all: as they are chosen without machine code."""
    all_texts = in_order(sorted(words))
    wanted = np.array([chance.random() < 0.6 for _ in range(len(all_texts))], dtype=np.bool_)
    found = texts.those(all_texts, wanted)

    assert found.tolist() == [word for word, one in zip(sorted(words), wanted, strict=True) if one]
    with plainly():
        assert texts.those(all_texts, wanted).tolist() == found.tolist()


@given(words=st.sets(TEXTS, max_size=30), sought=st.lists(TEXTS, max_size=30), many=st.sampled_from([0, 1 << 20]))
def test_texts_are_found(words, sought, many):
    """Where they stand, or that they do not, with machine code, by two cores and by one, and without."""
    among, listed = in_order(sorted(words)), objects([*sought, *words])
    with patch.object(texts, "_MANY_SOUGHT", many):
        found = places_of(listed, among)
    with plainly():
        plain = places_of(listed, among)

    assert found.tolist() == plain.tolist()
    assert found.tolist() == [sorted(words).index(word) if word in words else -1 for word in listed.tolist()]


def test_without_machine_code_nothing_is_numbered():
    """It is refused, not done in another way: whoever numbers asks first."""
    with plainly(), pytest.raises(RuntimeError, match="machine code"):
        NumberedIntegers().numbers(np.zeros(1, dtype=np.int64))
