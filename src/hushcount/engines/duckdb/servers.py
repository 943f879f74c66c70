"""PostgreSQL: one table, copied as texts in one snapshot, and recognised by where it is whatever its address says.

The address may set anything of a session: time zone, formats, the search path. None of it may change what is read, or
the same table would be other data under each address: so the settings that texts depend on are pinned, and the search
path only finds the table. Neither user, password nor options of an address are in any text.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from hushcount.engines.duckdb.copying import chunks, copy_rows
from hushcount.engines.duckdb.sql import quoted
from hushcount.engines.identities import host_name
from hushcount.engines.sources import ServerTable, choose_table
from hushcount.errors import MissingExtra, UnreadableSource

_Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used
_Session: TypeAlias = Any  # psycopg.Connection

_TABLES = """SELECT table_name, table_schema FROM information_schema.tables
    WHERE table_schema = ANY (current_schemas(false))
    ORDER BY array_position(current_schemas(false), table_schema) DESC"""
_ELSEWHERE = "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_PINNED = {
    "search_path": "",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "xmlbinary": "base64",
}
# Counts since the statistics were last reset, which is one of them; and the file that the table lies in.
_WRITTEN = """SELECT c.oid::text, c.relfilenode::text, s.n_tup_ins, s.n_tup_upd, s.n_tup_del, d.stats_reset::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_stat_all_tables s ON s.relid = c.oid
    JOIN pg_stat_database d ON d.datname = current_database()
    WHERE n.nspname = %s AND c.relname = %s AND c.relkind = 'r' AND current_setting('track_counts') = 'on'"""


def copy_postgres(connection: _Connection, server: ServerTable) -> tuple[str, tuple[str, ...]]:
    """A table of a server into the table `data`; its name, and the places by which it is recognised."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "pip install 'hushcount[postgres]'") from None

    try:
        with psycopg.connect(server.address, client_encoding="utf8") as session:
            session.read_only = True
            session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            schema, table = _find(session, server.table)
            for setting, value in _PINNED.items():
                session.execute("SELECT set_config(%s, %s, true)", (setting, value))
            _copy(connection, server, session, f"{quoted(schema)}.{quoted(table)}")
            return table, _places(session, f"{schema}.{table}")
    except psycopg.Error as error:
        kind = type(error).__name__
    raise UnreadableSource(
        f"{server.name} cannot be read: the server refused it ({kind}); check the address and rights"
    )


def stamp_postgres(server: ServerTable) -> tuple[object, ...] | None:
    """What stands for the present state of a table, without reading it; None where the server does not tell.

    The server counts rows that are written, and tells of it a second later or so; a table that is written anew has
    another file. Views, foreign and partitioned tables have no counts of their own.

    Raises:
        UnreadableSource: the server cannot be reached, or has no such table.
    """
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "pip install 'hushcount[postgres]'") from None

    try:
        with psycopg.connect(server.address, client_encoding="utf8") as session:
            found = session.execute(_WRITTEN, _find(session, server.table)).fetchone()
            return None if found is None else tuple(found)
    except psycopg.Error as error:
        kind = type(error).__name__
    raise UnreadableSource(
        f"{server.name} cannot be read: the server refused it ({kind}); check the address and rights"
    )


def _find(session: _Session, said: str | None) -> tuple[str, str]:
    """Schema and name of the table that was said: one of the search path, or `schema.table` of any other."""
    # The nearest schema of the search path comes last, and stays.
    schemas = {str(name): str(schema) for name, schema in session.execute(_TABLES)}
    schema, dot, name = (said or "").partition(".")
    if dot and said not in schemas and session.execute(_ELSEWHERE, (schema, name)).fetchone() is not None:
        return schema, name
    table = choose_table(said, schemas)
    return schemas[table], table


def _copy(connection: _Connection, server: ServerTable, session: _Session, table: str) -> None:
    described = session.execute(f"SELECT * FROM {table} LIMIT 0").description or []  # noqa: S608  quoted names
    names = [column.name for column in described]
    texts = ", ".join(f"{quoted(name)}::text" for name in names)
    with session.cursor("rows") as rows:
        rows.execute(f"SELECT {texts} FROM {table}")  # noqa: S608  quoted names
        copy_rows(connection, server, names=names, rows=chunks(rows))


def _places(session: _Session, table: str) -> tuple[str, ...]:
    """By the host as it was named, and by the number that the server gave itself, which all names of a host share."""
    import psycopg

    info = session.info
    named = f"postgresql://{host_name(info.host)}:{info.port}/{info.dbname}/{table}"
    try:
        with session.transaction():
            found = session.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
    except psycopg.Error:  # not everybody may ask
        return (named,)
    return named, f"postgresql:{found[0]}/{info.dbname}/{table}"
