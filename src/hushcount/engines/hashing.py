"""The keyed hash by which a person over the bound keeps items: XXH64, chained as Spark's `xxhash64` chains columns.

Every engine must keep the same items, and Spark computes this hash inside the JVM. The hash of one value is the seed of
the next; the first seed is 42. With two 64-bit keys for each role, made from the salt:

    person   xxhash64(key, key, text of the person)
    item     xxhash64(key, key, text of the item)
    pair     xxhash64(hash of the person, hash of the item)

Texts are hashed as UTF-8, hashes compared as 64-bit integers with a sign, smallest first, equal ones by the item's
text. Which items a person keeps must be independent of everybody else's data and evenly spread, but need not be
unforgeable: so the keys are cryptographic, and mixing a text into them is fast. For one person the hash of a pair is a
bijection of the item's hash.

Here are the seeds, in plain Python; `engines.xxh64` has the hash of many texts at once.
"""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

from hushcount.errors import InvalidParameter

Role: TypeAlias = Literal[b"person", b"item", b"order"]

FIRST_SEED = 42
_LONGEST_KEY = hashlib.blake2b.MAX_KEY_SIZE
_WORD = 2**64 - 1
PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_P1, _P2, _P3, _P4, _P5 = PRIMES


def role_keys(salt: bytes, role: Role) -> tuple[int, int]:
    """Two 64-bit integers with a sign; `role` keeps the hashes of people, items and the order of people apart."""
    if not isinstance(salt, bytes) or not 1 <= len(salt) <= _LONGEST_KEY:
        # The salt itself stays out of the text: whoever knows it knows which items a person keeps.
        raise InvalidParameter("salt", "...", f"bytes, from 1 to {_LONGEST_KEY} of them")
    key = hashlib.blake2b(digest_size=16, key=salt, person=role).digest()
    return int.from_bytes(key[:8], "little", signed=True), int.from_bytes(key[8:], "little", signed=True)


def role_seed(salt: bytes, role: Role) -> int:
    """The seed of a text's hash: what the two keys before it come to, from 0 to 2^64 - 1."""
    first, second = role_keys(salt, role)
    return hash_word(second, hash_word(first, FIRST_SEED))


def hash_word(value: int, seed: int) -> int:
    """XXH64 of a 64-bit integer, eight bytes, little end first."""
    word = _turned((value & _WORD) * _P2 & _WORD, 31) * _P1 & _WORD
    state = (_turned(((seed + _P5 + 8) & _WORD) ^ word, 27) * _P1 + _P4) & _WORD
    state = (state ^ state >> 33) * _P2 & _WORD
    state = (state ^ state >> 29) * _P3 & _WORD
    return state ^ state >> 32


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _WORD
