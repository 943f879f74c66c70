"""The secret that makes the same question on the same data give the same answer: 32 bytes that only we can read."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from hushcount.errors import SecretUnusable
from hushcount.noise.source import SECRET_BYTES, new_secret

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Secret:
    """The key of noise, of versions and of identities. It never leaves; what is made with it tells nothing of it."""

    value: bytes = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """What a ledger keeps to know the secret again: two secrets on one ledger would be two budgets."""
        return self._digest(b"hushcount secret fingerprint")[:32]

    @property
    def identity_key(self) -> bytes:
        """The key under which data is recognised."""
        return self.key(b"hushcount identities")

    @property
    def row_key(self) -> bytes:
        """The key under which rows are digested."""
        return self.key(b"hushcount rows")

    def version(self, fingerprint: str) -> str:
        """The data version as it may be shown and kept: a keyed digest of the content's fingerprint.

        The fingerprint itself tells any two data sets apart, also two that differ in one person, and whoever can guess
        the data can compute it: it must never leave. Under a secret key it is a name without meaning that still changes
        with the data.
        """
        return self._digest(b"hushcount data version\0" + fingerprint.encode())[:32]

    def mark(self, version: str, context: str) -> str:
        """The data version as one receipt shows it: another for every question, so that no two can be compared.

        Equal versions in two receipts would tell, free and for certain, that nobody joined or left between two answers
        (erratum 46). Whoever holds the secret can still tell which version a receipt is about.
        """
        return self._digest(f"hushcount receipt\0{version}\0{context}".encode())[:32]

    def key(self, purpose: bytes) -> bytes:
        """A key for one purpose, that tells nothing of the others."""
        return hmac.digest(self.value, purpose, hashlib.sha256)

    def _digest(self, message: bytes) -> str:
        return hmac.digest(self.value, message, hashlib.sha256).hex()


def passing_secret() -> Secret:
    """A secret that is forgotten: for made-up data, where no answer is ever asked for again."""
    return Secret(new_secret())


def load_secret(home: Path) -> Secret:
    """The secret of a home, made at first use.

    Raises:
        SecretUnusable: it cannot be kept, or what is there is not ours. Drawn anew each time, noise would average out,
            and the same question would be paid for again and again: so nothing is answered.
    """
    path = home / "secret"
    try:
        if not path.exists():
            _create(path)
        return _read(path)
    except OSError as error:
        raise _unusable(path, f"it cannot be kept or read there ({error.strerror})") from None


def _read(path: Path) -> Secret:
    # Without waiting: to open a pipe would last until somebody writes to it.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise _unusable(path, "it is a folder, a pipe or a device and not a file, so it is not ours")
        secret = os.read(handle, SECRET_BYTES + 1)
    finally:
        os.close(handle)
    if len(secret) != SECRET_BYTES:
        raise _unusable(path, f"it is not {SECRET_BYTES} bytes long, so it is damaged or not ours")
    if mode & _OTHERS:
        raise _unusable(path, f"others may read it (if it was always yours: chmod 600 {path})")
    return Secret(secret)


def _unusable(path: Path, why: str) -> SecretUnusable:
    return SecretUnusable(
        f"the secret {str(path)!r} cannot be used: {why}. Without it the same question would get other noise and be "
        "paid for again, so nothing was answered and nothing was charged. Restore it, or set HUSHCOUNT_HOME to a "
        "folder of yours that can be written."
    )


def _create(path: Path) -> None:
    """Write a new secret under a name of its own, then link it: whoever is first, by process or thread, made it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"secret.{new_secret().hex()[:16]}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, new_secret())
            os.fsync(handle)
        finally:
            os.close(handle)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
