"""Stamps: what tells, without reading rows, that the data of an offer is no longer what it was.

A stamp decides when data is opened anew, and nothing else: a version is named by what was read. A change that a stamp
does not show makes an answer old, never wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from hushcount.app.serving.data.offers import Offer, source_of
from hushcount.engines.duckdb.servers import stamp_postgres
from hushcount.engines.files import stamp_files
from hushcount.engines.sources import Files, ServerTable, recognise
from hushcount.errors import UnreadableSource

Stamp: TypeAlias = tuple[object, ...]
# What databases write beside their files before they write into them.
_BESIDE = {"sqlite": "-wal", "duckdb": ".wal"}


def stamp_of(offer: Offer, *, settled: bool = False) -> Stamp | None:
    """What stands for the present state of the data; None where nothing tells, so that it is opened each time.

    Args:
        offer: whose data.
        settled: wait until every later change must show.

    Raises:
        UnreadableSource: it is not there, or not permitted.
    """
    source, kind = source_of(offer), offer.store.kind
    if kind == "files":
        found = recognise(source)
        return stamp_files(found.name, found.paths, settled=settled) if isinstance(found, Files) else None
    if kind in _BESIDE:
        return _stamp_database(source, Path(f"{source}{_BESIDE[kind]}"), settled=settled)
    if kind == "postgres":
        server = recognise(source, offer.table)
        return stamp_postgres(server) if isinstance(server, ServerTable) else None
    return None


def _stamp_database(source: str, beside: Path, *, settled: bool) -> Stamp:
    """A database file, and what is written beside it.

    Readers make the file beside it too, empty, and SQLite sets its owner when it opens it: neither is a change.
    """
    own = stamp_files(repr(source), (Path(source),), settled=settled)
    try:
        if not beside.stat().st_size:
            return own
        (_, (*written, _)), *_ = stamp_files(repr(source), (beside,), settled=settled)
    except (OSError, UnreadableSource):
        return own
    return (*own, *written)
