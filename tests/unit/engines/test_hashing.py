"""XXH64: the published values, and the form for many texts at once."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.engines import hashing, xxh64
from hushcount.errors import InvalidParameter
from tests.conformance.engines.xxh64 import hash_bytes, signed

# Values that implementations of XXH64 are tested with (seed 0): all lengths of the rest, and more than one stripe.
PUBLISHED = {
    b"": 0xEF46DB3751D8E999,
    b"a": 0xD24EC4F1A98C6E5B,
    b"as": 0x1C330FB2D66BE179,
    b"asd": 0x631C37CE72A97393,
    b"asdf": 0x415872F599CEA71E,
    b"abc": 0x44BC2CF5AD770999,
    b"Call me Ishmael. Some years ago--never mind how long precisely-": 0x02A2E85470D6FD96,
}
SEEDS = st.integers(0, 2**64 - 1)


def many(texts, *, seed):
    """The hashes of texts that stand in one buffer, with something before, between and behind them."""
    buffer = np.frombuffer(b"<" + b"|".join(texts) + b">", dtype=np.uint8)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    return xxh64.hash_texts(buffer, 1 + np.cumsum(lengths + 1) - (lengths + 1), lengths, seed=seed).tolist()


@pytest.mark.parametrize("data", PUBLISHED)
def test_published_values(data):
    """In plain Python and in NumPy."""
    assert hash_bytes(data, 0) == PUBLISHED[data]
    assert many([data], seed=0) == [signed(PUBLISHED[data])]


@given(st.lists(st.binary(max_size=200), max_size=30), SEEDS, st.sampled_from([1, 7, 1 << 13]))
def test_many_texts_hash_as_each_alone(texts, seed, rows):
    """For any bytes of any lengths, wherever they stand in a buffer, however many are taken at a time."""
    with patch.object(xxh64, "_ROWS", rows):
        hashes = many(texts, seed=seed)

    assert hashes == [signed(hash_bytes(text, seed)) for text in texts]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), SEEDS, st.sampled_from([1, 7, 1 << 13]))
def test_many_whole_numbers_hash_as_their_texts(values, seed, rows):
    """To the ends of the range, however many are taken at a time."""
    with patch.object(xxh64, "_ROWS", rows):
        hashes = xxh64.hash_integers(np.array(values, dtype=np.int64), seed=seed).tolist()

    assert hashes == [signed(hash_bytes(str(value).encode(), seed)) for value in values]


@given(st.integers(-(2**63), 2**63 - 1), SEEDS)
def test_an_integer_hashes_as_its_eight_bytes(value, seed):
    """Little end first."""
    assert hashing.hash_word(value, seed) == hash_bytes(value.to_bytes(8, "little", signed=True), seed)


def test_roles_and_salts_have_keys_of_their_own():
    """The order of people must not follow from what they keep, nor one round from another."""
    keys = {hashing.role_keys(salt, role) for salt in (b"1", b"2") for role in (b"person", b"item", b"order")}

    assert len(keys) == 6


@pytest.mark.parametrize("salt", [b"", b"s" * 65, "secret"])
def test_a_salt_that_is_none_is_refused(salt):
    """And not shown."""
    with pytest.raises(InvalidParameter, match="bytes, from 1 to 64") as caught:
        hashing.role_keys(salt, b"person")

    assert "secret" not in str(caught.value)
