"""Running: the questions that this worker answers, each in a thread, each as a row that any other worker can take up.

The reservation in the ledger is the job; its row beside it says who runs it and how far it is. A worker tells every
second that it is alive. The jobs of one that fell silent wait, and whoever is first takes them up: under the same key
the ledger gives the same reservation, and so the same noise, the same bytes and no second charge.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from hushcount.app.serving.jobs.answering import Means, WorkerLine, answered, unveil
from hushcount.app.serving.jobs.commons import Commons
from hushcount.app.serving.setup.config import StoreConfig
from hushcount.errors import HushcountError, LedgerUnavailable
from hushcount.ledger.jobs import Job, Jobs
from hushcount.model.frozen import frozen

BEAT = timedelta(seconds=1)
# So long may a worker be silent: a machine that is only slow must not be taken for dead, or data is read twice.
SILENCE = timedelta(seconds=10)
_OFTEN = timedelta(minutes=1)
# How many questions of one store may be under way or stand in its line in one worker.
_MOST_THREADS = 128
_log = logging.getLogger("hushcount.serving")


@dataclass(slots=True)
class _Run:
    """One job under way in this process."""

    stage: str
    store: str
    done: Future[None]
    stopped: threading.Event = field(default_factory=threading.Event)

    def tell(self, stage: str) -> None:
        """Say how far it is."""
        self.stage = stage


class _Parked:
    """The jobs that wait here for another one that asks the same. Any number of threads may use it."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs, self._lock = jobs, threading.Lock()
        self.names: set[str] = set()

    def add(self, job: str) -> None:
        """One more waits."""
        with self._lock:
            self.names.add(job)

    def left(self, job: str) -> bool:
        """One waits no more; whether any does."""
        with self._lock:
            self.names.discard(job)
            return bool(self.names)

    def forget(self) -> None:
        """Forget those that another worker took, or that were stopped."""
        with self._lock:
            names = tuple(self.names)
        for name in names:
            found = self._jobs.find(name)
            if found is None or found.state != "waiting":
                self.left(name)


@frozen
class Telling:
    """Whom a runner tells what it does, for those who run the service. Nothing of any question is told.

    Attributes:
        resumed: a question was taken up that another worker had begun.
        looked: the ledger was looked at for work, and took so many seconds. It is looked at once a second, whatever is
            asked, so that tells of no question.
    """

    resumed: Callable[[], object] = lambda: None
    looked: Callable[[float], object] = lambda _: None


class Runner:
    """The jobs of one worker. Safe for any number of threads.

    Args:
        means: what a question needs.
        worker: what this worker is called, unlike any other.
        chores: what is done about once a minute, such as keeping the ledger's newest links elsewhere.
        telling: whom it tells what it does.
        shared: whether others run questions about the same stores; see `Commons`.

    Attributes:
        worker: what this worker is called.
        resumed: how many questions it took up that another worker had begun.
    """

    def __init__(
        self,
        means: Means,
        *,
        worker: str,
        chores: tuple[Callable[[], object], ...] = (),
        telling: Telling | None = None,
        shared: bool = False,
    ) -> None:
        self._means, self._ledger, self.worker = means, means.ledger, worker
        self._own: dict[str, _Run] = {}
        self._parked = _Parked(self._ledger.jobs)
        # Jobs that are, or may be, this worker's in the ledger and are not under way here, because it broke off. As
        # long as the worker tells of any other job it speaks for these too, so nobody else would take them up.
        self._broken: set[str] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._chores, self._due = (*chores, self._parked.forget), time.monotonic()
        self._telling, self.commons = telling or Telling(), Commons(means, worker, shared=shared)
        self.resumed = 0
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._watch = threading.Thread(target=self._watching, name="heartbeat", daemon=True)

    def start(self, *chores: Callable[[], object]) -> None:
        """Begin to tell that this worker lives, and to take up what others left; with chores that need the service."""
        self._chores += chores
        self._watch.start()

    @property
    def leaving(self) -> bool:
        """Whether new questions are turned away."""
        return self._closing.is_set()

    def run(self, job: Job, *, here: Callable[[], bool] | None = None) -> None:
        """Run a job that is this worker's, in a thread of its store: who waits for one keeps nobody from another.

        Args:
            job: the job.
            here: a shorter way, tried before this returns in the caller's own thread; tells whether it led to the end.
        """
        store = self._means.store(job)
        # Why there is none is found out where it is answered.
        name, threads = ("", 1) if store is None else (store.name, store.max_running + store.max_waiting)
        with self._lock:
            if job.id in self._own or self._closing.is_set():
                return
            run = self._own[job.id] = _Run(stage=job.stage, store=name, done=Future())
            self.commons.begun(name)
            if name not in self._pools:
                self._pools[name] = ThreadPoolExecutor(min(threads, _MOST_THREADS), thread_name_prefix="question")
            pool = self._pools[name]
        if job.stop:
            # Wished for while another worker had it: whether that is still free is found out before data is read.
            run.stopped.set()
        if here is None:
            pool.submit(self._run, job, run)
        else:
            self._run(job, run, here)

    def park(self, job: Job, *, left: StoreConfig | None = None) -> None:
        """Remember a job that waits, to take it up as soon as may be: when another one with the same question ends.

        Args:
            job: the job.
            left: the store that it waits for, if it was left to whichever worker is free first.
        """
        if left is None:
            self._parked.add(job.id)
            return
        self.commons.add(job, left)
        if not self.commons.crowded(left):
            # The last one here ended meanwhile, and saw nothing that it could have taken up.
            with suppress(HushcountError):
                self._take_up()

    def doubt(self, job: str) -> None:
        """Remember a job that the ledger may have given to this worker, or not: it broke off before it said so."""
        with self._lock:
            self._broken.add(job)

    def under_way(self, job: str) -> Future[None] | None:
        """What ends when a job of this worker does; None if it is not this worker's."""
        with self._lock:
            run = self._own.get(job)
            return None if run is None else run.done

    def stage(self, job: Job) -> str:
        """How far a job is, as far as is known."""
        with self._lock:
            run = self._own.get(job.id)
            return job.stage if run is None else run.stage

    def stop(self, job: str) -> Job:
        """Wish for a job's end. One for which no data was read yet ends free of charge; else it is answered."""
        with self._lock:
            run = self._own.get(job)
            if run is not None:
                run.stopped.set()
        return self._ledger.jobs.stop(job)

    def close(self, grace: timedelta) -> None:
        """Take no new questions, give those under way some time, and leave the rest to other workers."""
        self._closing.set()
        with self._lock:
            running = [run.done for run in self._own.values()]
        deadline = threading.Event()
        timer = threading.Timer(grace.total_seconds(), deadline.set)
        timer.daemon = True
        timer.start()
        for done in running:
            while not done.done() and not deadline.wait(0.02):
                pass
        timer.cancel()
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        try:
            self._ledger.jobs.leave(self.worker)
        except HushcountError:
            _log.warning("the ledger could not be told that this worker leaves; others wait until it is silent")

    def _run(self, job: Job, run: _Run, here: Callable[[], bool] | None = None) -> None:
        wire = WorkerLine(say=run.tell, stopped=run.stopped.is_set, hurry=self._closing.is_set)
        try:
            done = here is not None and here()
            state, problem = ("done", None) if done else answered(self._means, job, wire)
            # Before the job ends, so that whoever takes it up after a crash does both.
            shows = unveil(self._means, job)
            told = {} if shows is None else {"shows": shows.isoformat()}
            outcome = json.dumps(told if problem is None else problem.to_form(), ensure_ascii=True)
            self._ledger.jobs.finish(job.id, worker=self.worker, state=state, outcome=outcome)
        except Exception as error:  # noqa: BLE001  whatever it was, the job must not be forgotten
            # The job stays as it is, and is tried again; or others take it up, once this worker's time is over.
            _log.warning("a question broke off", extra={"job": job.id, "kind": type(error).__name__})
            self.doubt(job.id)
        finally:
            with self._lock:
                self._own.pop(job.id, None)
            self.commons.begun(run.store, more=-1)
            parked = self._parked.left(job.id)
            run.done.set_result(None)
        if (parked or self.commons.shared) and not self._closing.is_set():
            with suppress(HushcountError):
                self._take_up()

    def _watching(self) -> None:
        while not self._closing.wait(BEAT.total_seconds()):
            try:
                self._beat()
                self._try_again()
                self._take_up()
                self.commons.give_up(self.run)
                if time.monotonic() >= self._due:
                    self._due = time.monotonic() + _OFTEN.total_seconds()
                    for chore in self._chores:
                        chore()
            except HushcountError:
                _log.warning("the ledger could not be reached; trying again")
            except Exception:  # noqa: BLE001  the heartbeat must go on, or jobs of a living worker are run twice
                _log.exception("the heartbeat stumbled")

    def _beat(self) -> None:
        with self._lock:
            stages = {name: run.stage for name, run in self._own.items()}
        if not stages:
            return
        for name in self._ledger.jobs.tell(stages, worker=self.worker):
            with self._lock:
                run = self._own.get(name)
            if run is not None:
                run.stopped.set()

    def _try_again(self) -> None:
        """Run what broke off once more, if it is still this worker's."""
        with self._lock:
            broken = sorted(self._broken)
        for name in broken:
            job = self._ledger.jobs.find(name)
            with self._lock:
                self._broken.discard(name)
            if job is not None and job.state == "running" and job.worker == self.worker:
                self.run(job)

    def _take_up(self) -> None:
        left = self.commons.names
        began = time.monotonic()
        waiting = self._ledger.jobs.waiting(stale=SILENCE)
        self._telling.looked(time.monotonic() - began)
        self.commons.forget(left - {job.id for job in waiting})
        full = set[str]()
        for job in waiting:
            if self._closing.is_set():
                return
            store = None if job.dataset in full else self._means.store(job)
            if job.dataset in full or (store is not None and self.commons.crowded(store)):
                full.add(job.dataset)
                continue
            try:
                claimed = self._ledger.jobs.claim(job.id, worker=self.worker)
            except LedgerUnavailable:
                self.doubt(job.id)
                raise
            if claimed:
                if job.worker:
                    self.resumed += 1
                    self._telling.resumed()
                self.run(job)
