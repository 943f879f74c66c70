"""The secret that makes the same question on the same data give the same answer: 32 bytes that only we can read."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from hushcount.noise.source import SECRET_BYTES, new_secret


def home() -> Path:
    """Where hushcount keeps its own files: HUSHCOUNT_HOME, or `hushcount` in the user's state folder."""
    said = os.environ.get("HUSHCOUNT_HOME")
    if said:
        return Path(said)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "hushcount"


def keyed_version(secret: bytes, version: str) -> str:
    """The data version as it may be shown and kept: a keyed digest of the content's fingerprint.

    The fingerprint itself tells any two data sets apart, also two that differ in one person, and whoever can guess the
    data can compute it: it must never leave. Under a secret key it is a name without meaning that still changes with
    the data.
    """
    return hmac.digest(secret, b"hushcount data version\0" + version.encode(), hashlib.sha256).hex()[:32]


def load_secret() -> bytes | None:
    """The secret, made at first use; None where no file can be kept, and then every answer is drawn anew."""
    path = home() / "secret"
    try:
        return _existing(path) or _create(path)
    except OSError:
        return None


def _existing(path: Path) -> bytes | None:
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        return None
    return secret if len(secret) == SECRET_BYTES else None


def _create(path: Path) -> bytes | None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"secret.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, new_secret())
        os.fsync(handle)
    finally:
        os.close(handle)
    # Linking fails if another process was first: then that one's secret is the secret.
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return _existing(path)
