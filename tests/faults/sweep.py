"""A sweep over all crash points without HTTP: for each, one process dies there and another one takes over.

Run as a program of `tests.forked`: it has no thread that the two children which it forks for each point could inherit.
It prints one line of JSON for each point: what the first one had drawn before it died, and what the second one gave.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

from hushcount.app import answer as spine
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.jobs import running
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.questions.queries import release
from hushcount.app.serving.questions.releases import answer_form, answered
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config_file import read_config
from tests.faults.history import rows_digest
from tests.faults.points import WITHIN, Doom, arm

ANA = Caller(name="ana")
_PATIENCE = 30.0


def order_of(point: str) -> Order:
    """A question for each point; every other one with noise of its own, which must come again all the same."""
    number = WITHIN.index(point)
    said: dict[str, Any] = {"item": "article", "k": 1 + number // 2, "preset": "cautious"}
    if number % 2:
        said["fresh"] = True
    return Order(tasks=(Task(dataset="events", question="top", said=said),))


def fall(folder: Path, point: str) -> None:
    """Ask a question and die at a point of it; what was drawn by then is written down."""
    drawn, really = folder / f"drawn {point}", spine._draw  # noqa: SLF001

    def draw(*given: Any) -> Any:
        made = really(*given)
        drawn.write_text(rows_digest(answer_form(made)["rows"]), encoding="utf-8")
        return made

    spine._draw = draw  # type: ignore[assignment]  # noqa: SLF001
    arm(Doom(point, 1, folder / "kills"))
    service = open_service(read_config(folder / "hushcount.toml", {}))
    release(service, ANA, order_of(point), key=point.replace(" ", "-"))
    time.sleep(_PATIENCE)


def rise(folder: Path, point: str, out: int) -> None:
    """Take over what is there; then ask the same under the same key, and tell what there is."""
    running.SILENCE, running.BEAT = timedelta(seconds=0.1), timedelta(seconds=0.02)
    with open_service(read_config(folder / "hushcount.toml", {})) as service:
        job = release(service, ANA, order_of(point), key=point.replace(" ", "-"))
        until = time.monotonic() + _PATIENCE
        while job.state in {"running", "waiting"} and time.monotonic() < until:
            time.sleep(0.02)
            job = service.ledger.jobs.find(job.id) or job
        os.write(out, json.dumps(_told(service, job, folder / f"drawn {point}")).encode())


def _told(service: Service, job: Any, drawn: Path) -> dict[str, Any]:
    rows = (
        [rows_digest(answer_form(one.release)["rows"]) for one in answered(service, job)] if job.state == "done" else []
    )
    return {
        "state": job.state,
        "rows": rows[0] if rows else None,
        "drawn": drawn.read_text(encoding="utf-8") if drawn.exists() else None,
    }


def forked(child: Any) -> tuple[int, bytes]:
    """Run something in a child; how it ended, and what it wrote."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            child(writing)
            os._exit(0)
        except BaseException:  # noqa: BLE001  a child never goes on where its parent was
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        wrote = pipe.read()
    return os.waitpid(pid, 0)[1], wrote


def sweep(folder: Path) -> None:
    """All points, one after the other."""
    for point in WITHIN:
        ended, _ = forked(lambda _, point=point: fall(folder, point))
        died = os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGKILL
        _, wrote = forked(lambda out, point=point: rise(folder, point, out))
        print(json.dumps({"point": point, "died": died, **json.loads(wrote or b"{}")}), flush=True)  # noqa: T201


def main() -> None:
    """The sweep in the folder that is named."""
    sweep(Path(sys.argv[1]))
