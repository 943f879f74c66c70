"""Founding and opening: a ledger is whole or not there, has an owner from its first moment on, and one secret for ever.

Founding is one transaction: the tables, and one entry with the owner, the general limit and the secret's fingerprint.
Opening never founds, and brings an older ledger up to date in one transaction.
"""

from __future__ import annotations

from decimal import Decimal

from hushcount.errors import LedgerMissing, SecretUnusable
from hushcount.ledger import limits
from hushcount.ledger.book import Book, lock_book, new_book, rule_book
from hushcount.ledger.chain import canonical
from hushcount.ledger.clocks import shown_now
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.limits import Limit
from hushcount.ledger.names import named
from hushcount.ledger.schema import migrate, newest_version, refuse_newer
from hushcount.ledger.store import Database, Transaction
from hushcount.model.frozen import frozen

_SHOWN = 8


@frozen
class Founding:
    """What a ledger has from its first moment on.

    Attributes:
        owner: who owns it.
        limit: what every population may spend that has no rule of its own; None where nothing is limited.
        secret: the fingerprint of the secret under which its answers are drawn, as hexadecimal text. Never the secret.
        order: its costs are known for Renyi orders up to this, and its sums are converted by these alone.
    """

    owner: str
    limit: Limit | None
    secret: str
    order: Decimal = limits.NEW_ORDER


def found(database: Database, founding: Founding) -> bool:
    """Found a ledger here; False if there is one already. One whose founding was broken off is completed.

    Raises:
        LedgerForeign: something else is here; it was not written to.
    """
    named("owner", founding.owner)
    named("secret", founding.secret)
    with database.upgrading() as transaction:
        version = database.version(transaction)
        refuse_newer(version)
        if version and _is_owned(transaction):
            return False
        migrate(transaction, version=version)
        redacted = _was_redacted(transaction)
        rules = lock_book(transaction, EVERY, moment=shown_now) or new_book(transaction, EVERY, now=transaction.now())
        _enter(rules, founding)
        database.set_version(transaction, newest_version())
    if redacted:
        database.scrub()
    return True


def bring_up_to_date(database: Database, secret: str, *, place: str) -> str:
    """Check that a ledger is here and that the secret is its own; returns what was changed in an older one.

    Args:
        database: where it is.
        secret: the fingerprint of the secret that answers would be drawn under.
        place: what to call it in errors.

    Raises:
        LedgerMissing: there is none, or its founding was broken off.
        LedgerForeign: something else is here; it was not written to.
        SecretUnusable: it was founded with another secret.
    """
    named("secret", secret)
    with database.reading() as transaction:
        version = database.version(transaction)
        refuse_newer(version)
        _refuse_unfounded(transaction, version, place)
        if version == newest_version():
            _refuse_other_secret(transaction, secret, place)
            return ""
    with database.upgrading() as transaction:
        # Somebody else may have done it meanwhile.
        version = database.version(transaction)
        said = migrate(transaction, version=version)
        # Only the step from the first version takes anything out.
        redacted = version == 1 and _was_redacted(transaction)
        if not _secret_of(transaction):
            _keep_secret(rule_book(transaction, moment=shown_now), secret)
        _refuse_other_secret(transaction, secret, place)
        # Whoever waited for that has nothing to write, and keeps nobody waiting for the disk.
        if version != newest_version():
            database.set_version(transaction, newest_version())
    if redacted:
        database.scrub()
    return said


def _enter(rules: Book, founding: Founding) -> None:
    form = None if founding.limit is None else limits.to_json(limits.for_order(founding.limit, founding.order))
    order = str(founding.order)
    rules.append("found", founding.owner, owner=founding.owner, limit=form, secret=founding.secret, order=order)
    rules.do("INSERT INTO roles (entity, person, role) VALUES (?, ?, 'owner')", EVERY, founding.owner)
    if form is not None:
        rule = (EVERY, "dataset", EVERY)
        rules.do("DELETE FROM limits WHERE entity = ? AND kind = ? AND name = ?", *rule)
        rules.do("INSERT INTO limits (entity, kind, name, body) VALUES (?, ?, ?, ?)", *rule, canonical(form))
    rules.do("INSERT INTO settings (name, value) VALUES ('secret', ?)", founding.secret)
    rules.do("INSERT INTO settings (name, value) VALUES ('order', ?)", order)
    rules.flush()


def _keep_secret(rules: Book, secret: str) -> None:
    """A ledger of the first version knew no secret: that of whoever opens it first is its own from now on."""
    rules.append("secret", "", secret=secret)
    rules.do("INSERT INTO settings (name, value) VALUES ('secret', ?)", secret)
    rules.flush()


def _refuse_unfounded(transaction: Transaction, version: int, place: str) -> None:
    if not version:
        raise LedgerMissing(f"there is no ledger {place}; none is made by opening it, so that no budget is forgotten.")
    if not _is_owned(transaction):
        raise LedgerMissing(
            f"the ledger {place} has no owner and no limits: its founding was broken off. Found it again to complete "
            "it."
        )


def _refuse_other_secret(transaction: Transaction, secret: str, place: str) -> None:
    own = _secret_of(transaction)
    if own != secret:
        raise SecretUnusable(
            f"the ledger {place} was founded with another secret (its fingerprint begins with {own[:_SHOWN]}, that of "
            f"the one given with {secret[:_SHOWN]}): the same question would be drawn anew and charged again. Put back "
            "the file 'secret' that was made with the ledger, or point HUSHCOUNT_HOME to its folder. Nothing was "
            "charged."
        )


def _secret_of(transaction: Transaction) -> str:
    found = transaction.fetch("SELECT value FROM settings WHERE name = 'secret'")
    return str(found[0][0]) if found else ""


def _is_owned(transaction: Transaction) -> bool:
    return bool(transaction.fetch("SELECT 1 FROM roles WHERE role = 'owner' AND entity = ? LIMIT 1", EVERY))


def _was_redacted(transaction: Transaction) -> bool:
    return bool(transaction.fetch("SELECT 1 FROM redacted LIMIT 1"))
