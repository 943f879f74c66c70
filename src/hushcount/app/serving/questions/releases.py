"""Releases: the stored answer of a query, for ever, in the form in which it leaves.

Everything here is made of the bytes that the ledger stored, and of nothing else, so the same release always reads the
same: whoever asks, on whichever machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from hushcount.accounting.spent import Spent
from hushcount.app.receipt import cutoff_sentence
from hushcount.app.release import Release
from hushcount.app.serving.jobs.asking import Wanted
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.questions.prices import shown_releases
from hushcount.app.serving.service import Service
from hushcount.errors import NotFound
from hushcount.ledger.jobs import Job
from hushcount.ledger.ledger import StoredRelease
from hushcount.model.frozen import frozen
from hushcount.model.tuples import split


@frozen
class Answered:
    """A question that was answered, with the answer as it was stored.

    Attributes:
        id: what the release is called: r_x of the query q_x, or r_x-1 and so on where it asked several questions.
        job: the query.
        dataset: the name of the data set.
        stored: the answer.
        etag: a digest of the bytes: they never change.
        as_new: whether nothing may tell that it was made before, as between separate analysts.
    """

    id: str
    job: Job
    dataset: str
    stored: StoredRelease
    etag: str
    as_new: bool = False

    @property
    def release(self) -> Release:
        """The answer. When it was made tells when somebody asked first, so that is not told of what is as if new."""
        release = Release.from_bytes(self.stored.payload)
        made = self.job.made.isoformat(timespec="seconds") if self.as_new else release.receipt.made
        return replace(release, receipt=replace(release.receipt, made=made, dataset=self.dataset))


def answered(service: Service, job: Job) -> tuple[Answered, ...]:
    """The stored answers of a job that is done: one, or as many as it asked at once."""
    order = Order.from_json(job.body)
    dataset = service.served.by_id(job.dataset).name
    apart, found = service.config.privacy.analysts == "separate", []
    for place in range(len(order.tasks)):
        stored = service.ledger.recall(job.analyst, order.key_of(job.key, place))
        if not isinstance(stored, StoredRelease):
            raise NotFound(f"there is no release of {job.id!r}")
        as_new, name = apart and stored.repeated, order.release_of(job.id, place)
        one = Answered(id=name, job=job, dataset=dataset, stored=stored, etag="", as_new=as_new)
        found.append(replace(one, etag=_etag(one)))
    return tuple(found)


def _etag(one: Answered) -> str:
    # Whoever has an answer can write down its bytes, but for the moment of the first asking, and find that by their
    # digest. So of what is as if new it is the digest of the bytes that would have been stored now.
    told = one.release.to_bytes() if one.as_new else one.stored.payload
    return hashlib.sha256(told).hexdigest()[:32]


def release_form(answered: Answered) -> dict[str, Any]:
    """A release as API part 5.3 shows it, but for its id."""
    release = answered.release
    receipt = release.receipt
    return {
        "dataset": answered.dataset,
        **answer_form(release),
        "protects": f"everything that any one {receipt.user} did in {answered.dataset}",
        "made": receipt.made,
        "data_version": receipt.data_version,
        "enforced": answered.stored.mode == "enforce",
        "stored": answered.etag,
    }


def made_up_form(release: Release, wanted: Wanted) -> dict[str, Any]:
    """A rehearsal: as a release, and marked in every way."""
    return {
        "mode": "rehearse",
        "made_up": True,
        "release": {"id": None, "dataset": wanted.offer.name, "made_up": True, **answer_form(release)},
        "cost": {"releases": 0},
    }


def answer_form(release: Release) -> dict[str, Any]:
    """The rows of an answer and what there is to know of them. An answer is complete, or it is none."""
    width = len(release.receipt.columns)
    items: list[object] = [one if width == 1 else list(split(one, width)) for one in release.items.tolist()]
    columns = {"item": items, **release.numbers()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    with_counts = release.counts is not None
    return {
        "complete": True,
        "shown": len(rows),
        "cutoff": release.cutoff,
        "rows": rows,
        "interval": {"level": 0.95, "holds": "for each row", "of": _of_what(release)} if with_counts else None,
        "notes": _notes(release),
        "cost": release.cost.to_json(),
        "receipt": receipt_form(release),
    }


def _of_what(release: Release) -> str:
    """Of what the intervals are: where a bound may have left items out, of what was counted."""
    return "counted" if release.receipt.left_out else "true"


def receipt_form(release: Release) -> dict[str, Any]:
    """The receipt, for people and for programs."""
    receipt = release.receipt
    return {**receipt_fields(release), "words": receipt.to_text()}


def receipt_fields(release: Release) -> Mapping[str, Any]:
    """The receipt's fields by name."""
    return asdict(release.receipt)


def cost_form(answered: Answered) -> dict[str, Any]:
    """What the query cost its caller: held, charged, given back. Between separate analysts what is paid is new."""
    stored = answered.stored
    repeated = stored.repeated and not (answered.as_new and stored.charged != Spent())
    charged, held = shown_releases(stored.charged), 0.0 if repeated else shown_releases(stored.held)
    return {
        "releases": charged,
        "held": held,
        "given_back": round(max(0.0, held - charged), 6),
        "repeated": repeated,
        "expert": {"rho": str(stored.charged.rho), "delta": str(stored.charged.delta)},
    }


def _notes(release: Release) -> list[str]:
    notes = list(release.notes)
    if release.receipt.cutoff is not None:
        notes.append(cutoff_sentence(release.receipt))
    return notes
