"""The spine: one question from request to release, read top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hushcount.app.bounded import bounded_input
from hushcount.app.intervals import intervals
from hushcount.app.planning import Planned, make_plan
from hushcount.app.purse import Purse
from hushcount.app.receipt import make_receipt
from hushcount.app.receipts import keep
from hushcount.app.release import Release
from hushcount.app.request import Request
from hushcount.app.secret import keyed_version, load_secret
from hushcount.engines.engine import Distributed, Engine, asking, refuse_sequential
from hushcount.ledger.ledger import StoredRelease
from hushcount.noise.source import KeyedSource, NoiseContext, NoiseSource, SystemSource, new_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One question under way: its plan, the data and its version as it may be shown, and who is told of stages."""

    planned: Planned
    engine: Engine
    version: str
    secret: bytes | None
    say: Callable[[str], None]


def answer(
    request: Request, engine: Engine, purse: Purse | None = None, *, say: Callable[[str], None] = lambda _: None
) -> Release:
    """Answer one question, charged before the data is read for it.

    Args:
        request: what is asked, checked.
        engine: the data, opened.
        purse: who pays; None where nobody keeps count, as for made-up data.
        say: told the name of each stage as it begins.
    """
    planned = make_plan(request)
    if planned.mechanism.sequential and isinstance(engine, Distributed):
        refuse_sequential(planned.mechanism.name)
    say("looking at the data's columns and version")
    secret = load_secret()
    key = secret or new_secret()
    with asking(engine, say):
        engine.validate(request.selection)
        version = keyed_version(key, engine.fingerprint(key))
    job = _Job(planned=planned, engine=engine, version=version, secret=secret, say=say)
    release = _draw(job) if purse is None else _paid(job, purse)
    # Only now: a draw that the ledger discarded for somebody else's answer must leave nothing, not even a receipt.
    keep(release.receipt)
    return release


def _paid(job: _Job, purse: Purse) -> Release:
    """Reserve the worst case, read, release, settle. A repeat of the same question is answered from the ledger."""
    ledger = purse.ledger
    held = ledger.reserve(purse.ask(job.planned, job.version))
    if isinstance(held, StoredRelease):
        return _unpacked(held)
    # From here on the reservation is charged in full unless it is settled, whatever happens: data is about to be read.
    ledger.touch(held)
    release = _draw(job)
    return _unpacked(ledger.settle(held, release.cost, payload=release.to_bytes()))


def _unpacked(stored: StoredRelease) -> Release:
    """Only the ledger's bytes may leave: they are what was charged. Marked where limits are only tracked."""
    return replace(Release.from_bytes(stored.payload), enforced=stored.mode == "enforce")


def _draw(job: _Job) -> Release:
    """Read the bounded input, run the mechanism, write the receipt."""
    planned = job.planned
    noise = _noise(job)
    job.say("counting people")
    with asking(job.engine, job.say):
        bounded = bounded_input(
            job.engine,
            planned.mechanism,
            plan=planned.plan,
            facts=planned.request.facts,
            selection=planned.request.selection,
            noise=noise,
        )
        job.say("adding noise")
        outcome = planned.mechanism.run(bounded, planned.plan, noise)
    receipt = make_receipt(planned, job.version, outcome, consistent=isinstance(noise, KeyedSource))
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
    """Noise that is a function of question and data version; new noise if asked for, or if no secret can be kept."""
    if job.planned.request.fresh or job.secret is None:
        return SystemSource()
    context = NoiseContext(
        query=job.planned.request.canonical(),
        data_version=job.version,
        mechanism=job.planned.mechanism.name,
        mechanism_version=job.planned.mechanism.version,
    )
    return KeyedSource(job.secret, context)
