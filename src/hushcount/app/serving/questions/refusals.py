"""Problems as far as their caller may know: what is refused is told to whom it is, and places are the owners'."""

from __future__ import annotations

from hushcount.app.serving.callers.callers import Caller, role_on
from hushcount.app.serving.jobs.refusals import refusal_problem
from hushcount.app.serving.problems import Problem, problem_of
from hushcount.app.serving.questions.queries import viewer_of
from hushcount.app.serving.service import Service
from hushcount.errors import BudgetExhausted

_UNREADABLE = (
    "The data cannot be read as it is now; whoever owns it sees why when they ask the same. Nothing was charged."
)


def refused(service: Service, caller: Caller, error: BudgetExhausted, *, dataset: str | None) -> Problem:
    """A refusal as a problem; reads the caller's role for the data set of this name."""
    if dataset is None:
        return problem_of(error)
    viewer = viewer_of(service, caller, service.served.find(dataset))
    return refusal_problem(error, viewer, service.ledger.jobs)


def seen_problem(service: Service, caller: Caller, problem: Problem) -> Problem:
    """The problem that a job was left with. One that was kept while all were colleagues is cut down once they are not.

    Only colleagues are told on what it was spent, and so such a one is known.
    """
    apart = service.config.privacy.analysts == "separate"
    if problem.code == "budget-exhausted" and apart and "spent_on" in problem.more:
        detail = "It did not fit into what was left when it was to run. Nothing was charged."
        kept = {name: problem.more[name] for name in ("asked", "ask") if name in problem.more}
        return Problem(code=problem.code, detail=detail, charged=problem.charged, more=kept)
    return without_places(service, caller, problem)


def without_places(service: Service, caller: Caller, problem: Problem) -> Problem:
    """A problem; of a failure of a store, for whoever does not own everything: where data lies is not theirs to know.

    Reads the caller's role.
    """
    if problem.code != "store-failed" or problem.charged is not False or role_on(service, caller, None) == "owner":
        return problem
    return Problem(code=problem.code, detail=_UNREADABLE)
