"""Queries: price, rehearse, release. The first two cost nothing; the third is a job, and the reservation is the job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.app.payment import Cheaper
from hushcount.app.request import Request
from hushcount.app.serving.callers.callers import Caller, require, role_on
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.ids import new_id
from hushcount.app.serving.jobs.answering import allowed, lifetime
from hushcount.app.serving.jobs.asking import Wanted, read_request, refuse_dear, want
from hushcount.app.serving.jobs.tasks import Order, Task, flight_of
from hushcount.app.serving.jobs.timing import in_time, visible
from hushcount.app.serving.owners.views import Viewer, own_quote
from hushcount.app.serving.problems import LATE, PASSING, Problem
from hushcount.app.serving.questions.prices import price_form
from hushcount.app.serving.questions.rehearsal import rehearse
from hushcount.app.serving.questions.releases import made_up_form
from hushcount.app.serving.service import Service
from hushcount.app.serving.setup.config import Timing
from hushcount.app.words import in_releases
from hushcount.errors import Busy, HushcountError, InvalidParameter, LedgerUnavailable, NotFound, OverMaxCost
from hushcount.ledger.jobs import Job, NewJob, State
from hushcount.ledger.ledger import Ask, Quote, StoredRelease
from hushcount.ledger.refusal import error as refused
from hushcount.model.frozen import frozen

MOST_QUESTIONS = 50
# One word for all of it where the moment of a change would tell something: how long the data took, or who else asks.
_UNDER_WAY = "under way"
# The same words for all who wait, whatever for.
WAITING = "waiting for the store"


@frozen
class ShownJob:
    """A job as its caller may see it now: hidden behind the grid until its moment comes.

    Attributes:
        job: the job.
        state: as it may be seen.
        stage: a fixed word for how far it is; nothing taken from the data.
        problem: why there is no answer, if so.
        moment: when the end of a job that has ended becomes visible; None if it is, or has not ended.
    """

    job: Job
    state: State
    stage: str
    problem: Problem | None
    moment: datetime | None


def price(service: Service, caller: Caller, task: Task) -> dict[str, Any]:
    """What a question would cost, how accurate it would be, what is left. Nothing is charged."""
    offer = _granted(service, caller, task, deed="price questions")
    token = None if caller.token is None else caller.token.id
    wanted, quote = _quoted(service, caller, offer, _read(service, offer, task), token=token)
    quote = own_quote(quote, zcdp.spent(wanted.ask.cost), viewer_of(service, caller, offer))
    return price_form(wanted, quote, presets=service.config.privacy.presets)


def viewer_of(service: Service, caller: Caller, offer: Offer) -> Viewer:
    """Who looks at a data set's accounts."""
    role = role_on(service, caller, offer)
    return Viewer(name=caller.name, role=role, analysts=service.config.privacy.analysts, title=offer.name)


def practise(service: Service, caller: Caller, task: Task) -> dict[str, Any]:
    """The question answered on a look-alike of the data. Nothing is charged."""
    offer = _granted(service, caller, task, deed="rehearse questions")
    wanted, _ = _quoted(service, caller, offer, _read(service, offer, task))
    return made_up_form(rehearse(wanted.request), wanted)


def release(service: Service, caller: Caller, order: Order, *, key: str) -> Job:
    """Take an order, or join it if the caller's key gave it before. Returns at once; the job runs in a thread.

    What the caller has paid for before is answered on the spot: the ledger has it, and no store is asked.

    Raises:
        KeyReused: the key came with another order.
        OverMaxCost: it may cost more than the caller allowed.
        BudgetExhausted: it does not fit.
        Busy: the store has enough to do, or the server is stopping.
    """
    name = _one_dataset(order)
    offer = service.served.granted(service, caller, name, "owner", "analyst", deed="release answers")
    # A retry joins what there is: it needs no room, and the data may have changed since.
    known = service.ledger.jobs.of_key(caller.name, key) is not None
    requests = [_read(service, offer, task) for task in order.tasks]
    own = None if known else _looked_at(service, caller, offer, order, requests)
    new = _new_job(service, caller, offer, order, requests, key=key)
    # What is the caller's already needs no store.
    left = own is None and service.runner.commons.crowded(offer.store)
    try:
        job, fresh = service.ledger.jobs.begin(new, worker=None if left else service.runner.worker)
    except LedgerUnavailable:
        # It may have been written all the same, and then this worker has to run it.
        service.runner.doubt(new.id)
        raise
    if fresh and job.state == "running":
        if own is None:
            service.runner.run(job)
            return job
        service.runner.run(job, here=lambda: _given_again(service, own, order, key=key))
        return service.ledger.jobs.find(job.id) or job
    if fresh:
        service.runner.park(job, left=offer.store if left else None)
    elif _may_be_helped(job) and service.ledger.jobs.again(job.id, worker=service.runner.worker):
        job = replace(job, state="running", worker=service.runner.worker, outcome=None)
        service.runner.run(job)
    return job


def _may_be_helped(job: Job) -> bool:
    """Whether a job failed for a reason that passes, and nothing was charged: a retry under its key is a new try.

    Where the store gave a part only, nothing was drawn from it: what is held for the question is still there to answer
    it, until it expires; then the ledger refuses.
    """
    if job.state != "failed":
        return False
    problem = Problem.from_text(job.outcome)
    return problem.code == "store-incomplete" or (problem.charged is False and problem.code in PASSING)


def _one_dataset(order: Order) -> str:
    """The data set of all questions: what is all or nothing is held on one account."""
    names = {task.dataset for task in order.tasks}
    if len(names) != 1 or len(order.tasks) > MOST_QUESTIONS:
        want = f"1 to {MOST_QUESTIONS} questions about one data set"
        raise InvalidParameter("questions", f"{len(order.tasks)} about {len(names)} data sets", want)
    return names.pop()


def _new_job(
    service: Service, caller: Caller, offer: Offer, order: Order, requests: Sequence[Request], *, key: str
) -> NewJob:
    name = new_id("q")
    flight = name
    if len(requests) == 1:
        (request,) = requests
        # Whoever must learn nothing of others does not wait for them either: nothing is held for a job that waits.
        own = caller.name if service.config.privacy.analysts == "separate" else ""
        flight = flight_of(request, offer.id, own=name if request.fresh else own)
    return NewJob(id=name, analyst=caller.name, key=key, dataset=offer.id, body=order.to_json(), question=flight)


def find(service: Service, caller: Caller, name: str) -> Job:
    """A job of the caller's own, or any of a data set that they own or audit; else there is none."""
    job = service.ledger.jobs.find(name)
    if job is None:
        raise NotFound(f"there is no query {name!r}")
    if job.analyst != caller.name:
        require(service, caller, service.served.by_id(job.dataset), "owner", "auditor", deed="see it")
    return job


def show(service: Service, job: Job) -> ShownJob:
    """A job as it may be seen at the moment at which it was read."""
    timing = service.config.privacy.timing
    ended = job.state in {"done", "failed", "cancelled"}
    over = timing.kind == "fixed" and job.read >= job.made + timing.every
    if over and not (ended and _came_in_time(timing, job)):
        return ShownJob(job=job, state="failed", stage="", problem=LATE, moment=None)
    # A wish to stop is noted of what runs alone, so that it would tell whether it does.
    hidden = ShownJob(job=replace(job, stop=False), state="running", stage=_UNDER_WAY, problem=None, moment=None)
    if not ended and (timing.kind != "off" or service.config.privacy.analysts == "separate"):
        return hidden
    if not ended:
        stage = service.runner.stage(job) if job.state == "running" else WAITING
        return ShownJob(job=job, state=job.state, stage=stage, problem=None, moment=None)
    moment = _shows(timing, job)
    if moment > job.read:
        return replace(hidden, moment=moment)
    problem = None if job.state == "done" else Problem.from_text(job.outcome)
    return ShownJob(job=job, state=job.state, stage="", problem=problem, moment=None)


def _came_in_time(timing: Timing, job: Job) -> bool:
    """Whether a job that ended came in time; a stored answer comes as late as it did when somebody asked first."""
    return in_time(timing, job.made, job.changed) and _shows(timing, job) <= job.made + timing.every


def _shows(timing: Timing, job: Job) -> datetime:
    """When the end of a job becomes visible: as its accounts do, if the ledger was told."""
    told = json.loads(job.outcome or "{}").get("shows") if job.state == "done" else None
    if told is not None:
        return datetime.fromisoformat(told)
    # What ended after now ended under a clock that was set ahead: nobody waits until the clock is there again.
    return visible(timing, job.made, job.changed if job.changed <= job.read else job.made)


def cancel(service: Service, caller: Caller, name: str) -> Job:
    """Wish for the end of the caller's own job."""
    job = service.ledger.jobs.find(name)
    if job is None or job.analyst != caller.name:
        raise NotFound(f"there is no query {name!r}")
    return service.runner.stop(name)


def _granted(service: Service, caller: Caller, task: Task, *, deed: str) -> Offer:
    return service.served.granted(service, caller, task.dataset, "owner", "analyst", "reader", deed=deed)


def _read(service: Service, offer: Offer, task: Task) -> Request:
    return read_request(offer, task.question, task.said, presets=service.config.privacy.presets)


def _quoted(
    service: Service, caller: Caller, offer: Offer, request: Request, *, token: str | None = None
) -> tuple[Wanted, Quote]:
    presets = service.config.privacy.presets
    with service.stores.look(offer) as engine:
        wanted = want(request, offer, engine, setting=service.of(caller.name))
    apart = service.config.privacy.analysts == "separate"
    cheaper = Cheaper(request=wanted.request, order=wanted.estimate.planned.order, presets=presets)
    wanted = replace(wanted, ask=replace(wanted.ask, token=token, apart=apart, variants=cheaper))
    refuse_dear(wanted, presets)
    return wanted, service.ledger.check(wanted.ask)


def _given_again(service: Service, own: Sequence[Ask], order: Order, *, key: str) -> bool:
    """Hand out what the ledger has of the caller's own; False if something is to be read after all."""
    with suppress(HushcountError):
        keyed = [replace(ask, key=order.key_of(key, place)) for place, ask in enumerate(own)]
        return all(isinstance(held, StoredRelease) for held in service.ledger.reserve_all(keyed))
    return False


def _looked_at(
    service: Service, caller: Caller, offer: Offer, order: Order, requests: Sequence[Request]
) -> list[Ask] | None:
    """Refuse what would be refused anyway, before a job is made of it. The reservations decide all the same.

    Returns:
        the questions, if all of them are the caller's already, so that nothing is read and nothing is charged.
    """
    if service.runner.leaving:
        raise Busy("the server is stopping and takes no new questions; another one does. Nothing was charged.")
    service.stores.refuse_full(offer, left=service.runner.commons.waiting(offer.store))
    total, stored, asks = Spent(), True, list[Ask]()
    for request in requests:
        wanted, quote = _quoted(service, caller, offer, request, token=order.token)
        if quote.refusal is not None:
            raise refused(quote.refusal)
        total, stored = total + quote.charge, stored and quote.stored
        asks.append(replace(wanted.ask, lifetime=lifetime(offer)))
    if order.most is not None:
        most = checked_most(order.most)
        if total.rho > most.rho or total.delta > most.delta:
            asked = Decimal(f"{in_releases(total):.6g}")
            raise OverMaxCost("standard releases", asked=asked, most=Decimal(order.most))
    return asks if stored and total == Spent() else None


def checked_most(said: str) -> Spent:
    """The most that a caller allows, as it was sent: a number of standard releases."""
    try:
        most = Decimal(said)
    except InvalidOperation:
        most = Decimal(-1)
    if not most.is_finite() or most < 0:
        raise InvalidParameter("max_cost", said, "a number of standard releases, such as 1 or 0.5")
    return allowed(said)
