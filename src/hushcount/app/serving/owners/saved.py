"""Saved questions: a name for a question, and what was published of it for readers to read.

A saved question is its owner's, under a name that only they need to be able to tell from their others: nobody learns
from a name that is taken what somebody else has saved. A published one has a name that all share; owners give it.
Readers read the newest release of what is published; they never ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hushcount.app.serving.callers import passes
from hushcount.app.serving.callers.callers import Caller, Serving, reaches, require, require_asking, role_on
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.owners.rules import Named
from hushcount.errors import InvalidParameter, NotFound, NotPermitted, Outdated
from hushcount.ledger.ledger import Role
from hushcount.ledger.records import Record

KIND, PUBLISHED, LETTER = "question", "published", "s"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_RELEASE = re.compile(r"r_[a-z2-7]{8,64}")
_MOST_SAVED = 500
_LONGEST_QUESTION = 1_000_000
_READERS: tuple[Role, ...] = ("owner", "analyst", "reader", "auditor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A saved question.

    Attributes:
        id: its name for ever; random.
        owner: whose it is.
        name: what they call it.
        dataset: the id of the data set that it asks about.
        question: the body of the question, as it would be sent.
        latest: the id of its newest release; None if it was never asked.
        released: when that one was noted.
        published: the name under which all may read it; None if it is not published.
        edition: how often it was written.
    """

    id: str
    owner: str
    name: str
    dataset: str
    question: Mapping[str, Any]
    latest: str | None
    released: datetime | None
    published: str | None
    edition: int


def save(service: Serving, caller: Caller, offer: Named, *, name: str, question: Mapping[str, Any]) -> Saved:
    """Save a question under a name, or another question under a name of one's own.

    Raises:
        NotPermitted: the caller asks no questions here, has too many, or it is published and its owner must decide.
        InvalidParameter: the name or the question cannot be kept.
    """
    require(service, caller, offer, "analyst", "owner", deed="save questions")
    _checked_name(name)
    _checked_question(question)
    mine = _all_of(service, caller)
    old = next((one for one in mine if one.name == name), None)
    if old is not None and not reaches(caller, old.dataset):
        raise NotPermitted(f"{name!r} cannot be saved with this token: choose another name. Nothing was changed.")
    if old is not None and old.published is not None:
        raise NotPermitted(
            f"{name!r} is published as {old.published!r}: readers rely on what it asks. Save it under another name, or "
            "have it taken back first. Nothing was changed."
        )
    if old is None and len(mine) >= _MOST_SAVED:
        raise NotPermitted(f"you have {_MOST_SAVED} saved questions; remove some first. Nothing was changed.")
    body = {"name": name, "dataset": offer.id, "question": dict(question), "latest": None, "published": None}
    return _put(service, caller, old.id if old else passes.new_id(LETTER), body, edition=old.edition if old else 0)


def saved_by(service: Serving, caller: Caller) -> tuple[Saved, ...]:
    """A caller's own saved questions, by name; those that their token reaches."""
    found = [one for one in _all_of(service, caller) if reaches(caller, one.dataset)]
    return tuple(sorted(found, key=lambda one: one.name))


def find_saved(service: Serving, caller: Caller, name: str) -> Saved:
    """A question of the caller's own, by its name or id.

    Raises:
        NotFound: they have none of that name.
    """
    for one in saved_by(service, caller):
        if name in {one.name, one.id}:
            return one
    raise _missing(name)


def remove(service: Serving, caller: Caller, name: str) -> None:
    """Forget a saved question of one's own; its releases stay. A published one is taken back first, by an owner."""
    require_asking(caller, deed="remove questions")
    saved = find_saved(service, caller, name)
    if saved.published is not None:
        raise NotPermitted(f"{name!r} is published: an owner takes it back first. Nothing was changed.")
    records = ledger_of(service.setting).records
    records.put(KIND, saved.id, None, owner=saved.owner, by=caller.name, edition=saved.edition)


def note_release(service: Serving, saved: Saved, *, release: str) -> Saved:
    """Note the newest release of a saved question; whoever asked it must be its owner, which `asking` sees to."""
    if not _RELEASE.fullmatch(release):
        raise InvalidParameter("release", release[:20], "the id of a release")
    records = ledger_of(service.setting).records
    record = records.find(KIND, saved.id)
    if record is None:
        raise _missing(saved.name)
    latest = {"release": release, "at": service.setting.clock().isoformat()}
    body = {**record.body, "latest": latest}
    return _saved(records.put(KIND, saved.id, body, owner=record.owner, by=record.owner, edition=record.edition))


def publish(service: Serving, caller: Caller, saved_id: str, *, offer: Named, name: str) -> Saved:
    """Let all who have a role for a data set read the newest release of a saved question, under a name for all.

    Raises:
        NotFound: there is no such question about this data.
        NotPermitted: the caller is not the data's owner, or the name is taken.
    """
    require(service, caller, offer, "owner", deed="publish questions")
    _checked_name(name)
    records = ledger_of(service.setting).records
    record = records.find(KIND, saved_id)
    if record is None or record.body["dataset"] != offer.id:
        raise _missing(saved_id)
    if record.body["published"] is not None:
        raise NotPermitted(f"it is published as {record.body['published']!r} already. Nothing was changed.")
    try:
        records.put(PUBLISHED, name, {"question": saved_id}, owner=caller.name, by=caller.name, edition=0)
    except Outdated:
        raise NotPermitted(f"another question is published as {name!r}. Nothing was changed.") from None
    body = {**record.body, "published": name}
    return _saved(records.put(KIND, saved_id, body, owner=record.owner, by=caller.name, edition=record.edition))


def take_back(service: Serving, caller: Caller, name: str, *, offer: Named) -> None:
    """Publish a question no longer. What was read was read."""
    require(service, caller, offer, "owner", deed="take back what is published")
    records = ledger_of(service.setting).records
    saved = _published(service, name)
    if saved is None or saved.dataset != offer.id:
        raise _missing(name)
    records.put(PUBLISHED, name, None, owner=caller.name, by=caller.name)
    record = records.find(KIND, saved.id)
    if record is not None:
        records.put(KIND, saved.id, {**record.body, "published": None}, owner=record.owner, by=caller.name)


def published_on(service: Serving, caller: Caller, offer: Named) -> tuple[Saved, ...]:
    """What is published about a data set, by its name for all."""
    require(service, caller, offer, *_READERS, deed="see what is published")
    records = ledger_of(service.setting).records
    found = [_published(service, record.id) for record in records.page(PUBLISHED, size=10_000)]
    return tuple(one for one in found if one is not None and one.dataset == offer.id)


def dataset_of_published(service: Serving, name: str) -> str | None:
    """The id of the data set that a published question is about; None if there is none of that name."""
    found = _published(service, name)
    return None if found is None else found.dataset


def latest(service: Serving, caller: Caller, name: str, *, offer: Named | None) -> str:
    """The id of the newest release of a question: of one's own, or of what is published about a data set.

    Args:
        service: the service.
        caller: who reads.
        name: what they call it, or the name for all.
        offer: the data set of the published question (`dataset_of_published`); None if there is none.

    Raises:
        NotFound: there is no such question for them, or it has no release yet. The two are told apart only to those
            who may know of it.
    """
    own = next((one for one in saved_by(service, caller) if one.name == name), None)
    found = own or _published(service, name)
    if own is None and (
        found is None or offer is None or found.dataset != offer.id or role_on(service, caller, offer) not in _READERS
    ):
        raise _missing(name)
    if found is None or found.latest is None:
        raise NotFound(f"the question {name!r} has no release yet. Ask it once. Nothing was charged.")
    return found.latest


def may_read(service: Serving, caller: Caller, release: str, *, offer: Named) -> bool:
    """Whether a release is the newest of something published about a data set for which the caller has a role."""
    if role_on(service, caller, offer) not in _READERS:
        return False
    return any(one.latest == release for one in published_on(service, caller, offer))


def saved_form(saved: Saved, *, mine: bool) -> dict[str, Any]:
    """A saved question in JSON; whose it is, and what they call it, only to themselves."""
    return {
        "id": saved.id,
        "name": saved.name if mine else saved.published,
        "dataset": saved.dataset,
        "question": dict(saved.question),
        "latest": saved.latest,
        "released": None if saved.released is None else saved.released.isoformat(timespec="seconds"),
        "published": saved.published,
        "yours": mine,
    }


def _all_of(service: Serving, caller: Caller) -> list[Saved]:
    return list(map(_saved, ledger_of(service.setting).records.page(KIND, owner=caller.name, size=10_000)))


def _put(service: Serving, caller: Caller, name: str, body: dict[str, Any], *, edition: int) -> Saved:
    records = ledger_of(service.setting).records
    return _saved(records.put(KIND, name, body, owner=caller.name, by=caller.name, edition=edition))


def _published(service: Serving, name: str) -> Saved | None:
    records = ledger_of(service.setting).records
    pointer = records.find(PUBLISHED, name)
    record = None if pointer is None else records.find(KIND, pointer.body["question"])
    # One that broke off between the two is not published.
    return None if record is None or record.body["published"] != name else _saved(record)


def _checked_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        want = "up to 80 small letters, digits and hyphens, beginning with a letter or digit"
        raise InvalidParameter("name", name[:50], want, "Nothing was changed.")


def _checked_question(question: Mapping[str, Any]) -> None:
    try:
        size = len(json.dumps(dict(question), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidParameter("question", "it", "JSON", "Nothing was changed.") from None
    if size > _LONGEST_QUESTION:
        raise InvalidParameter("question", f"{size} letters", f"at most {_LONGEST_QUESTION}", "Nothing was changed.")


def _missing(name: str) -> NotFound:
    return NotFound(f"there is no question {name[:80]!r} here, or it is not shared with you. Nothing was charged.")


def _saved(record: Record | None) -> Saved:
    if record is None:  # pragma: no cover (only a body of None removes)
        raise LookupError(KIND)
    body, newest = record.body, record.body["latest"]
    return Saved(
        id=record.id,
        owner=record.owner,
        name=body["name"],
        dataset=body["dataset"],
        question=body["question"],
        latest=None if newest is None else newest["release"],
        released=None if newest is None else datetime.fromisoformat(newest["at"]),
        published=body["published"],
        edition=record.edition,
    )
