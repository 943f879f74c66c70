"""XXH64 over many values at once: of texts (in C, or in NumPy), of whole numbers as texts, and of pairs of hashes.

`hushcount.engines.hashing` says which hash this is and what it is for; `hash_word` there is one step of it in plain
Python.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushcount.compiled import passes
from hushcount.engines.hashing import FIRST_SEED, PRIMES
from hushcount.model.inputs import Int64s

Uint64s: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_P1, _P2, _P3, _P4, _P5 = (np.uint64(prime) for prime in PRIMES)
_WORD = 2**64 - 1
_STRIPE = 32
# Texts are hashed so many at a time: their states stay in a core's cache.
_ROWS = 1 << 13
# Digits of the largest 64-bit number, and a sign.
_DIGITS = 20


def person_starts(hashes: Int64s) -> Uint64s:
    """What the hash of a pair begins with, for each person: so it is computed once and not for each of their items."""
    first = np.uint64((FIRST_SEED + PRIMES[4] + 8) & _WORD)
    return _finished(_taken(first ^ item_words(hashes), 27)) + np.uint64((PRIMES[4] + 8) & _WORD)


def item_words(hashes: Int64s) -> Uint64s:
    """What an item brings into the hash of a pair: once for each item and not for each of its people."""
    return _rounded(hashes.view(np.uint64))


def joined(people: Uint64s, items: Uint64s) -> Int64s:
    """The hash of each pair from what `person_starts` and `item_words` made of the two hashes; with a sign."""
    return _finished(_taken(people ^ items, 27)).view(np.int64)


def hash_texts(buffer: Bytes, starts: Int64s, lengths: Int64s, *, seed: int) -> Int64s:
    """The hash of each of several texts in a buffer; with a sign."""
    found = passes.hash_texts(buffer, starts, lengths, seed=seed)
    return _hash_texts_in_numpy(buffer, starts, lengths, seed=seed) if found is None else found


def _hash_texts_in_numpy(buffer: Bytes, starts: Int64s, lengths: Int64s, *, seed: int) -> Int64s:
    hashes = np.empty(len(starts), dtype=np.int64)
    longest_first = np.argsort(-lengths, kind="stable")
    for first in range(0, len(starts), _ROWS):
        rows = longest_first[first : first + _ROWS]
        state = _striped(buffer, starts[rows], lengths[rows], seed=seed)
        state += lengths[rows].view(np.uint64)
        hashes[rows] = _ended(buffer, starts[rows], lengths[rows], state=state).view(np.int64)
    return hashes


def hash_integers(values: Int64s, *, seed: int) -> Int64s:
    """The hash of each whole number's decimal text, so that 7 and "7" are the same person."""
    hashes = np.empty(len(values), dtype=np.int64)
    for first in range(0, len(values), _ROWS):
        part = values[first : first + _ROWS]
        digits, lengths = _spelled(part)
        starts = np.arange(1, len(part) + 1) * _DIGITS - lengths
        hashes[first : first + _ROWS] = hash_texts(digits.reshape(-1), starts, lengths, seed=seed)
    return hashes


def _spelled(values: Int64s) -> tuple[Bytes, Int64s]:
    """Decimal digits, a row for each number, at the row's end; and how many characters each number has."""
    negative = values < 0
    # The smallest int64 has no positive counterpart, its unsigned distance from zero has.
    rest = np.where(negative, ~values.view(np.uint64) + np.uint64(1), values.view(np.uint64))
    digits = np.empty((len(values), _DIGITS), dtype=np.uint8)
    lengths = np.ones(len(values), dtype=np.int64)
    for column in range(_DIGITS - 1, -1, -1):
        tenth = rest // np.uint64(10)
        digits[:, column] = rest - tenth * np.uint64(10) + np.uint64(ord("0"))
        rest = tenth
        if not rest.any():
            break
        lengths += rest > 0
    lengths += negative
    digits[negative, _DIGITS - lengths[negative]] = ord("-")
    return digits, lengths


def _striped(buffer: Bytes, starts: Int64s, lengths: Int64s, *, seed: int) -> Uint64s:
    """The part of XXH64 that takes 32 bytes at a time, for texts that have so many; these stand first."""
    state = np.full(len(starts), (seed + PRIMES[4]) & _WORD, dtype=np.uint64)
    stripes = lengths // _STRIPE
    long = int(np.count_nonzero(stripes))
    if not long:
        return state
    begun = [(seed + more) & _WORD for more in (PRIMES[0] + PRIMES[1], PRIMES[1], 0, -PRIMES[0])]
    lanes = np.tile(np.array(begun, dtype=np.uint64), (long, 1))
    for stripe in range(int(stripes[0])):
        active = int(np.count_nonzero(stripes > stripe))
        words = _words(buffer, starts[:active] + stripe * _STRIPE, 4)
        lanes[:active] = _turned(lanes[:active] + words * _P2, 31) * _P1
    joint = np.zeros(long, dtype=np.uint64)
    for lane, bits in enumerate((1, 7, 12, 18)):
        joint += _turned(lanes[:, lane], bits)
    for lane in range(4):
        joint = (joint ^ _rounded(lanes[:, lane])) * _P1 + _P4
    state[:long] = joint
    return state


def _ended(buffer: Bytes, starts: Int64s, lengths: Int64s, *, state: Uint64s) -> Uint64s:
    """The up to 31 bytes behind the stripes: words of eight, one of four, then single bytes; and the last steps."""
    ends = starts + lengths
    places = ends - lengths % _STRIPE
    for _ in range(3):
        rows = np.flatnonzero(ends - places >= 8)
        state[rows] = _taken(state[rows] ^ _rounded(_words(buffer, places[rows], 1)[:, 0]), 27)
        places[rows] += 8
    rows = np.flatnonzero(ends - places >= 4)
    halves = buffer[places[rows, None] + np.arange(4)].view("<u4")[:, 0].astype(np.uint64)
    state[rows] = _turned(state[rows] ^ halves * _P1, 23) * _P2 + _P3
    places[rows] += 4
    for _ in range(3):
        rows = np.flatnonzero(ends > places)
        state[rows] = _turned(state[rows] ^ buffer[places[rows]].astype(np.uint64) * _P5, 11) * _P1
        places[rows] += 1
    return _finished(state)


def _words(buffer: Bytes, places: Int64s, count: int) -> Uint64s:
    """So many words of eight bytes, little end first, from each of some places in a buffer."""
    words: Uint64s = buffer[places[:, None] + np.arange(8 * count)].view("<u8").astype(np.uint64, copy=False)
    return words


def _rounded(words: Uint64s) -> Uint64s:
    """Each word into an empty lane."""
    return _turned(words * _P2, 31) * _P1


def _taken(state: Uint64s, bits: int) -> Uint64s:
    """The state after a word of eight bytes was brought into it; in place."""
    state = _turned(state, bits)
    state *= _P1
    state += _P4
    return state


def _turned(words: Uint64s, bits: int) -> Uint64s:
    """The bits of each word, rotated to the left."""
    turned = words << np.uint64(bits)
    turned |= words >> np.uint64(64 - bits)
    return turned


def _finished(state: Uint64s) -> Uint64s:
    """The last steps; in place."""
    spare = state >> np.uint64(33)
    state ^= spare
    state *= _P2
    np.right_shift(state, np.uint64(29), spare)
    state ^= spare
    state *= _P3
    np.right_shift(state, np.uint64(32), spare)
    state ^= spare
    return state
