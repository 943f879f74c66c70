"""Schedules: a saved question that is asked whenever its data has a new version, and what became of it the last time.

All of it stands in the record of the question, so that any worker can go on, also after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from hushcount.model.frozen import frozen

When: TypeAlias = Literal["new data"]
# A run ends "done" or "failed"; one that is "tried again" failed for a reason that passes, and was not charged.
RunState: TypeAlias = Literal["done", "failed", "tried again"]


@frozen
class Run:
    """The last time that a schedule came to something.

    Attributes:
        version: the version of the data that it was for; empty if the data could not be read.
        state: what became of it.
        at: when that was noted.
        query: the id of the query; None if none was made.
        problem: code and detail of what went wrong; None if nothing did.
        missed: the days before it of which there is no answer, since nobody was there to ask or the data was not.
    """

    version: str
    state: RunState
    at: datetime
    query: str | None = None
    problem: tuple[str, str] | None = None
    missed: tuple[str, ...] = ()


@frozen
class Schedule:
    """When a question is asked by itself.

    Attributes:
        when: "new data" asks it once for each version of the data.
        token: the token that it was set with, whose cap and end bind it too; None for who signed in themselves.
        since: when it was set.
        stopped: why it is asked no more, in a sentence; None while it goes on.
        run: the last run; None if there was none.
    """

    when: When
    token: str | None
    since: datetime
    stopped: str | None = None
    run: Run | None = None

    def to_body(self) -> dict[str, Any]:
        """As it stands in the record."""
        run = self.run
        return {
            "when": self.when,
            "token": self.token,
            "since": self.since.isoformat(),
            "stopped": self.stopped,
            "run": None
            if run is None
            else {
                "version": run.version,
                "state": run.state,
                "at": run.at.isoformat(),
                "query": run.query,
                "problem": None if run.problem is None else list(run.problem),
                "missed": list(run.missed),
            },
        }

    @staticmethod
    def from_body(body: Mapping[str, Any] | None) -> Schedule | None:
        """The schedule that `to_body` wrote; None if there is none."""
        if body is None:
            return None
        run = body["run"]
        return Schedule(
            when=body["when"],
            token=body["token"],
            since=datetime.fromisoformat(body["since"]),
            stopped=body["stopped"],
            run=None
            if run is None
            else Run(
                version=run["version"],
                state=run["state"],
                at=datetime.fromisoformat(run["at"]),
                query=run["query"],
                problem=None if run["problem"] is None else (run["problem"][0], run["problem"][1]),
                missed=tuple(run["missed"]),
            ),
        )


def schedule_form(schedule: Schedule | None) -> dict[str, Any] | None:
    """A schedule in JSON, for whose it is: last run, next, and last problem."""
    if schedule is None:
        return None
    run = schedule.run
    return {
        "when": schedule.when,
        "since": schedule.since.isoformat(timespec="seconds"),
        "stopped": schedule.stopped,
        "next": _next(schedule),
        "last_run": None
        if run is None
        else {"at": run.at.isoformat(timespec="seconds"), "state": run.state, "query": run.query},
        "last_problem": None
        if run is None or run.problem is None
        else {"code": run.problem[0], "detail": run.problem[1]},
        "missed": [] if run is None else list(run.missed),
    }


def _next(schedule: Schedule) -> str:
    if schedule.stopped is not None:
        return "Never: it was stopped. Set it again to let it go on."
    if schedule.run is None or schedule.run.state == "tried again":
        return "Within about a minute."
    return "When the data has a new version."
