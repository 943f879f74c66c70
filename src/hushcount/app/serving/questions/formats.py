"""A release as a file: CSV, Parquet, Arrow, a picture, a page. Items are hostile text in all of them."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hushcount.app.release import Release
from hushcount.errors import MissingExtra

# What a spreadsheet would take for a formula, if a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CSS = "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}td,th{padding:2px 10px}"
# What a browser may do with a release as a page: look at it, in this one style.
_DIGEST = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
PAGE_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'; base-uri 'none'"


def to_csv(release: Release, marks: dict[str, str]) -> bytes:
    """Rows with a header; cells that a spreadsheet would compute are quoted. Marks are columns that say so in each row.

    Args:
        release: the rows.
        marks: further columns with one value for all rows, such as that limits are only tracked.
    """
    columns: dict[str, list[Any]] = release.to_dict()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([*columns, *marks])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([*(_cell(value) for value in row), *marks.values()])
    return text.getvalue().encode()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def to_arrow(release: Release, marks: dict[str, str]) -> bytes:
    """An Arrow stream, with the receipt in its metadata."""
    pa = _pyarrow()
    table = _table(release, marks)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def to_parquet(release: Release, marks: dict[str, str]) -> bytes:
    """A Parquet file, with the receipt in its metadata. DuckDB writes it, which every install has."""
    import duckdb

    columns: dict[str, list[Any]] = release.to_dict()
    columns |= {name: [value] * len(release) for name, value in marks.items()}
    whole = release.numbers()
    table = {name: np.array(values, np.int64 if name in whole else object) for name, values in columns.items()}
    # An empty column of texts would have no kind.
    named = ", ".join(
        f"CAST({_quoted(name)} AS {'BIGINT' if name in whole else 'VARCHAR'}) AS {_quoted(name)}" for name in columns
    )
    with tempfile.TemporaryDirectory(prefix="hushcount-") as folder, duckdb.connect() as connection:
        connection.register("released", table)
        path = Path(folder) / "release.parquet"
        target, receipt = (text.replace("'", "''") for text in (str(path), release.receipt.to_json()))
        connection.execute(
            f"COPY (SELECT {named} FROM released) TO '{target}' "  # noqa: S608  quoted
            f"(FORMAT parquet, KV_METADATA {{hushcount_receipt: '{receipt}'}})"
        )
        return path.read_bytes()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def to_svg(release: Release, marks: dict[str, str]) -> bytes:  # noqa: ARG001  one signature for all
    """A picture: bars with whiskers and the cut-off."""
    try:
        figure = release.plot()
    except ModuleNotFoundError:
        raise MissingExtra("matplotlib", "pip install 'hushcount[plot]'") from None
    sink = io.BytesIO()
    figure.savefig(sink, format="svg", metadata={"Date": None})
    return sink.getvalue()


def to_html(release: Release, marks: dict[str, str]) -> bytes:
    """A page of its own, without scripts."""
    columns = release.to_dict()
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    rows = [
        "<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    ]
    said = "".join(
        f"<p><strong>{html.escape(name)}: {html.escape(value)}</strong></p>" for name, value in marks.items()
    )
    receipt = html.escape(release.receipt.to_text())
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Release {release.receipt.id}</title>"
        f"<style>{_CSS}</style><body>{said}<table><tr>{head}</tr>{''.join(rows)}</table><p>{receipt}</p></body></html>"
    )
    return page.encode()


Writer = Callable[[Release, dict[str, str]], bytes]
FORMATS: dict[str, tuple[str, Writer]] = {
    "csv": ("text/csv; charset=utf-8", to_csv),
    "parquet": ("application/vnd.apache.parquet", to_parquet),
    "arrow": ("application/vnd.apache.arrow.stream", to_arrow),
    "svg": ("image/svg+xml", to_svg),
    "html": ("text/html; charset=utf-8", to_html),
}


def _table(release: Release, marks: dict[str, str]) -> Any:  # noqa: ANN401  pyarrow has no types
    pa = _pyarrow()
    columns: dict[str, Any] = release.to_dict()
    columns |= {name: [value] * len(release) for name, value in marks.items()}
    table = pa.table(columns)
    return table.replace_schema_metadata({"hushcount_receipt": release.receipt.to_json()})


def _pyarrow() -> Any:  # noqa: ANN401  as above
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError:
        raise MissingExtra("pyarrow", "pip install pyarrow") from None
    return pa
