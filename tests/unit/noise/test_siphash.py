"""SipHash: the authors' vectors, and agreement with the slow version on anything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hushcount.noise import siphash
from tests.unit.noise import slow

KEY = bytes(range(16))

# From vectors.h of the authors' reference implementation: the message of length n is 00 01 .. n-1.
VECTORS_64 = {
    0: "310e0edd47db6f72",
    1: "fd67dc93c539f874",
    2: "5a4fa9d909806c0d",
    7: "37d1018bf50002ab",
    8: "6224939a79f5f593",
    15: "e545be4961ca29a1",
    63: "724506eb4c328a95",
}
VECTORS_128 = {
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
    2: "8177228da4a45dc7fca38bdef60affe4",
    3: "9c70b60c5267a94e5f33b6b02985ed51",
    15: "5493e99933b0a8117e08ec0f97cfc3d9",
    63: "5150d1772f50834a503e069a973fbd7c",
}


def digest(*messages: bytes, key: bytes = KEY) -> list[bytes]:
    """The library's 128-bit digests as bytes."""
    return [column.astype("<u8").tobytes() for column in siphash.digest128(key, list(messages)).T]


@pytest.mark.parametrize("length", VECTORS_64)
def test_slow_64_gives_the_vectors(length):
    """The slow version, against which the rest is compared, is SipHash-2-4."""
    assert slow.siphash(KEY, bytes(range(length)), wide=False).hex() == VECTORS_64[length]


@pytest.mark.parametrize("length", VECTORS_128)
def test_both_128_give_the_vectors(length):
    """The slow version and ours are SipHash-2-4-128."""
    message = bytes(range(length))

    assert slow.siphash(KEY, message, wide=True).hex() == VECTORS_128[length]
    assert digest(message)[0].hex() == VECTORS_128[length]


def test_paper_vector_through_start_absorb_finish():
    """Appendix A of the paper: fifteen bytes 00..0e under the key 00..0f give a129ca6149be45e5."""
    state = siphash.start(KEY, 3, wide=False)
    siphash.absorb(state, np.uint64(0x0706050403020100))
    siphash.absorb(state, np.full(3, 0x0F0E0D0C0B0A0908, dtype=np.uint64))

    assert siphash.finish(state).tolist() == [0xA129CA6149BE45E5] * 3


@given(
    key=st.binary(min_size=16, max_size=16),
    messages=st.lists(st.binary(max_size=300) | st.text(max_size=75).map(str.encode), max_size=12),
)
@example(key=KEY, messages=[b"", b"\0", b"\0\0", b"\0" * 7, b"\0" * 8, b"\0" * 256, b"a", b"a\0"])
@example(key=KEY, messages=[b""])
@example(key=KEY, messages=["naïve 漢字 🙂".encode(), b"\xff" * 255, b"\xff" * 256, b"\xff" * 257])
def test_digest_agrees_with_the_slow_version(key, messages):
    """Any messages together have the digests that each has alone by the slow version."""
    assert digest(*messages, key=key) == [slow.siphash(key, message, wide=True) for message in messages]


def test_every_length_up_to_300():
    """No length of the last block, and no length past 255, is special."""
    messages = [bytes((7 * i + length) % 256 for i in range(length)) for length in range(301)]

    assert digest(*messages) == [slow.siphash(KEY, message, wide=True) for message in messages]


def test_huge_text():
    """A message of 40 kilobytes stands beside a short one."""
    huge = ("the quick brown ß " * 2_000).encode()

    assert digest(b"short", huge) == [slow.siphash(KEY, message, wide=True) for message in (b"short", huge)]


def test_trailing_zero_bytes_are_told_apart():
    """Messages that differ only in zero bytes at the end have different digests, though their padding looks alike."""
    assert len(set(digest(*(b"x" + bytes(n) for n in range(300))))) == 300


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_chunks_change_nothing(monkeypatch, chunk):
    """How many messages are worked on at a time cannot be seen in the result."""
    messages = [bytes([i % 256]) * (i % 37) for i in range(100)]
    digests = np.arange(200, dtype=np.uint64).reshape(2, 100)
    before = digest(*messages), siphash.words(KEY, digests, 5).tolist()
    monkeypatch.setattr(siphash, "_CHUNK", chunk)

    assert (digest(*messages), siphash.words(KEY, digests, 5).tolist()) == before


def test_the_shipped_chunk_is_crossed():
    """More messages than one chunk holds: the first, the last and the two at the seam are right."""
    seam = 1 << 13
    rows = seam + 3
    messages = [str(i).zfill(6).encode() for i in range(rows)]
    digests = digest(*messages)

    for row in (0, seam - 1, seam, rows - 1):
        assert digests[row] == slow.siphash(KEY, messages[row], wide=True)


@given(
    key=st.binary(min_size=16, max_size=16),
    digests=st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=20),
    counter=st.integers(0, 2**56 - 1),
)
@example(key=KEY, digests=[(0, 0), (2**64 - 1, 2**64 - 1)], counter=2**56 - 1)
def test_words_agree_with_the_slow_version(key, digests, counter):
    """Word number c of an item is SipHash-2-4 of its digest and seven bytes of c, and asking twice gives it twice."""
    both = np.array(digests, dtype=np.uint64).reshape(-1, 2).T
    tail = counter.to_bytes(7, "little")
    messages = [low.to_bytes(8, "little") + high.to_bytes(8, "little") + tail for low, high in digests]
    expected = [int.from_bytes(slow.siphash(key, message, wide=False), "little") for message in messages]

    assert siphash.words(key, both, counter).tolist() == expected
    assert siphash.words(key, both, counter).tolist() == expected


def test_no_messages():
    """Nothing has no digests and no words."""
    assert siphash.digest128(KEY, []).shape == (2, 0)
    assert siphash.words(KEY, np.empty((2, 0), dtype=np.uint64), 0).shape == (0,)
