"""Cells' hashes by machine code are those of the standard library, added up."""

from __future__ import annotations

import hashlib
import shutil

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hushcount.compiled.cells import CellSum
from hushcount.model.texts import edges_of
from tests.unit.compiled.edge import Edge

if shutil.which("cc") is None:
    pytest.skip("no C compiler here, so there is no machine code to test", allow_module_level=True)

# One block has room for 55 bytes and two for 119.
LENGTHS = st.integers(0, 200) | st.sampled_from([55, 56, 63, 64, 65, 119, 120, 127, 128, 129, 5000])
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 18).map(lambda n: 10**n - 1) | st.integers(-12, 12)


def plain_sum(texts):
    """As `engines.identities` says it."""
    return sum(int.from_bytes(hashlib.md5(text, usedforsecurity=False).digest()[:8], "big") for text in texts)


EDGE = Edge()


def of_texts(texts):
    """By machine code; nothing may be read behind the last of them."""
    found = CellSum()
    found.add_texts(EDGE.laid(b"".join(texts)), edges_of(np.array([*map(len, texts)], dtype=np.int64)))
    return found.total()


@given(lengths=st.lists(LENGTHS, max_size=70), seed=st.integers(0, 255))
@example(lengths=[55] * 33, seed=0)
def test_texts(lengths, seed):
    """Of every length, so that blocks and lanes are full, empty and in between; bytes of all values."""
    texts = [bytes((seed + 7 * n + place) % 256 for place in range(length)) for n, length in enumerate(lengths)]

    assert of_texts(texts) == plain_sum(texts)


@given(values=st.lists(INTEGERS, max_size=70))
@example(values=[0, -(2**63), 2**63 - 1])
def test_integers_are_their_decimal_digits(values):
    """With a sign where there is one, and no zero before the others."""
    found = CellSum()
    found.add_integers(np.array(values, dtype=np.int64))

    assert found.total() == plain_sum(str(value).encode() for value in values)


def test_a_sum_goes_beyond_64_bits_and_over_batches():
    """What was added stays; nothing is lost where words overflow."""
    found = CellSum()
    for first in range(0, 3000, 100):
        found.add_integers(np.arange(first, first + 100, dtype=np.int32))

    assert found.total() == plain_sum(str(n).encode() for n in range(3000))
    assert found.total() > 2**64


def test_one_changed_byte_changes_the_sum():
    """In each of all lanes: none is left out."""
    texts = [f"cell {n}".encode() for n in range(40)]

    for place in range(40):
        assert of_texts([*texts[:place], b"another", *texts[place + 1 :]]) != of_texts(texts)
