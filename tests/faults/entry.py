"""The server of these tests: `hushcount serve`, wrapped. Run as a module; its workers import it once more.

Its workers are forked from a process that has imported what they need and done nothing else, since importing is most of
what starting one takes, and a storm starts dozens. That they can be started as in the product, each from nothing, is
shown by tests/api/test_serve.py and tests/deploy.

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
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushcount.cli import serve as serving

if TYPE_CHECKING:
    from tests.faults.points import Doom

VARIABLE = "HUSHCOUNT_FAULTS"
# What a worker imports before it answers, and what `install` does.
_IMPORTED = (
    "hushcount.app.serving.opening",
    "hushcount.api.app",
    "hushcount.api.draining",
    "hushcount.api.logs",
    "hushcount.console.pages",
    "hushcount.engines.duckdb.engine",
    "uvicorn.protocols.http.h11_impl",
    "psycopg",
    "tests.faults.points",
    "tests.faults.twins",
)


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


def import_once() -> None:
    """Let workers be forked from a process without threads that has imported everything, instead of spawned."""
    import multiprocessing

    import uvicorn._subprocess

    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload([*_IMPORTED])
    uvicorn._subprocess.spawn = forking  # type: ignore[assignment]  # noqa: SLF001


_worker = serving.worker


def worker() -> Any:
    """The application of one worker, in a process that is wrapped."""
    install(json.loads(os.environ.get(VARIABLE, "{}")))
    return _worker()


# Workers import the main module first; then they ask this module for their application.
serving.worker = worker

if __name__ == "__main__":
    # On a busy machine a worker takes long to start, and one that is given up is not what these tests are about.
    if "patience" in (told := json.loads(os.environ.get(VARIABLE, "{}"))):
        serving._PATIENCE = told["patience"]  # noqa: SLF001
    import_once()
    serving.serve()
