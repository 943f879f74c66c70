"""The version of data that Spark reads: a digest of files, as for DuckDB, or a fingerprint of all rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from hushcount.engines.sources import Files
from hushcount.engines.spark.session import attempt, mapped
from hushcount.engines.spark.source import SparkSource

_Batch: TypeAlias = Any  # pyarrow.RecordBatch; pyarrow is imported only where it is used

# Files of so many bytes are read by this process; more are read by the workers, each file by one of them.
_FEW_BYTES = 2**28
# Types whose values Spark's hash tells apart. Of 0.0 and -0.0, which are two items, it makes one.
_SIMPLE = ("string", "bigint", "int", "smallint", "tinyint", "boolean", "date", "timestamp", "timestamp_ntz", "binary")


def version_of(source: SparkSource) -> str:
    """An id that changes whenever the data does; of files the same as that of the DuckDB engine."""
    if source.files is None:
        return attempt(source.name, lambda: _fingerprint(source))
    if sum(size for size, *_ in source.files.stamp()) <= _FEW_BYTES:
        return source.files.version()
    return attempt(source.name, lambda: _digested_far(source, source.files))


def _digested_far(source: SparkSource, files: Files | None) -> str:
    paths = [str(path.resolve()) for path in files.paths] if files else []
    listed = source.session.createDataFrame([(path,) for path in paths], "path string").repartition(len(paths), "path")
    found = mapped(listed, _digester(), "digest binary").toArrow().column("digest").to_pylist()
    if files is None or len(found) != len(paths):
        raise RuntimeError("a file was not read")
    return files.version_from(found)


def _digester() -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    def digest(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        import pyarrow as pa  # noqa: PLC0415  comes with Spark

        for batch in batches:
            found = []
            for path in batch.column(0).to_pylist():
                with Path(path).open("rb") as file:
                    found.append(hashlib.file_digest(file, "blake2b").digest())
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], ["digest"])

    return digest


def _fingerprint(source: SparkSource) -> str:
    """Changes with any row or column, and not with the order of rows.

    Three 64-bit hashes of each row: two are added up, so that repeated rows count; one is combined by exclusive or.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  heavy

    fields = source.frame.schema.fields
    frame = source.frame.toDF(*(f"c{n}" for n in range(len(fields))))
    parts: list[Any] = []
    for n, field in enumerate(fields):
        column, held = frame[f"c{n}"], field.dataType.simpleString()
        simple = held in _SIMPLE or held.startswith("decimal(")
        # Spark's hash passes over NULL, so whether there is one is hashed beside; and it takes no maps, but JSON.
        parts += [column.isNull(), column if simple else F.to_json(F.struct(column))]

    def total(number: int) -> Any:  # noqa: ANN401  a column
        return F.sum(F.xxhash64(F.lit(number), *parts).cast("decimal(28,0)"))

    found = frame.agg(F.count(F.lit(1)), total(1), total(2), F.bit_xor(F.xxhash64(F.lit(3), *parts))).first()
    shape = hashlib.blake2b(source.frame.schema.json().encode(), digest_size=8).hexdigest()
    return "-".join(["spark", *(str(value) for value in found), shape])
