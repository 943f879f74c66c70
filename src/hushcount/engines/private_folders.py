"""Private folders: what a process keeps of people's rows on the disk while it lives, and what dead ones left there.

A process removes its own when it ends. One that is killed by force cannot, so the next one does: a folder is locked for
as long as its process lives, and the system gives the lock back however that ends. Nobody is taken for dead by the
number of a process, which is somebody else's by now, or another container's on the same disk.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# Somebody who looks for what dead ones left may hold a folder that was made a moment ago, and remove it.
_TRIES = 10


class PrivateFolder:
    """A folder that its owner alone can read, gone with its process.

    It is made by `make` and not before, so that whoever has it can remove it whenever they are interrupted.

    Args:
        parent: where it is made.
        prefix: how its name begins; all folders of that name in the parent must be of this kind.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        self._parent, self._prefix = parent, prefix
        self._descriptor: int | None = None
        self.path = self._named()

    def make(self) -> Path:
        """Make it, and hold it.

        Raises:
            OSError: it cannot be made.
        """
        for _ in range(_TRIES):
            self.path = self._named()
            try:
                self.path.mkdir(mode=0o700)
            except FileExistsError:
                # Another container's, by the same number: it must not be removed for ours.
                self.path = self._named()
                continue
            # Gone, if somebody who looked for what is dead was there before its lock.
            with suppress(FileNotFoundError):
                self._descriptor = _opened(self.path)
                if _lock(self._descriptor) is not False and self.path.exists():
                    return self.path
            self.remove()
        raise OSError(f"no folder could be held in {str(self._parent)!r}")

    def remove(self) -> None:
        """Remove it with all that it holds; once more does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _named(self) -> Path:
        return self._parent / f"{self._prefix}{os.getpid()}-{time.monotonic_ns()}"


def remove_dead(parent: Path, prefix: str) -> None:
    """Remove the folders of processes that died without removing them: our own, which nobody else can read, alone."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                _remove_if_dead(Path(entry.path))


def _remove_if_dead(path: Path) -> None:
    try:
        descriptor = _opened(path)
    except OSError:
        # A link, a file, somebody else's, or gone.
        return
    try:
        found = os.fstat(descriptor)
        ours = found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
        if ours and _lock(descriptor) is True:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _lock(descriptor: int) -> bool | None:
    """Take a folder's lock; False if somebody has it, None where there are none: then nothing tells who is dead."""
    if sys.platform == "win32":  # pragma: no cover
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
