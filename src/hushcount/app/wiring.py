"""Wiring: the one place that turns names into adapters: engines, ledgers, the secret, and so a setting."""

from __future__ import annotations

import glob
import os
from decimal import Decimal
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from hushcount.app.paths import paths_of
from hushcount.app.secret import Secret, load_secret
from hushcount.app.setting import Places, Setting
from hushcount.engines.digests import Digests
from hushcount.engines.engine import Engine
from hushcount.engines.sources import DatabaseTable, Files, is_address, is_pinot, is_spark, recognise
from hushcount.errors import InvalidParameter, LedgerUnavailable
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import Ledger
from hushcount.ledger.limits import NEW_ORDER, ten_standard_releases
from hushcount.model.costs import EVERY_ORDER

ENGINES = ("duckdb", "spark", "pinot")
_POSTGRES = ("postgresql://", "postgres://")
_BESIDE = Path(".hushcount") / "ledger.sqlite"
_OWN = "ledger.sqlite"


def make_setting(places: Places, source: object = None, *, keeps_count: bool = True) -> Setting:
    """Open the secret and the ledger of a question, and found the user's own ledger if there is none at all.

    Args:
        places: where things are.
        source: the data; a ledger in its folder or in one above goes before the user's own.
        keeps_count: False leaves the ledger out, for data in which nobody needs protecting.
    """
    secret = load_secret(places.home)
    ledger, notes = (None, "") if not keeps_count else _open_or_found(places, source, secret)
    return Setting(
        secret=secret,
        ledger=ledger,
        receipts=places.home / "receipts",
        digests=Digests(places.home / "digests.json", secret.key(b"hushcount digests")),
        analyst=places.analyst,
        notes=(notes,) if notes else (),
    )


def existing_setting(places: Places, source: object = None) -> Setting:
    """As `make_setting`, but the ledger must be there: a new one would have nothing to tell and would look well."""
    where = find_ledger(places, source)
    if not ledger_exists(where):
        raise LedgerUnavailable(f"there is no ledger at {where!r}, so nothing was asked yet.")
    return make_setting(places, source)


def find_ledger(places: Places, source: object = None) -> str:
    """The ledger's place: as said, or beside the data or above it, or the user's own."""
    if places.ledger is not None:
        return _checked_place(places.ledger)
    found = {_beside(folder) for folder in data_folders(source)}
    if len(found) > 1:
        raise LedgerUnavailable(
            "these files have several ledgers beside them, or some have none; ask them apart, or name one ledger."
        )
    beside = found.pop() if found else None
    return str(places.home / _OWN if beside is None else beside)


def data_folders(source: object) -> set[Path]:
    """The folders in which the files of a source really are, whatever they were called; none for what is no file."""
    files = paths_of(source)
    if files:
        return {file.parent for file in files}
    if not isinstance(source, str | os.PathLike) or "://" in os.fspath(source) or not os.fspath(source):
        return set()
    path = Path(os.fspath(source))
    while glob.has_magic(str(path)) and not path.exists():
        path = path.parent
    return {path.resolve() if path.is_dir() else path.resolve().parent}


def _beside(folder: Path) -> Path | None:
    """The ledger in a folder or in the nearest above it."""
    for place in (folder, *folder.parents):
        found = place / _BESIDE
        if found.exists():
            _refuse_planted(found)
            return found
    return None


def found_ledger(places: Places, source: object = None, *, all_orders: bool = False) -> str:
    """Found a ledger whose owner is whoever asks; where it is, without any password.

    Args:
        places: where, and who.
        source: the data that it is for, if its place is not named.
        all_orders: whether it knows its costs for all Renyi orders, and not for the usual ones alone.
    """
    where = find_ledger(places, source)
    _found(where, places, load_secret(places.home), order=EVERY_ORDER if all_orders else NEW_ORDER).close()
    return shown_place(where)


def kept_files(places: Places, source: object = None) -> list[str]:
    """The files that nothing may be written over: the ledger with its side files, the secret, the receipts."""
    where = find_ledger(places, source)
    ledger = [] if _is_server(where) else [where, f"{where}-wal", f"{where}-shm"]
    return [*ledger, str(places.home)]


def shown_place(where: str) -> str:
    """A ledger's place as it may be shown: of an address, host and database alone."""
    if not _is_server(where):
        return where
    parts = urlsplit(where)
    return f"postgresql://{parts.hostname or 'localhost'}{parts.path}"


def open_ledger(where: str, secret: Secret, *, owner: str) -> Ledger:
    """The ledger at a place, for a service; founded, with this owner, if there is none."""
    where = _checked_place(where)
    if _is_server(where):
        from hushcount.ledger.postgres import found_postgres

        # Founding is one step that changes nothing where a ledger is.
        return found_postgres(where, _founding(owner, secret))
    if ledger_exists(where):
        return _opened(where, secret)
    from hushcount.ledger.sqlite import found_sqlite  # only where a file is used

    return found_sqlite(Path(where), _founding(owner, secret))


def _founding(owner: str, secret: Secret, order: Decimal = NEW_ORDER) -> Founding:
    return Founding(owner=owner, limit=ten_standard_releases(), secret=secret.fingerprint, order=order)


def _open_or_found(places: Places, source: object, secret: Secret) -> tuple[Ledger, str]:
    where = find_ledger(places, source)
    ledger = _opened(where, secret) if ledger_exists(where) else _found(where, places, secret)
    if not ledger.founded:
        return ledger, ledger.migrated
    return ledger, (
        f"A new ledger was founded at {where}: what is asked is counted there, and each data set starts with ten "
        "standard releases a month."
    )


def _opened(where: str, secret: Secret) -> Ledger:
    if _is_server(where):
        from hushcount.ledger.postgres import open_postgres

        return open_postgres(where, secret=secret.fingerprint)
    from hushcount.ledger.sqlite import open_sqlite  # only where a file is used

    return open_sqlite(Path(where), secret=secret.fingerprint)


def _found(where: str, places: Places, secret: Secret, order: Decimal = NEW_ORDER) -> Ledger:
    founding = _founding(places.owner or places.analyst, secret, order)
    if _is_server(where):
        from hushcount.ledger.postgres import found_postgres

        return found_postgres(where, founding)
    from hushcount.ledger.sqlite import found_sqlite  # only where a file is used

    return found_sqlite(Path(where), founding)


def _refuse_planted(path: Path) -> None:
    """Refuse a ledger that somebody else laid into the way: its limits would be theirs."""
    # The links and folders on the way too: whoever owns them decides what lies there.
    owners = {place.lstat().st_uid for place in (path, path.parent)} | {path.stat().st_uid}
    if hasattr(os, "getuid") and not owners <= {os.getuid(), 0}:
        raise LedgerUnavailable(
            f"the ledger {str(path)!r} beside the data belongs to another user, so it is not trusted by itself. If it "
            "is meant, name it as the ledger."
        )


def ledger_exists(where: str) -> bool:
    """Whether a ledger is there, as far as can be told without opening it: a server is taken to have one."""
    return _is_server(where) or Path(where).exists()


def _checked_place(where: str) -> str:
    """Refuse an address in a form that is not known: it would become a file with a password in its name."""
    if not _is_server(where) and (":/" in where or is_address(where)):
        raise InvalidParameter("ledger", "an address", "a file, or an address such as postgresql://host/name")
    return where


def _is_server(where: str) -> bool:
    return where.startswith(_POSTGRES)


def open_engine(
    source: object,
    engine: str | None = None,
    *,
    table: str | None = None,
    master: str | None = None,
    digests: Digests | None = None,
) -> Engine:
    """Open a source with an engine by name; an engine stays as it is.

    Args:
        source: the data.
        engine: a name; None takes Spark for what Spark holds, Pinot for its addresses, and DuckDB for all else.
        table: one of several tables in a database.
        master: where Spark runs.
        digests: digests of large files that were made before.
    """
    if is_spark(source):
        return _open_spark(source, engine or "spark", table, master)
    if callable(getattr(source, "histogram", None)) and callable(getattr(source, "incidence", None)):
        return cast("Engine", source)
    if is_pinot(source):
        return _open_pinot(str(source), engine or "pinot", table, master)
    engine = engine or "duckdb"
    if engine not in ENGINES:
        raise InvalidParameter("engine", engine, f"one of {', '.join(ENGINES)}")
    if engine == "spark":
        return _open_spark(source, engine, table, master)
    if engine == "pinot":
        raise InvalidParameter("source", "no address of Pinot", "such as pinot://broker:8099/table for this engine")
    if master is not None:
        raise InvalidParameter("master", master, "left out unless Spark reads the data")
    from hushcount.engines.duckdb.engine import open_duckdb

    return open_duckdb(source, table=table, digests=digests)


def open_header(source: object, engine: str | None = None, *, table: str | None = None) -> Engine | None:
    """Open a source for its columns alone; None where opening would copy rows, or start machines.

    Args:
        source: the data.
        engine: a name, as in `open_engine`.
        table: one of several tables in a database.
    """
    if is_spark(source) or is_pinot(source) or engine not in {None, "duckdb"}:
        return None
    if callable(getattr(source, "histogram", None)):
        return cast("Engine", source)
    match recognise(source, table):
        case Files() | DatabaseTable(program="duckdb"):
            return open_engine(source, engine, table=table)
        case _:
            return None


def _open_spark(source: object, engine: str, table: str | None, master: str | None) -> Engine:
    if engine != "spark":
        raise InvalidParameter("engine", engine, "'spark' for data that Spark holds")
    from hushcount.engines.spark.engine import open_spark

    return open_spark(source, table=table, master=master)


def _open_pinot(source: str, engine: str, table: str | None, master: str | None) -> Engine:
    if engine != "pinot":
        hint = "To read what the table was made of, name those files."
        raise InvalidParameter("engine", engine, "'pinot' for an address of Pinot", hint)
    if master is not None:
        raise InvalidParameter("master", master, "left out unless Spark reads the data")
    from hushcount.engines.pinot.engine import open_pinot

    return open_pinot(source, table=table)
