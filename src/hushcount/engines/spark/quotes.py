"""Quotes of CSV for Spark: one that is left open is an error, and Spark takes the rest of the file for a value."""

from __future__ import annotations

import csv
import io
import itertools
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias

from hushcount.engines.delimited import csv_header
from hushcount.engines.files import HeldFiles, opened
from hushcount.engines.spark.session import Session, mapped

_Batch: TypeAlias = Any  # pyarrow.RecordBatch; pyarrow is imported only where it is used

_LONGEST_FIELD = 2**26
_LAST = "no open quote"


def check_quotes(session: Session, files: HeldFiles) -> None:
    """Fail if a file ends within quotes; each file is read by one worker."""
    delimiter, _ = csv_header(files)

    def check(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        for batch in batches:
            for path in batch.column(0).to_pylist():
                with opened(Path(path)) as file:
                    if not ends_outside_quotes(file, delimiter):
                        raise ValueError("a quote is open")
            yield batch

    listed = session.createDataFrame([(str(path),) for path in files.paths], "path string")
    mapped(listed.repartition(len(files.paths), "path"), check, "path string").count()


def ends_outside_quotes(file: IO[bytes], delimiter: str) -> bool:
    """Whether a line after the end would be one of its own, and not a part of the last value."""
    csv.field_size_limit(_LONGEST_FIELD)
    lines = itertools.chain(io.TextIOWrapper(file, encoding="utf-8", newline=""), ["\n", f"{_LAST}\n"])
    return deque(csv.reader(lines, delimiter=delimiter), maxlen=1) == deque([[_LAST]])
