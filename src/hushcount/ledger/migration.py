"""From the first schema to the second: old books become data sets of the catalog, and passwords are taken out.

In the first version a book was a name as it was typed, an address with its password included, and the log recorded it.
Entries of such books are written anew and linked anew; the hashes that they had are kept, so that a link which somebody
kept can still be checked. Names and versions become identities, also those that an old fault left without an entry.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from hushcount.ledger import datasets
from hushcount.ledger.addresses import redact
from hushcount.ledger.book import Book, lock_book, new_book
from hushcount.ledger.chain import START, canonical, digest, link
from hushcount.ledger.clocks import newest, shown_now
from hushcount.ledger.datasets import NO_FACTS, DatasetRow
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.names import identity_text, titled, unique
from hushcount.ledger.store import Row, Transaction
from hushcount.model.identities import Identity, IdentityKind

# Columns of the first schema that hold what somebody typed. Entries of the log are rewritten apart.
_TYPED = (
    ("books", "entity"),
    ("log", "entity"),
    ("log", "by_whom"),
    ("accounts", "entity"),
    ("accounts", "name"),
    ("asks", "entity"),
    ("asks", "analyst"),
    ("asks", "ask_key"),
    ("asks", "what"),
    ("asks", "version"),
    ("asks", "accounts"),
    ("releases", "entity"),
    ("releases", "version"),
    ("releases", "what"),
    ("holders", "entity"),
    ("holders", "name"),
    ("limits", "entity"),
    ("limits", "name"),
    ("roles", "entity"),
    ("roles", "person"),
    ("members", "analyst"),
    ("members", "name"),
)
# A request's hash was made from the name, too, and would tell a password to whoever guesses it.
_NO_REQUEST = digest(b"redacted")


@dataclass(slots=True)
class _Told:
    """What the migration did, for the sentence that says so."""

    names: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    redacted: bool = False
    strays: int = 0
    doubles: list[tuple[str, str]] = field(default_factory=list)

    def sentences(self) -> str:
        """All of it in words."""
        shown = ", ".join(sorted(self.names))
        said = [f"The ledger was brought up to date: its {len(self.names)} data sets are in the catalog now ({shown})."]
        if self.redacted:
            shown = f" ({', '.join(self.addresses)})" if self.addresses else ""
            said.append(
                f"User names, passwords and parameters were taken out of addresses{shown} and out of the log. Whoever "
                "could read this ledger or a backup of it could read them: change those passwords."
            )
        said += [
            f"The data sets {one!r} and {other!r} had the same address but for user or parameters; if they are about "
            f"the same people: hushcount catalog join {shlex.quote(one)} {shlex.quote(other)}."
            for one, other in self.doubles
        ]
        if self.strays:
            said.append(f"{self.strays} versions that an old fault had left without an entry in the log were adopted.")
        return " ".join(said)


def enter_catalog(transaction: Transaction) -> str:
    """Enter every book of the first schema into the catalog; returns what was done, in sentences."""
    books = [entity for (entity,) in transaction.fetch("SELECT entity FROM books ORDER BY entity")]
    if not books:
        return ""
    told, at = _Told(), shown_now(transaction, newest(transaction))
    renamed = _new_entities(books)
    changed = _rewrite_logs(transaction, renamed)
    _rewrite_tables(transaction, renamed)
    transaction.write(
        [("UPDATE asks SET dataset = entity", ()), ("UPDATE releases SET dataset = entity", ())]
        + [("UPDATE asks SET request = ? WHERE entity = ?", (_NO_REQUEST, new)) for new in set(renamed.values())]
    )
    for entity in changed:
        _note_redaction(transaction, entity, at=at)
    told.addresses, told.redacted = sorted({redact(old) for old in renamed}), bool(changed)
    rules = lock_book(transaction, EVERY, moment=lambda _, __: at) or new_book(transaction, EVERY, now=at)
    rules.append("migrate", "", origin=1, schema=2)
    taken: dict[str, str] = {}
    for old in books:
        if old != EVERY:
            _enter(rules, old, entity=renamed.get(old, old), taken=taken, told=told)
    rules.flush()
    return told.sentences() if told.names or told.redacted else ""


def _new_entities(books: list[str]) -> dict[str, str]:
    """The books whose name must change, each with its new one; two addresses of one place stay two books."""
    taken = {entity for entity in books if redact(entity) == entity}
    renamed: dict[str, str] = {}
    for entity in books:
        if entity not in taken:
            renamed[entity] = unique(redact(entity), taken | set(renamed.values()))
    return renamed


def _rewrite_logs(transaction: Transaction, renamed: Mapping[str, str]) -> list[str]:
    """Write anew every entry that holds what must go, and link the rest of its book anew; the books concerned.

    The rows keep the entity that they have: `_rewrite_tables` changes it everywhere at once.
    """
    changed = []
    for (entity,) in transaction.fetch("SELECT entity FROM books ORDER BY entity"):
        old_head = head = START
        touched = False
        for seq, text, stated in _entries(transaction, entity):
            new, link_ = _rewritten(text, stated, renamed, heads=(old_head, head))
            if new != text:
                touched = True
                transaction.write(
                    [
                        ("UPDATE log SET body = ?, hash = ? WHERE entity = ? AND seq = ?", (new, link_, entity, seq)),
                        (
                            "INSERT INTO redacted (entity, seq, hash) VALUES (?, ?, ?)",
                            (renamed.get(entity, entity), seq, stated),
                        ),
                    ]
                )
            old_head, head = stated, link_
        if touched:
            transaction.write([("UPDATE books SET head = ? WHERE entity = ? AND head = ?", (head, entity, old_head))])
            changed.append(renamed.get(entity, entity))
    return changed


def _rewritten(text: str, stated: str, renamed: Mapping[str, str], *, heads: tuple[str, str]) -> tuple[str, str]:
    """One entry without what must go, and its hash; `heads` are the old and the new hash before it.

    What was broken stays broken: a link that did not fit before does not fit afterwards, so that `verify` finds an old
    edit as it would have found it then.
    """
    try:
        body = _parsed(text)
        cleaned = _cleaned(body, renamed)
    except RecursionError:
        body = {}
    if not body:
        for old, new in renamed.items():
            text = text.replace(old, new)
        return redact(text) if "://" in text else text, stated
    if str(body.get("entity")) in renamed and isinstance(cleaned.get("ask"), dict):
        cleaned["ask"]["request"] = _NO_REQUEST
    if body.get("previous") == heads[0]:
        cleaned["previous"] = heads[1]
    rewritten = text if cleaned == body else canonical(cleaned)
    return rewritten, (link(rewritten) if link(text) == stated else stated)


def _parsed(text: str) -> dict[str, Any]:
    """An entry; empty if somebody made it something else."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _entries(transaction: Transaction, entity: str) -> Iterator[Row]:
    last = 0
    while page := transaction.fetch(
        "SELECT seq, body, hash FROM log WHERE entity = ? AND seq > ? ORDER BY seq LIMIT 1000", entity, last
    ):
        yield from page
        last = page[-1][0]


def _rewrite_tables(transaction: Transaction, renamed: Mapping[str, str]) -> None:
    for table, column in _TYPED:
        found = transaction.fetch(f"SELECT DISTINCT {column} FROM {table} WHERE {column} LIKE '%://%'")  # noqa: S608
        for (text,) in found:
            new = _cleaned(text, renamed)
            if new != text:
                transaction.write([(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, text))])  # noqa: S608


def _cleaned(value: Any, renamed: Mapping[str, str]) -> Any:  # noqa: ANN401 (JSON)
    """The value with every text in it renamed or redacted, also where JSON stands within JSON."""
    if isinstance(value, dict):
        return {key: _cleaned(said, renamed) for key, said in value.items()}
    if isinstance(value, list):
        return [_cleaned(said, renamed) for said in value]
    if not isinstance(value, str) or "://" not in value:
        return value
    inner = _within(value)
    if inner is None:
        return renamed.get(value) or redact(value)
    cleaned = _cleaned(inner, renamed)
    return value if cleaned == inner else canonical(cleaned)


def _within(text: str) -> Any:  # noqa: ANN401 (JSON)
    """The list or object that a text is the JSON of; None if it is a text like any other."""
    try:
        return json.loads(text) if text.startswith(("[", "{")) else None
    except ValueError:
        return None


def hashes_of(transaction: Transaction, entity: str) -> tuple[int, str]:
    """How many entries of a book were rewritten, and one hash of the hashes that they had before."""
    found = transaction.fetch("SELECT seq, hash FROM redacted WHERE entity = ? ORDER BY seq", entity)
    if not found:
        return 0, ""
    return len(found), digest("".join(f"{seq} {text}\n" for seq, text in found).encode())


def _note_redaction(transaction: Transaction, entity: str, *, at: int) -> None:
    """An entry that says how many entries were rewritten when, with one hash of the hashes that they had."""
    book = lock_book(transaction, entity, moment=lambda _, __: at)
    if book is None:  # pragma: no cover (it was just rewritten)
        raise LookupError(entity)
    entries, hashes = hashes_of(transaction, entity)
    book.append("redact", "", entries=entries, hashes=hashes, what="user names, passwords and parameters of addresses")
    book.flush()


def _enter(rules: Book, old: str, *, entity: str, taken: dict[str, str], told: _Told) -> None:
    """Make a data set of one old book; `taken` says which identity is whose already."""
    transaction = rules.transaction
    names = _column(transaction, "SELECT name FROM names WHERE entity = ? ORDER BY 1", old)
    versions = _column(transaction, "SELECT version FROM versions WHERE entity = ? ORDER BY 1", old)
    identities = dict.fromkeys(
        [*map(_old_name, names), *(identity_text(Identity(kind="version", value=version)) for version in versions)]
    )
    strays = sorted(set(versions) - _logged(transaction, entity))
    made, by = _beginning(transaction, entity)
    row = DatasetRow(
        id=entity,
        name=unique(_readable(entity), told.names),
        entity=entity,
        person=None,
        facts=NO_FACTS,
        made=made or rules.now,
        by_whom=by,
    )
    new = [identity for identity in identities if identity not in taken]
    rules.append("register", "", dataset=datasets.to_entry(row), identities=new, strays=strays)
    datasets.insert(rules, row)
    datasets.bind(rules, row.id, new)
    told.doubles += sorted({(taken[identity], row.name) for identity in identities if identity in taken})
    taken.update(dict.fromkeys(new, row.name))
    told.names.append(row.name)
    told.strays += len(strays)


def _column(transaction: Transaction, sql: str, entity: str) -> list[str]:
    return [redact(text) for (text,) in transaction.fetch(sql, entity)]


def _logged(transaction: Transaction, entity: str) -> set[str]:
    """The names and versions that the log of a book has entries for."""
    bodies = (_parsed(text) for _, text, _ in _entries(transaction, entity))
    return {str(body.get("value")) for body in bodies if str(body.get("kind")) in {"name", "version"}}


def _beginning(transaction: Transaction, entity: str) -> tuple[int, str]:
    """When a book was begun, and who asked first."""
    first = transaction.fetch("SELECT body FROM log WHERE entity = ? ORDER BY seq LIMIT 1", entity)
    asked = transaction.fetch("SELECT analyst FROM asks WHERE entity = ? ORDER BY number LIMIT 1", entity)
    at = _parsed(first[0][0]).get("at") if first else None
    return (at if isinstance(at, int) else 0), (asked[0][0] if asked else "")


def _old_name(name: str) -> str:
    """The identity that a name of the first schema stood for: a resolved path, or whatever else was typed."""
    path = PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()
    kind: IdentityKind = "path" if path and "://" not in name else "name"
    return identity_text(Identity(kind=kind, value=name))


def _readable(entity: str) -> str:
    """A short name for an old book: the stem of a file, the last part of an address, or what it was called."""
    if "/" not in entity and "\\" not in entity:
        return titled(entity)
    last = PureWindowsPath(entity).name if "\\" in entity else PurePosixPath(entity.rstrip("/")).name
    bare = "".join(sign for sign in PurePosixPath(last).stem if sign not in "*?[]")
    return titled(bare)
