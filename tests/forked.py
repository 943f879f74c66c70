"""Servers that are forked from one process which has imported everything: importing is most of what starting one takes.

That process is started once by each process of a run, as `python -m tests.forked`, and has no thread. It is told over a
socket what to run, with files for the output, and ends with whoever started it. What it forks is as a program that was
started by itself: in a folder, with variables and words of its own, with an exit code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_LONGEST, _FILES = 1 << 20, 3
_OFTEN = 0.005


class Forked:
    """A program that was started; as `subprocess.Popen`, of which it has what tests need.

    Args:
        call: what to run, as "module:function"; it takes its words from `sys.argv`.
        words: these words.
        env: all of its variables.
        cwd: where it runs.
        errors: the file for what it says on its standard error.
        output: the file for what it prints; None if that is read from `stdout`.
    """

    def __init__(
        self, call: str, *words: str, env: Mapping[str, str], cwd: Path, errors: int, output: int | None = None
    ) -> None:
        self.stdout, writing = None, output
        if writing is None:
            reading, writing = os.pipe()
            self.stdout = os.fdopen(reading, encoding="utf-8")
        self._told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        said = {"call": call, "words": words, "env": dict(env), "cwd": str(cwd)}
        with theirs:
            socket.send_fds(_parent(), [json.dumps(said).encode()], [writing, errors, theirs.fileno()])
        if output is None:
            os.close(writing)
        self.args = (call, *words)
        self.returncode: int | None = None
        self.pid = int(self._told.recv(100))

    def poll(self) -> int | None:
        """Its exit code; None as long as it runs."""
        if self.returncode is None:
            self._told.settimeout(0)
            try:
                self.returncode = int(self._told.recv(100) or b"-9")
                self._told.close()
            except BlockingIOError:
                pass
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, as soon as it has ended."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            time.sleep(_OFTEN)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


@cache
def _parent() -> socket.socket:
    """The line to the process that forks; it ends when the line does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait(60)

    atexit.register(end)
    return ours


def _forking(line: socket.socket) -> dict[str, Any] | None:
    """Fork whatever is asked for; returns in each program that is to run, and, with None, when nobody asks any more."""
    while True:
        message, files, _, _ = socket.recv_fds(line, _LONGEST, _FILES)
        if not message:
            return None
        if os.fork() == 0:
            line.close()
            return _begun(json.loads(message), files)
        for file in files:
            os.close(file)
        _reap()


def _reap() -> None:
    """Let go of those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _begun(said: dict[str, Any], files: list[int]) -> dict[str, Any]:
    """Fork once more: one of the two is the program, and returns; the other one waits for it and tells how it ended."""
    output, errors, told = files
    line = socket.socket(fileno=told)
    if (pid := os.fork()) != 0:
        os.close(output)
        os.close(errors)
        line.send(str(pid).encode())
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
        os._exit(0)
    line.close()
    for file, place in ((output, 1), (errors, 2)):
        os.dup2(file, place)
        os.close(file)
    # A group of its own, so that it can be ended with all that it starts.
    os.setsid()
    os.chdir(said["cwd"])
    os.environ.clear()
    os.environ.update(said["env"])
    sys.argv = [said["call"], *said["words"]]
    return said


def _main() -> None:
    import_module("tests.faults.ready")
    # All of it stays: whoever looks through it for garbage makes a copy of what was shared.
    gc.freeze()
    said = _forking(socket.socket(fileno=int(sys.argv[1])))
    if said is not None:
        module, _, name = said["call"].partition(":")
        run: Callable[[], object] = getattr(import_module(module), name)
        run()


if __name__ == "__main__":
    _main()
