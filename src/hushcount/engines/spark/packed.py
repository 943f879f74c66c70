"""Packed lists on Spark: who has what, a few million pairs at a time, as the arrays of the in-memory engine.

One shuffle brings each person's rows together. A worker numbers the people and the items of its part, and packs the
lists into a few rows of bytes, which Spark keeps for all rounds. A pass over people is then one call of the in-memory
engine for each of these rows, so the integers are the same because the code is; and what a pass costs in Spark goes by
the items of a part, not by its pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np

from hushcount.engines.incidence import MemoryIncidence
from hushcount.engines.pairs import item_bits, split_keys
from hushcount.engines.portions import Portion
from hushcount.engines.spark.session import mapped
from hushcount.model.inputs import Int64s, Items
from hushcount.model.texts import SortedTexts, Texts

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
_Batch: TypeAlias = Any  # pyarrow.RecordBatch
_Array: TypeAlias = Any  # pyarrow.Array
_Texts = TypeVar("_Texts", bound=Texts)
# About so many pairs are one row of bytes, some megabytes, however large a part is: few enough that a pass over them is
# the work of one core, and that rows can be spread evenly.
_PAIRS = 900_000


def packed_lists(rows: _Frame, *, cores: int) -> _Frame:
    """People's lists, from rows of the texts person and item, both present; a person is in one row of bytes.

    Of what is kept, Spark never joins small parts, and a session has 200 parts if nobody said otherwise: each would be
    a task of every pass. So the rows of bytes, which are a sixth of the rows, are moved once more, to one part for each
    core. What is before that has as many parts as Spark finds right once it knows their sizes.
    """
    return mapped(rows.repartition("person"), pack, "lists binary").repartition(cores)


def pack(batches: Iterator[_Batch]) -> Iterator[_Batch]:
    """What a worker does with the rows of a part: the same bytes, whatever the order of rows.

    Of a text that is repeated, one copy is held.
    """
    import pyarrow as pa

    people, items = list[_Array](), list[_Array]()
    for batch in batches:
        people.append(batch.column(0).dictionary_encode())
        items.append(batch.column(1).dictionary_encode())
    if not any(map(len, people)):
        return
    users, person = _numbered(people)
    things, item = _numbered(items)
    bits = item_bits(len(things))
    keys = person.astype(np.int64)
    keys <<= bits
    keys |= item
    keys.sort()
    del person, item
    for part in _pieces(keys, bits):
        yield pa.RecordBatch.from_arrays([pa.array([_bytes(part, users, things)], pa.binary())], ["lists"])


def unpack(batches: Iterator[_Batch]) -> Iterator[MemoryIncidence]:
    """The lists of a part, row of bytes by row."""
    import pyarrow as pa

    for batch in batches:
        for row in batch.column(0):
            with pa.ipc.open_stream(row.as_buffer()) as stream:
                users, items, offsets, ids = (column.values for column in stream.read_next_batch().columns)
            everybody = Portion(
                users=_texts(users, Texts),
                offsets=offsets.to_numpy(),
                ids=ids.to_numpy(),
                # How often is asked of nobody here.
                times=np.broadcast_to(np.int64(1), len(ids)),
            )
            yield MemoryIncidence(items=_texts(items, SortedTexts), portions=[everybody], people=len(users))


def arrow_texts(items: Items | SortedTexts) -> _Array:
    """Items as Spark takes them."""
    import pyarrow as pa

    if not isinstance(items, SortedTexts):
        return pa.array(items, pa.string())
    buffers = (pa.py_buffer(np.ascontiguousarray(held)) for held in (items.edges, items.buffer))
    return pa.LargeStringArray.from_buffers(len(items), *buffers).cast(pa.string())


def _numbered(chunks: list[_Array]) -> tuple[_Array, Int64s]:
    """The distinct texts of a column in their order (of code points, which is that of bytes), and each row's number."""
    import pyarrow as pa
    from pyarrow import compute

    unified = pa.chunked_array(chunks).unify_dictionaries()
    chunks.clear()
    texts = unified.chunk(0).dictionary
    order = compute.array_sort_indices(texts)
    number = np.empty(len(texts), dtype=np.int32)
    number[order.to_numpy()] = np.arange(len(texts), dtype=np.int32)
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks])
    return texts.take(order), number[codes]


def _pieces(keys: Int64s, bits: int) -> Iterator[Int64s]:
    """Sorted keys in pieces of about so many; all of a person are in one, whatever one may hold."""
    first = 0
    while first < len(keys):
        last = first + _PAIRS
        if last < len(keys):
            # Behind the last key of whoever stands there.
            last = int(np.searchsorted(keys, ((int(keys[last]) >> bits) + 1) << bits))
        yield keys[first:last]
        first = last


def _bytes(keys: Int64s, users: _Array, things: _Array) -> bytes:
    """The lists of some sorted keys, with the people and items that are theirs, as one message of Arrow."""
    import pyarrow as pa

    codes, offsets, held, _ = split_keys(keys, width=len(things))
    used = np.zeros(len(things), dtype=np.bool_)
    used[held] = True
    columns = {
        "users": users.take(pa.array(codes)).cast(pa.large_string()),
        "items": things.filter(pa.array(used)).cast(pa.large_string()),
        "offsets": pa.array(offsets),
        "ids": pa.array((np.cumsum(used, dtype=np.int32) - np.int32(1))[held]),
    }
    lists = [pa.LargeListArray.from_arrays(pa.array([0, len(one)], pa.int64()), one) for one in columns.values()]
    batch = pa.RecordBatch.from_arrays(lists, list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _texts(held: _Array, kind: type[_Texts]) -> _Texts:
    """The texts of an array, where they lie."""
    _, edges, data = held.buffers()
    buffer = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return kind(buffer, np.frombuffer(edges, dtype=np.int64, count=len(held) + 1))
