"""The tables of a ledger and their versions.

A migration is a list of steps that brings a ledger from one version to the next; none is ever changed or removed.
A ledger written by a newer version than this one is refused: reading half of it would be a budget half enforced.

Everything of one population hangs on its row in `books`; whoever holds that row may change the rest. `log` is the
truth: all other tables can be computed from it, and `verify` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hushcount.errors import LedgerUnavailable
from hushcount.ledger.migration import enter_catalog
from hushcount.ledger.store import Transaction

# A statement, or what SQL cannot do, which returns what it did in sentences.
Step: TypeAlias = str | Callable[[Transaction], str]

# Amounts are TEXT: exact decimals, added in Python. Moments are microseconds since 1970.
_FIRST = (
    """CREATE TABLE books (
        entity TEXT PRIMARY KEY, seq BIGINT NOT NULL, head TEXT NOT NULL, seen BIGINT NOT NULL,
        expiry BIGINT NOT NULL)""",
    """CREATE TABLE log (
        entity TEXT NOT NULL, seq BIGINT NOT NULL, by_whom TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL,
        PRIMARY KEY (entity, seq))""",
    "CREATE INDEX log_by_whom ON log (entity, by_whom, seq)",
    "CREATE TABLE names (name TEXT PRIMARY KEY, entity TEXT NOT NULL)",
    "CREATE TABLE versions (version TEXT PRIMARY KEY, entity TEXT NOT NULL)",
    """CREATE TABLE accounts (
        entity TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, period TEXT NOT NULL,
        opened BIGINT NOT NULL, until BIGINT NOT NULL, queries BIGINT NOT NULL,
        spent_rho TEXT NOT NULL, spent_delta TEXT NOT NULL, reserved_rho TEXT NOT NULL, reserved_delta TEXT NOT NULL,
        lifetime_rho TEXT NOT NULL, lifetime_delta TEXT NOT NULL,
        PRIMARY KEY (entity, kind, name))""",
    """CREATE TABLE asks (
        entity TEXT NOT NULL, number BIGINT NOT NULL, analyst TEXT NOT NULL, ask_key TEXT NOT NULL,
        request TEXT NOT NULL, what TEXT NOT NULL, version TEXT NOT NULL, query TEXT NOT NULL, family TEXT NOT NULL,
        fresh BIGINT NOT NULL, cost TEXT NOT NULL, held_rho TEXT NOT NULL, held_delta TEXT NOT NULL,
        state TEXT NOT NULL, touched BIGINT NOT NULL,
        made BIGINT NOT NULL, expires BIGINT NOT NULL, mode TEXT NOT NULL, accounts TEXT NOT NULL,
        charged_rho TEXT NOT NULL, charged_delta TEXT NOT NULL, answer BIGINT,
        PRIMARY KEY (entity, number))""",
    # A refunded ask frees its key: nothing happened, so the same request may start again under it.
    "CREATE UNIQUE INDEX asks_by_key ON asks (analyst, ask_key) WHERE state <> 'refunded'",
    "CREATE INDEX asks_by_analyst ON asks (entity, analyst, number)",
    "CREATE INDEX asks_running ON asks (entity, expires) WHERE state = 'open'",
    """CREATE TABLE releases (
        entity TEXT NOT NULL, number BIGINT NOT NULL, version TEXT NOT NULL, query TEXT NOT NULL, family TEXT NOT NULL,
        what TEXT NOT NULL, canonical BIGINT NOT NULL, cost TEXT NOT NULL, made BIGINT NOT NULL,
        digest TEXT NOT NULL, payload {blob} NOT NULL,
        PRIMARY KEY (entity, number))""",
    "CREATE UNIQUE INDEX releases_by_query ON releases (entity, version, query) WHERE canonical = 1",
    "CREATE INDEX releases_by_family ON releases (entity, version, family, number)",
    """CREATE TABLE holders (
        entity TEXT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (entity, number, kind, name))""",
    """CREATE TABLE limits (
        entity TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (entity, kind, name))""",
    """CREATE TABLE roles (
        entity TEXT NOT NULL, person TEXT NOT NULL, role TEXT NOT NULL, PRIMARY KEY (entity, person))""",
    "CREATE TABLE members (analyst TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (analyst, name))",
)
# The catalog: data sets by their identities, each in the book of its population. What the names and versions of the
# first version said is carried over by `migration.enter_catalog` before their tables go.
_SECOND = (
    """CREATE TABLE datasets (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, entity TEXT NOT NULL, person TEXT, facts TEXT NOT NULL,
        made BIGINT NOT NULL, by_whom TEXT NOT NULL)""",
    "CREATE INDEX datasets_by_entity ON datasets (entity)",
    "CREATE TABLE identities (identity TEXT PRIMARY KEY, dataset TEXT NOT NULL)",
    "CREATE INDEX identities_by_dataset ON identities (dataset)",
    # What holds for the ledger as a whole: the fingerprint of its secret.
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # The hashes that entries had before something was taken out of them, for whoever kept one.
    """CREATE TABLE redacted (
        entity TEXT NOT NULL, seq BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (entity, seq))""",
    "CREATE INDEX redacted_by_hash ON redacted (hash)",
    "ALTER TABLE books ADD COLUMN merged TEXT",
    "CREATE INDEX books_merged ON books (merged) WHERE merged IS NOT NULL",
    "ALTER TABLE asks ADD COLUMN dataset TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE releases ADD COLUMN dataset TEXT NOT NULL DEFAULT ''",
    # A refusal reads the latest charges to a population, however many repeats came after them.
    """CREATE INDEX asks_paid ON asks (entity, number)
        WHERE (answer IS NULL OR answer = number) AND state <> 'refunded'""",
    enter_catalog,
    "DROP TABLE names",
    "DROP TABLE versions",
)
# What a service needs: records in the chain, roles for one data set, and its jobs.
_THIRD = (
    """CREATE TABLE records (
        kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL, edition BIGINT NOT NULL,
        made BIGINT NOT NULL, changed BIGINT NOT NULL, PRIMARY KEY (kind, id))""",
    "CREATE INDEX records_by_owner ON records (kind, owner, id)",
    # Apart from `roles`: a population is called like one of its data sets, and a role for one must not be one for both.
    """CREATE TABLE dataset_roles (
        dataset TEXT NOT NULL, person TEXT NOT NULL, role TEXT NOT NULL, PRIMARY KEY (dataset, person))""",
    """CREATE TABLE jobs (
        id TEXT PRIMARY KEY, analyst TEXT NOT NULL, ask_key TEXT NOT NULL, dataset TEXT NOT NULL, body TEXT NOT NULL,
        question TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL, worker TEXT NOT NULL, stop BIGINT NOT NULL,
        outcome TEXT, made BIGINT NOT NULL, changed BIGINT NOT NULL, beat BIGINT NOT NULL)""",
    "CREATE UNIQUE INDEX jobs_by_key ON jobs (analyst, ask_key)",
    # Two ask the same at once: one runs.
    "CREATE UNIQUE INDEX jobs_running ON jobs (question) WHERE state = 'running'",
    "CREATE INDEX jobs_of_worker ON jobs (worker) WHERE state = 'running'",
    "CREATE INDEX jobs_waiting ON jobs (made, id) WHERE state = 'waiting'",
    "CREATE INDEX jobs_by_time ON jobs (made, id)",
    "CREATE INDEX jobs_by_analyst ON jobs (analyst, made, id)",
    "CREATE INDEX jobs_by_dataset ON jobs (dataset, made, id)",
    "CREATE INDEX jobs_done ON jobs (question, made, id) WHERE state = 'done'",
    # How far the clock and the machine had come at the newest entry, for each start of the machine.
    "CREATE TABLE anchors (boot TEXT PRIMARY KEY, wall BIGINT NOT NULL, since BIGINT NOT NULL)",
)
# The Renyi orders of a ledger: a row in `settings`, and a kind of cost, that an older hushcount would not heed.
_FOURTH = ()
# No index but that of the key begins as the key does: a server that has not counted the rows of a new ledger yet takes
# one of them for the other, and reads all that an analyst asked to find one ask.
_FIFTH = (
    "DROP INDEX asks_by_analyst",
    "CREATE INDEX asks_by_analyst ON asks (analyst, entity, number)",
    "DROP INDEX releases_by_family",
    "CREATE INDEX releases_by_family ON releases (version, family, entity, number)",
    "DROP INDEX log_by_whom",
    "CREATE INDEX log_by_whom ON log (by_whom, entity, seq)",
)
MIGRATIONS: tuple[tuple[Step, ...], ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)
# Tables whose rows `verify` computes from the log; `books` holds the heads of the chains. Jobs and anchors are not
# in it.
TABLES = (
    *("log", "accounts", "asks", "releases", "holders", "limits", "roles", "members"),
    *("datasets", "identities", "settings", "redacted", "records", "dataset_roles"),
)
# By these a schema is known for a ledger, of whatever version.
SIGNS = frozenset({"books", "log", "accounts", "asks", "releases", "holders", "limits", "roles", "members"})


def newest_version() -> int:
    """The schema version that this hushcount writes."""
    return len(MIGRATIONS)


def migrate(transaction: Transaction, *, version: int) -> str:
    """Bring a ledger of `version` (0: empty) to the newest; returns what was changed in it, in sentences.

    The caller's transaction makes it all or nothing.
    """
    said = []
    for steps in MIGRATIONS[version:]:
        for step in steps:
            if callable(step):
                said.append(step(transaction))
            else:
                transaction.write([(step.format(blob=transaction.dialect.blob), ())])
    return " ".join(sentence for sentence in said if sentence)


def refuse_newer(version: int) -> None:
    """Refuse a ledger that a later version wrote."""
    if version > newest_version():
        raise LedgerUnavailable(
            f"the ledger is of schema version {version}, this hushcount reads up to {newest_version()}: a newer "
            "version wrote it. Install that version; the ledger was left as it is."
        )
