"""The spine: one question from request to release, read top to bottom. Check, charge, look, settle."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.app.aims import aim_sentence
from hushcount.app.bounded import bounded_input, needs_rows
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
from hushcount.engines.engine import Distributed, Engine, Paged, asking, refuse_sequential
from hushcount.errors import Cancelled, InvalidParameter, OverMaxCost, ReservationClosed
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import Ask, Ledger, Reservation, StoredRelease
from hushcount.mechanisms.weighting.kernels import is_compiled
from hushcount.model.costs import EVERY_ORDER
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s
from hushcount.model.outcomes import Outcome
from hushcount.noise.source import KeyedSource, NoiseContext, NoiseSource, SystemSource

_CANCELLED = "the question was stopped before data was read for it. Nothing was charged."


@frozen
class Asking:
    """How a question is asked, beside what is asked.

    Attributes:
        dataset: the data set that the data is said to belong to; its identity decides all the same.
        key: names one attempt: asked again under it, a question that was answered or is being paid for is not paid
            twice, also if it asks for fresh noise. Without one, every call is an attempt of its own.
        token: the token that it is asked with: its cap must have room, too.
        lifetime: how long what is held may stay unsettled before it is charged in full.
        most: what it may cost at most; a dearer one is refused, and one that is the caller's already costs nothing.
        apart: whether nothing may tell that somebody else asked the same before; see `Ask`.
        veiled: whether the answer shows only when somebody says so; see `Ledger.unveil`.
        stopped: whether the caller has thought better of it. Asked until data is about to be read, and not after that:
            then it is paid for, and its answer is better than none.
        read: called when all that this question reads has been read, before that is on record: others may read now.
        say: told the name of each stage as it begins.
        note: told in a sentence what a person should know, such as that a data set is new.
    """

    dataset: str | None = None
    key: str | None = None
    token: str | None = None
    lifetime: timedelta | None = None
    most: Spent | None = None
    apart: bool = False
    veiled: bool = False
    stopped: Callable[[], bool] = lambda: False
    read: Callable[[], None] = lambda: None
    say: Callable[[str], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None


@frozen
class _Job:
    """One question under way: its plan, the data as it was met, and how it was asked."""

    planned: Planned
    engine: Engine
    sighted: Sighted
    setting: Setting
    call: Asking


def answer(request: Request, engine: Engine, setting: Setting, *, call: Asking | None = None) -> Release:
    """Answer one question, charged before the data is read for it.

    Args:
        request: what is asked, checked.
        engine: the data, opened.
        setting: who keeps count, and under which secret.
        call: how it is asked.
    """
    call = call or Asking()
    with noting(UNCHARGED):
        job = _prepared(request, engine, setting, call)
    release = _free(job) if setting.ledger is None else _paid(job, setting.ledger)
    # Only now: a draw that the ledger discarded for somebody else's answer must leave nothing, not even a receipt.
    keep(release.receipt, setting.receipts)
    return release


def _prepared(request: Request, engine: Engine, setting: Setting, call: Asking) -> _Job:
    """Everything that is done before anything is charged: check, recognise, plan."""
    call.say("looking at the data's columns and version")
    with asking(engine, call.say):
        engine.validate(request.selection)
        sighted = sight(engine, setting, call.dataset)
    order = None if setting.ledger is None else setting.ledger.order
    planned = make_plan(with_facts(request, sighted.dataset), order)
    if planned.mechanism.sequential:
        _slowly(planned.mechanism.name, engine, call)
    if isinstance(engine, Paged) and needs_rows(planned.mechanism, planned.plan, planned.request.selection):
        engine.validate_lists()
    return _Job(planned=planned, engine=engine, sighted=sighted, setting=setting, call=call)


def _slowly(name: str, engine: Engine, call: Asking) -> None:
    """What is to be said of a mechanism that visits people one after another, whatever the data may be."""
    if isinstance(engine, Distributed):
        refuse_sequential(name)
    if not is_compiled():
        call.note(
            f"{name!r} visits people one after another, here in plain Python: about half a second for each million "
            "pairs of a person and an item. Installed where there was a C compiler, or from a wheel for this kind of "
            "machine, it takes a hundredth of that, and gives the same answer."
        )


def _free(job: _Job) -> Release:
    """Without a ledger, for data in which nobody needs protecting: what only a ledger can do is refused."""
    call = job.call
    for name, said in (
        ("key", call.key),
        ("dataset", call.dataset),
        ("token", call.token),
        ("lifetime", call.lifetime),
        ("most", call.most),
    ):
        if said is not None:
            raise InvalidParameter(name, said, "left out where no ledger keeps count")
    if call.stopped():
        raise Cancelled(_CANCELLED)
    return _draw(job)


def _paid(job: _Job, ledger: Ledger) -> Release:
    """Reserve the worst case, read, release, settle. A repeat of the same question is answered from the ledger."""
    with noting(UNCHARGED):
        dataset = _registered(job, ledger)
    ask = _ask(job, dataset)
    # A ledger that cannot be reached does not know whether it charged; all else it says itself.
    with noting(UNCHARGED, InvalidParameter):
        held = _reserved(job.call, ledger, ask)
    if isinstance(held, StoredRelease):
        return _unpacked(held, dataset)
    # From here on the reservation is charged in full unless it is settled, whatever happens: data is about to be read.
    ledger.touch(held)
    with noting(HELD):
        release = _draw(job, held)
    job.call.read()
    settled = ledger.settle(held, release.cost, payload=release.to_bytes(), veiled=job.call.veiled)
    return _unpacked(settled, dataset)


def hold_all(asked: Sequence[tuple[Request, Asking]], engine: Engine, setting: Setting) -> None:
    """Hold the worst cases of several questions, all of them or none. Each is then answered under its own key.

    Raises:
        BudgetExhausted: they do not fit together. Nothing is held any more, and nothing was charged.
    """
    ledger = setting.ledger
    if ledger is None:
        raise LookupError("nobody keeps count")
    with noting(UNCHARGED):
        jobs = [_prepared(request, engine, setting, call) for request, call in asked]
        asks = [_ask(job, _registered(job, ledger)) for job in jobs]
    new = [(job, ask) for job, ask in zip(jobs, asks, strict=True) if ledger.recall(ask.analyst, ask.key) is None]
    if len(new) == len(jobs) and any(job.call.stopped() for job in jobs):
        raise Cancelled(_CANCELLED)
    with noting(UNCHARGED, InvalidParameter):
        _refuse_too_dear_together(ledger, new)
        held = ledger.reserve_all(asks)
    if any(job.call.stopped() for job in jobs):
        _let_go(ledger, held)


def _refuse_too_dear_together(ledger: Ledger, new: Sequence[tuple[_Job, Ask]]) -> None:
    """Refuse several questions if together they may cost more than was allowed for all of them."""
    total, most = Spent(), next((job.call.most for job, _ in new), None)
    if most is None:
        return
    for _, ask in new:
        total += ledger.check(ask).charge
    for what, asked, allowed in (("rho", total.rho, most.rho), ("delta", total.delta, most.delta)):
        if asked > allowed:
            raise OverMaxCost(what, asked=asked, most=allowed)


def _let_go(ledger: Ledger, held: Sequence[Reservation | StoredRelease]) -> None:
    """Free what is held for several questions, if nothing of it is paid for: they are answered from the first on.

    Raises:
        Cancelled: all of it is free again.
    """
    open_ = [one for one in held if isinstance(one, Reservation)]
    if len(open_) < len(held):
        return
    with suppress(ReservationClosed):
        # An earlier run of this attempt has read data for the first one, or for none.
        for reservation in open_:
            ledger.refund(reservation)
        raise Cancelled(_CANCELLED)


def _ask(job: _Job, dataset: Dataset) -> Ask:
    ask = make_ask(job.planned, dataset, version=job.sighted.version, by=job.setting.analyst, key=job.call.key)
    call = job.call
    return replace(ask, token=call.token, lifetime=call.lifetime or ask.lifetime, apart=call.apart)


def _reserved(call: Asking, ledger: Ledger, ask: Ask) -> Reservation | StoredRelease:
    """Hold the worst case, unless it is more than was allowed or the caller has thought better of it.

    Raises:
        OverMaxCost: it is more than was allowed.
        Cancelled: the caller has thought better of it.
    """
    # An attempt that was made before is not paid for again, so it is neither too dear nor stopped before it began.
    new = (call.most is not None or call.stopped()) and ledger.recall(ask.analyst, ask.key) is None
    if new and call.stopped():
        raise Cancelled(_CANCELLED)
    if new and call.most is not None:
        _refuse_too_dear(ledger, ask, call.most)
    held = ledger.reserve(ask)
    if isinstance(held, Reservation) and call.stopped():
        # If an earlier run of this attempt has read data, it cannot be refunded: then it is finished.
        with suppress(ReservationClosed):
            ledger.refund(held)
            raise Cancelled(_CANCELLED)
    return held


def _refuse_too_dear(ledger: Ledger, ask: Ask, most: Spent) -> None:
    """Refuse what may cost more than was allowed, unless a stored answer is theirs already."""
    worst = zcdp.spent(ask.cost)
    for what, asked, allowed in (("rho", worst.rho, most.rho), ("delta", worst.delta, most.delta)):
        if asked > allowed and ledger.check(ask).charge != Spent():
            raise OverMaxCost(what, asked=asked, most=allowed)


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


def _unpacked(stored: StoredRelease, dataset: Dataset) -> Release:
    """Only the ledger's bytes may leave: they are what was charged. Marked where limits are only tracked.

    They do not hold what the data is called: it may be renamed, and who is given them knows it by its name of today.
    """
    release = Release.from_bytes(stored.payload)
    return replace(
        release,
        receipt=replace(release.receipt, dataset=dataset.name),
        enforced=stored.mode == "enforce",
        population=stored.entity,
        free=stored.repeated and stored.charged == Spent(),
    )


def _draw(job: _Job, held: Reservation | None = None) -> Release:
    """Read the bounded input, run the mechanism, write the receipt; `held` is what was reserved for it."""
    planned, say = job.planned, job.call.say
    noise = _noise(job, held)
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
    made = job.setting.clock()
    # Without a ledger new noise has no reservation to tell two of its receipts apart, and the time must do.
    context = _context(job, held) if held is not None or not planned.request.fresh else made.isoformat()
    mark = job.setting.secret.mark(job.sighted.version, context)
    ends = intervals(outcome)
    told = replace(outcome, remark=_remark(planned, outcome, ends))
    receipt = make_receipt(planned, mark, told, made=made, consistent=not planned.request.fresh)
    return Release(
        items=outcome.items,
        counts=outcome.counts,
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        cutoff=outcome.cutoff,
        cost=outcome.cost,
        receipt=receipt,
    )


def _remark(planned: Planned, outcome: Outcome, ends: tuple[Int64s, Int64s] | None) -> str | None:
    """What the mechanism remarks, and which rows are as sharp as was asked."""
    aim = planned.request.aim
    if aim is None or ends is None or outcome.counts is None:
        return outcome.remark
    sentence = aim_sentence(aim, outcome.counts, ends, rho=zcdp.spent(planned.plan.cost).rho)
    return sentence if outcome.remark is None else f"{sentence} {outcome.remark}"


def _noise(job: _Job, held: Reservation | None) -> NoiseSource:
    """Noise that is a function of question and data version; new noise if asked for.

    New noise of a paid question is a function of its reservation, too, so that a second run of one that was broken off
    gives the same bytes. That is as good as noise of the operating system: a book never gives a number twice, so no two
    reservations share a context, and whoever does not know the secret cannot tell noise of one context from new noise,
    whatever they saw of others (`KeyedSource`). If a ledger is put back to an older state and gives a number again, the
    same question on the same data gets the same bytes, which tell nothing new, and any other has another context.
    """
    if job.planned.request.fresh and held is None:
        return SystemSource()
    context = NoiseContext(
        query=_context(job, held),
        data_version=job.sighted.version,
        mechanism=job.planned.mechanism.name,
        mechanism_version=job.planned.mechanism.version,
    )
    return KeyedSource(job.setting.secret.value, context)


def _context(job: _Job, held: Reservation | None) -> str:
    """What tells this answer from others: the question, and the reservation if its noise is to be new."""
    query = job.planned.request.canonical()
    if job.planned.plan.cost.order != EVERY_ORDER:
        # Another plan for the same question: its coins must not be those of the plan for all orders.
        query = json.dumps(["order", str(job.planned.plan.cost.order), query])
    if not job.planned.request.fresh or held is None:
        return query
    # A canonical question is an object of JSON, so a list is never mistaken for one.
    return json.dumps(["fresh", held.entity, held.number, query])
