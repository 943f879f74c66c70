"""The commons: questions that wait for a store, and are left to whichever worker of a server is free first.

Where a worker is alone, what waits stands in its own line. Where there are several, connections come in unevenly: one
had a line while others stood idle. So a worker keeps no more than one in line for each that reads, and what comes after
waits as a row of the ledger, which whoever ends a question takes up, oldest first.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection

from hushcount.app.serving.data.refusals import no_turn
from hushcount.app.serving.jobs.answering import Means, held_for
from hushcount.app.serving.problems import problem_of
from hushcount.app.serving.setup.config import StoreConfig
from hushcount.ledger.jobs import Job


class Commons:
    """What came in here and is anybody's. Any number of threads may use it.

    Args:
        means: what a question needs.
        worker: what this worker is called.
        shared: whether there are others.
    """

    def __init__(self, means: Means, worker: str, *, shared: bool) -> None:
        self._means, self._worker, self.shared = means, worker, shared
        self._lock = threading.Lock()
        # How many questions are under way here, by store.
        self._here: Counter[str] = Counter()
        # The stores of what was left, and until when it may be taken up.
        self._left: dict[str, tuple[StoreConfig, float]] = {}

    def begun(self, store: str, *, more: int = 1) -> None:
        """One more question of a store is under way here, or one less."""
        with self._lock:
            self._here[store] += more

    def crowded(self, store: StoreConfig) -> bool:
        """Whether a new question is better left to whoever is free first."""
        with self._lock:
            here = self._here[store.name]
        return self.shared and here >= store.max_running + min(store.max_running, store.max_waiting)

    def add(self, job: Job, store: StoreConfig) -> None:
        """Leave a job that nobody runs to all, for as long as one question may read: that is the line's patience."""
        with self._lock:
            self._left[job.id] = store, time.monotonic() + store.timeout.total_seconds()

    def waiting(self, store: StoreConfig) -> int:
        """How many jobs came in here for a store, and nobody has taken them up yet."""
        with self._lock:
            return sum(other.name == store.name for other, _ in self._left.values())

    @property
    def names(self) -> frozenset[str]:
        """The names of what is left."""
        with self._lock:
            return frozenset(self._left)

    def forget(self, names: Collection[str]) -> None:
        """Forget what was taken up or stopped, and what waits for the end of the same question."""
        with self._lock:
            for name in names:
                self._left.pop(name, None)

    def give_up(self, run: Callable[[Job], None]) -> None:
        """End what nobody was free for in time; what is paid for is run instead, however long it waited."""
        now, jobs = time.monotonic(), self._means.ledger.jobs
        with self._lock:
            late = {name: store for name, (store, until) in self._left.items() if until <= now}
        self.forget(late)
        for name, store in late.items():
            job = jobs.find(name) if jobs.claim(name, worker=self._worker) else None
            if job is not None and held_for(self._means, job) is not False:
                # Somebody took it up after all, and left it again.
                run(job)
            elif job is not None:
                problem = problem_of(no_turn(store.name, store.timeout.total_seconds()))
                outcome = json.dumps(problem.to_form(), ensure_ascii=True)
                jobs.finish(name, worker=self._worker, state="failed", outcome=outcome)
