"""Problems as far as their caller may know: separate analysts learn of themselves only, and places are the owners'."""

from __future__ import annotations

from hushcount.app.serving.callers.callers import Caller, role_on
from hushcount.app.serving.owners.views import refusal_view, refusal_words
from hushcount.app.serving.problems import Problem, problem_of, variant_form
from hushcount.app.serving.questions.queries import viewer_of
from hushcount.app.serving.service import Service
from hushcount.app.words import in_releases
from hushcount.errors import BudgetExhausted
from hushcount.ledger.ledger import Refusal
from hushcount.model.budgets import STANDARD

_SHARED = "a budget that is shared with others"
_UNREADABLE = (
    "The data cannot be read as it is now; whoever owns it sees why when they ask the same. Nothing was charged."
)
_OWN = {"analyst": "your own budget", "token": "this token's cap"}


def refusal_problem(service: Service, caller: Caller, error: BudgetExhausted, *, dataset: str | None) -> Problem:
    """A refusal as a problem; reads the caller's role for the data set of this name."""
    name, refusal = dataset, error.refusal
    if service.config.privacy.analysts == "colleagues" or name is None or not isinstance(refusal, Refusal):
        return problem_of(error)
    viewer = viewer_of(service, caller, service.served.find(name))
    if not viewer.apart:
        return problem_of(error)
    form = refusal_view(refusal, viewer)
    left = None if form["room"] is None else round(max(0.0, float(form["room"]["rho"]) / float(STANDARD.rho)), 6)
    more = {
        "asked": {"releases": round(in_releases(refusal.asked), 6)},
        "left": {"releases": left},
        "short": [_SHARED if one["shared"] else _OWN.get(one["kind"], _SHARED) for one in form["short"]],
        "renews": form["renews"],
        "would_fit": [] if form["fits"] is None or refusal.variant is None else [variant_form(refusal.variant)],
        "already_answered": form["already_yours"],
        "ask": {"owners": form["ask"], "with": "POST /v1/requests"},
    }
    return Problem(code="budget-exhausted", detail=refusal_words(error, viewer), more=more)


def seen_problem(service: Service, caller: Caller, problem: Problem) -> Problem:
    """The problem that a job was left with. One that was kept for colleagues is cut down for separate analysts."""
    if problem.code == "store-failed":
        return without_places(service, caller, problem)
    if problem.code != "budget-exhausted" or service.config.privacy.analysts == "colleagues":
        return problem
    detail = "It did not fit into what was left when it was to run. Nothing was charged."
    kept = {name: problem.more[name] for name in ("asked", "ask") if name in problem.more}
    return Problem(code=problem.code, detail=detail, charged=problem.charged, more=kept)


def without_places(service: Service, caller: Caller, problem: Problem) -> Problem:
    """A failure of a store, for whoever does not own everything: where data lies, and what else, is not theirs to know.

    Reads the caller's role.
    """
    if problem.charged is not False or role_on(service, caller, None) == "owner":
        return problem
    return Problem(code=problem.code, detail=_UNREADABLE)
