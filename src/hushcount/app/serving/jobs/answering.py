"""Answering one job: its questions through the spine, each under its key, and what became of them.

Nothing is paid for nothing: a store that fails after something was held is asked again, what passes by itself is waited
for, and only what cannot be helped is the end of a job that is paid for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from hushcount.accounting.spent import EXACT, Spent
from hushcount.app.answer import Asking, answer, hold_all
from hushcount.app.request import Request
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.jobs.asking import read_request
from hushcount.app.serving.jobs.refusals import refusal_problem
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.jobs.timing import shows_at, veils
from hushcount.app.serving.owners.views import Viewer
from hushcount.app.serving.problems import Problem, problem_of
from hushcount.app.serving.setup.config import Privacy, StoreConfig
from hushcount.app.setting import Setting
from hushcount.errors import (
    BudgetExhausted,
    Busy,
    Cancelled,
    ClockImplausible,
    HushcountError,
    LedgerUnavailable,
    StoreFailed,
    UnreadableSource,
)
from hushcount.ledger.jobs import Ending, Job
from hushcount.ledger.ledger import Ledger
from hushcount.model.budgets import STANDARD
from hushcount.model.frozen import frozen

# How often a store that failed is asked again, while its reservation is held anyway.
_TRIES = 3
# Prices are told to six digits behind the point.
_HALF_A_DIGIT = Decimal("5e-7")
_log = logging.getLogger("hushcount.serving")


@frozen
class Means:
    """What every question of a worker needs.

    Attributes:
        setting: the secret and the ledger.
        stores: the data.
        find: the data set of a name.
        privacy: what callers learn of one another and of how long it took, and what they may choose.
    """

    setting: Setting
    stores: Stores
    find: Callable[[str], Offer]
    privacy: Privacy

    @property
    def ledger(self) -> Ledger:
        """Who keeps count."""
        if self.setting.ledger is None:
            raise LookupError("a service without a ledger")
        return self.setting.ledger

    def store(self, job: Job) -> StoreConfig | None:
        """The store that a job asks; None if its data set is gone."""
        try:
            return self.find(Order.from_json(job.body).tasks[0].dataset).store
        except HushcountError:
            return None


@frozen
class WorkerLine:
    """The line between a job and its worker: how far it is, whether it should stop, whether the worker must leave."""

    say: Callable[[str], None]
    stopped: Callable[[], bool]
    hurry: Callable[[], bool]


def answered(means: Means, job: Job, wire: WorkerLine) -> tuple[Ending, Problem | None]:
    """Answer a job; what became of it, and the problem if there is no answer.

    Raises:
        LedgerUnavailable: nobody knows what became of it; it is to be tried again.
        Busy, ClockImplausible: it is paid for, and what stands in its way passes: the same.
    """
    for left in reversed(range(_TRIES)):
        try:
            _answer(means, job, wire)
        except Cancelled as error:
            return "cancelled", problem_of(error)
        except LedgerUnavailable:
            raise
        except (Busy, ClockImplausible, StoreFailed, UnreadableSource) as error:
            charged = held_for(means, job)
            if charged is not False and isinstance(error, Busy | ClockImplausible):
                # It is not about the question, and passes: what is held is not given up for it.
                raise
            # Nothing was held yet: nothing is lost if whoever asked tries again.
            if not charged or not left or wire.hurry():
                return "failed", problem_of(error, charged=charged)
        except HushcountError as error:
            return "failed", _problem(means, job, error)
        except Exception as error:  # noqa: BLE001  a bug: nothing of it may reach the caller, and the job must end
            _log.exception("a question failed inside", extra={"job": job.id, "kind": type(error).__name__})
            return "failed", problem_of(error, charged=held_for(means, job))
        else:
            return "done", None
    raise AssertionError("a job that ended in no way")  # pragma: no cover


def _answer(means: Means, job: Job, wire: WorkerLine) -> None:
    order = Order.from_json(job.body)
    offer = means.find(order.tasks[0].dataset)
    # The receipt tells when it was asked, which is known to whoever asked. When it was made would tell how long it
    # took, grid or not; and a second run would write another second.
    setting = replace(means.setting, analyst=job.analyst, clock=lambda: job.made)
    asked = [_asked(means, job, wire, order=order, offer=offer, place=place) for place in range(len(order.tasks))]
    with means.stores.lend(offer) as engine:
        if len(asked) > 1:
            hold_all(asked, engine, setting)
        for place, (request, call) in enumerate(asked, start=1):
            # Whoever waits for the store need not wait until the last answer is on record.
            last = replace(call, read=engine.close) if place == len(asked) else call
            answer(request, engine, setting, call=last)


def _asked(
    means: Means, job: Job, wire: WorkerLine, *, order: Order, offer: Offer, place: int
) -> tuple[Request, Asking]:
    """One question of an order, and how it is asked."""
    task = order.tasks[place]
    call = Asking(
        dataset=offer.name,
        key=order.key_of(job.key, place),
        say=wire.say,
        token=order.token,
        lifetime=lifetime(offer),
        # Of several questions together it was looked at before; each alone may not cost that much either.
        most=None if order.most is None else allowed(order.most),
        stopped=wire.stopped,
        apart=means.privacy.analysts == "separate",
        veiled=veils(means.privacy),
    )
    return read_request(offer, task.question, task.said, presets=means.privacy.presets), call


def unveil(means: Means, job: Job) -> datetime | None:
    """Let the answers of a job show, and the accounts with them, at one moment; None if none was veiled."""
    if not veils(means.privacy):
        return None
    keys = _keys(job)
    shows = shows_at(means.privacy.timing, job.made, several=len(keys) > 1)
    return means.ledger.unveil(job.analyst, keys, shows)


def _problem(means: Means, job: Job, error: HushcountError) -> Problem:
    """Why a job has no answer, for whoever asked; that owners may know more is found out where they look."""
    charged = held_for(means, job)
    if not isinstance(error, BudgetExhausted):
        return problem_of(error, charged=charged)
    title = Order.from_json(job.body).tasks[0].dataset
    asker = Viewer(name=job.analyst, role=None, analysts=means.privacy.analysts, title=title)
    return replace(refusal_problem(error, asker, means.ledger.jobs), charged=charged)


def held_for(means: Means, job: Job) -> bool | None:
    """Whether anything is held or charged for a job; None if the ledger does not tell."""
    try:
        return any(means.ledger.recall(job.analyst, key) is not None for key in _keys(job))
    except HushcountError:
        return None


def _keys(job: Job) -> list[str]:
    order = Order.from_json(job.body)
    return [order.key_of(job.key, place) for place in range(len(order.tasks))]


def lifetime(offer: Offer) -> timedelta:
    """How long a reservation lives: as long as the store may take, and as long again for whoever takes it over."""
    return 3 * offer.store.timeout + timedelta(minutes=5)


def allowed(price: str) -> Spent:
    """What a caller allows who says the most that a question may cost, in the releases in which prices are told.

    A price counts rho, to six digits: whoever sends back what they were told is not refused. Delta has no part in it;
    what all questions may take of it is bounded by limits. Nothing means nothing at all.
    """
    most = Decimal(price)
    if not most:
        return Spent()
    return Spent(rho=EXACT.multiply(EXACT.add(most, _HALF_A_DIGIT), STANDARD.rho), delta=Decimal(1))
