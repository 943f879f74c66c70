"""Scheduling: saved questions are asked by the service, as if who saved them asked, once for each version of the data.

Any worker may ask; the key is made of question, version and schedule, so that all of them begin one job, which any of
them finishes and which is paid once. What is noted of it stands in the record of the question.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import tokens_of
from hushcount.app.serving.data.access import announced
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.ids import with_prefix
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.owners import saved
from hushcount.app.serving.owners.saved import Saved
from hushcount.app.serving.owners.schedules import Run, RunState, Schedule
from hushcount.app.serving.problems import PASSING, Problem, problem_of
from hushcount.app.serving.questions import queries
from hushcount.app.serving.questions.publishing import note_release
from hushcount.app.serving.questions.refusals import refused, seen_problem, without_places
from hushcount.app.serving.service import Service
from hushcount.errors import BudgetExhausted, HushcountError, LedgerUnavailable, NotFound, Outdated, StoreFailed
from hushcount.ledger.jobs import Job

# What cannot be helped by waiting: the schedule is stopped, and says why.
_STOPPING = frozenset({"budget-exhausted", "over-max-cost", "not-permitted", "not-found"})
# An owner who stops all questions for a while stops no schedule.
_WAITED_FOR = PASSING | {"frozen"}
# So long the answer is waited for before the next question is asked; it is looked at again a minute later.
_PATIENCE = 30.0
_LONGEST_GAP = 31
_log = logging.getLogger("hushcount.serving")


class Schedules:
    """The schedules as one worker looks after them, in a thread of its own: the heartbeat must not wait for data."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="schedules")
        self._last: Future[None] | None = None

    def tick(self) -> None:
        """Look whether anything is to be asked, unless the last look has not ended."""
        if self._last is None or self._last.done():
            self._last = self._pool.submit(self._look)

    def _look(self) -> None:
        try:
            ask_scheduled(self._service)
        except Exception as error:  # noqa: BLE001  the next look must not miss
            if not self._service.runner.leaving:
                _log.warning("schedules broke off", extra={"kind": type(error).__name__})


def ask_scheduled(service: Service) -> None:
    """Ask every scheduled question whose data has a version that it was not asked on; note what became of others."""
    for one in saved.scheduled(service):
        if service.runner.leaving:
            return
        # Another worker was first to note it, or who saved it changed it.
        with suppress(Outdated):
            _look_after(service, one)


def _look_after(service: Service, one: Saved) -> None:
    schedule = one.schedule
    if schedule is None:  # pragma: no cover (only scheduled ones are looked after)
        return
    try:
        offer = service.served.by_id(one.dataset)
        version = _version(service, offer)
    except LedgerUnavailable:
        raise
    except HushcountError as error:
        # Which version it would be is not known, so that it is looked at again. What was not met since the start counts
        # as missing, and may be there in a minute.
        problem = problem_of(StoreFailed(str(error)) if isinstance(error, NotFound) else error)
        found = Run(version="", state="tried again", at=_now(service), missed=_carried(schedule.run))
        _note(service, one, schedule, found, problem=without_places(service, Caller(name=one.owner), problem))
        return
    run = schedule.run
    if run is not None and run.version == version and run.state != "tried again":
        return
    missed = _missed(service, offer, run)
    _ask(service, one, schedule, offer=offer, run=Run(version=version, state="done", at=_now(service), missed=missed))


def _ask(service: Service, one: Saved, schedule: Schedule, *, offer: Offer, run: Run) -> None:
    """Ask a question, or join what another worker or an earlier look has begun, and note how it ended if it did."""
    caller = _caller(service, one, schedule)
    if caller is None:
        detail = f"The token {schedule.token}, with which it was set, has ended. Nothing was charged."
        _note(
            service, one, schedule, replace(run, state="failed"), problem=Problem(code="not-permitted", detail=detail)
        )
        return
    order = order_of(one, offer, caller)
    try:
        job = queries.release(service, caller, order, key=_key(one, schedule, order, run.version))
    except LedgerUnavailable:
        raise
    except BudgetExhausted as error:
        _note(service, one, schedule, run, problem=refused(service, caller, error, dataset=offer.name))
        return
    except HushcountError as error:
        _note(service, one, schedule, run, problem=seen_problem(service, caller, problem_of(error)))
        return
    shown = queries.show(service, _ended(service, job))
    run = replace(run, query=job.id, at=_now(service))
    if shown.state == "done":
        note_release(service, one, release=with_prefix(job.id, "r"), schedule=replace(schedule, run=run))
    elif shown.problem is not None:
        _note(service, one, schedule, run, problem=seen_problem(service, caller, shown.problem))


def _note(service: Service, one: Saved, schedule: Schedule, run: Run, *, problem: Problem) -> None:
    """Note a run that has no answer; the same as noted before is not written again."""
    again = problem.charged is False and problem.code in _WAITED_FOR
    state: RunState = "tried again" if again else "failed"
    told = replace(run, state=state, problem=(problem.code, problem.detail))
    before = schedule.run
    if before is not None and replace(told, at=before.at, query=before.query) == before:
        return
    stopped = problem.detail if problem.code in _STOPPING else None
    changed = replace(schedule, run=told, stopped=stopped)
    saved.put_schedule(service, one, changed, by=service.setting.analyst)


def _caller(service: Service, one: Saved, schedule: Schedule) -> Caller | None:
    """Who asks: whoever set the schedule, within the bounds of their token; None if that has ended."""
    if service.config.auth.local:
        return Caller(name=one.owner, local=True)
    if schedule.token is None:
        return Caller(name=one.owner)
    tokens = [token for token in tokens_of(service.setting, one.owner) if token.id == schedule.token]
    return Caller(name=one.owner, token=tokens[0]) if tokens else None


def order_of(one: Saved, offer: Offer, caller: Caller) -> Order:
    """A saved question as its owner would ask it."""
    said = {name: value for name, value in one.question.items() if name != "question"}
    task = Task(dataset=offer.name, question=one.question["question"], said=said)
    return Order(tasks=(task,), token=None if caller.token is None else caller.token.id)


def _key(one: Saved, schedule: Schedule, order: Order, version: str) -> str:
    """One for all workers: of the question, the schedule as it was set, and the version."""
    told = json.dumps([one.id, order.to_json(), schedule.since.isoformat(), version])
    return f"scheduled-{hashlib.blake2b(told.encode(), digest_size=16).hexdigest()}"


def _version(service: Service, offer: Offer) -> str:
    secret = service.setting.secret
    with service.stores.look(offer) as engine:
        return secret.version(engine.fingerprint(secret.row_key))


def _ended(service: Service, job: Job) -> Job:
    """The job as it stands when it has become visible, or when it was waited for long enough."""
    until = time.monotonic() + _PATIENCE
    while True:
        found = service.ledger.jobs.find(job.id) or job
        shown = queries.show(service, found)
        over = shown.state == "done" or shown.problem is not None
        if over or service.runner.leaving or time.monotonic() >= until:
            return found
        time.sleep(0.1)


def _missed(service: Service, offer: Offer, run: Run | None) -> tuple[str, ...]:
    """The days since the last run of which no answer can be had any more; those on which nothing changed are none."""
    if offer.snapshot != "day" or run is None:
        return ()
    today = _now(service).astimezone(UTC).date()
    new = (
        day.isoformat()
        for day in _days(max(run.at.astimezone(UTC).date(), today - timedelta(days=_LONGEST_GAP)), today)
        if announced(service.setting, offer, day.isoformat()) != run.version
    )
    return tuple(dict.fromkeys((*_carried(run), *new)))[-_LONGEST_GAP:]


def _carried(run: Run | None) -> tuple[str, ...]:
    """The days that were missed before a run that came to nothing: they are missed as well."""
    return run.missed if run is not None and run.state == "tried again" else ()


def _days(after: date, before: date) -> Iterator[date]:
    day = after + timedelta(days=1)
    while day < before:
        yield day
        day += timedelta(days=1)


def _now(service: Service) -> datetime:
    return service.setting.clock()
