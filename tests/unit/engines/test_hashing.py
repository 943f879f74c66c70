"""XXH64: the published values, and the compiled form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.engines import bounding, hashing
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


@pytest.mark.parametrize("data", PUBLISHED)
def test_published_values(data):
    """In plain Python and compiled."""
    buffer = np.frombuffer(data or b"x", dtype=np.uint8)

    assert hash_bytes(data, 0) == PUBLISHED[data]
    assert int(bounding.hash_text(buffer, 0, len(data), np.uint64(0))) == signed(PUBLISHED[data])


@given(st.binary(max_size=200), st.integers(0, 20), SEEDS)
def test_the_compiled_hash_is_the_same(data, start, seed):
    """For any bytes, wherever they stand in a buffer."""
    buffer = np.frombuffer(bytes(start) + data + b"end", dtype=np.uint8)

    assert int(bounding.hash_text(buffer, start, len(data), np.uint64(seed))) == signed(hash_bytes(data, seed))


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
