"""The jobs port: questions that a service took, each run by one worker at a time.

Jobs are not in the chain: what was charged is told by reservations, and a job that is lost loses nothing that was paid
for, since its key finds the reservation again. All times are by the store's clock. Promises of every store, in any
order of calls, by any number of workers:

* An analyst's key names one job for ever.
* Of jobs that ask the same question at most one is running.
* A job is finished once, by the worker that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeAlias, get_args

from hushcount.model.frozen import frozen

State: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]
Ending: TypeAlias = Literal["done", "failed", "cancelled"]
ENDINGS: tuple[str, ...] = get_args(Ending)


@frozen
class NewJob:
    """A question as it comes in.

    Attributes:
        id: its name for everybody, random.
        analyst: who asks.
        key: names this attempt among the analyst's.
        dataset: the data set that it is about.
        body: the question as it was asked; the same key must come with the same.
        question: what two jobs have in common that must not run at once: the canonical question and the data. A long
            one is kept as its digest.
    """

    id: str
    analyst: str
    key: str
    dataset: str
    body: str
    question: str


@frozen
class Job:
    """A job as it stands.

    Attributes:
        id: its name for everybody.
        analyst: who asked.
        key: names this attempt among the analyst's.
        dataset: the data set that it is about.
        body: the question as it was asked.
        question: what it has in common with others that must not run at once.
        state: waiting -> running -> done, failed or cancelled; running -> waiting if its worker left or fell silent.
        stage: what its worker said last that it does.
        worker: who runs it, or ran it last; empty if nobody ever did.
        stop: whether it is wished that it stops.
        outcome: what became of it, as JSON; None until it is finished, and if it was cancelled before it was run.
        made: when it came in.
        changed: when its state, its stage or the wish to stop changed last.
        read: when this was read, by the same clock.
    """

    id: str
    analyst: str
    key: str
    dataset: str
    body: str
    question: str
    state: State
    stage: str
    worker: str
    stop: bool
    outcome: str | None
    made: datetime
    changed: datetime
    read: datetime


class Jobs(Protocol):
    """The jobs of a service; see the promises on top of this file. Each verb is one short transaction."""

    def begin(self, new: NewJob, *, worker: str | None) -> tuple[Job, bool]:
        """Take a question: running by this worker at once, or waiting if the same question is running.

        With None it waits in any case, for the first worker that claims it.

        If the analyst's key has a job already, that one is returned as it stands, and False.

        Raises:
            KeyReused: the key's job has another body or is about another data set.
        """

    def again(self, id: str, *, worker: str) -> bool:  # noqa: A002 (what it is called everywhere)
        """Let this worker run a job that failed once more; False if it did not fail, or the same question is running.

        Whether it may is the caller's to know: only if nothing was charged for it, or nothing drawn for what is held.
        """

    def claim(self, id: str, *, worker: str) -> bool:  # noqa: A002 (what it is called everywhere)
        """Let this worker run a waiting job; False if it no longer waits, or the same question is running."""

    def tell(self, stages: Mapping[str, str], *, worker: str) -> tuple[str, ...]:
        """Say that this worker lives, and at which stage its jobs are; returns those of its jobs that should stop.

        A worker speaks for all of its running jobs, also for those whose stage it does not mention.
        """

    def finish(self, id: str, *, worker: str, state: Ending, outcome: str) -> bool:  # noqa: A002
        """Note what became of a job; False, and nothing changed, if this worker does not have it any more."""

    def leave(self, worker: str) -> None:
        """Let the running jobs of a worker wait for others, because it stops."""

    def waiting(self, *, stale: timedelta) -> tuple[Job, ...]:
        """The jobs that may be claimed, oldest first: they wait, and nobody runs the same question.

        Jobs of workers that were silent for longer than `stale` wait from now on; so do those whose workers told last
        under a clock that was further ahead than that. One that was to stop is among them: whoever claims it finds out
        whether it can still be stopped for nothing.
        """

    def stop(self, id: str) -> Job:  # noqa: A002
        """Wish that a job stops; returns it as it stands then.

        A job that nobody ever ran is cancelled at once. One that is running or was begun may hold a reservation, so
        its worker, or whoever claims it next, is told. What is finished stays as it is.

        Raises:
            NotFound: there is no such job.
        """

    def find(self, id: str) -> Job | None:  # noqa: A002
        """One job; None if there is none."""

    def of_key(self, analyst: str, key: str) -> Job | None:
        """The job that an analyst's key names; None if there is none."""

    def page(
        self, *, analyst: str | None, dataset: str | None = None, before: str = "", size: int = 100
    ) -> tuple[Job, ...]:
        """Jobs that came in before the one with the id `before`, newest first; all analysts' with None."""
