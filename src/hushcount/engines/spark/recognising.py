"""Recognising data that Spark reads: a digest of files, as for DuckDB, or of all rows; and the identity of the rows.

The fingerprint of rows is the keyed additive multiset hash that `engines.duckdb.recognising` describes, computed inside
the JVM. Rows are read anew for it: a frame whose rows differ from one reading to the next never has one fingerprint.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from hushcount.engines.files import HeldFiles, digest, opened
from hushcount.engines.identities import keyed, see_far, see_files, see_frame, see_table
from hushcount.engines.spark.objects import read_cells
from hushcount.engines.spark.quotes import check_quotes
from hushcount.engines.spark.selected import Column, Frame, SparkColumn, numbered, spelled, text_column
from hushcount.engines.spark.session import attempt, mapped
from hushcount.engines.spark.source import SparkSource
from hushcount.model.identities import Sighting

_Batch: TypeAlias = Any  # pyarrow.RecordBatch; pyarrow is imported only where it is used

# Files of so many bytes are read by this process; more are read by the workers, each file by one of them.
_FEW_BYTES = 2**28
# Four words of 64 bits each, in hexadecimal digits; and a word in decimal ones, with room to add up 10^18 of them.
_LANES, _DIGITS = 4, 16
_WIDE = "decimal(28,0)"


def fingerprint(source: SparkSource, key: bytes) -> str:
    """An id that changes whenever the data does; of files the same as that of the DuckDB engine."""
    if source.files is not None:
        digest_far(source, source.files)
        return source.files.version()
    return attempt(source.name, lambda: _fingerprint_rows(source, key))


def digest_far(source: SparkSource, files: HeldFiles) -> None:
    """Let the workers digest large files; small ones are digested here when they are asked for."""
    if files.size <= _FEW_BYTES:
        return
    paths = list(map(str, files.paths))

    def far() -> list[bytes]:
        rows = list(enumerate(paths))
        listed = source.session.createDataFrame(rows, "n int, path string").repartition(len(paths), "path")
        found = mapped(listed, _digester(), "n int, digest binary").toArrow().to_pydict()
        digests = dict(zip(found["n"], found["digest"], strict=True))
        if len(digests) != len(paths):
            raise RuntimeError("a file was not read")
        return [digests[n] for n in range(len(paths))]

    files.digest_by(lambda: attempt(source.name, far))


def _digester() -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    def digest_all(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        import pyarrow as pa

        for batch in batches:
            found = []
            for path in batch.column(1).to_pylist():
                with opened(Path(path)) as file:
                    found.append(digest(file))
            yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(found, pa.binary())], ["n", "digest"])

    return digest_all


def _fingerprint_rows(source: SparkSource, key: bytes) -> str:
    from pyspark.sql import functions as F

    frame = numbered(source.frame)
    cells = [_cell(frame, column) for column in source.columns]
    row = F.sha2(F.concat(F.lit(keyed(key, b"row", b"")), *cells), 256)
    lanes = [F.sum(_number(F.substring("digest", 1 + _DIGITS * n, _DIGITS))) for n in range(_LANES)]
    found = frame.select(row.alias("digest")).agg(F.count(F.lit(1)), *lanes).first()
    told = repr((source.frame.schema.json(), [str(value) for value in found]))
    return f"spark-{keyed(key, b'table', told.encode())}"


def _cell(frame: Frame, column: SparkColumn) -> Column:
    """A text from which a cell can be read back: what is missing, what is empty and what comes next are told apart."""
    from pyspark.sql import functions as F

    held = frame[column.place]
    if column.kind == "nested":
        text = F.to_json(F.struct(held), {"ignoreNullFields": "false"})
    else:
        # The numbers of a moment, since its text depends on the zone of the session.
        text = (F.unix_micros(held) if column.kind == "zoned" else held).cast("string")
    return F.coalesce(F.concat(F.length(text).cast("string"), F.lit(":"), text), F.lit("-"))


def _number(digits: Column) -> Column:
    """Hexadecimal digits as a number."""
    from pyspark.sql import functions as F

    return F.conv(digits, 16, 10).cast(_WIDE)


def add_cells(source: SparkSource) -> tuple[int, int]:
    """How many rows there are, and the sum of all cells' hashes, as `engines.identities` says.

    Everything is read, so what cannot be parsed fails here.
    """
    rows, total = attempt(source.name, lambda: _add_cells(source))
    return int(rows), int(total)


def _add_cells(source: SparkSource) -> Any:  # noqa: ANN401  a row of Spark
    from pyspark.sql import functions as F

    if source.objects is not None:
        # A hundred billion cells in one object do not fit into memory, so their sum has room.
        cells = F.aggregate("cells", F.lit(0).cast(_WIDE), lambda total, text: (total + _hash(text)).cast(_WIDE))
        rows = read_cells(source.session, source.objects).select(cells.alias("total"))
        return rows.agg(F.count(F.lit(1)), F.coalesce(F.sum("total"), F.lit(0))).first()
    if source.files is not None and source.files.format in {"csv", "tsv"}:
        check_quotes(source.session, source.files)
    frame, texts = numbered(source.frame), [column.place for column in source.columns]
    frame = frame.select(*(_text(frame, column).alias(column.place) for column in source.columns))
    if any(column.needs_python for column in source.columns):
        frame = mapped(frame, _speller(texts), ", ".join(f"{name} string" for name in texts))
    sums = [F.coalesce(F.sum(_hash(frame[name])), F.lit(0)) for name in texts]
    return frame.agg(F.count(F.lit(1)), functools.reduce(operator.add, sums)).first()


def _hash(text: Column) -> Column:
    from pyspark.sql import functions as F

    return _number(F.substring(F.md5(text.cast("binary")), 1, _DIGITS))


def _text(frame: Frame, column: SparkColumn) -> Column:
    from pyspark.sql import functions as F

    if column.kind == "nested":
        held = frame[column.place]
        return F.to_json(held) if column.type_name.startswith(("array", "map", "struct")) else held.cast("string")
    return text_column(frame, column)


def _speller(names: list[str]) -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    def spell(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        import pyarrow as pa

        for batch in batches:
            texts = [pa.array(spelled(batch.column(n)), pa.string()) for n in range(len(names))]
            yield pa.RecordBatch.from_arrays(texts, names)

    return spell


def see(source: SparkSource, key: bytes) -> Sighting:
    """The identities of files or of a table. A frame lies nowhere: it may read a file, and others beside."""
    if source.files is not None:
        digest_far(source, source.files)
        return see_files(source.files, key)
    if source.table is not None:
        return see_table(source.table.rpartition(".")[2], (f"spark:{source.table}",))
    return see_far(source.far) if source.far else see_frame()
