"""Publishing: the newest release of a question for all who may read it, and what they know by it.

A release is charged when it is made, to whoever asked and to the account of the data, and never again, however many
read it. So what an analyst knows of the people in the data is what they spent themselves and what was published; the
second is added up here, also of what was taken back: what was read was read.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.ids import with_prefix
from hushcount.app.serving.owners import saved
from hushcount.app.serving.owners.saved import Saved
from hushcount.app.serving.owners.schedules import Schedule
from hushcount.app.serving.owners.views import Viewer
from hushcount.app.serving.questions.prices import shown_releases
from hushcount.app.serving.questions.releases import Answered, answered
from hushcount.app.serving.service import Service
from hushcount.errors import NotFound, Outdated
from hushcount.ledger.jobs import Job
from hushcount.ledger.ledger import Quote
from hushcount.ledger.records import Columns

# A release that was ever published; and what all of those of a data set cost, by who paid for them.
PUBLIC, KNOWN = "public", "known"
_TRIES, _MOST_DATASETS = 20, 10_000


def publish(service: Service, caller: Caller, question: str, *, offer: Offer, name: str) -> Saved:
    """As `saved.publish`; one's own may be named. Its rows become a table where the ledger has a place for one."""
    own = {one.name: one.id for one in saved.saved_by(service, caller)}
    rows = partial(_made_public, service, offer.id)
    return saved.publish(service, caller, own.get(question, question), offer=offer, name=name, rows=rows)


def note_release(service: Service, question: Saved, *, release: str, schedule: Schedule | None = None) -> Saved:
    """As `saved.note_release`; what is published becomes the rows of the new one."""
    rows = partial(_made_public, service, question.dataset)
    return saved.note_release(service, question, release=release, rows=rows, schedule=schedule)


def known_form(service: Service, viewer: Viewer, quote: Quote) -> dict[str, Any] | None:
    """What a caller can know of the people in the data by now: what they spent themselves, and what was published.

    Of the published releases, those that they asked themselves are left out: they are in their own.
    """
    mine = next((balance for balance in quote.balances if balance.account.kind == "analyst"), None)
    if mine is None or viewer.role not in {"owner", "analyst", "reader"}:
        return None
    own, others = mine.lifetime, _published(service, mine.account.entity, but=viewer.name)
    return {
        "own": {"releases": shown_releases(own)},
        "published": {"releases": shown_releases(others)},
        "sentence": "What you can know is both together: all that you ever spent, and all that others had published.",
    }


def _published(service: Service, population: str, *, but: str) -> Spent:
    """What all that was published about some people cost, but for what one of those who asked it paid."""
    ledger, total = service.ledger, Spent()
    known = ledger.records.page(KNOWN, size=_MOST_DATASETS)
    # Where nothing was ever published the catalog need not be read, which is as long as there are data sets.
    datasets = ledger.catalog.datasets(by=service.setting.analyst) if known else ()
    here = {dataset.id for dataset in datasets if dataset.population == population}
    for record in known:
        for name, (rho, delta) in record.body["payers"].items():
            if record.id in here and name != but:
                total += Spent(rho=Decimal(rho), delta=Decimal(delta))
    return total


def _made_public(service: Service, dataset: str, release: str) -> Columns:
    """The rows of a release that is about to be published; from now on it is counted as known to all.

    It is counted first: if something breaks off, too much is told as known, and not too little. What is about other
    data is not there: its owners were not asked.
    """
    found, records, by = _find(service, release), service.ledger.records, service.setting.analyst
    if found.job.dataset != dataset:
        raise NotFound(f"the release {release[:80]!r} is about other data. Nothing was changed.")
    if records.find(PUBLIC, release) is None:
        _add(service, found.job, zcdp.spent(found.stored.cost))
        with suppress(Outdated):
            records.put(PUBLIC, release, {"dataset": found.job.dataset}, owner=found.job.analyst, by=by, edition=0)
    return table_of(found)


def _add(service: Service, job: Job, spent: Spent) -> None:
    """Add a release to what is known of a data set by what was published."""
    records, by = service.ledger.records, service.setting.analyst
    for left in reversed(range(_TRIES)):
        record = records.find(KNOWN, job.dataset)
        payers = {} if record is None else dict(record.body["payers"])
        rho, delta = payers.get(job.analyst, ("0", "0"))
        total = spent + Spent(rho=Decimal(rho), delta=Decimal(delta))
        payers[job.analyst] = [str(total.rho), str(total.delta)]
        edition = 0 if record is None else record.edition
        try:
            records.put(KNOWN, job.dataset, {"payers": payers}, owner=by, by=by, edition=edition)
        except Outdated:
            if not left:
                raise
        else:
            return


def table_of(found: Answered) -> Columns:
    """A release as a table for other programs: every row says of when it is, and whether limits were only tracked."""
    answer = found.release
    columns, rows = answer.numbers(), len(answer)
    nothing: list[int | None] = [None] * rows
    return {
        "item": ("TEXT", answer.items.tolist()),
        **{name: ("BIGINT", columns.get(name, nothing)) for name in ("count", "low", "high")},
        "as_of": ("TIMESTAMPTZ", [answer.receipt.made] * rows),
        "tracked": ("BOOLEAN", [found.stored.mode == "track"] * rows),
        # A rehearsal has no release, so that nothing made up can be here; whoever reads need not know that.
        "made_up": ("BOOLEAN", [False] * rows),
        "release": ("TEXT", [found.id] * rows),
    }


def _find(service: Service, release: str) -> Answered:
    job = service.ledger.jobs.find(with_prefix(release.partition("-")[0], "q"))
    found = () if job is None else answered(service, job)
    for one in found:
        if one.id == release:
            return one
    raise NotFound(f"there is no release {release[:80]!r} any more; ask the question again. Nothing was changed.")
