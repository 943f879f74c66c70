"""SipHash-2-4 (Aumasson and Bernstein, 2012), a keyed pseudo-random function, over many messages at once.

In NumPy; digests of texts and the words of draws, of which there may be millions, in C where the package has it, to the
same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes

Words: TypeAlias = npt.NDArray[np.uint64]
State: TypeAlias = tuple[Words, Words, Words, Words]

KEY_BYTES = 16
# Four state arrays and two temporaries of this length stay in a core's second-level cache.
_CHUNK = 1 << 13
# Arrays without a dimension: of a scalar NumPy makes one at each call, and for few rows that is most of the time.
_ROTATE = {r: (np.array(r, dtype=np.uint64), np.array(64 - r, dtype=np.uint64)) for r in (13, 16, 17, 21, 32)}


def start(key: bytes, rows: int, *, wide: bool) -> State:
    """The initial state for `rows` messages; `wide` for the 128-bit variant."""
    k0, k1 = np.frombuffer(key, dtype="<u8", count=2)
    constants = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    v0, v1, v2, v3 = (
        np.full(rows, np.uint64(c) ^ k, dtype=np.uint64) for c, k in zip(constants, (k0, k1, k0, k1), strict=True)
    )
    if wide:
        v1 ^= np.uint64(0xEE)
    return v0, v1, v2, v3


def absorb(state: State, block: Words | np.uint64) -> None:
    """Take one 8-byte block for each message into `state`, in place."""
    v0, _, _, v3 = state
    v3 ^= block
    _rounds(state, 2)
    v0 ^= block


def finish(state: State, tag: int = 0xFF) -> Words:
    """Four closing rounds and the 64-bit output; changes `state`. The wide variant closes with tags 0xee, then 0xdd."""
    v0, v1, v2, v3 = state
    if tag == 0xDD:
        v1 ^= np.uint64(tag)
    else:
        v2 ^= np.uint64(tag)
    _rounds(state, 4)
    return v0 ^ v1 ^ v2 ^ v3


def digest128(key: bytes, messages: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """SipHash-2-4-128 of each message, as an array of shape (2, len(messages)): low words, high words."""
    lengths = np.fromiter(map(len, messages), dtype=np.int64, count=len(messages))
    return digest_slices(key, np.frombuffer(b"".join(messages), dtype=np.uint8), lengths)


def digest_slices(key: bytes, buffer: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """As `digest128`, for messages that stand one behind the other in a buffer."""
    found = passes.digest(key, buffer, lengths)
    return _digest_in_numpy(key, buffer, lengths) if found is None else found


def _digest_in_numpy(key: bytes, buffer: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int64]) -> Words:
    out = np.empty((2, len(lengths)), dtype=np.uint64)
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    for rows in _same_block_count(order, lengths):
        blocks = _padded(buffer, starts[rows], lengths[rows])
        state = start(key, len(rows), wide=True)
        for column in range(blocks.shape[1]):
            absorb(state, np.ascontiguousarray(blocks[:, column]))
        out[0, rows] = finish(state, 0xEE)
        out[1, rows] = finish(state, 0xDD)
    return out


def _same_block_count(order: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    blocks = lengths[order] // 8
    edges = np.flatnonzero(np.diff(blocks)) + 1
    for group in np.split(order, edges):
        for first in range(0, len(group), _CHUNK):
            yield group[first : first + _CHUNK]


def _padded(
    buffer: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    places = np.arange(8 * (int(lengths[0]) // 8 + 1)) if len(lengths) else np.arange(8)
    table = np.zeros((len(starts), len(places)), dtype=np.uint8)
    if len(buffer):
        # Places behind a message's end may run into the next message, or out of the buffer: they are masked.
        np.take(buffer, starts[:, None] + places, mode="clip", out=table)
        table *= places < lengths[:, None]
    # The last byte of the last block is the length modulo 256, which keeps messages that end in zero bytes apart.
    table[:, -1] = (lengths & 0xFF).astype(np.uint8)
    return table.view("<u8").astype(np.uint64, copy=False)


def words(key: bytes, digests: Words, counter: int) -> Words:
    """Pseudo-random word number `counter` (below 2^56) for each of some digests, an array of shape (2, digests)."""
    last = counter | (23 << 56)  # two digest blocks and seven bytes of counter: 23 bytes in all
    found = passes.words(key, digests, last)
    return _words_in_numpy(key, digests, np.uint64(last)) if found is None else found


def _words_in_numpy(key: bytes, digests: Words, last: np.uint64) -> Words:
    out = np.empty(digests.shape[1], dtype=np.uint64)
    for first in range(0, len(out), _CHUNK):
        part = slice(first, first + _CHUNK)
        state = start(key, len(out[part]), wide=False)
        for block in (*digests[:, part], last):
            absorb(state, block)
        out[part] = finish(state)
    return out


def _rounds(state: State, times: int) -> None:
    v0, v1, v2, v3 = state
    spare = np.empty_like(v0)
    for _ in range(times):
        v0 += v1
        _rotate(v1, 13, spare)
        v1 ^= v0
        _rotate(v0, 32, spare)
        v2 += v3
        _rotate(v3, 16, spare)
        v3 ^= v2
        v0 += v3
        _rotate(v3, 21, spare)
        v3 ^= v0
        v2 += v1
        _rotate(v1, 17, spare)
        v1 ^= v2
        _rotate(v2, 32, spare)


def _rotate(value: Words, by: int, spare: Words) -> None:
    left, right = _ROTATE[by]
    np.right_shift(value, right, spare)
    np.left_shift(value, left, value)
    np.bitwise_or(value, spare, value)
