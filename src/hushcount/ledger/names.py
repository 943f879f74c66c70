"""Names at the door: what may stand in a ledger, and what is taken out of it first."""

from __future__ import annotations

from collections.abc import Collection

from hushcount.errors import InvalidParameter
from hushcount.ledger.addresses import redact
from hushcount.ledger.chain import digest
from hushcount.ledger.ledger import EVERY
from hushcount.model.identities import Identity, IdentityKind

# Far below what any store can index.
_LONGEST_IDENTITY = 1000
_LONGEST_TITLE = 80

# Longer ones break tables on a screen, and the keys of some databases.
_LONGEST = 500


def named(what: str, name: str) -> str:
    """A name that can stand in the ledger."""
    if not name.strip() or name == EVERY or not name.isprintable() or len(name) > _LONGEST:
        raise InvalidParameter(what, name[:50], f"a printable name other than '{EVERY}', of at most {_LONGEST} letters")
    if redact(name) != name:
        # The message must not say what the ledger may not keep.
        raise InvalidParameter(what, redact(name), "a name, or an address without user, password and parameters")
    return name


def column(what: str, name: str) -> str:
    """The name of a column: any text that a store can keep."""
    if not name or not _is_storable(name):
        raise InvalidParameter(what, name, "the name of a column")
    return name


def kept(what: str, text: str) -> str:
    """Any text that a store can keep as it is."""
    if not _is_storable(text):
        raise InvalidParameter(what, f"{len(text)} letters", "text without null characters and halves of letters")
    return text


def _is_storable(text: str) -> bool:
    """Whether a store keeps a text as it is: without null characters and halves of letters, which UTF-8 refuses."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False


def is_name(*names: str | None) -> bool:
    """Whether these may be names in the ledger: what could never be written is not looked for in a store."""
    return all(name is None or name.isprintable() for name in names)


def identity_text(identity: Identity) -> str:
    """The one text of an identity in the ledger; one that is long or cannot be printed is kept as a digest."""
    value = redact(identity.value)
    if not value.isprintable() or len(value) > _LONGEST_IDENTITY:
        value = f"sha256-{digest(value.encode('utf-8', 'surrogatepass'))}"
    return f"{identity.kind}:{value}"


def identity_from(text: str) -> Identity:
    """The identity that `identity_text` wrote."""
    kind, _, value = text.partition(":")
    known: IdentityKind = kind  # type: ignore[assignment]  # only `identity_text` writes them
    return Identity(kind=known, value=value)


def name_identity(name: str) -> str:
    """The identity of a declared name."""
    return identity_text(Identity(kind="name", value=name))


def titled(title: str) -> str:
    """A name made from a title that nobody typed: whatever cannot stand in the ledger is left out."""
    shown = "".join(sign for sign in redact(title) if sign.isprintable()).strip()[:_LONGEST_TITLE].strip()
    return shown if shown and shown != EVERY else "data"


def unique(name: str, taken: Collection[str]) -> str:
    """The name, or the first of name-2, name-3, ... that is not taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found
