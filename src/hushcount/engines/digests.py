"""Digests that were made before, so that a file that did not change is not read anew for its version.

By where a file is and its stamp: size, device, inode, and the times of the last change of content and of state. The
latter is set by the system alone. What a digest names is held against the bytes after these were counted, as ever
(`engines.files`), so one that is wrong refuses an answer and never names it wrongly; then all of them are forgotten.

Within a process they are kept in memory. For the next one they are written to a file, if there is one, under a key:
without it nobody can tell whether a file that they have is the one that was asked about. Only those of files are kept
that had been left alone for a while. A program that writes through a memory map gives a file a new time when it dirties
a page, and not again before the system has written the page to the disk, which Linux does within half a minute unless
it is told otherwise; so after a while every further change gives a new one. On file systems in memory it does not, and
on some of a network it may not: what was changed there in such a way is noticed when its bytes have been counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[int, int, int, int, int]
Digested: TypeAlias = dict[tuple[str, Stamp], bytes]

_MADE: Digested = {}
_MOST, _LENGTH = 1024, hashlib.blake2b().digest_size
# Smaller files are digested in less time than it takes to look.
_WORTH = 1 << 20
_LEFT_ALONE = 60 * 10**9  # nanoseconds


class Digests:
    """Digests of this process; with a path, also those that other processes kept there under the same key."""

    def __init__(self, path: Path | None = None, key: bytes = b"") -> None:
        # Where the time of the last change of state is none, as on Windows, nothing is kept.
        self._path, self._key = None if sys.platform == "win32" else path, key
        self._read: dict[str, str] | None = None

    def find(self, place: str, stamp: Stamp) -> bytes | None:
        """The digest of a file with this stamp, if it was made before."""
        found = _MADE.get((place, stamp))
        if found is None and stamp[0] >= _WORTH:
            if self._read is None:
                self._read = self._kept()
            name = self._name(place, stamp)
            found = self._masked(name, bytes.fromhex(self._read[name])) if name in self._read else None
        return found

    def keep(self, made: Digested) -> None:
        """Remember some."""
        if len(_MADE) + len(made) > _MOST:
            _MADE.clear()
        _MADE.update(made)
        if self._path is None:
            return
        now = time.time_ns()
        alone = {
            self._name(place, stamp): digest
            for (place, stamp), digest in made.items()
            if stamp[0] >= _WORTH and max(stamp[3:]) < now - _LEFT_ALONE
        }
        lasting = {name: self._masked(name, digest).hex() for name, digest in alone.items()}
        kept = self._kept() if lasting else {}
        if not lasting.items() <= kept.items():
            self._write(dict([*kept.items(), *lasting.items()][-_MOST:]))

    def forget(self) -> None:
        """Forget all of them."""
        _MADE.clear()
        self._read = {}
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    def _kept(self) -> dict[str, str]:
        """What the file holds; nothing if it is not there, or not as we write it."""
        if self._path is None:
            return {}
        try:
            read = json.loads(self._path.read_bytes())
            return {name: digest for name, digest in read.items() if len(bytes.fromhex(digest)) == _LENGTH}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}

    def _write(self, kept: dict[str, str]) -> None:
        """Whole or not at all, and for nobody else to read; where it cannot be written, the next process digests."""
        assert self._path is not None, "as it was asked before"  # noqa: S101  for the type checker
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}-{time.monotonic_ns()}")
        with suppress(OSError):
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                json.dump(kept, file)
            draft.replace(self._path)
        with suppress(OSError):
            draft.unlink()

    def _name(self, place: str, stamp: Stamp) -> str:
        """One name for a place and a stamp."""
        told = repr((place, stamp)).encode("utf-8", "surrogateescape")
        return hashlib.blake2b(told, digest_size=16, key=self._key, person=b"digest's name").hexdigest()

    def _masked(self, name: str, digest: bytes) -> bytes:
        """A digest under the mask of its name, or what was masked: once more takes the mask away."""
        mask = hashlib.blake2b(name.encode(), digest_size=_LENGTH, key=self._key, person=b"digest's mask").digest()
        return bytes(one ^ other for one, other in zip(digest, mask, strict=True))
