"""The server of these tests: `hushcount serve`, wrapped. Its first process is one of `tests.forked`.

That one forks its workers too, since importing is most of what starting one takes, and a storm starts dozens; and it
looks after them more often than twice a second. That they can be started as in the product, each from nothing, is shown
by tests/api/test_serve.py and tests/deploy.

What the variable HUSHCOUNT_FAULTS says as JSON happens in the workers alone:
    plans: a folder of files such as "after reserve 2"; each worker takes one and dies there, later ones live.
    kills: a file that gets a line for each death.
    twin: a wrong ledger in place of ours.
    clock: a file with the seconds by which the wall clock is wrong.
    silence: the seconds after which a silent worker is taken for dead.
    patience: the seconds that a new worker has to be ready; told to the first process, which waits for it.
    abrupt: a worker that leaves closes its idle connections at once, as uvicorn does.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushcount.cli import serve as serving

if TYPE_CHECKING:
    from tests.faults.points import Doom

VARIABLE = "HUSHCOUNT_FAULTS"
# How often the first process looks, in seconds.
_OFTEN = 0.1


def install(said: dict[str, Any]) -> None:
    """Wrap what is to be wrapped in this process. All is imported here: a worker that starts slowly is given up."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from hushcount.api.draining import DrainingProtocol
    from hushcount.app.serving.jobs import running
    from tests.faults.points import arm
    from tests.faults.twins import TWINS

    if "silence" in said:
        running.SILENCE = timedelta(seconds=said["silence"])
        running.BEAT = timedelta(seconds=said["silence"] / 5)
    if "abrupt" in said:
        DrainingProtocol.shutdown = H11Protocol.shutdown  # type: ignore[method-assign]
    if "twin" in said:
        TWINS[said["twin"]]()
    if "clock" in said:
        move_clock(Path(said["clock"]))
    if "plans" in said and (doom := take(Path(said["plans"]), Path(said["kills"]))) is not None:
        arm(doom)


def take(folder: Path, kills: Path) -> Doom | None:
    """The next plan, for this process alone; None if all are taken."""
    from tests.faults.points import Doom

    for plan in sorted(folder.glob("plan-*")):
        try:
            words = plan.read_text(encoding="utf-8")
            plan.rename(folder / f"taken-{plan.name}-{os.getpid()}")
        except FileNotFoundError:
            continue
        point, _, nth = words.rpartition(" ")
        return Doom(point, int(nth), kills)
    return None


def move_clock(file: Path) -> None:
    """A wall clock that is wrong by what a file says, held against the machine's own as ours is."""
    from hushcount.ledger import sqlite
    from hushcount.ledger.boots import this_boot
    from hushcount.ledger.store import utc_now

    def clock() -> datetime:
        return utc_now() + timedelta(seconds=float(file.read_text(encoding="utf-8") or "0"))

    really = sqlite.SqliteDatabase.__init__

    def made(database: sqlite.SqliteDatabase, path: Path, **given: Any) -> None:
        really(database, path, **{**given, "clock": clock, "boot": this_boot})

    sqlite.SqliteDatabase.__init__ = made  # type: ignore[method-assign, assignment]


def fork_workers() -> None:
    """Let workers be forked from this process, which has imported everything, instead of spawned."""
    import multiprocessing

    import uvicorn._subprocess
    from uvicorn.supervisors import multiprocess

    import_module("tests.faults.ready")
    lines: list[Any] = []

    def pipe() -> Any:
        lines.append(multiprocessing.Pipe())
        return lines[-1]

    def forget() -> None:
        # A spawned worker has no line but its own, and hears no signal as its parent does.
        for end in (end for line in lines[:-1] for end in line):
            end.close()
        for number in multiprocess.SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    os.register_at_fork(after_in_child=forget)
    multiprocess.Pipe = pipe  # type: ignore[assignment]
    uvicorn._subprocess.spawn = multiprocessing.get_context("fork")  # type: ignore[assignment]  # noqa: SLF001


def look_often() -> None:
    """Let the first process hear signals, and see that a worker has died, sooner than in the product."""
    from uvicorn.supervisors import Multiprocess

    class Soon(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return super().wait(_OFTEN if timeout is None else min(timeout, _OFTEN))

    really = Multiprocess.__init__

    def made(workers: Multiprocess, *given: Any, **named: Any) -> None:
        really(workers, *given, **named)
        workers.should_exit = Soon()

    Multiprocess.__init__ = made  # type: ignore[method-assign]


_worker = serving.worker


def worker() -> Any:
    """The application of one worker, in a process that is wrapped."""
    install(json.loads(os.environ.get(VARIABLE, "{}")))
    return _worker()


serving.worker = worker


def main() -> None:
    """The first process."""
    # On a busy machine a worker takes long to start, and one that is given up is not what these tests are about.
    if "patience" in (told := json.loads(os.environ.get(VARIABLE, "{}"))):
        serving._PATIENCE = told["patience"]  # noqa: SLF001
    fork_workers()
    look_often()
    serving.serve()
