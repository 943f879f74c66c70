"""JSON for Spark: the columns that a question names, as text, or all cells; parsed by Python on the workers.

Not by Spark itself, which would infer a schema from values, read only the first array of a file and say nothing of the
rest, and write nested values as they stand. Here as in DuckDB each value is the text of a number, a truth value or a
string, or a nested value written without spaces; null and what is absent are missing; an object that has a key twice,
or anything that is no object, is refused.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from hushcount.engines.files import HeldFiles, opened
from hushcount.engines.spark.session import Session, literal_path, mapped
from hushcount.model.frozen import frozen

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
_Batch: TypeAlias = Any  # pyarrow.RecordBatch
_Object: TypeAlias = dict[str, str | None]
_Maker: TypeAlias = Callable[[list[_Object]], _Batch]

# Objects of an array that are handed to Spark at a time.
_BLOCK = 10_000


@frozen
class Objects:
    """Files of JSON: those with one object in each line, and those with one array of objects."""

    lines: tuple[str, ...]
    arrays: tuple[str, ...]


def find_objects(files: HeldFiles) -> Objects:
    """Which files hold lines and which an array, by their first character."""
    paths = list(map(str, files.paths))
    arrays = [files.format == "json" and _starts_array(files, n) for n in range(len(paths))]
    return Objects(
        lines=tuple(path for path, array in zip(paths, arrays, strict=True) if not array),
        arrays=tuple(itertools.compress(paths, arrays)),
    )


def _starts_array(files: HeldFiles, number: int) -> bool:
    start = files.read(number, lambda file: file.read(4096))
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def read_columns(session: Session, objects: Objects, names: tuple[str, ...]) -> _Frame:
    """The named columns as texts, called c0, c1 and so on."""

    def make(found: list[_Object]) -> _Batch:
        import pyarrow as pa

        arrays = [pa.array([each.get(name) for each in found], pa.string()) for name in names]
        return pa.RecordBatch.from_arrays(arrays, [f"c{n}" for n in range(len(names))])

    return _read(session, objects, make, ", ".join(f"c{n} string" for n in range(len(names))))


def read_cells(session: Session, objects: Objects) -> _Frame:
    """The texts of all values that are there, in one list for each object, called cells."""

    def make(found: list[_Object]) -> _Batch:
        import pyarrow as pa

        cells = [[text for text in each.values() if text is not None] for each in found]
        return pa.RecordBatch.from_arrays([pa.array(cells, pa.list_(pa.string()))], ["cells"])

    return _read(session, objects, make, "cells array<string>")


def _read(session: Session, objects: Objects, make: _Maker, schema: str) -> _Frame:
    parts = []
    if objects.lines:
        lines = session.read.option("lineSep", "\n").text([literal_path(path) for path in objects.lines])
        parts.append(mapped(lines, _parser(_parse_lines, make), schema))
    if objects.arrays:
        listed = session.createDataFrame([(path,) for path in objects.arrays], "path string")
        spread = listed.repartition(len(objects.arrays), "path")
        parts.append(mapped(spread, _parser(_parse_arrays, make), schema))
    return functools.reduce(lambda one, two: one.unionAll(two), parts)


def _parser(
    parse: Callable[[list[str]], Iterable[_Object]], make: _Maker
) -> Callable[[Iterator[_Batch]], Iterator[_Batch]]:
    """What a worker does with lines, or with names of files."""

    def run(batches: Iterator[_Batch]) -> Iterator[_Batch]:
        for batch in batches:
            found = iter(parse(batch.column(0).to_pylist()))
            while block := list(itertools.islice(found, _BLOCK)):
                yield make(block)

    return run


def _parse_lines(lines: list[str]) -> Iterator[_Object]:
    for line in lines:
        if line.strip():
            yield parse_object(_loads(line))


def _parse_arrays(paths: list[str]) -> Iterator[_Object]:
    for path in paths:
        with opened(Path(path)) as file:
            found = _loads(file.read().decode("utf-8-sig"))
        if not isinstance(found, list):
            raise TypeError("no array")
        yield from map(parse_object, found)


class _Number(str):
    """The text of a number, which stands without quotes inside nested values."""

    __slots__ = ()


def _loads(text: str) -> Any:  # noqa: ANN401  any value of JSON
    return json.loads(
        text, parse_int=_integer, parse_float=_real, parse_constant=_Number, object_pairs_hook=_without_repeats
    )


def _integer(text: str) -> _Number:
    return _Number("0" if text == "-0" else text)


def _real(text: str) -> _Number:
    number = float(text)
    return _Number(text if math.isinf(number) else repr(number))


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def parse_object(value: Any) -> _Object:  # noqa: ANN401  any value of JSON
    """The texts of an object's values; null is an object without any."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError("no object")
    return {key: _text(held) for key, held in value.items()}


def _text(value: Any) -> str | None:  # noqa: ANN401  any value of JSON
    if value is None:
        return None
    return str(value) if isinstance(value, str) else _compact(value)


def _compact(value: Any) -> str:  # noqa: ANN401  any value of JSON
    match value:
        case _Number():
            return str(value)
        case dict():
            return "{" + ",".join(f"{_compact(key)}:{_compact(held)}" for key, held in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_compact, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)
