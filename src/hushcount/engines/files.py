"""Files as one snapshot: held open, stamped, and digested, so that all answers are about the bytes that were named.

Each file is held open from the beginning and read through its descriptor where the system allows it (`/proc/self/fd`),
so that what is put in its place later, or in the place of its folder, is not seen. What is written into the file itself
is seen by its stamp: size, device, inode, and the times of the last change of content and of state. The last one is set
by the system alone, whatever a program says with `utime`. A stamp is compared before and after everything that is read;
if it differs, the answer is refused.

A program that writes through a memory map into a page that it had dirtied before we came leaves no new time: so the
bytes are digested once more after they were counted. What this cannot see: where files are read by their names (systems
without `/proc/self/fd`, more than `_MOST_HELD` files, Spark's workers), a folder that is exchanged and put back during
a read; and on Spark, such a memory map.

For an engine that stays open there is a copy instead: the files are copied once into a folder of the engine's own, and
the digests are those of the copy. Nothing outside can change what is read, whatever it does to files, maps and names,
so nothing has to be digested again: two digests for each question would cost 8 ms for a million rows (8 MB), and most
of a second for a file of 350 MB. To keep a digest for a stamp instead, and to leave out the one after the read, would
not be as safe: a dirty memory map changes bytes without a stamp. The copy costs room on the disk and no memory; where
the system allows it, it has no name either, so that nobody opens it and nothing is left after a crash. To load rows
into a table of DuckDB was measured too: the plain count was at most a fifth faster, for two to four times the file's
size in memory, or, as a file of DuckDB, for 60 times the time of copying.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn, TypeAlias, TypeVar, cast

from hushcount.engines.sources import Files
from hushcount.errors import UnreadableSource

_T = TypeVar("_T")
Stamp: TypeAlias = tuple[int, int, int, int, int]

# The system's clock for files ticks every few milliseconds: two changes within one tick have the same time. A stamp is
# taken a whole while after the last change, so that each later one shows.
_TICKS = 20_000_000  # nanoseconds
_DESCRIPTORS = Path("/proc/self/fd")
# A process may usually hold a thousand, and DuckDB opens each once more.
_MOST_HELD = 256
_CHUNK = 2**20


class StampedFiles:
    """Files that are watched for changes by their names, without being held open.

    So it is with a database: to close a file that DuckDB has locked, even by another descriptor, would unlock it.
    """

    def __init__(self, name: str, paths: tuple[Path, ...]) -> None:
        # Absolute, since the working directory may change; links stay as they are, since names tell of compression.
        self.name, self.paths = name, tuple(Path(os.path.abspath(path)) for path in paths)  # noqa: PTH100
        self._descriptors = list[int]()
        self._own = False
        try:
            self._hold()
            if not self._own:
                _let_settle(self._stats())
            self._stamps = [_stamp(stat) for stat in self._stats()]
        except OSError as error:
            self.close()
            raise UnreadableSource(f"{self.name} cannot be read: {error.strerror}; open it again") from None

    def check(self) -> None:
        """Refuse if a file was written, replaced or removed since it was opened."""
        if [_stamp(stat) for stat in self.stats()] != self._stamps:
            self._refuse()
        for path, stamp in zip(self.paths, self._stamps, strict=True):
            # What lies under the name must be what is held.
            if self._descriptors and not self._own and (not path.exists() or _stamp(path.stat()) != stamp):
                self._refuse()

    def stats(self) -> list[os.stat_result]:
        """What the system says of each file now."""
        try:
            found = self._stats()
        except OSError:
            found = []
        return found or self._refuse()

    def close(self) -> None:
        """Let go of the files."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _hold(self) -> None:
        """Hold nothing."""

    def _stats(self) -> list[os.stat_result]:
        return [os.fstat(held) for held in self._descriptors] or [path.stat() for path in self.paths]

    def _refuse(self) -> NoReturn:
        raise UnreadableSource(f"{self.name} changed since it was opened; open it again and ask once more")


class HeldFiles(StampedFiles):
    """Files of one source, held open. Any number of threads may read them.

    Args:
        files: the files.
        folder: a private folder to copy them into; then the copies are read. None: they are read where they are.
    """

    def __init__(self, files: Files, folder: Path | None = None) -> None:
        self._folder = folder
        self._met: list[tuple[Path, os.stat_result]] | None = None
        super().__init__(files.name, files.paths)
        self.format = files.format
        self._digests: list[bytes] | None = None
        self._digesting = threading.Lock()

    @property
    def size(self) -> int:
        """How many bytes there are, as they lie on disk."""
        return sum(size for size, *_ in self._stamps)

    @property
    def is_copied(self) -> bool:
        """Whether copies are read, which nobody else can change."""
        return self._own

    def met(self) -> list[tuple[Path, os.stat_result]]:
        """Where the files really are, and what the system says of them; of copied ones, as it was then."""
        return self._met or [(path.resolve(), stat) for path, stat in zip(self.paths, self.stats(), strict=True)]

    def is_compressed(self, number: int) -> bool:
        """Whether a file is compressed, by its name: through a descriptor nobody sees that."""
        return _is_compressed(self.paths[number])

    def place(self, number: int) -> str:
        """Where to read a file: at its descriptor, or else at its resolved name."""
        if self._descriptors and _DESCRIPTORS.is_dir():
            return str(_DESCRIPTORS / str(self._descriptors[number]))
        return str(self.paths[number].resolve())

    def read(self, number: int, action: Callable[[IO[bytes]], _T]) -> _T:
        """Do something with the decompressed bytes of a file."""
        try:
            with Path(self.place(number)).open("rb") as raw:
                if _stamp(os.fstat(raw.fileno())) != self._stamps[number]:
                    self._refuse()
                with _plain(raw, self.paths[number]) as file:
                    return action(file)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            text = "it is not a whole compressed file; write it anew"
        except OSError as error:
            text = f"{error.strerror}; open it again"
        # Raised outside the handler: what it handled may quote bytes.
        raise UnreadableSource(f"{self.name} cannot be read: {text}")

    def digests(self) -> list[bytes]:
        """A digest of the decompressed bytes of each file; computed once."""
        self.digest_by(lambda: [self.read(number, digest) for number in range(len(self.paths))])
        return self._digests or []

    def check_bytes(self) -> None:
        """Refuse if the bytes are no longer those that were digested, whatever the stamps say.

        A program that had dirtied a page of a memory map before we came writes into it without a new time.
        """
        if self._digests is not None and not self._own:
            if [self.read(number, digest) for number in range(len(self.paths))] != self._digests:
                self._refuse()
            self.check()

    def digest_by(self, compute: Callable[[], list[bytes]]) -> None:
        """Let somebody else compute the digests, unless they are there."""
        with self._digesting:
            if self._digests is None:
                found = compute()
                self.check()
                self._digests = found

    def version(self) -> str:
        """A digest of all bytes: the same for copies under other names, another one whenever a byte changes."""
        joined = b"".join(sorted(self.digests()))
        return f"{self.format}-{hashlib.blake2b(joined, digest_size=16).hexdigest()}"

    def _hold(self) -> None:
        if self._folder is not None:
            self._copy(self._folder)
        if len(self.paths) <= _MOST_HELD:
            for path in self.paths:
                self._descriptors.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                if self._own and _DESCRIPTORS.is_dir():
                    path.unlink()

    def _copy(self, folder: Path) -> None:
        """Copy all files, and see to it that none changed meanwhile: half of one state and half of another is none."""
        origins = StampedFiles(self.name, self.paths)
        self._met = [(path.resolve(), stat) for path, stat in zip(origins.paths, origins.stats(), strict=True)]
        self.paths = tuple(_copied(path, folder, number) for number, path in enumerate(origins.paths))
        origins.check()
        self._own = True


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file by its name, as a worker reads it."""
    with path.open("rb") as raw, _plain(raw, path) as file:
        yield file


def _copied(path: Path, folder: Path, number: int) -> Path:
    """A copy that its owner alone may read; its name ends as the file's own, since that tells of compression."""
    copy = folder / f"{number}{path.suffix}"
    with path.open("rb") as origin, open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as to:  # noqa: PTH123
        shutil.copyfileobj(origin, to, _CHUNK)
    return copy


def _plain(raw: IO[bytes], path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(raw)) if _is_compressed(path) else raw


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def digest(file: IO[bytes]) -> bytes:
    """The digest of a file's bytes, without a key: it names them, and anybody can compute it."""
    return hashlib.file_digest(file, "blake2b").digest()  # type: ignore[arg-type]


def stamp_files(name: str, paths: tuple[Path, ...], *, settled: bool) -> tuple[tuple[str, Stamp], ...]:
    """What stands for the present state of files, by their names.

    Args:
        name: what they are called in messages.
        paths: the files.
        settled: wait, if one was changed just now, until every later change gives another stamp.
    """
    try:
        if settled:
            _let_settle([path.stat() for path in paths])
        return tuple((str(path), _stamp(path.stat())) for path in paths)
    except OSError as error:
        raise UnreadableSource(f"{name} cannot be read: {error.strerror}; check that it is there") from None


def _stamp(stat: os.stat_result) -> Stamp:
    return stat.st_size, stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns


def _let_settle(stats: list[os.stat_result]) -> None:
    age = time.time_ns() - max(stat.st_ctime_ns for stat in stats)
    if 0 <= age < _TICKS:
        time.sleep((_TICKS - age) / 1e9)
