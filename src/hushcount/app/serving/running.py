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
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal

from hushcount.accounting.spent import EXACT, Spent
from hushcount.app.answer import Call, answer, hold_all
from hushcount.app.request import Request
from hushcount.app.serving.asking import read_request
from hushcount.app.serving.grants import end_grants
from hushcount.app.serving.offers import Offer
from hushcount.app.serving.problems import Problem, problem_of
from hushcount.app.serving.stores import Stores
from hushcount.app.serving.tasks import Order
from hushcount.app.setting import Setting
from hushcount.errors import (
    Busy,
    Cancelled,
    ClockImplausible,
    HushcountError,
    LedgerUnavailable,
    StoreFailed,
    UnreadableSource,
)
from hushcount.ledger.jobs import Ending, Job
from hushcount.ledger.ledger import Ledger
from hushcount.model.budgets import STANDARD

BEAT = timedelta(seconds=1)
# So long may a worker be silent: a machine that is only slow must not be taken for dead, or data is read twice.
SILENCE = timedelta(seconds=10)
# How often a store that failed is asked again, while its reservation is held anyway.
_TRIES = 3
_OFTEN = timedelta(minutes=1)
# How many questions may be under way in one worker, in all stores together.
_THREADS = 32
_log = logging.getLogger("hushcount.serving")


@dataclass(slots=True)
class _Run:
    """One job under way in this process."""

    stage: str
    done: Future[None]
    stopped: threading.Event = field(default_factory=threading.Event)


class Runner:
    """The jobs of one worker. Safe for any number of threads.

    Args:
        setting: the secret and the ledger.
        stores: the data.
        find: the data set of a name.
        worker: what this worker is called, unlike any other.
        presets: what may be chosen here.
        chores: what is done about once a minute, such as ending grants whose time is over.
    """

    def __init__(
        self,
        setting: Setting,
        stores: Stores,
        find: Callable[[str], Offer],
        *,
        worker: str,
        presets: tuple[str, ...],
        chores: tuple[Callable[[], object], ...] = (),
    ) -> None:
        if setting.ledger is None:
            raise LookupError("a service without a ledger")
        self._setting, self._stores, self._find = setting, stores, find
        self._ledger: Ledger = setting.ledger
        self.worker, self._presets = worker, presets
        self._own: dict[str, _Run] = {}
        # Jobs that wait here for another one that asks the same.
        self._parked: set[str] = set()
        # Jobs that are, or may be, this worker's in the ledger and are not under way here, because it broke off. As
        # long as the worker tells of any other job it speaks for these too, so nobody else would take them up.
        self._broken: set[str] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._chores, self._due = chores, time.monotonic()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="question")
        self._watch = threading.Thread(target=self._watching, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin to tell that this worker lives, and to take up what others left."""
        self._watch.start()

    @property
    def leaving(self) -> bool:
        """Whether new questions are turned away."""
        return self._closing.is_set()

    def run(self, job: Job) -> None:
        """Run a job that is this worker's."""
        with self._lock:
            if job.id in self._own or self._closing.is_set():
                return
            run = self._own[job.id] = _Run(stage=job.stage, done=Future())
        if job.stop:
            # Wished for while another worker had it: whether that is still free is found out before data is read.
            run.stopped.set()
        self._pool.submit(self._run, job, run)

    def park(self, job: Job) -> None:
        """Remember a job that waits for another one with the same question, to take it up as soon as that ends."""
        with self._lock:
            self._parked.add(job.id)

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
        self._pool.shutdown(wait=False, cancel_futures=True)
        try:
            self._ledger.jobs.leave(self.worker)
        except HushcountError:
            _log.warning("the ledger could not be told that this worker leaves; others wait until it is silent")

    # -- one job ---------------------------------------------------------------------------------------------------

    def _run(self, job: Job, run: _Run) -> None:
        try:
            state, problem = self._answered(job, run)
            outcome = "{}" if problem is None else json.dumps(problem.to_form(), ensure_ascii=True)
            self._ledger.jobs.finish(job.id, worker=self.worker, state=state, outcome=outcome)
        except Exception as error:  # noqa: BLE001  whatever it was, the job must not be forgotten
            # The job stays as it is, and is tried again; or others take it up, once this worker's time is over.
            _log.warning("a question broke off", extra={"job": job.id, "kind": type(error).__name__})
            self.doubt(job.id)
        finally:
            with self._lock:
                self._own.pop(job.id, None)
                self._parked.discard(job.id)
                parked = bool(self._parked)
            run.done.set_result(None)
        if parked and not self._closing.is_set():
            with suppress(HushcountError):
                self._take_up()

    def _answered(self, job: Job, run: _Run) -> tuple[Ending, Problem | None]:
        """Answer a job; what became of it, and the problem if there is no answer."""
        for left in reversed(range(_TRIES)):
            try:
                self._answer(job, run)
            except Cancelled as error:
                return "cancelled", problem_of(error)
            except LedgerUnavailable:
                raise
            except (Busy, ClockImplausible, StoreFailed, UnreadableSource) as error:
                charged = self._charged(job)
                if charged is not False and isinstance(error, Busy | ClockImplausible):
                    # It is not about the question, and passes: what is held is not given up for it.
                    raise
                # Nothing was held yet: nothing is lost if whoever asked tries again.
                if not charged or not left or self._closing.is_set():
                    return "failed", problem_of(error, charged=charged)
            except HushcountError as error:
                return "failed", problem_of(error, charged=self._charged(job))
            except Exception as error:  # noqa: BLE001  a bug: nothing of it may reach the caller, and the job must end
                _log.exception("a question failed inside", extra={"job": job.id, "kind": type(error).__name__})
                return "failed", problem_of(error, charged=self._charged(job))
            else:
                return "done", None
        raise AssertionError("a job that ended in no way")  # pragma: no cover

    def _answer(self, job: Job, run: _Run) -> None:
        order = Order.from_json(job.body)
        offer = self._find(order.tasks[0].dataset)
        setting = replace(self._setting, analyst=job.analyst)

        def say(stage: str) -> None:
            run.stage = stage

        def asked(place: int) -> tuple[Request, Call]:
            task = order.tasks[place]
            request = read_request(offer, task.question, task.said, presets=self._presets)
            call = Call(
                dataset=offer.name,
                key=order.key_of(job.key, place),
                say=say,
                token=order.token,
                lifetime=lifetime(offer),
                # Of several questions together it was looked at before; each alone may not cost that much either.
                most=None if order.most is None else standard_releases(order.most),
                stopped=run.stopped.is_set,
            )
            return request, call

        # A grant whose time is over ends before anything is held on it.
        end_grants(self._setting)
        asked_all = [asked(place) for place in range(len(order.tasks))]
        with self._stores.lend(offer) as engine:
            if len(asked_all) > 1:
                hold_all(asked_all, engine, setting)
            for request, call in asked_all:
                answer(request, engine, setting, call=call)

    def _charged(self, job: Job) -> bool | None:
        order = Order.from_json(job.body)
        keys = {order.key_of(job.key, place) for place in range(len(order.tasks))}
        try:
            return any(self._ledger.recall(job.analyst, key) is not None for key in keys)
        except HushcountError:
            return None

    # -- others' jobs ----------------------------------------------------------------------------------------------

    def _watching(self) -> None:
        while not self._closing.wait(BEAT.total_seconds()):
            try:
                self._beat()
                self._try_again()
                self._take_up()
                self._tidy()
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

    def _tidy(self) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _OFTEN.total_seconds()
        for chore in self._chores:
            chore()

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
        for job in self._ledger.jobs.waiting(stale=SILENCE):
            if self._closing.is_set():
                return
            try:
                claimed = self._ledger.jobs.claim(job.id, worker=self.worker)
            except LedgerUnavailable:
                self.doubt(job.id)
                raise
            if claimed:
                self.run(job)


def lifetime(offer: Offer) -> timedelta:
    """How long a reservation lives: as long as the store may take, and as long again for whoever takes it over."""
    return 3 * offer.store.timeout + timedelta(minutes=5)


def standard_releases(count: str) -> Spent:
    """So many standard releases, as an exact amount."""
    times = Decimal(count)
    return Spent(rho=EXACT.multiply(times, STANDARD.rho), delta=EXACT.multiply(times, STANDARD.delta))
