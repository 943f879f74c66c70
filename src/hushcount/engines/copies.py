"""Copies of files, for an engine that stays open: nothing outside can change what is read.

The files are copied once into a private folder, and the version is the digest of the copy: of exactly the bytes that
are read, whatever happens to files, maps and names outside, and whenever. So nothing has to be digested again after a
read. That digest took about 20 ms for a million rows in 8 MB, for every question, and grows with the file. To keep
digests by stamp and leave out the one after the read would not be as safe: a memory map that was dirty before we came
changes bytes and no stamp.

A copy costs room on the disk and no memory. Where the system allows it, it has no name either, so that nobody opens it
and nothing is left after a crash. Measured instead of it, roughly: rows in a table of DuckDB in memory were counted up
to a third faster at a million rows, not faster at ten million, and took 1.5 to 4.5 times the file's size; a database
file of DuckDB was no faster, and took up to three seconds to write for each million rows.

Copies may also be kept under a name, in a folder of the service, for as long as one version is announced: then every
worker and the next start read the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from hushcount.engines.files import Copies, Met, StampedFiles, met
from hushcount.engines.private_folders import PrivateFolder, remove_dead
from hushcount.engines.sources import Files
from hushcount.errors import UnreadableSource

_CHUNK = 2**20
_MET = "met.json"
_DRAFT = ".draft-"


def copy_files(files: Files, folder: Path) -> Copies:
    """Copy files into a private folder; the copies go with whoever holds them.

    Raises:
        UnreadableSource: a file changed meanwhile (half of one state and half of another is none), or there is no room.
    """
    origins = StampedFiles(files.name, files.paths)
    found = met(origins)
    try:
        paths = tuple(_copied(origins, folder, number) for number in range(len(origins.paths)))
    except OSError as error:
        raise UnreadableSource(
            f"{files.name} cannot be copied: {error.strerror}; free some space, or ask again"
        ) from None
    origins.check()
    return Copies(paths=paths, met=found, kept=False)


def kept_copies(files: Files, folder: Path) -> Copies:
    """The copies that are kept in a folder, made now if there are none. Whoever is first made them."""
    if not (folder / _MET).exists():
        _keep(files, folder)
    try:
        told = json.loads((folder / _MET).read_text(encoding="utf-8"))
        found = tuple(Met(**{**one, "path": Path(one["path"])}) for one in told["met"])
        return Copies(paths=tuple(folder / name for name in told["copies"]), met=found, kept=True)
    except (OSError, ValueError, KeyError, TypeError):
        text = f"the copies of {files.name} in {str(folder)!r} are not whole; remove that folder and ask again"
    raise UnreadableSource(text)


def _keep(files: Files, folder: Path) -> None:
    """Copy into a folder beside, which gets its name when it is whole."""
    beside = PrivateFolder(folder.parent, _DRAFT)
    try:
        draft = _made(beside, files, folder)
        made = copy_files(files, draft)
        told = {
            "copies": [path.name for path in made.paths],
            "met": [
                {"path": str(one.path), "device": one.device, "inode": one.inode, "links": one.links}
                for one in made.met
            ],
        }
        (draft / _MET).write_text(json.dumps(told), encoding="utf-8")
        # Fails if somebody else was first: a folder that holds something is not replaced.
        with suppress(OSError):
            draft.rename(folder)
    finally:
        beside.remove()


def _made(beside: PrivateFolder, files: Files, folder: Path) -> Path:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_dead(folder.parent, _DRAFT)
        return beside.make()
    except OSError as error:
        raise UnreadableSource(f"{files.name} cannot be copied to {str(folder)!r}: {error.strerror}") from None


def _copied(origins: StampedFiles, folder: Path, number: int) -> Path:
    """A copy that its owner alone may read. Its name ends as that of the file, since that tells of compression."""
    path = origins.paths[number]
    copy = folder / f"{number}{path.suffix}"
    to = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(to, "wb") as target, path.open("rb") as origin:
        if not origins.holds(origin.fileno(), number):
            origins.check()
        shutil.copyfileobj(origin, target, _CHUNK)
    return copy
