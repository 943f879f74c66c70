"""What a worker loses sight of is found again, by itself, also while it is busy with something else."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import pytest

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.data.loans import LentEngine
from hushcount.app.serving.jobs import running
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.questions.queries import cancel, release
from hushcount.errors import Busy, ClockImplausible, LedgerUnavailable
from hushcount.ledger.jobs import NewJob
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.sql_jobs import SqlJobs
from tests.faults.history import read_facts
from tests.faults.server import make_place

ANA = Caller(name="ana")


@pytest.fixture
def service(tmp_path, monkeypatch):
    """A service in this process, whose worker tells often that it lives; another would wait long for its silence."""
    monkeypatch.setattr(running, "BEAT", timedelta(seconds=0.05))
    monkeypatch.setattr(running, "SILENCE", timedelta(seconds=60))
    with open_service(make_place(tmp_path / "place", workers=1).config) as made:
        yield made
        assert read_facts(made.ledger).problems == ()


def order(k: int) -> Order:
    """A question."""
    return Order(tasks=(Task(dataset="events", question="top", said={"item": "article", "k": k}),))


def ended(service, job: str, seconds: float = 20) -> str:
    """The state of a job once it has ended, or when nobody would wait any longer."""
    until = time.monotonic() + seconds
    while (found := service.ledger.jobs.find(job)).state in {"running", "waiting"} and time.monotonic() < until:
        time.sleep(0.02)
    return found.state


def held(service, key: str, seconds: float = 20) -> bool:
    """Whether something comes to be held under a key."""
    until = time.monotonic() + seconds
    while (found := service.ledger.recall("ana", key)) is None and time.monotonic() < until:
        time.sleep(0.02)
    return found is not None


@contextmanager
def busy_with(service, monkeypatch, k: int):
    """Another question under way meanwhile, so that the worker goes on telling of its jobs."""
    really, free = LentEngine.histogram, threading.Event()

    def slow(engine, selection, **given):
        free.wait(60)
        return really(engine, selection, **given)

    monkeypatch.setattr(LentEngine, "histogram", slow)
    other = release(service, ANA, order(k), key="slow")
    try:
        held(service, "slow")
        yield other
    finally:
        monkeypatch.setattr(LentEngine, "histogram", really)
        free.set()


def failing(monkeypatch, owner, name, *, error, times=1, late=False):
    """Let a verb fail some times, before or after it was done."""
    really, left = getattr(owner, name), [times]

    def fails(*given, **named):
        if left[0] > 0:
            left[0] -= 1
            if late:
                really(*given, **named)
            raise error
        return really(*given, **named)

    monkeypatch.setattr(owner, name, fails)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("owner", "verb"), [(SqlLedger, "reserve"), (SqlLedger, "settle"), (SqlJobs, "finish")])
def test_a_question_that_the_ledger_broke_off_is_tried_again(service, monkeypatch, owner, verb, late):
    """Whichever verb does not get through, before or after it was written, the question is answered and paid once."""
    failing(monkeypatch, owner, verb, error=LedgerUnavailable("gone"), late=late)
    job = release(service, ANA, order(3), key="k")

    assert ended(service, job.id) == "done"
    assert [ask.state for ask in read_facts(service.ledger).asks.values()] == ["settled"]


def test_a_job_that_was_begun_without_a_word_is_run(service, monkeypatch):
    """The connection breaks after the job was written: nobody was told of it, and it is answered all the same."""
    failing(monkeypatch, SqlJobs, "begin", error=LedgerUnavailable("gone"), late=True)
    with pytest.raises(LedgerUnavailable):
        release(service, ANA, order(3), key="k")
    job = release(service, ANA, order(3), key="k")

    assert ended(service, job.id) == "done"


def test_it_is_found_while_the_worker_tells_of_others(service, monkeypatch):
    """A worker speaks for all of its jobs, so what it lost is not taken up by anybody else meanwhile."""
    with busy_with(service, monkeypatch, 5) as other:
        failing(monkeypatch, SqlLedger, "reserve", error=LedgerUnavailable("gone"))
        job = release(service, ANA, order(3), key="k")

        assert held(service, "k")
        assert service.ledger.jobs.find(other.id).state == "running"
    assert ended(service, job.id) == "done"


@pytest.mark.parametrize("error", [ClockImplausible("ahead", deed="accept"), Busy("enough to do")])
def test_what_passes_does_not_cost_a_question_that_is_paid_for(service, monkeypatch, error):
    """A wrong clock and a full line are about the moment: what is held is not given up for them."""
    failing(monkeypatch, SqlLedger, "settle", error=error)
    job = release(service, ANA, order(3), key="k")

    assert ended(service, job.id) == "done"


def test_a_wish_to_stop_is_known_to_whoever_takes_over(service):
    """A job that was to stop when its worker died is stopped before anything is held for it."""
    new = NewJob(id="q_x", analyst="ana", key="k", dataset="events", body=order(3).to_json(), question="x")
    service.ledger.jobs.begin(new, worker="w_dead")
    cancel(service, ANA, "q_x")
    service.ledger.jobs.leave("w_dead")

    assert ended(service, "q_x") == "cancelled"
    assert service.ledger.recall("ana", "k") is None
