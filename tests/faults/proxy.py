"""A small proxy between a server and PostgreSQL that cuts connections just before or just after a commit."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Cut = Literal["before", "after"]
_COMMIT = b"COMMIT"
# A commit is prepared once for each connection, and called by its name from then on.
_PREPARED = re.compile(rb"(hushcount_\d+)\x00COMMIT\x00")
# Connections that have committed less than this are left alone: those of workers that are just starting.
_SPARED = 8
_SIZE = 1 << 16


class Proxy:
    """Passes bytes on. When told to, it looks for the next commits, and cuts those who sent them."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._wanted: list[Cut] = []
        self._open: set[socket.socket] = set()
        self.cuts: list[Cut] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        """Where a ledger connects."""
        port = self._listening.getsockname()[1]
        return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"

    def cut(self, when: Cut, times: int) -> None:
        """Cut the next commits: before, so that they do not happen, or after, so that nobody is told that they did."""
        with self._lock:
            self._wanted += [when] * times

    def cut_all(self) -> None:
        """Cut every connection that is open now."""
        with self._lock:
            gone = list(self._open)
        for one in gone:
            _close(one)

    def close(self) -> None:
        """Let go of everything."""
        self._listening.close()
        self.cut_all()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(str(self._target))
            except OSError:
                _close(near)
                _close(far)
                continue
            with self._lock:
                self._open |= {near, far}
            silenced = threading.Event()
            threading.Thread(target=self._forth, args=(near, far, silenced), daemon=True).start()
            threading.Thread(target=self._back, args=(near, far, silenced), daemon=True).start()

    def _forth(self, near: socket.socket, far: socket.socket, silenced: threading.Event) -> None:
        commits, words = 0, {_COMMIT}
        with contextlib.suppress(OSError):
            while data := near.recv(_SIZE):
                words |= {b"\x00" + name + b"\x00" for name in _PREPARED.findall(data)}
                is_commit = any(word in data for word in words)
                commits += is_commit
                when = self._due() if is_commit and commits > _SPARED else None
                if when == "before":
                    break
                if when == "after":
                    # What the server says to it is not passed on; it is cut once the server has spoken.
                    silenced.set()
                far.sendall(data)
        if not silenced.is_set():
            self._end(near, far)

    def _back(self, near: socket.socket, far: socket.socket, silenced: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(_SIZE):
                if silenced.is_set():
                    break
                near.sendall(data)
        self._end(near, far)

    def _due(self) -> Cut | None:
        with self._lock:
            if not self._wanted:
                return None
            when = self._wanted.pop(0)
            self.cuts.append(when)
            return when

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            _close(one)
        with self._lock:
            self._open -= set(sockets)


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def proxy_to(folder: Path) -> Iterator[Proxy]:
    """A proxy to the server whose socket is in a folder."""
    made = Proxy(folder / ".s.PGSQL.5432")
    try:
        yield made
    finally:
        made.close()
