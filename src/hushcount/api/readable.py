"""What a caller may read: queries and releases. What is not for them is told in the same words as what is not there."""

from __future__ import annotations

from fastapi import Request

from hushcount.api.work import caller_of, service_of, worker_of
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import Scope
from hushcount.app.serving.ids import with_prefix
from hushcount.app.serving.owners import saved
from hushcount.app.serving.questions import queries
from hushcount.app.serving.questions.queries import ShownJob
from hushcount.app.serving.questions.releases import Answered, answered
from hushcount.app.serving.service import Service
from hushcount.errors import NotFound, NotPermitted
from hushcount.ledger.jobs import Job

_READS: tuple[Scope, ...] = ("read", "ask", "manage")
_ACTS: tuple[Scope, ...] = ("ask", "manage")


def missing() -> NotFound:
    """The one answer for what is not there and for what is somebody else's."""
    return NotFound("there is nothing of that name here, or it is not shared with you. Nothing was charged.")


def reaches(caller: Caller, dataset: str, scopes: tuple[Scope, ...] = _READS) -> bool:
    """Whether a caller's token goes as far as this data set, by its id; whoever has none goes everywhere they may."""
    token = caller.token
    if token is None:
        return True
    return (token.datasets is None or dataset in token.datasets) and any(scope in scopes for scope in token.scopes)


def readable_query(request: Request, name: str) -> ShownJob:
    """A query that the caller may see, as it may be seen now."""
    service, caller = service_of(request), caller_of(request)
    try:
        job = queries.find(service, caller, name)
    except (NotFound, NotPermitted):
        raise missing() from None
    if not reaches(caller, job.dataset):
        raise missing()
    return queries.show(service, job)


def own_query(request: Request, name: str) -> ShownJob:
    """A query of the caller's own, asked to end, as it may be seen now."""
    service, caller = service_of(request), caller_of(request)
    job = service.ledger.jobs.find(name)
    if job is None or job.analyst != caller.name or not reaches(caller, job.dataset, _ACTS):
        raise missing()
    return queries.show(service, queries.cancel(service, caller, name))


def readable_release(request: Request, name: str) -> Answered:
    """A release that the caller may read: their own, that of data they own or audit, or the newest of a published one.

    An answer that has not become visible yet is not there: its id is known as soon as the question is asked, so that
    asking for it would tell when it was made.
    """
    service, caller = service_of(request), caller_of(request)
    if not name.startswith("r_"):
        raise missing()
    query = with_prefix(name.partition("-")[0], "q")
    try:
        job = queries.find(service, caller, query)
    except (NotFound, NotPermitted):
        job = _published(service, caller, query, name)
    if not reaches(caller, job.dataset) or queries.show(service, job).state != "done":
        raise missing()
    return worker_of(request).answers.get((name,), lambda: _answered(service, job, name))


def kept_release(request: Request, name: str) -> Answered | None:
    """A release of the caller's own that was shown before, if it is still in memory; the ledger is not asked.

    Whoever asked a question has its answer for ever, whatever becomes of their role, and what was visible stays so: no
    change of the ledger takes it away. That the caller is who they say, and how far their token goes, was asked before.
    """
    found, caller = worker_of(request).answers.find((name,)), caller_of(request)
    if found is None or found.job.analyst != caller.name or not reaches(caller, found.job.dataset):
        return None
    return found


def _answered(service: Service, job: Job, name: str) -> Answered:
    found = [one for one in answered(service, job) if one.id == name]
    if not found:
        raise missing()
    return found[0]


def _published(service: Service, caller: Caller, query: str, name: str) -> Job:
    """The query of a release that is the newest of something published for this caller."""
    job = service.ledger.jobs.find(query)
    if job is None:
        raise missing()
    try:
        shared = saved.may_read(service, caller, name, offer=service.served.by_id(job.dataset))
    except (NotFound, NotPermitted):
        shared = False
    if not shared:
        raise missing()
    return job
