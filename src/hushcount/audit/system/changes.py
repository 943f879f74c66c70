"""Changes of data: each must give another version, or two answers with the same noise would show the difference."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from hushcount.audit.finding import Finding
from hushcount.audit.system.names import write_table
from hushcount.audit.system.product import ITEM, PERSON, WORDS, Product, workspace
from hushcount.errors import HushcountError
from hushcount.model.frozen import frozen

_Rows: TypeAlias = list[list[str]]
_HEAD = (PERSON, ITEM, WORDS)
_ROWS: _Rows = [[f"person-{number:03d}", f"item-{number % 5}", f"{number % 7}"] for number in range(200)]
_OPTIONS: Mapping[str, Any] = {"rho": "0.01", "ledger": False}


@frozen
class Store:
    """A kind of place for rows: writes them, and gives what is asked."""

    name: str
    write: Callable[[Path, _Rows], object]


def look_at_changes(product: Product, *, quick: bool) -> Finding:
    """Change one thing at a time, in every kind of place: the version must change, and must not without a change."""
    stores = _STORES[::2] if quick else _STORES
    changes = list(_CHANGES.items())[:: 2 if quick else 1]
    wrong: list[str] = []
    with workspace() as folder:
        for store in stores:
            before = _version(product, store, folder / f"{store.name}-0", [list(row) for row in _ROWS])
            if before != _version(product, store, folder / f"{store.name}-00", [list(row) for row in _ROWS]):
                wrong.append(f"{store.name}: the same rows, another version")
            for number, (name, change) in enumerate(changes, 1):
                after = _version(product, store, folder / f"{store.name}-{number}", change([list(r) for r in _ROWS]))
                if after == before:
                    wrong.append(f"{store.name}: {name}")
        wrong += [f"a file {name}" for name in _sly(product, folder)]
    return Finding(
        subject="every change is a new version",
        step="system",
        holds=not wrong,
        claimed="data that differs in one cell has another version; the same rows have the same",
        measured=f"KEPT ITS VERSION: {'; '.join(wrong[:5])}" if wrong else "another version each time",
        where="rows added, removed, repeated, exchanged; cells changed, emptied, moved; dates of files put back",
        looked=f"{len(changes)} changes in {len(stores)} kinds of places, and 2 to files with their dates put back",
    )


def _version(product: Product, store: Store, folder: Path, rows: _Rows) -> str:
    folder.mkdir()
    source = store.write(folder, rows)
    return product.ask("count", source, _OPTIONS, folder=folder.parent).receipt.data_version


def _sly(product: Product, folder: Path) -> list[str]:
    """Overwritten in place, and swapped for another, with size and dates as they were."""
    kept = []
    for name in ("overwritten in place", "swapped"):
        path = _as_csv(_new(folder / name.replace(" ", "-")), [list(row) for row in _ROWS])
        before = product.ask("count", path, _OPTIONS, folder=folder).receipt.data_version
        dates = path.stat()
        other = path.read_bytes().replace(b"item-0", b"item-9")
        if name == "swapped":
            beside = path.with_name("other.csv")
            beside.write_bytes(other)
            beside.replace(path)
        else:
            path.write_bytes(other)
        os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))
        try:
            if product.ask("count", path, _OPTIONS, folder=folder).receipt.data_version == before:
                kept.append(name)
        except HushcountError:
            continue
    return kept


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _as_csv(folder: Path, rows: _Rows) -> Path:
    return write_table(folder / "t.csv", tuple(map(tuple, rows)), _HEAD)


def _as_sqlite(folder: Path, rows: _Rows) -> Path:
    place = folder / "t.sqlite"
    with closing(sqlite3.connect(place)) as database, database:
        database.execute(f"CREATE TABLE t ({', '.join(_HEAD)})")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [[cell or None for cell in row] for row in rows])
    return place


def _as_view(folder: Path, rows: _Rows) -> Path:
    """A view of a DuckDB file over another file: the database's own bytes do not change with the rows."""
    import duckdb

    place, path = folder / "t.duckdb", _as_csv(folder, rows)
    with duckdb.connect(str(place)) as connection:
        connection.execute(f"CREATE VIEW t AS FROM read_csv('{path}', all_varchar=true)")
    return place


def _as_relation(folder: Path, rows: _Rows) -> object:
    import duckdb

    return duckdb.connect().sql(f"FROM read_csv('{_as_csv(folder, rows)}', all_varchar=true)")


def _as_parquet(folder: Path, rows: _Rows) -> Path:
    import duckdb

    place, path = folder / "t.parquet", _as_csv(folder, rows)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_csv('{path}', all_varchar=true)) TO '{place}' (FORMAT parquet)")
    return place


def _with(rows: _Rows, place: int, column: int, text: str) -> _Rows:
    rows[place][column] = text
    return rows


def _exchanged(rows: _Rows) -> _Rows:
    """Two people exchange an item: every column holds the same values as before."""
    rows[0][1], rows[1][1] = rows[1][1], rows[0][1]
    return rows


def _both_exchanged(rows: _Rows) -> _Rows:
    """Two cells change places within a row: the row holds the same texts as before."""
    rows[3][1], rows[3][2] = rows[3][2], rows[3][1]
    return rows


_STORES: tuple[Store, ...] = (
    Store(name="csv", write=_as_csv),
    Store(name="relation", write=_as_relation),
    Store(name="sqlite", write=_as_sqlite),
    Store(name="view", write=_as_view),
    Store(name="parquet", write=_as_parquet),
)
_CHANGES: dict[str, Callable[[_Rows], _Rows]] = {
    "one row more": lambda rows: [*rows, ["person-new", "item-0", "1"]],
    "one row less": lambda rows: rows[:-1],
    "a row twice": lambda rows: [*rows, rows[5]],
    "another row instead": lambda rows: [*rows[:-1], ["person-new", "item-0", "1"]],
    "one item changed": lambda rows: _with(rows, 7, 1, "item-x"),
    "one person changed": lambda rows: _with(rows, 7, 0, "person-x"),
    "a column that is not asked": lambda rows: _with(rows, 7, 2, "x"),
    "a cell missing": lambda rows: _with(rows, 7, 2, ""),
    "items of two people exchanged": _exchanged,
    "two cells of a row exchanged": _both_exchanged,
    "a space at the end": lambda rows: _with(rows, 7, 1, "item-2 "),
    "another case": lambda rows: _with(rows, 7, 1, "Item-2"),
    "a letter that looks the same": lambda rows: _with(rows, 7, 1, "іtem-2"),
}
