"""Tables beside a ledger in PostgreSQL, for programs that read what is published and nothing else.

They stand in a schema of their own. Rows are replaced and the table stays, so that what an operator granted on it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushcount.ledger.records import ShownTable

if TYPE_CHECKING:
    import psycopg


def show_table(connection: psycopg.Connection[Any], schema: str, shown: ShownTable) -> None:
    """Write a table, or take it away, in the transaction that is open; nothing if there is no place for it."""
    if not _has_place(connection, schema):
        return
    table = f"{_quoted(schema)}.{_quoted(shown.name)}"
    if shown.columns is None:
        # What somebody built on it shows it too, and goes with it.
        _do(connection, f"DROP TABLE IF EXISTS {table} CASCADE")
        return
    typed = ", ".join(f"{_quoted(name)} {kind}" for name, (kind, _) in shown.columns.items())
    _do(connection, f"CREATE TABLE IF NOT EXISTS {table} ({typed})")
    _do(connection, f"DELETE FROM {table}")  # noqa: S608 (quoted)
    marks = ", ".join(f"%s::{kind}[]" for kind, _ in shown.columns.values())
    values = [[_storable(one) for one in column] for _, column in shown.columns.values()]
    rows: Any = f"INSERT INTO {table.replace('%', '%%')} SELECT * FROM unnest({marks})"  # noqa: S608 (quoted)
    connection.execute(rows, values)


def _has_place(connection: psycopg.Connection[Any], schema: str) -> bool:
    """Whether tables may be made in a schema; one that is not there is made, if this user may."""
    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchall():
        allowed = connection.execute("SELECT has_schema_privilege(%s, 'CREATE')", (schema,)).fetchall()
        return bool(allowed[0][0])
    if not connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchall()[0][0]:
        return False
    _do(connection, f"CREATE SCHEMA {_quoted(schema)}")
    return True


def _do(connection: psycopg.Connection[Any], sql: Any) -> None:  # noqa: ANN401 (psycopg wants literal strings)
    """Run a statement as it is: what looks like a mark in it is part of a name."""
    connection.execute(sql, prepare=False)


def _quoted(name: str) -> str:
    """A name in SQL, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _storable(value: str | float | None) -> str | float | None:
    """A value as PostgreSQL takes it: a text of its own has neither the letter 0 nor half of a pair."""
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd") if isinstance(value, str) else value
