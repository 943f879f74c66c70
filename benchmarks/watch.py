"""What programs took while they ran: the most memory at any moment, and the time of cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.spark import in_session

_EVERY = 0.5
_GIGABYTE = 2**30


class Watch:
    """Adds up the memory of processes again and again while it is entered, and keeps the largest sums.

    A page that several processes share counts for each in part (Pss): Python workers are forks of one process.
    """

    def __init__(self, leaders: Callable[[], dict[str, list[int]]]) -> None:
        self._leaders = leaders
        self.peaks: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def shown(self, name: str) -> str:
        """The largest sum of a kind, in gigabytes."""
        return f"{self.peaks.get(name, 0) / _GIGABYTE:.2f} GB"

    def _look(self) -> None:
        while not self._over.wait(_EVERY):
            for who, leaders in self._leaders().items():
                sums = {f"{who} Java": 0, f"{who} Python": 0}
                for process in (number for leader in leaders for number in in_session(leader)):
                    # A process may end while we look at it.
                    with suppress(OSError, KeyError):
                        sums[f"{who} {_language(process)}"] += _memory(process)
                for name, value in sums.items():
                    self.peaks[name] = max(value, self.peaks.get(name, 0))


def core_seconds(leaders: list[int]) -> float:
    """The time that cores have spent so far on the processes of some sessions: on a busy machine less than the clock's.

    A process that ended counts with whoever waited for it.
    """
    ticks = 0
    for process in (number for leader in leaders for number in in_session(leader)):
        with suppress(OSError):
            # After the name, which may hold anything but ends with the last bracket: fields 14 to 17 of proc(5).
            fields = (
                Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            )
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _language(process: int) -> str:
    return "Java" if Path(f"/proc/{process}/exe").readlink().name == "java" else "Python"


def _memory(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("Pss:")).split()[1])
