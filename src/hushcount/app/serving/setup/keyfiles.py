"""Files that hold a key or a password: only those who run the service may read them, and only here are they read."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from hushcount.errors import SecretUnusable
from hushcount.noise.source import SECRET_BYTES

_GROUP, _OTHERS = stat.S_IRWXG, stat.S_IRWXO
# A password is a line; more is another file that was named by mistake.
_LONGEST_PASSWORD = 4096


def read_key(path: Path) -> bytes:
    """A key of 32 random bytes.

    Raises:
        SecretUnusable: it is not there, others may read it, or it is not 32 bytes long.
    """
    key = _read(path, most=SECRET_BYTES)
    if len(key) != SECRET_BYTES:
        raise _unusable(
            path, f"it must be {SECRET_BYTES} bytes long, so it is damaged or not a key", made=_new_key(path)
        )
    return key


def read_password(path: Path) -> str:
    """A password or a shared secret: the first line of a file.

    Raises:
        SecretUnusable: it is not there, others may read it, or it is empty.
    """
    try:
        line = _read(path, most=_LONGEST_PASSWORD).decode("utf-8").split("\n", 1)[0].rstrip("\r")
    except UnicodeDecodeError:
        raise _unusable(path, "it is not text", made=_new_password(path)) from None
    if not line.strip():
        raise _unusable(path, "its first line is empty", made=_new_password(path))
    return line


def _read(path: Path, *, most: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            found, content = os.fstat(handle), os.read(handle, most + 1)
        finally:
            os.close(handle)
    except OSError as error:
        made = _new_key(path) if most == SECRET_BYTES else _new_password(path)
        raise _unusable(path, f"it cannot be read ({error.strerror})", made=made) from None
    if not stat.S_ISREG(found.st_mode):
        raise _unusable(path, "it is not a file", made="name a file")
    # Orchestrators hand files over as root's, to a group that the service is in; a file of our own needs no group.
    lent = found.st_uid == 0 and hasattr(os, "getuid") and os.getuid() != 0
    if found.st_mode & (_OTHERS | (stat.S_IWGRP if lent else _GROUP)):
        raise _unusable(path, "others may read or write it", made=f"chmod 600 {shlex.quote(str(path))}")
    return content


def _new_key(path: Path) -> str:
    return f"(umask 077; head -c {SECRET_BYTES} /dev/urandom > {shlex.quote(str(path))})"


def _new_password(path: Path) -> str:
    return f"(umask 077; cat > {shlex.quote(str(path))})"


def _unusable(path: Path, why: str, *, made: str) -> SecretUnusable:
    return SecretUnusable(
        f"the file {str(path)!r} cannot be used as a secret: {why}. Whoever has it can act for the service, so nothing "
        f"was started and nothing was charged. If it was never used, type: {made}"
    )
