"""A private PostgreSQL server for tests and benchmarks: made in a temporary folder, reached by a socket in it, removed.

Nothing is installed: the server's programs must be there (Debian: the package `postgresql`).
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

MISSING = "no PostgreSQL server programs (initdb): install the package 'postgresql' to run these tests"
_USER = "postgres"
# A server refuses to run as root; then it runs as the user that its package made.
_AS_OTHER = hasattr(os, "geteuid") and os.geteuid() == 0


def find_programs() -> Path | None:
    """The folder of initdb and pg_ctl: HUSHCOUNT_POSTGRES, or on the path, or Debian's; None if there are none."""
    said, found = os.environ.get("HUSHCOUNT_POSTGRES"), shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if said or found:
        places = [Path(said) if said else Path(str(found)).resolve().parent]
    usable = [place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()]
    if not usable or (_AS_OTHER and shutil.which("runuser") is None):
        return None
    return usable[0]


class Cluster:
    """A server that belongs to nobody else."""

    def __init__(self, programs: Path, folder: Path, *, durable: bool = False) -> None:
        self.programs, self.folder = programs, folder
        self._data = folder / "data"
        _run(["cp", "-a", str(_new_data(programs)), str(self._data)], folder)
        settings = [
            "listen_addresses = ''",
            f"unix_socket_directories = '{folder}'",
            f"fsync = {'on' if durable else 'off'}",
            "max_connections = 80",
            "log_min_messages = fatal",
        ]
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n".join(settings) + "\n")

    @property
    def address(self) -> str:
        """How to connect."""
        return f"host={self.folder} user={_USER} dbname=postgres"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.run("pg_ctl", "-D", str(self._data), "-l", str(self.folder / "log"), "-w", "-s", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; mode "immediate" is a crash."""
        self.run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "-s", "stop")

    def run(self, program: str, *words: str) -> str:
        """Run one of the server's programs and return what it printed."""
        return _run([str(self.programs / program), *words], self.folder)


@cache
def _new_data(programs: Path) -> Path:
    """The files of a new server, made once in this process: each server begins with a copy, which is sooner there."""
    folder = _new_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    data = folder / "data"
    words = ("-D", str(data), "-U", _USER, "--auth=trust", "-E", "UTF8", "--no-sync")
    _run([str(programs / "initdb"), *words], folder)
    return data


def _new_folder() -> Path:
    """A folder of the server's user."""
    folder = Path(tempfile.mkdtemp(prefix="hushcount-pg-"))
    if _AS_OTHER:
        shutil.chown(folder, user=_USER)
    return folder


def _run(command: list[str], folder: Path) -> str:
    """Run a program as the server's user and return what it printed."""
    as_user = ["runuser", "-u", _USER, "--"] if _AS_OTHER else []
    done = subprocess.run(  # noqa: S603 (our own words)
        [*as_user, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


@contextmanager
def running_cluster(*, durable: bool = False) -> Iterator[Cluster]:
    """A running server, removed afterwards."""
    programs = find_programs()
    if programs is None:
        raise FileNotFoundError(MISSING)
    folder = _new_folder()
    try:
        cluster = Cluster(programs, folder, durable=durable)
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
