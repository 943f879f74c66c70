"""Delimited files: what their first line says, for every engine that reads them. The line alone, never a value."""

from __future__ import annotations

import csv
import re

from hushcount.engines.files import HeldFiles
from hushcount.errors import UnreadableSource

_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 2**20


def csv_header(files: HeldFiles) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names of the columns, which all files must share."""
    headers = {_header(files, number) for number in range(len(files.paths))}
    if len(headers) > 1:
        raise UnreadableSource(f"{files.name} cannot be read as one table: the first lines of its files differ")
    return headers.pop()


def _header(files: HeldFiles, number: int) -> tuple[str, tuple[str, ...]]:
    start = files.read(number, lambda file: file.read(_LONGEST_HEADER))
    first = re.split(rb"\r\n|\n|\r", start, maxsplit=1)[0]
    delimiter, names = "", list[str]()
    try:
        line = first.decode("utf-8-sig")
        delimiter = "\t" if files.format == "tsv" else max(_DELIMITERS, key=line.count)
        names = [name or f"column{n}" for n, name in enumerate(next(csv.reader([line], delimiter=delimiter), []))]
    except (UnicodeDecodeError, csv.Error):
        names = []
    if not names or len({name.casefold() for name in names}) < len(names):
        raise UnreadableSource(
            f"{files.name} cannot be read: its first line must name each column, differently, in UTF-8"
        )
    return delimiter, tuple(names)
