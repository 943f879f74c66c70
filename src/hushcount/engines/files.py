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

For an engine that stays open, copies are read instead: see `engines.copies`.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn, TypeVar, cast

from hushcount.engines.digests import Digests, Stamp
from hushcount.engines.sources import Files
from hushcount.errors import UnreadableSource
from hushcount.model.frozen import frozen

_T = TypeVar("_T")

# The system's clock for files ticks every few milliseconds: two changes within one tick have the same time. A stamp is
# taken a whole while after the last change, so that each later one shows.
_TICKS = 20_000_000  # nanoseconds
_DESCRIPTORS = Path("/proc/self/fd")
# A process may usually hold a thousand, and DuckDB opens each once more.
_MOST_HELD = 256


class StampedFiles:
    """Files that are watched for changes by their names, without being held open.

    So it is with a database: to close a file that DuckDB has locked, even by another descriptor, would unlock it.
    """

    def __init__(self, name: str, paths: tuple[Path, ...]) -> None:
        # Absolute, since the working directory may change; links stay as they are, since names tell of compression.
        self.name, self.paths = name, tuple(Path(os.path.abspath(path)) for path in paths)  # noqa: PTH100
        self._descriptors = list[int]()
        try:
            self._hold()
            if not self._is_private():
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
            if self._descriptors and not self._is_private() and (not path.exists() or _stamp(path.stat()) != stamp):
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

    def holds(self, descriptor: int, number: int) -> bool:
        """Whether an open file is one of these, unchanged."""
        return _stamp(os.fstat(descriptor)) == self._stamps[number]

    def _hold(self) -> None:
        """Hold nothing."""

    def _is_private(self) -> bool:
        """Whether nobody else writes these files."""
        return False

    def _stats(self) -> list[os.stat_result]:
        return [os.fstat(held) for held in self._descriptors] or [path.stat() for path in self.paths]

    def _refuse(self) -> NoReturn:
        raise UnreadableSource(f"{self.name} changed since it was opened; open it again and ask once more")


@frozen
class Met:
    """A file where it was met: what it is recognised by, beside its bytes."""

    path: Path
    device: int
    inode: int
    links: int


@frozen
class Copies:
    """Copies of files in a private folder, read instead of them. `engines.copies` makes them.

    Attributes:
        paths: the copies; each name ends as that of its file.
        met: the files that they are copies of.
        kept: whether they are left for others; else they are gone with whoever holds them.
    """

    paths: tuple[Path, ...]
    met: tuple[Met, ...]
    kept: bool


class HeldFiles(StampedFiles):
    """Files of one source, held open; or copies of them. Any number of threads may read them."""

    def __init__(self, files: Files, copies: Copies | None = None, known: Digests | None = None) -> None:
        self._copies, self._known = copies, known or Digests()
        super().__init__(files.name, files.paths if copies is None else copies.paths)
        self.format = files.format
        self._digests: list[bytes] | None = None
        self._digesting = threading.Lock()

    @property
    def size(self) -> int:
        """How many bytes there are, as they lie on disk."""
        return sum(size for size, *_ in self._stamps)

    def met(self) -> tuple[Met, ...]:
        """Where the files really are; of copied ones, where they were then."""
        return met(self) if self._copies is None else self._copies.met

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
        """A digest of the decompressed bytes of each file; made once for a file that did not change."""
        self.digest_by(lambda: [self._known.find(*self._named(n)) or self.read(n, digest) for n in self._numbers()])
        return self._digests or []

    def _numbers(self) -> range:
        return range(len(self.paths))

    def _named(self, number: int) -> tuple[str, Stamp]:
        return str(self.paths[number]), self._stamps[number]

    def check_bytes(self) -> None:
        """Refuse if the bytes are no longer those that were digested, whatever the stamps say.

        A program that had dirtied a page of a memory map before we came writes into it without a new time.
        """
        if self._digests is not None and self._copies is None:
            if [self.read(number, digest) for number in self._numbers()] != self._digests:
                self._known.forget()
                self._refuse()
            self.check()

    def digest_by(self, compute: Callable[[], list[bytes]]) -> None:
        """Let somebody else compute the digests, unless they are there."""
        with self._digesting:
            if self._digests is None:
                found = compute()
                self.check()
                self._digests = found
                self._known.keep(dict(zip(map(self._named, self._numbers()), found, strict=True)))

    def version(self) -> str:
        """A digest of all bytes: the same for copies under other names, another one whenever a byte changes."""
        joined = b"".join(sorted(self.digests()))
        return f"{self.format}-{hashlib.blake2b(joined, digest_size=16).hexdigest()}"

    def _hold(self) -> None:
        passing = self._copies is not None and not self._copies.kept and _DESCRIPTORS.is_dir()
        if len(self.paths) <= _MOST_HELD:
            for path in self.paths:
                self._descriptors.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                if passing:
                    path.unlink()

    def _is_private(self) -> bool:
        return self._copies is not None


def met(files: StampedFiles) -> tuple[Met, ...]:
    """Files as they are met now."""
    return tuple(
        Met(path=path.resolve(), device=stat.st_dev, inode=stat.st_ino, links=stat.st_nlink)
        for path, stat in zip(files.paths, files.stats(), strict=True)
    )


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file by its name, as a worker reads it."""
    with path.open("rb") as raw, _plain(raw, path) as file:
        yield file


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
