"""Identities: by what data is recognised when it is met again under another name. The rules of every engine.

Keys are the caller's. What is keyed here may be kept and shown: without the key nobody finds out what it was made of.

* `path`: the fully resolved name of a file. `inode`: the file itself, whatever it is called.
* `bytes`: a keyed digest of a file's decompressed bytes.
* `table`: a table of a server, a session or a database file, by where it is, never by an address as it was typed.
* `rows`: a keyed digest of the number of rows and of all cells as texts. It does not depend on the order of rows or
  columns, on names of columns, on the format or on the engine; cells that are missing add nothing. It is there to
  recognise copies in other formats: of the MD5 of each cell's text 64 bits are added up. The same cells in other places
  are recognised as the same data, and so is whatever collides. That only merges two budgets, and never opens one.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
from collections.abc import Callable
from pathlib import Path

from hushcount.engines.files import HeldFiles
from hushcount.errors import InvalidParameter
from hushcount.model.identities import Identity, IdentityKind, Sighting

_LONGEST_KEY = hashlib.blake2b.MAX_KEY_SIZE
_FRAME = "frame"
_LOOPBACK = "localhost"


def keyed(key: bytes, role: bytes, told: bytes) -> str:
    """A keyed digest in hexadecimal digits; `role` keeps digests for different ends apart."""
    if not isinstance(key, bytes) or not 1 <= len(key) <= _LONGEST_KEY:
        # The key itself stays out of the text.
        raise InvalidParameter("key", "...", f"bytes, from 1 to {_LONGEST_KEY} of them")
    return hashlib.blake2b(told, digest_size=16, key=key, person=role).hexdigest()


def rows_identity(key: bytes, *, rows: int, total: int, version: Callable[[], str]) -> Identity:
    """The identity of so many rows, whose cells' hashes add up to a total.

    All tables without rows are alike and are not the same data: they are told apart by their versions.
    """
    told = f"{rows} {total}" if rows else version()
    return Identity(kind="rows", value=keyed(key, b"rows", told.encode()))


def see_files(files: HeldFiles, key: bytes) -> Sighting:
    """Files as they are met now."""
    finds, binds = list[Identity](), list[Identity]()
    for met, digest in zip(files.met(), files.digests(), strict=True):
        # A digest of the digest is as good as one of the bytes, and they are read once.
        same = [_identity("path", str(met.path)), _identity("bytes", keyed(key, b"bytes", digest))]
        inode = _identity("inode", f"{met.device}:{met.inode}")
        finds += [*same, inode] if met.links > 1 else same
        binds += [*same, inode]
    return Sighting(title=_title(files), finds=tuple(dict.fromkeys(finds)), binds=tuple(dict.fromkeys(binds)))


def see_table(name: str, places: tuple[str, ...], file: os.stat_result | None = None) -> Sighting:
    """A table as it is met now, at all places that are known to be the same one; `file` is that of a database file."""
    found = tuple(_identity("table", place) for place in places)
    linked = () if file is None else (_identity("inode", f"{file.st_dev}:{file.st_ino}#{name}"),)
    # Ledgers of the first version knew a server's tables by the address of the database: what was spent there binds.
    former = tuple(_identity("name", place.rpartition("/")[0]) for place in places if place.startswith("postgresql://"))
    finds = (*found, *former, *(linked if file is not None and file.st_nlink > 1 else ()))
    return Sighting(title=name, finds=finds, binds=(*found, *linked))


def see_far(addresses: tuple[str, ...]) -> Sighting:
    """Files that this machine cannot see, by their addresses without users and passwords."""
    found = tuple(_identity("path", address) for address in addresses)
    return Sighting(title=Path(addresses[0]).parent.name or "files", finds=found, binds=found)


def see_frame() -> Sighting:
    """Rows in memory, which lie nowhere: only what they hold tells what they are."""
    return Sighting(title=_FRAME, finds=(), binds=())


def host_name(host: str) -> str:
    """A host in one way of writing: small letters, no dot at the end, numbers as short as they are, one loopback."""
    if not host or host.startswith(("/", "@")):
        return _LOOPBACK  # a socket of this machine
    plain = host.lower().rstrip(".").strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return _LOOPBACK if plain == _LOOPBACK or plain.endswith(f".{_LOOPBACK}") else plain
    mapped = getattr(address, "ipv4_mapped", None) or address
    return _LOOPBACK if mapped.is_loopback else str(mapped)


def _title(files: HeldFiles) -> str:
    paths = [met.path for met in files.met()]
    if len(paths) == 1:
        return paths[0].name.partition(".")[0] or paths[0].name
    folder = os.path.commonpath([path.parent for path in paths])
    return os.path.basename(folder) or "files"  # noqa: PTH119  a text


def _identity(kind: IdentityKind, value: str) -> Identity:
    return Identity(kind=kind, value=value)
