"""The spine: one question from request to release, read top to bottom. Check, charge, look, settle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from hushcount.app.bounded import bounded_input
from hushcount.app.charging import HELD, UNCHARGED, noting
from hushcount.app.intervals import intervals
from hushcount.app.payment import make_ask
from hushcount.app.planning import Planned, make_plan
from hushcount.app.receipt import make_receipt
from hushcount.app.receipts import keep
from hushcount.app.recognising import Sighted, sight, with_facts
from hushcount.app.release import Release
from hushcount.app.request import Request
from hushcount.app.setting import Setting
from hushcount.engines.engine import Distributed, Engine, asking, refuse_sequential
from hushcount.errors import HushcountError, InvalidParameter, ReservationClosed
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import Ask, Ledger, Reservation, StoredRelease
from hushcount.noise.source import KeyedSource, NoiseContext, NoiseSource, SystemSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How a question is asked, beside what is asked.

    Attributes:
        dataset: the data set that the data is said to belong to; its identity decides all the same.
        key: names one attempt: asked again under it, a question that was answered or is being paid for is not paid
            twice, also if it asks for fresh noise. Without one, every call is an attempt of its own.
        say: told the name of each stage as it begins.
        note: told in a sentence what a person should know, such as that a data set is new.
        token: the token that asks, whose account is charged too.
        lifetime: how long the reservation lives; the ledger's own time if left out.
        stopped: asked before anything is held, and once more before data is read, whether to give up.
    """

    dataset: str | None = None
    key: str | None = None
    say: Callable[[str], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None
    token: str | None = None
    lifetime: timedelta | None = None
    stopped: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One question under way: its plan, the data as it was met, and how it was asked."""

    planned: Planned
    engine: Engine
    sighted: Sighted
    setting: Setting
    call: Call


def answer(request: Request, engine: Engine, setting: Setting, *, call: Call | None = None) -> Release:
    """Answer one question, charged before the data is read for it.

    Args:
        request: what is asked, checked.
        engine: the data, opened.
        setting: who keeps count, and under which secret.
        call: how it is asked.
    """
    call = call or Call()
    with noting(UNCHARGED):
        job = _prepared(request, engine, setting, call)
    release = _free(job) if setting.ledger is None else _paid(job, setting.ledger)
    # Only now: a draw that the ledger discarded for somebody else's answer must leave nothing, not even a receipt.
    keep(release.receipt, setting.receipts)
    return release


def _prepared(request: Request, engine: Engine, setting: Setting, call: Call) -> _Job:
    """Everything that is done before anything is charged: check, recognise, plan."""
    call.say("looking at the data's columns and version")
    with asking(engine, call.say):
        engine.validate(request.selection)
        sighted = sight(engine, setting, call.dataset)
    planned = make_plan(with_facts(request, sighted.dataset))
    if planned.mechanism.sequential and isinstance(engine, Distributed):
        refuse_sequential(planned.mechanism.name)
    return _Job(planned=planned, engine=engine, sighted=sighted, setting=setting, call=call)


def _free(job: _Job) -> Release:
    """Without a ledger, for data in which nobody needs protecting: what only a ledger can do is refused."""
    for name, said in (("key", job.call.key), ("dataset", job.call.dataset)):
        if said is not None:
            raise InvalidParameter(name, said, "left out where no ledger keeps count")
    return _draw(job)


def _paid(job: _Job, ledger: Ledger) -> Release:
    """Reserve the worst case, read, release, settle. A repeat of the same question is answered from the ledger."""
    with noting(UNCHARGED):
        dataset = _registered(job, ledger)
    ask = _ask(job, dataset)
    # A ledger that cannot be reached does not know whether it charged; all else it says itself.
    with noting(UNCHARGED, InvalidParameter):
        held = ledger.reserve(ask)
    if isinstance(held, StoredRelease):
        return _unpacked(held)
    # From here on the reservation is charged in full unless it is settled, whatever happens: data is about to be read.
    ledger.touch(held)
    with noting(HELD):
        release = _draw(job)
    return _unpacked(ledger.settle(held, release.cost, payload=release.to_bytes()))


def hold_all(asked: Sequence[tuple[Request, Call]], engine: Engine, setting: Setting) -> None:
    """Hold the worst cases of several questions, all of them or none. Each is then answered under its own key."""
    ledger = setting.ledger
    if ledger is None:
        raise LookupError("nobody keeps count")
    with noting(UNCHARGED):
        jobs = [_prepared(request, engine, setting, call) for request, call in asked]
        asks = [_ask(job, _registered(job, ledger)) for job in jobs]
    held: list[Reservation] = []
    for ask in asks:
        try:
            found = ledger.reserve(ask)
        except HushcountError:
            for reservation in held:
                # One that was begun before stays: its data was read.
                with suppress(ReservationClosed):
                    ledger.refund(reservation)
            raise
        if isinstance(found, Reservation):
            held.append(found)


def _ask(job: _Job, dataset: Dataset) -> Ask:
    ask = make_ask(job.planned, dataset, version=job.sighted.version, by=job.setting.analyst, key=job.call.key)
    ask = replace(ask, token=job.call.token)
    return ask if job.call.lifetime is None else replace(ask, lifetime=job.call.lifetime)


def _registered(job: _Job, ledger: Ledger) -> Dataset:
    """The data set, with its person pinned and all that it is known by on record: refusals bind like answers do."""
    if job.sighted.sighting is None:  # pragma: no cover (a ledger has a catalog)
        raise LookupError("data that was not sighted")
    person = job.planned.request.selection.user
    registered = ledger.catalog.register(
        job.sighted.sighting, person=person, name=job.call.dataset, by=job.setting.analyst
    )
    if registered.new:
        job.call.note(
            f"Registered as data set '{registered.dataset.name}': a person is who stands in column '{person}'."
        )
    return registered.dataset


def _unpacked(stored: StoredRelease) -> Release:
    """Only the ledger's bytes may leave: they are what was charged. Marked where limits are only tracked."""
    return replace(Release.from_bytes(stored.payload), enforced=stored.mode == "enforce", population=stored.entity)


def _draw(job: _Job) -> Release:
    """Read the bounded input, run the mechanism, write the receipt."""
    planned, say = job.planned, job.call.say
    noise = _noise(job)
    say("counting people")
    with asking(job.engine, say):
        bounded = bounded_input(
            job.engine,
            planned.mechanism,
            plan=planned.plan,
            facts=planned.request.facts,
            selection=planned.request.selection,
            noise=noise,
        )
        say("adding noise")
        outcome = planned.mechanism.run(bounded, planned.plan, noise)
    receipt = make_receipt(
        planned, job.sighted.version, outcome, made=job.setting.clock(), consistent=isinstance(noise, KeyedSource)
    )
    ends = intervals(outcome)
    return Release(
        items=outcome.items,
        counts=outcome.counts,
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        cutoff=outcome.cutoff,
        cost=outcome.cost,
        receipt=receipt,
    )


def _noise(job: _Job) -> NoiseSource:
    """Noise that is a function of question and data version; new noise if asked for."""
    if job.planned.request.fresh:
        return SystemSource()
    context = NoiseContext(
        query=job.planned.request.canonical(),
        data_version=job.sighted.version,
        mechanism=job.planned.mechanism.name,
        mechanism_version=job.planned.mechanism.version,
    )
    return KeyedSource(job.setting.secret.value, context)
