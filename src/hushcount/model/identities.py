"""By what data is recognised: the identities of one sighting, before anything is known of its past."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hushcount.model.frozen import frozen

IdentityKind: TypeAlias = Literal["path", "inode", "bytes", "rows", "table", "version", "name"]


@frozen
class Identity:
    """One thing by which data is recognised.

    Attributes:
        kind: what it is: where a file lies ("path"), which file that is ("inode"), a keyed digest of its decompressed
            bytes ("bytes") or of its rows ("rows"), where a server keeps it ("table"), a keyed digest that names
            exactly what was read ("version"), or what somebody called it ("name").
        value: the thing itself. Never an address as it was typed: those hold passwords.
    """

    kind: IdentityKind
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"


@frozen
class Sighting:
    """Data as it was met now.

    Attributes:
        title: a name for the data set if nobody gave it one, such as the stem of a file's name.
        finds: data that is known by any of these is this data.
        binds: what is remembered of it. An inode is here always, and in `finds` only while the file has a second name:
            numbers of inodes are given to other files once a file is gone.
    """

    title: str
    finds: tuple[Identity, ...]
    binds: tuple[Identity, ...]
