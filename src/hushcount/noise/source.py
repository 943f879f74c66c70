"""Noise sources: the operating system, a secret with a full context, or a test seed that stamps output not private.

Each source is a 32-byte master key. From it come, by HMAC-SHA256 over a purpose, one ChaCha20 stream for draws that
stand in a row, and one SipHash-2-4 function for draws that belong to an item. A draw for an item is a function of (key,
purpose, item) alone, so neither the order of rows, nor the partitioning, nor the engine can change an answer. The
security of the noise is that of these primitives: computational, as with any generator that expands a seed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from hushcount.errors import InvalidParameter
from hushcount.model.frozen import frozen
from hushcount.model.texts import Items, SortedTexts, encoded
from hushcount.noise import siphash

if TYPE_CHECKING:
    from hushcount.noise.calls import Call

RowNumbers: TypeAlias = npt.NDArray[np.int64]
_T = TypeVar("_T")

SECRET_BYTES = 32


class Draws(Protocol):
    """Endless independent uniform words for each of a number of rows."""

    def __len__(self) -> int: ...

    def words(self, counter: int) -> siphash.Words:
        """Word number `counter` of every row. The same counter gives the same words."""
        ...

    def word(self, row: int, counter: int) -> int:
        """Word number `counter` of one row."""
        ...

    def at(self, rows: RowNumbers | slice) -> Draws:
        """The draws of some of the rows."""
        ...


@dataclass(frozen=True, slots=True)
class ItemKeys:
    """Items and their 128-bit keyed digests: two equal ones among 10^9 items have probability below 10^-20."""

    items: Items | SortedTexts
    digests: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.items)

    def at(self, rows: RowNumbers | slice) -> ItemKeys:
        """The keys of some of the items."""
        return ItemKeys(self.items[rows], self.digests[:, rows])


class NoiseSource(Protocol):
    """Where all randomness of one release comes from."""

    private: bool

    def perform(self, call: Call[_T]) -> _T:
        """The outcome of a call: the one place where randomness and private values meet."""
        ...

    def identify(self, items: Items | SortedTexts) -> ItemKeys:
        """Digests under this source's key, from which any number of draws for these items can be had."""
        ...

    def item_draws(self, purpose: str, keys: ItemKeys) -> Draws:
        """One row of uniform words for each item; a function of this source, the purpose and the item only."""
        ...

    def draws(self, purpose: str, rows: int) -> Draws:
        """`rows` rows of uniform words that belong to no item."""
        ...

    def salt(self, purpose: str) -> bytes:
        """Sixteen bytes to key an engine's bounding hash with."""
        ...


@frozen
class NoiseContext:
    """What a consistent answer is a function of. None of it may be left out (erratum 9).

    If the data version were missing, equal noise on two snapshots would cancel in their difference and show the exact
    change.
    """

    query: str
    data_version: str
    mechanism: str
    mechanism_version: int

    def __post_init__(self) -> None:
        for name in ("query", "data_version", "mechanism"):
            if not getattr(self, name) or not isinstance(getattr(self, name), str):
                raise InvalidParameter(
                    name, getattr(self, name), "a text that is not empty", "Noise must change whenever this changes."
                )


class _MasterKey:
    """The machinery that the sources share; `private` says whether the key was a secret."""

    def __init__(self, master: bytes, *, private: bool) -> None:
        self._master = master
        self.private = private

    def perform(self, call: Call[_T]) -> _T:
        return call.draw(self)

    def identify(self, items: Items | SortedTexts) -> ItemKeys:
        buffer, lengths = (items.buffer, items.lengths) if isinstance(items, SortedTexts) else encoded(items.tolist())
        key = self._derive("digest", "")[: siphash.KEY_BYTES]
        return ItemKeys(items, siphash.digest_slices(key, buffer, lengths))

    def item_draws(self, purpose: str, keys: ItemKeys) -> Draws:
        return _ItemDraws(self._derive("items", purpose)[: siphash.KEY_BYTES], keys.digests)

    def draws(self, purpose: str, rows: int) -> Draws:
        return _StreamDraws(self._derive("stream", purpose), rows)

    def salt(self, purpose: str) -> bytes:
        return self._derive("salt", purpose)[:16]

    def _derive(self, kind: str, purpose: str) -> bytes:
        return hmac.digest(self._master, _framed("hushcount noise 1", kind, purpose), hashlib.sha256)


class SystemSource(_MasterKey):
    """A fresh 256-bit key from the operating system for each release. The default."""

    def __init__(self) -> None:
        super().__init__(new_secret(), private=True)


def new_secret() -> bytes:
    """A fresh secret for `KeyedSource`, from the operating system."""
    return os.urandom(SECRET_BYTES)


class KeyedSource(_MasterKey):
    """The same answer for the same question: the key is HMAC-SHA256 of a secret over the whole context.

    Guarantee: computational. Whoever knows the secret knows the noise; whoever does not cannot tell it from fresh
    noise. A repeat costs nothing only because the bytes are the same; the ledger must still record the first time
    (errata 9, 41).
    """

    def __init__(self, secret: bytes, context: NoiseContext) -> None:
        if len(secret) < SECRET_BYTES:
            raise InvalidParameter("secret", f"{len(secret)} bytes", "at least 32 bytes", "Make one with new_secret().")
        parts = (context.query, context.data_version, context.mechanism, str(context.mechanism_version))
        # Hashed first: HMAC pads short keys with zeros, so a secret and the same with a zero byte would be one.
        key = hashlib.sha256(secret).digest()
        super().__init__(hmac.digest(key, _framed("hushcount release 1", *parts), hashlib.sha256), private=True)


class SeededSource(_MasterKey):
    """For tests only: anybody can repeat these draws, so a release made with them is not private (erratum 37)."""

    def __init__(self, seed: int) -> None:
        super().__init__(hashlib.sha256(_framed("hushcount test seed", str(seed))).digest(), private=False)


def _framed(*parts: str) -> bytes:
    # Lengths in front make the encoding injective: no two different contexts give the same bytes.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in encoded)


class _ItemDraws:
    def __init__(self, key: bytes, digests: siphash.Words) -> None:
        self._key, self._digests = key, digests

    def __len__(self) -> int:
        return len(self._digests[0])

    def words(self, counter: int) -> siphash.Words:
        return siphash.words(self._key, self._digests, counter)

    def word(self, row: int, counter: int) -> int:
        return int(self.at(np.array([row])).words(counter)[0])

    def at(self, rows: RowNumbers | slice) -> Draws:
        return _ItemDraws(self._key, self._digests[:, rows])


class _StreamDraws:
    def __init__(self, key: bytes, length: int, rows: RowNumbers | None = None) -> None:
        self._key, self._length, self._rows = key, length, rows

    def __len__(self) -> int:
        return self._length if self._rows is None else len(self._rows)

    def words(self, counter: int) -> siphash.Words:
        # The counter is the nonce: each word number has a ChaCha20 stream of its own, so any one can be had at any
        # time.
        nonce = bytes(8) + counter.to_bytes(8, "little")
        stream = Cipher(algorithms.ChaCha20(self._key, nonce), mode=None).encryptor()
        words = np.frombuffer(stream.update(bytes(8 * self._length)), dtype="<u8").astype(np.uint64, copy=False)
        return words if self._rows is None else words[self._rows]

    def word(self, row: int, counter: int) -> int:
        return int(self.words(counter)[row])

    def at(self, rows: RowNumbers | slice) -> Draws:
        chosen = np.arange(self._length)[rows] if self._rows is None else self._rows[rows]
        return _StreamDraws(self._key, self._length, chosen)


class JoinedDraws:
    """The rows of some draws and, after them, the rows of others."""

    def __init__(self, first: Draws, second: Draws) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    def words(self, counter: int) -> siphash.Words:
        """Word number `counter` of every row."""
        return np.concatenate([self._first.words(counter), self._second.words(counter)])

    def word(self, row: int, counter: int) -> int:
        """Word number `counter` of one row."""
        split = len(self._first)
        return self._first.word(row, counter) if row < split else self._second.word(row - split, counter)

    def at(self, rows: RowNumbers | slice) -> Draws:
        """The draws of some of the rows, which must not mix the order of the two parts."""
        split, chosen = len(self._first), np.arange(len(self))[rows]
        return JoinedDraws(self._first.at(chosen[chosen < split]), self._second.at(chosen[chosen >= split] - split))
