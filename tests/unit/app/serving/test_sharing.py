"""Workers share what waits: nobody stands idle while another has a line, and what nobody is free for ends in time."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.app.serving.data.loans import LentEngine
from hushcount.app.serving.jobs import commons, running
from hushcount.app.serving.jobs.tasks import Order, Task
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.questions import queries
from hushcount.errors import Busy
from tests.unit.app.serving.made_store import wait_until
from tests.unit.app.serving.services import ZOE, make_config, running_service


def crew(folder, *, workers=2, **store):
    """A configuration of several workers whose store lets one read at a time for each."""
    config = make_config(folder)
    (files,) = config.stores
    return replace(
        config,
        server=replace(config.server, workers=workers),
        stores=(replace(files, **{"max_running": 1, "max_waiting": 9, **store}),),
    )


def asked(service, number):
    """One question, unlike the others."""
    task = Task(dataset="events", question="top", said={"item": "article", "k": number + 1})
    return queries.release(service, ZOE, Order(tasks=(task,)), key=f"k{number}")


def states(service, jobs):
    """How each stands in the ledger, and whose it is."""
    found = [service.ledger.jobs.find(job.id) for job in jobs]
    return [job.state for job in found], [job.worker for job in found]


@pytest.fixture
def gate(monkeypatch):
    """Whoever reads waits here."""
    opened, read = threading.Event(), LentEngine.histogram

    def reading(*given, **named):
        assert opened.wait(600)
        return read(*given, **named)

    monkeypatch.setattr(LentEngine, "histogram", reading)
    yield opened
    opened.set()


def test_what_would_wait_behind_others_goes_to_a_worker_that_is_free(tmp_path, gate):
    """One reads, one is next, the others are anybody's: the second worker reads while the first still does."""
    config = crew(tmp_path)
    with ExitStack() as stack:
        first = stack.enter_context(running_service(config))
        stack.callback(gate.set)
        jobs = [asked(first, number) for number in range(4)]
        before = states(first, jobs)
        second = stack.enter_context(open_service(config))
        stack.callback(gate.set)
        wait_until(lambda: states(first, jobs)[0] == ["running"] * 4)
        workers = states(first, jobs)[1]
        gate.set()
        wait_until(lambda: set(states(first, jobs)[0]) == {"done"})
        problems = first.ledger.verify().problems

    assert before == (["running", "running", "waiting", "waiting"], [first.runner.worker] * 2 + [""] * 2)
    assert workers == [first.runner.worker] * 2 + [second.runner.worker] * 2
    assert not problems


def test_who_ends_a_question_takes_the_next_that_waits_at_once(tmp_path, gate, monkeypatch):
    """Not at the next heartbeat: with a store that takes no time, a line would be served once a second."""
    monkeypatch.setattr(running, "BEAT", timedelta(seconds=50))
    with running_service(crew(tmp_path)) as service:
        jobs = [asked(service, number) for number in range(6)]
        began = time.monotonic()
        gate.set()
        wait_until(lambda: set(states(service, jobs)[0]) == {"done"})

    assert time.monotonic() - began < 20
    assert service.runner.commons.waiting(service.config.stores[0]) == 0


def test_a_worker_that_is_alone_keeps_its_line(tmp_path, gate):
    """Nobody else would take it up, and a line of its own needs no ledger."""
    with running_service(crew(tmp_path, workers=1)) as service:
        jobs = [asked(service, number) for number in range(4)]
        found = states(service, jobs)
        gate.set()
        wait_until(lambda: set(states(service, jobs)[0]) == {"done"})

    assert found[0] == ["running"] * 4


def test_no_more_wait_than_may_whoever_they_wait_for(tmp_path, gate):
    """What was left to all counts as what stands in line does: the next is refused, and costs nothing."""
    with running_service(crew(tmp_path, max_waiting=3)) as service:
        jobs = [asked(service, number) for number in range(4)]
        with pytest.raises(Busy, match="as many questions wait for it as may"):
            asked(service, 4)
        gate.set()
        wait_until(lambda: set(states(service, jobs)[0]) == {"done"})

        assert asked(service, 5).state == "running"


def out_of_patience(service, job):
    """As if a job had been left to all for as long as one question may read; how long that would have been."""
    store, until = service.runner.commons._left[job.id]  # noqa: SLF001
    service.runner.commons._left[job.id] = store, 0.0  # noqa: SLF001
    return until - time.monotonic()


def test_what_nobody_was_free_for_ends_in_time_and_costs_nothing(tmp_path, gate):
    """As long as one question may read, which is the line's own patience."""
    with running_service(crew(tmp_path, timeout=timedelta(seconds=40))) as service:
        jobs = [asked(service, number) for number in range(3)]
        patience = out_of_patience(service, jobs[2])
        wait_until(lambda: states(service, jobs)[0] == ["running", "running", "failed"])
        told = json.loads(service.ledger.jobs.find(jobs[2].id).outcome)
        held = service.ledger.recall("zoe", jobs[2].key)
        gate.set()

    assert patience == pytest.approx(40, abs=20)
    assert (told["code"], told["charged"], held) == ("busy", False, None)
    assert "no turn within 40 s" in told["detail"]


def test_what_somebody_took_up_and_left_again_is_not_given_up(tmp_path, gate, monkeypatch):
    """Something is held for it by then, which would be paid for nothing: it is answered, however long it waited."""
    asked_for = []
    monkeypatch.setattr(commons, "held_for", lambda means, job: asked_for.append(job.id) or True)
    with running_service(crew(tmp_path)) as service:
        jobs = [asked(service, number) for number in range(3)]
        out_of_patience(service, jobs[2])
        wait_until(lambda: asked_for)
        gate.set()
        wait_until(lambda: set(states(service, jobs)[0]) == {"done"})

    assert asked_for == [jobs[2].id]
