"""Data from standard input: `-` in place of a file is CSV, kept in a private folder while it is asked."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hushcount.engines.private_folders import PrivateFolder, remove_dead
from hushcount.errors import UnreadableSource

_FOLDER = "hushcount-input-"


@contextmanager
def as_file(said: str) -> Iterator[str]:
    """The file that was said; for `-`, one that holds what comes in, until the question is answered."""
    if said != "-":
        yield said
        return
    if sys.stdin.isatty():
        raise click.UsageError(
            "'-' reads CSV from standard input, and nothing is piped in: cat log.csv | hushcount ..."
        )
    temporary = Path(tempfile.gettempdir())
    remove_dead(temporary, _FOLDER)
    folder = PrivateFolder(temporary, _FOLDER)
    try:
        path = folder.make() / "standard-input.csv"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(path)
    except UnreadableSource as error:
        # Nobody knows the file by its name.
        error.args = (str(error).replace(repr(str(path)), "standard input"),)
        raise
    finally:
        folder.remove()
