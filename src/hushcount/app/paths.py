"""Paths: the files that a source names, whatever it calls them, and small texts that are read whole."""

from __future__ import annotations

import glob
import os
from pathlib import Path


def paths_exist(source: str) -> bool:
    """Whether a text names files: then it is not taken for the name of a data set."""
    return any(path.exists() for path in paths_of(source))


def paths_of(source: object) -> list[Path]:
    """The files that a source names, resolved; none for what is no file."""
    if not isinstance(source, str | os.PathLike) or "://" in os.fspath(source):
        return []
    try:
        return _found(os.fspath(source))
    except (OSError, RuntimeError, ValueError):
        # A name that is too long, a ring of links: whoever opens it says so.
        return []


def _found(given: str) -> list[Path]:
    path = Path(given)
    if path.is_dir():
        return sorted(file.resolve() for file in path.rglob("*") if file.is_file())
    if path.exists() or not glob.has_magic(given):
        return [path.resolve()]
    # Not Path.glob, which takes no absolute patterns.
    return sorted(Path(file).resolve() for file in glob.glob(given, recursive=True))  # noqa: PTH207


def read_text(path: Path) -> str:
    """The text of a small file, or of a pipe that somebody writes to; one that nobody writes to is empty.

    To open such a pipe plainly would last until somebody does, which may be never.
    """
    with open(path, encoding="utf-8", opener=_unwaiting) as file:
        return file.read()


def _unwaiting(path: str, flags: int) -> int:
    handle = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    return handle
