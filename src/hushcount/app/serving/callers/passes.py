"""Passes: random texts that prove who holds them, shown once and kept as a keyed digest only.

A pass is a prefix, an id of 80 bits that may be shown, a secret of 256 bits, and a checksum, all in one case of letters
and digits, so that it is selected whole and found by scanners for leaked secrets. A random secret needs no slow hash:
its HMAC under the service's key tells nothing of it, not even to whoever copies the ledger.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import zlib
from dataclasses import field

from hushcount.model.frozen import frozen
from hushcount.noise.source import new_secret

_ID_BYTES = 10
_ID, _SECRET, _CHECK = 16, 52, 7
_FORM = re.compile(rf"[a-z2-7]{{{_ID + _SECRET + _CHECK}}}")


@frozen
class Pass:
    """A new pass: its id, which may be shown, and its text, which is handed over once."""

    id: str
    text: str = field(repr=False)


def new_id(letter: str) -> str:
    """A random id of a kind of things, such as t_ for tokens: it tells neither how many there are nor their order."""
    return f"{letter}_{_letters(new_secret()[:_ID_BYTES])}"


def new_pass(prefix: str, letter: str) -> Pass:
    """A new pass with an id of the kind `letter`."""
    name = new_id(letter)
    body = name.removeprefix(f"{letter}_") + _letters(new_secret())
    return Pass(id=name, text=f"{prefix}{body}{_checksum(prefix + body)}")


def id_of(text: str, prefix: str, letter: str) -> str | None:
    """The id that a pass names; None if it was mistyped, cut off or is no such pass."""
    body = text.removeprefix(prefix)
    if body == text or _FORM.fullmatch(body) is None:
        return None
    if not hmac.compare_digest(body[-_CHECK:], _checksum(prefix + body[:-_CHECK])):
        return None
    return f"{letter}_{body[:_ID]}"


def digest(key: bytes, text: str) -> str:
    """What is kept of a pass."""
    return hmac.digest(key, b"hushcount pass\0" + text.encode(), hashlib.sha256).hex()


def matches(key: bytes, text: str, *, kept: str | None) -> bool:
    """Whether a pass is the one of which this was kept; takes as long where nothing was."""
    found = digest(key, text)
    return hmac.compare_digest(found, kept if kept is not None else digest(key, "")) and kept is not None


def _checksum(text: str) -> str:
    return _letters(zlib.crc32(text.encode()).to_bytes(4, "big"))


def _letters(content: bytes) -> str:
    return base64.b32encode(content).decode().rstrip("=").lower()
