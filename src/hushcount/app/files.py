"""Rows to files: Parquet, CSV or JSON by the ending of the name, and the receipt beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hushcount.app.paths import paths_of
from hushcount.app.receipt import Receipt
from hushcount.errors import InvalidParameter

_RECEIPT = ".receipt.json"
_FORMATS = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER", ".json": "FORMAT json, ARRAY"}


def require_format(path: Path) -> None:
    """Refuse a name whose ending is no format that can be written: before anything is read or paid."""
    if path.suffix not in _FORMATS:
        raise InvalidParameter("out", str(path), f"a name that ends in {', '.join(_FORMATS)}")
    require_folder("out", path)


def require_folder(option: str, path: Path) -> None:
    """Refuse a place where nothing can be written: before anything is read or paid, so that no answer is lost."""
    place = path if path.exists() else path.parent
    if path.is_dir() or not os.access(place, os.W_OK):
        raise InvalidParameter(option, str(path), "a file in a folder that is there and can be written to")


def require_apart(option: str, path: Path, kept: Iterable[object]) -> None:
    """Refuse to write over what is read or kept, also by its receipt: before anything is read or paid.

    Args:
        option: what the path was said for.
        path: where rows or a picture would be written.
        kept: the data, lists, the ledger, the home.
    """
    taken = [place for one in kept for place in paths_of(one)]
    for target in (path, receipt_path(path)):
        same = target.exists() and any(place.exists() and target.samefile(place) for place in taken)
        if same or target.resolve() in taken:
            raise InvalidParameter(option, str(path), "another file than those that are kept: it would be overwritten")


def receipt_path(path: Path) -> Path:
    """Where the receipt of rows in this file is."""
    return path.with_suffix(_RECEIPT)


def write_rows(columns: dict[str, list[Any]], path: Path, receipt: Receipt) -> Path:
    """Write the columns to `path` and the receipt to `path` with the ending .receipt.json; gives the latter."""
    require_format(path)
    import duckdb

    table = {
        name: np.array(values, dtype=np.int64 if name in {"count", "low", "high"} else object)
        for name, values in columns.items()
    }
    with duckdb.connect() as connection:
        connection.register("released", table)
        target = str(path).replace("'", "''")
        connection.execute(f"COPY released TO '{target}' ({_FORMATS[path.suffix]})")
    beside = receipt_path(path)
    beside.write_text(receipt.to_json() + "\n", encoding="utf-8")
    return beside
