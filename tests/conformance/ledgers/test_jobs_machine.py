"""Any sequence of what workers do to jobs, against a model that fits on a page; and a death at every step."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from hushcount.errors import KeyReused
from hushcount.ledger.jobs import NewJob
from hushcount.ledger.sql import SqlLedger
from tests.conformance.ledgers.stores import Crash, Faulty, HandClock

EXAMPLES = int(os.environ.get("HUSHCOUNT_LEDGER_EXAMPLES", "15"))
STALE = timedelta(seconds=30)
BODIES, QUESTIONS = st.sampled_from(["a", "a", "a", "b"]), st.sampled_from(["x", "y"])
WORKERS, KEYS = st.sampled_from(["w1", "w2", "w3"]), st.sampled_from(["k1", "k2", "k3", "k4", "k5"])


@dataclass
class Known:
    """One job in the model."""

    name: str
    key: str
    body: str
    question: str
    state: str
    worker: str
    beat: datetime
    stop: bool = False
    stage: str = ""


class JobsMachine(RuleBasedStateMachine):
    """Three workers, five keys, two questions."""

    @initialize()
    def begin_all(self):
        """A ledger without jobs."""
        self.clock = HandClock()
        self.ledger = type(self).new_ledger(self.clock)
        self.jobs, self.known, self.names = self.ledger.jobs, {}, itertools.count()

    def runs(self, question: str) -> bool:
        """Whether somebody runs it."""
        return any(job.state == "running" and job.question == question for job in self.known.values())

    @rule(key=KEYS, body=BODIES, question=QUESTIONS, worker=WORKERS | st.none())
    def begin(self, key, body, question, worker):
        """A question comes in, or comes again."""
        new = NewJob(id=f"q_{next(self.names)}", analyst="ann", key=key, dataset="visits", body=body, question=question)
        present = self.known.get(key)
        if present is not None and present.body != body:
            with pytest.raises(KeyReused):
                self.jobs.begin(new, worker=worker)
            return
        job, fresh = self.jobs.begin(new, worker=worker)
        assert fresh == (present is None)
        if present is None:
            waits = worker is None or self.runs(question)
            state, whose = ("waiting", "") if waits else ("running", worker)
            self.known[key] = Known(new.id, key, body, question, state, whose, self.clock.now)
        assert job.id == self.known[key].name

    @rule(key=KEYS, worker=WORKERS)
    def claim(self, key, worker):
        """A worker wants a job."""
        job = self.known.get(key)
        free = job is not None and job.state == "waiting" and not self.runs(job.question)
        assert self.jobs.claim(job.name if job else "nothing", worker=worker) == free
        if free:
            job.state, job.worker, job.beat = "running", worker, self.clock.now

    @rule(key=KEYS, worker=WORKERS, state=st.sampled_from(["done", "failed", "cancelled"]))
    def finish(self, key, worker, state):
        """A worker says that it has finished a job, which may be another's by now."""
        job = self.known.get(key)
        own = job is not None and (job.state, job.worker) == ("running", worker)
        assert self.jobs.finish(job.name if job else "nothing", worker=worker, state=state, outcome="{}") == own
        if own:
            job.state = state

    @rule(worker=WORKERS, key=KEYS, stage=st.sampled_from(["counting", "noise"]))
    def tell(self, worker, key, stage):
        """A worker says that it lives."""
        mine = [job for job in self.known.values() if (job.state, job.worker) == ("running", worker)]
        stages = {self.known[key].name: stage} if key in self.known else {}
        assert self.jobs.tell(stages, worker=worker) == tuple(sorted(job.name for job in mine if job.stop))
        for job in mine:
            job.beat, job.stage = self.clock.now, stages.get(job.name, job.stage)

    @rule(worker=WORKERS)
    def leave(self, worker):
        """A worker stops."""
        self.jobs.leave(worker)
        for job in self.known.values():
            if (job.state, job.worker) == ("running", worker):
                job.state = "waiting"

    @rule(key=KEYS)
    def stop(self, key):
        """The caller has thought better of it."""
        job = self.known.get(key)
        if job is None:
            return
        if job.state in {"waiting", "running"}:
            job.stop = True
            job.state = "cancelled" if (job.state, job.worker) == ("waiting", "") else job.state
        assert self.jobs.stop(job.name).state == job.state

    @rule()
    def look_for_work(self):
        """A worker asks what there is to do."""
        for job in self.known.values():
            if job.state == "running" and abs(self.clock.now - job.beat) > STALE:
                job.state = "waiting"
        free = {job.name for job in self.known.values() if job.state == "waiting" and not self.runs(job.question)}
        assert {job.id for job in self.jobs.waiting(stale=STALE)} == free

    @rule(seconds=st.sampled_from([1, 20, 31, -20, -86400]))
    def wait(self, seconds):
        """Time goes by, or a clock is set back."""
        self.clock.forward(seconds=seconds)

    @invariant()
    def all_is_as_the_model_says(self):
        """Every job, and at most one that runs for each question."""
        if not hasattr(self, "known"):
            return
        real = {job.id: (job.state, job.worker, job.stop, job.stage) for job in self.jobs.page(analyst=None)}
        assert real == {job.name: (job.state, job.worker, job.stop, job.stage) for job in self.known.values()}
        running = [job.question for job in self.known.values() if job.state == "running"]
        assert len(running) == len(set(running))

    def teardown(self):
        """Let go of the ledger."""
        if hasattr(self, "ledger"):
            self.ledger.close()


def test_any_sequence_agrees_with_the_model(store):
    """Whatever workers do in whatever order, every job is where the model has it."""
    fresh = itertools.count()

    def new_ledger(clock):
        number = next(fresh)
        suffix = f"-{number}" if store.kind == "sqlite" else ""
        return type(store)(store.kind, store.place + suffix, schema=f"{store.schema}_{number}").found(clock)

    class Machine(JobsMachine):
        pass

    Machine.new_ledger = staticmethod(new_ledger)
    run_state_machine_as_test(Machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=40, deadline=None))


def life(jobs) -> None:
    """A job from its beginning to its end, begun again wherever it was broken off."""
    new = NewJob(id="q_1", analyst="ann", key="k", dataset="visits", body="b", question="x")
    job, _ = jobs.begin(new, worker="w1")
    if job.state == "waiting":
        jobs.claim("q_1", worker="w1")
    jobs.tell({"q_1": "counting"}, worker="w1")
    jobs.leave("w1")
    for waiting in jobs.waiting(stale=STALE):
        jobs.claim(waiting.id, worker="w2")
    jobs.finish("q_1", worker="w2", state="done", outcome="{}")


def test_a_death_at_every_step_leaves_a_job_that_can_go_on(store, ledger):
    """Wherever a process dies in the life of a job, the next one brings it to its end."""
    deaths = 0
    for at in itertools.count(1):
        database = store.database()
        with database.writing() as rows:
            rows.write([("DELETE FROM jobs", ())])
        # The ledger is held: it lets go of its database when it is forgotten.
        dying, died = SqlLedger(Faulty(database, crash_at=at)), True
        with suppress(Crash):
            life(dying.jobs)
            died = False
        ledger.jobs.leave("w1")
        ledger.jobs.leave("w2")
        life(ledger.jobs)
        database.close()

        assert (ledger.jobs.find("q_1").state, ledger.jobs.find("q_1").outcome) == ("done", "{}")
        if not died:
            break
        deaths += 1

    assert deaths > 20
