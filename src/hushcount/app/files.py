"""Rows to files: Parquet, CSV or JSON by the ending of the name, and the receipt beside them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from hushcount.app.receipt import Receipt
from hushcount.errors import InvalidParameter

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


def write_rows(columns: dict[str, list[Any]], path: Path, receipt: Receipt) -> Path:
    """Write the columns to `path` and the receipt to `path` with the ending .receipt.json; gives the latter."""
    require_format(path)
    import duckdb  # noqa: PLC0415  heavy, and only needed here

    table = {name: np.array(values, dtype=object if name == "item" else np.int64) for name, values in columns.items()}
    with duckdb.connect() as connection:
        connection.register("released", table)
        target = str(path).replace("'", "''")
        connection.execute(f"COPY released TO '{target}' ({_FORMATS[path.suffix]})")
    beside = path.with_suffix(".receipt.json")
    beside.write_text(receipt.to_json() + "\n", encoding="utf-8")
    return beside
