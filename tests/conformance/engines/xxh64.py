"""XXH64 in plain Python, slow and obvious: what the reference engine hashes with, and what compiled code is held to."""

from __future__ import annotations

from hushcount.engines.hashing import PRIMES

_WORD = 2**64 - 1
_P1, _P2, _P3, _P4, _P5 = PRIMES


def signed(word: int) -> int:
    """A hash as engines compare it."""
    return word - 2**64 if word >> 63 else word


def hash_bytes(data: bytes, seed: int) -> int:
    """XXH64 of any bytes."""
    place = len(data) - len(data) % 32 if len(data) >= 32 else 0
    state = _striped(data[:place], seed) if place else (seed + _P5) & _WORD
    state = (state + len(data)) & _WORD
    while place + 8 <= len(data):
        word = int.from_bytes(data[place : place + 8], "little")
        state = (_turned(state ^ _rounded(0, word), 27) * _P1 + _P4) & _WORD
        place += 8
    if place + 4 <= len(data):
        state ^= int.from_bytes(data[place : place + 4], "little") * _P1 & _WORD
        state = (_turned(state, 23) * _P2 + _P3) & _WORD
        place += 4
    for byte in data[place:]:
        state = _turned(state ^ (byte * _P5 & _WORD), 11) * _P1 & _WORD
    state = (state ^ state >> 33) * _P2 & _WORD
    state = (state ^ state >> 29) * _P3 & _WORD
    return state ^ state >> 32


def _striped(data: bytes, seed: int) -> int:
    """Four lanes of eight bytes each, side by side, over all whole stripes of 32 bytes."""
    lanes = [(seed + _P1 + _P2) & _WORD, (seed + _P2) & _WORD, seed, (seed - _P1) & _WORD]
    for place in range(0, len(data), 8):
        lane = place // 8 % 4
        lanes[lane] = _rounded(lanes[lane], int.from_bytes(data[place : place + 8], "little"))
    state = sum(_turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _WORD
    for lane in lanes:
        state = ((state ^ _rounded(0, lane)) * _P1 + _P4) & _WORD
    return state


def _rounded(lane: int, word: int) -> int:
    return _turned((lane + word * _P2) & _WORD, 31) * _P1 & _WORD


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _WORD
