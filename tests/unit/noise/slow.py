"""SipHash-2-4 and ChaCha20 on plain Python integers, one at a time: slow, and easy to compare with the papers."""

from __future__ import annotations

import hashlib
import hmac
import struct

_MASK = 2**64 - 1


def siphash(key: bytes, message: bytes, *, wide: bool) -> bytes:
    """SipHash-2-4 of `message`: 8 bytes, or 16 if `wide`."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE if wide else 0
    end = len(message) - len(message) % 8
    blocks = [int.from_bytes(message[at : at + 8], "little") for at in range(0, end, 8)]
    blocks.append(int.from_bytes(message[end:], "little") | (len(message) % 256) << 56)
    for block in blocks:
        v[3] ^= block
        _sip_rounds(v, 2)
        v[0] ^= block
    v[2] ^= 0xEE if wide else 0xFF
    _sip_rounds(v, 4)
    out = v[0] ^ v[1] ^ v[2] ^ v[3]
    if not wide:
        return out.to_bytes(8, "little")
    v[1] ^= 0xDD
    _sip_rounds(v, 4)
    return struct.pack("<QQ", out, v[0] ^ v[1] ^ v[2] ^ v[3])


def _sip_rounds(v: list[int], times: int) -> None:
    for _ in range(times):
        v[0] = (v[0] + v[1]) & _MASK
        v[1] = _rotate64(v[1], 13) ^ v[0]
        v[0] = _rotate64(v[0], 32)
        v[2] = (v[2] + v[3]) & _MASK
        v[3] = _rotate64(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & _MASK
        v[3] = _rotate64(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & _MASK
        v[1] = _rotate64(v[1], 17) ^ v[2]
        v[2] = _rotate64(v[2], 32)


def _rotate64(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK


def chacha20(key: bytes, block: int, nonce: bytes) -> bytes:
    """One 64-byte block of ChaCha20's key stream (RFC 8439, section 2.3)."""
    start = [
        *struct.unpack("<4I", b"expand 32-byte k"),
        *struct.unpack("<8I", key),
        block,
        *struct.unpack("<3I", nonce),
    ]
    x = list(start)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            _quarter(x, a, b, c, d)
        for a, b, c, d in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            _quarter(x, a, b, c, d)
    return struct.pack("<16I", *((one + two) % 2**32 for one, two in zip(x, start, strict=True)))


def _quarter(x: list[int], *places: int) -> None:
    a, b, c, d = places
    for one, two, three, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[one] = (x[one] + x[two]) % 2**32
        mixed = x[three] ^ x[one]
        x[three] = (mixed << by | mixed >> (32 - by)) % 2**32


def framed(*parts: str) -> bytes:
    """Each part with its length in front."""
    return b"".join(struct.pack(">Q", len(part.encode())) + part.encode() for part in parts)


def derive(master: bytes, kind: str, purpose: str) -> bytes:
    """The key that a source uses for one kind of draws and one purpose."""
    return hmac.new(master, framed("hushcount noise 1", kind, purpose), hashlib.sha256).digest()
