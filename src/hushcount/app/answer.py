"""The spine: one question from request to release, read top to bottom."""

from __future__ import annotations

from collections.abc import Callable

from hushcount.app.archive import keep
from hushcount.app.intervals import intervals
from hushcount.app.planning import Planned, make_plan
from hushcount.app.receipt import make_receipt
from hushcount.app.release import Release
from hushcount.app.request import Request
from hushcount.app.secret import load_secret
from hushcount.engines.engine import Engine
from hushcount.model.inputs import Bound, Histogram, Incidence
from hushcount.model.queries import Description
from hushcount.noise.source import KeyedSource, NoiseContext, NoiseSource, SystemSource


def answer(request: Request, engine: Engine, say: Callable[[str], None] = lambda _: None) -> Release:
    """Answer one question.

    Args:
        request: what is asked, checked.
        engine: the data, opened.
        say: told the name of each stage as it begins.
    """
    say("looking at the data's columns and version")
    description = engine.describe()
    planned = make_plan(request)
    noise, consistent = _noise(planned, description)
    say("counting people")
    bounded = _read(engine, planned, noise)
    say("adding noise")
    outcome = planned.mechanism.run(bounded, planned.plan, noise)
    receipt = make_receipt(planned, description, outcome, consistent=consistent)
    keep(receipt)
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


def _noise(planned: Planned, description: Description) -> tuple[NoiseSource, bool]:
    """Noise that is a function of question and data version; new noise if asked for, or if no secret can be kept."""
    secret = None if planned.request.fresh else load_secret()
    if secret is None:
        return SystemSource(), False
    context = NoiseContext(
        query=planned.request.canonical(),
        data_version=description.version,
        mechanism=planned.mechanism.name,
        mechanism_version=planned.mechanism.version,
    )
    return KeyedSource(secret, context), True


def _read(engine: Engine, planned: Planned, noise: NoiseSource) -> Histogram | Incidence:
    """The bounded input that the mechanism wants: nothing else of the data goes any further."""
    request, plan, mechanism = planned.request, planned.plan, planned.mechanism
    if mechanism.wants == "incidence":
        return engine.incidence(request.selection)
    bound = None
    if plan.max_items is not None:
        only = request.facts.public_items if mechanism.listed_only else None
        bound = Bound(max_items=plan.max_items, salt=noise.salt("bound"), only=only)
    return engine.histogram(request.selection, bound=bound, top=mechanism.fetch(plan))
