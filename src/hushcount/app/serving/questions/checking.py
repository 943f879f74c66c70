"""Declared facts held against the data, for its owners: yes or no for each, and what to do.

No guarantee rests on the answer: what goes beyond a declared bound, cap or list is left out of every count, and so are
rows without a person. A wrong fact costs accuracy, and that is what a check is for. It is a question like any other:
how many people break each fact, counted with noise (`known-laplace`, which the auditor knows) and charged before data
is read. A free and exact yes or no would be a way around the budget: whoever may declare facts could declare a list
without one item, or a bound one lower, and learn of a single person each time. For the same reason its end shows on the
grid like every other's, and to separate analysts nothing tells whether somebody held the same facts against it before.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

import numpy as np

from hushcount.app.charging import UNCHARGED, noting
from hushcount.app.items import listed
from hushcount.app.recognising import Sighted, sight
from hushcount.app.serving.callers.callers import Caller, require
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.jobs.answering import lifetime
from hushcount.app.serving.jobs.timing import in_time, remaining, shows_at, veils
from hushcount.app.serving.owners.rules import dataset_of
from hushcount.app.serving.problems import LATE, Problem, problem_of
from hushcount.app.serving.questions.prices import shown_releases
from hushcount.app.serving.service import Service
from hushcount.engines.engine import Engine, asking
from hushcount.errors import HushcountError, InvalidParameter, LedgerUnavailable
from hushcount.ledger.catalog import ColumnFacts, Dataset
from hushcount.ledger.ledger import Ask, Reservation, StoredRelease
from hushcount.mechanisms.counts.known_domain import (
    KNOWN_LAPLACE,
    KnownLaplacePlan,
    plan_known_laplace,
    run_known_laplace,
)
from hushcount.model.budgets import DEFAULT_DELTA, PRESETS, rho_budget
from hushcount.model.frozen import frozen
from hushcount.model.inputs import LARGEST, Bound, Histogram, Shown
from hushcount.model.queries import Selection
from hushcount.noise.source import KeyedSource, NoiseContext, NoiseSource

# What a check of all facts together may cost: a tenth of a standard release.
CHECKED = rho_budget(PRESETS["cautious"], DEFAULT_DELTA)
# A fact that holds is taken for a broken one by noise alone this seldom.
_FALSE_ALARM = 1 / 1000
_MOST_FACTS = 100

Kind: TypeAlias = Literal["max_items_per_user", "public_items", "per_item_cap", "person"]
_LEFT_OUT: dict[Kind, str] = {
    "per_item_cap": "Nothing to check: what one person adds beyond the cap is left out of every count.",
    "person": "Nothing to check: rows without a person are left out of every answer.",
}
_HOLDS: dict[Kind, str] = {
    "max_items_per_user": "No sign that people have more items than that. Nothing to do.",
    "public_items": "No sign that people have items that are not on the list. Nothing to do.",
}
_BROKEN: dict[Kind, str] = {
    "max_items_per_user": (
        "Many people have more items than that; what goes beyond it is left out, so counts are too low. Raise it, or "
        "take it back: PATCH /v1/datasets/{dataset}."
    ),
    "public_items": (
        "Many people have items that are not on the list; these are left out of every answer. Add what is missing from "
        "what is publicly known, not from the data, or take the list back: PATCH /v1/datasets/{dataset}."
    ),
}


@frozen
class DeclaredFact:
    """One declared fact. Those of the first two kinds are held against the data, the others are enforced alone."""

    kind: Kind
    column: str
    facts: ColumnFacts

    @property
    def told(self) -> object:
        """What was declared, to look at."""
        items = self.facts.public_items
        return {
            "max_items_per_user": self.facts.max_items,
            "public_items": None if items is None else f"a list of {len(items)}",
            "per_item_cap": self.facts.per_item_cap,
            "person": "never missing",
        }[self.kind]

    @property
    def name(self) -> str:
        """What it is called among the claims of a check."""
        return f"{self.kind} {self.column}"


@frozen
class Prepared:
    """A check that is ready to be paid: the claims, those that are held against the data, and how."""

    dataset: Dataset
    person: str
    claims: tuple[DeclaredFact, ...]
    counted: tuple[DeclaredFact, ...]
    plan: KnownLaplacePlan | None

    @property
    def threshold(self) -> int:
        """From so many people on, with noise, a fact is said to be broken."""
        return 0 if self.plan is None else math.ceil(math.log(1 / (2 * _FALSE_ALARM)) / float(self.plan.epsilon))

    @property
    def query(self) -> str:
        """One text for one check. A list, so that it is never mistaken for a canonical question, which is an object."""
        facts = [[one.kind, one.column, one.facts.max_items, one.facts.public_items] for one in self.counted]
        return json.dumps(["check", self.person, facts])

    def ask(self, offer: Offer, by: Caller, *, version: str, key: str, apart: bool) -> Ask:
        """As the ledger wants it."""
        if self.plan is None:  # pragma: no cover (who calls has looked)
            raise LookupError("nothing to check")
        columns = " and ".join(dict.fromkeys(one.column for one in self.counted))
        return Ask(
            analyst=by.name,
            dataset=self.dataset.id,
            version=version,
            query=self.query,
            cost=self.plan.cost,
            key=key,
            what=f"check of the facts of {columns}",
            lifetime=lifetime(offer),
            token=None if by.token is None else by.token.id,
            apart=apart,
        )


@frozen
class Checked:
    """What a check found, or the problem if there is no answer; and how much longer that must not be shown."""

    found: dict[str, Any] | Problem
    wait: timedelta = timedelta(0)


def price_of(service: Service, caller: Caller, offer: Offer) -> dict[str, Any]:
    """What a check would cost, and which facts it holds against the data. Nothing is charged.

    Raises:
        NotPermitted: the caller is not the data's owner.
    """
    made = prepared(service, caller, offer)
    form = _form(made, offer, {}, cost=0.0)
    if made.plan is None:
        return {"mode": "estimate", **form, "fits": True}
    with service.stores.look(offer) as engine:
        sighted = _met(made, engine, service, offer, caller)
    apart = service.config.privacy.analysts == "separate"
    quote = service.ledger.check(made.ask(offer, caller, version=sighted.version, key="a price", apart=apart))
    form["cost"] = {"releases": shown_releases(quote.charge), "at_most": True}
    return {"mode": "estimate", **form, "fits": quote.refusal is None}


def check(service: Service, caller: Caller, offer: Offer, *, key: str) -> Checked:
    """Hold what is declared of a data set against it; if reading failed after it was paid for, the problem.

    The same facts on the same data are answered from the ledger. A key that broke off goes on where it was.

    Raises:
        NotPermitted: the caller is not the data's owner.
        BudgetExhausted: it does not fit. Nothing was charged.
        KeyReused: the key came with other facts, or the data changed since.
    """
    began, made = time.monotonic(), prepared(service, caller, offer)
    if made.plan is None:
        return Checked(found={"mode": "release", **_form(made, offer, {}, cost=0.0)})
    privacy, ledger = service.config.privacy, service.ledger
    with service.stores.lend(offer) as engine, noting(UNCHARGED):
        sighted = _met(made, engine, service, offer, caller)
        if sighted.sighting is None:  # pragma: no cover (a ledger has a catalog)
            raise LookupError("data that was not sighted")
        ledger.catalog.register(sighted.sighting, person=made.person, name=offer.name, by=caller.name)
        apart = privacy.analysts == "separate"
        held = ledger.reserve(made.ask(offer, caller, version=sighted.version, key=key, apart=apart))
        if isinstance(held, Reservation):
            ledger.touch(held)
            # From the moment at which it was taken, also if this is another run of it: a retry must not be a new watch.
            taken = held.expires - lifetime(offer)
            try:
                holds = _answered(made, engine, _noise(service, caller, made, version=sighted.version))
            except LedgerUnavailable:
                raise
            except HushcountError as error:
                return Checked(found=problem_of(error, charged=True), wait=remaining(privacy.timing, _since(began)))
            payload = json.dumps({"taken": taken.isoformat(), "holds": holds}).encode()
            held = ledger.settle(held, made.plan.cost, payload=payload, veiled=veils(privacy))
    wait = _wait(service, held, by=caller.name, key=key, began=began)
    # What an answer that is still veiled will have cost once it shows is told by what became of the attempt.
    paid = ledger.recall(caller.name, key)
    if wait is None or not isinstance(paid, StoredRelease):
        return Checked(found=LATE, wait=remaining(privacy.timing, _since(began)))
    holds = json.loads(held.payload)["holds"]
    return Checked(found={"mode": "release", **_form(made, offer, holds, cost=shown_releases(paid.charged))}, wait=wait)


def _wait(service: Service, held: StoredRelease, *, by: str, key: str, began: float) -> timedelta | None:
    """How much longer an answer must not be shown; its accounts show with it. None if it came too late to be shown.

    Args:
        service: the service.
        held: the answer.
        by: who asked.
        key: the attempt.
        began: when this request came, by the machine's own watch.
    """
    timing = service.config.privacy.timing
    taken = None if held.repeated else datetime.fromisoformat(json.loads(held.payload)["taken"])
    if taken is not None and not in_time(timing, taken, held.made):
        return None
    looked = list[tuple[datetime, datetime]]()

    def shows(now: datetime, firsts: Sequence[timedelta]) -> datetime:
        accepted = taken or now - _since(began)
        looked.append((now, accepted))
        return shows_at(timing, accepted, several=False)(now, firsts)

    moment = service.ledger.unveil(by, [key], shows) if veils(service.config.privacy) else None
    if moment is None:
        return remaining(timing, _since(began))
    now, accepted = looked[-1]
    # A stored answer comes as late as it did when somebody asked first.
    return max(moment - now, timedelta(0)) if in_time(timing, accepted, moment) else None


def _since(began: float) -> timedelta:
    return timedelta(seconds=time.monotonic() - began)


def _noise(service: Service, caller: Caller, made: Prepared, *, version: str) -> NoiseSource:
    context = NoiseContext(
        query=made.query,
        data_version=version,
        mechanism=KNOWN_LAPLACE.name,
        mechanism_version=KNOWN_LAPLACE.version,
    )
    return KeyedSource(service.of(caller.name).secret.value, context)


def prepared(service: Service, caller: Caller, offer: Offer) -> Prepared:
    """All of a check that rests on what was declared alone. Nothing is read.

    Raises:
        NotPermitted: the caller is not the data's owner.
        InvalidParameter: there is nothing that could be checked, or too much.
    """
    require(service, caller, offer, "owner", deed="hold facts against the data")
    dataset = dataset_of(service.setting, offer)
    person = offer.person or dataset.person
    if not person:
        raise InvalidParameter("person", None, "known before facts are checked", "Ask a question first.")
    claims = tuple(_claims(dataset.facts, person))
    counted = tuple(one for one in claims if one.kind in _HOLDS)
    if len(counted) > _MOST_FACTS:
        raise InvalidParameter("facts", len(counted), f"at most {_MOST_FACTS} to be checked at once", UNCHARGED)
    plan = None
    if counted:
        # Each person is in each count at most once.
        plan = plan_known_laplace(CHECKED, len(counted), listed([one.name for one in counted]))
    return Prepared(dataset=dataset, person=person, claims=claims, counted=counted, plan=plan)


def _claims(facts: Mapping[str, ColumnFacts], person: str) -> Iterable[DeclaredFact]:
    for column, said in sorted(facts.items()):
        if said.max_items is not None:
            yield DeclaredFact(kind="max_items_per_user", column=column, facts=said)
        if said.public_items is not None:
            yield DeclaredFact(kind="public_items", column=column, facts=said)
        if said.per_item_cap is not None:
            yield DeclaredFact(kind="per_item_cap", column=column, facts=said)
    yield DeclaredFact(kind="person", column=person, facts=ColumnFacts())


def _met(made: Prepared, engine: Engine, service: Service, offer: Offer, caller: Caller) -> Sighted:
    """The data as it stands, if it has all columns that something is declared of."""
    with asking(engine, lambda _: None):
        for one in made.counted:
            engine.validate(Selection(user=made.person, item=one.column))
        return sight(engine, service.of(caller.name), offer.name)


def _answered(made: Prepared, engine: Engine, noise: NoiseSource) -> dict[str, bool]:
    """Whether each fact holds, as far as noise lets it be told."""
    if made.plan is None:  # pragma: no cover (who calls has looked)
        raise LookupError("nothing to check")
    with asking(engine, lambda _: None):
        broken = {
            one.name: _breaking(engine, made.person, one, noise.salt(f"bound/{one.name}")) for one in made.counted
        }
    some = {name: people for name, people in broken.items() if people}
    counts = np.array(list(some.values()), dtype=np.int64)
    outcome = run_known_laplace(Histogram(items=listed(list(some)), counts=counts, complete=True), made.plan, noise)
    if outcome.counts is None:  # pragma: no cover (this mechanism counts)
        raise LookupError("no counts")
    noisy = dict(zip(outcome.items.tolist(), outcome.counts.tolist(), strict=True))
    return {name: noisy[name] <= made.threshold for name in broken}


def _breaking(engine: Engine, person: str, claim: DeclaredFact, salt: bytes) -> int:
    """How many people break a claim: true, and for the noise alone. One person more or less changes it by one at most.

    Of a bound of n: whoever has more than n items keeps one more under a bound of n + 1 than under one of n, and all
    others keep as many. Of a list: under a bound of one, whoever has an item that is not listed keeps just one.
    """
    selection = Selection(user=person, item=claim.column)
    if claim.kind == "public_items":
        beyond = Bound(max_items=1, salt=salt, without=listed(claim.facts.public_items or ()))
        return _pairs(engine, selection, beyond)
    most = min(claim.facts.max_items or 0, LARGEST - 1)
    more, fewer = (Bound(max_items=bound, salt=salt) for bound in (most + 1, most))
    return _pairs(engine, selection, more) - _pairs(engine, selection, fewer)


def _pairs(engine: Engine, selection: Selection, bound: Bound) -> int:
    _, sums = engine.histogram(selection, bound=bound).each(_summed)
    return int(sums.sum())


def _summed(block: Histogram) -> Shown:
    """One row for a block, however many items it has; on many machines, the only one that leaves each."""
    return np.array(["pairs"], dtype=object), np.array([block.counts.sum()], dtype=np.int64)


def _form(made: Prepared, offer: Offer, holds: Mapping[str, bool], *, cost: float) -> dict[str, Any]:
    return {
        "dataset": offer.name,
        "facts": [_claim_form(one, offer, holds.get(one.name)) for one in made.claims],
        "seen_from": 2 * made.threshold if made.plan is not None else None,
        "notes": [
            "No guarantee rests on these facts but that a list is public: what goes beyond them is left out.",
            f"Counted with noise: a fact that fewer than {2 * made.threshold} people break may look as if it held.",
        ][: 1 if made.plan is None else 2],
        "cost": {"releases": cost},
    }


def _claim_form(claim: DeclaredFact, offer: Offer, holds: bool | None) -> dict[str, Any]:  # noqa: FBT001  an answer
    words = _LEFT_OUT.get(claim.kind, "To be held against the data: send mode = release.")
    if holds is not None:
        words = (_HOLDS if holds else _BROKEN)[claim.kind].format(dataset=offer.name)
    return {
        "column": claim.column,
        "fact": claim.kind,
        "declared": claim.told,
        "enforced": True,
        "holds": holds,
        "detail": words,
    }
