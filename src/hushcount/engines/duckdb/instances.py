"""Instances of DuckDB: to make one takes as long as to read a small file, so one that read files waits for the next.

An instance has one engine at a time. Of what it did for the last one nothing is left: files are read through a view,
which goes with the engine; temporary tables went with their cursors; and nothing of a file is kept by its name, since
another one may have that name next (`enable_external_file_cache`: files are read at the number of their descriptor).
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from hushcount.engines.duckdb.sql import spelled

Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection; duckdb is imported only where it is used

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # no Python variable is ever read by its name
    "preserve_insertion_order": "false",
    "default_collation": "",
    "arrow_large_buffer_size": "true",  # as `arrow` reads texts
    "enable_external_file_cache": "false",
}
# At most one waits, with some tens of megabytes: whoever asks about several at once keeps their engines.
WAITING = list[Connection]()
# Of the parent of this process, of which this one has neither the threads nor anything to close.
_PARENTS = list[Connection]()


def open_instance(folder: Path, *, memory_limit: str | None) -> Connection:
    """An instance that spills into a folder; with a limit of its own if one is said, else one that waits, if any."""
    import duckdb

    if memory_limit is not None:
        return duckdb.connect(config={**_SETTINGS, "temp_directory": str(folder), "memory_limit": memory_limit})
    with suppress(IndexError):
        waiting = WAITING.pop()
        try:
            waiting.execute(f"SET GLOBAL temp_directory = {spelled(str(folder))}")
        except duckdb.Error:
            # It has spilled before, and cannot do so elsewhere any more.
            waiting.close()
        else:
            return waiting
    return duckdb.connect(config={**_SETTINGS, "temp_directory": str(folder)})


def let_wait(instance: Connection) -> None:
    """Keep an instance that read files through the view `data`, without a limit of its own, for the next source."""
    try:
        instance.execute("DROP VIEW IF EXISTS data")
    except BaseException:
        # Also for an interrupt.
        instance.close()
        raise
    WAITING.append(instance)
    close_waiting(but=1)


def close_waiting(but: int = 0) -> None:
    """Close those that wait, but for so many."""
    with suppress(IndexError):
        while len(WAITING) > but:
            WAITING.pop(0).close()


def _leave_to_parent() -> None:
    _PARENTS.extend(WAITING)
    WAITING.clear()


atexit.register(close_waiting)
if hasattr(os, "register_at_fork"):
    # A child would have it without its threads, and could neither use nor close it. Another thread may have let one
    # wait in between.
    os.register_at_fork(before=close_waiting, after_in_child=_leave_to_parent)
