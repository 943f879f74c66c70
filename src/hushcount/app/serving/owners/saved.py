"""Saved questions: a name for a question, and what was published of it for readers to read.

A saved question is its owner's, under a name that only they need to be able to tell from their others: nobody learns
from a name that is taken what somebody else has saved. A published one has a name that all share; owners give it.
Readers read the newest release of what is published; they never ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from hushcount.app.serving.callers import passes
from hushcount.app.serving.callers.callers import Caller, Serving, reaches, require, require_asking, role_on
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.owners.rules import Named
from hushcount.app.serving.owners.schedules import Schedule, When, schedule_form
from hushcount.errors import InvalidParameter, NotFound, NotPermitted, Outdated
from hushcount.ledger.ledger import Role
from hushcount.ledger.records import Change, Columns, Record, ShownTable
from hushcount.model.frozen import frozen

KIND, PUBLISHED, LETTER = "question", "published", "s"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_RELEASE = re.compile(r"r_[a-z2-7]{8,64}")
# What is published has a table of its name, and names of tables end there.
_LONGEST_NAME, _LONGEST_TABLE = 80, 63
_MOST_SAVED, _PAGE = 500, 1000
_LONGEST_QUESTION = 1_000_000
# The rows of a release as a table for other programs; None where there are none to show.
Rows: TypeAlias = Callable[[str], Columns | None]
_READERS: tuple[Role, ...] = ("owner", "analyst", "reader", "auditor")


@frozen
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
        schedule: when it is asked by itself; None if it is not.
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
    schedule: Schedule | None
    edition: int


def save(
    service: Serving,
    caller: Caller,
    offer: Named,
    *,
    name: str,
    question: Mapping[str, Any],
    schedule: When | None = None,
) -> Saved:
    """Save a question under a name, or another question under a name of one's own; with a schedule, asked by itself.

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
    made = None if schedule is None else _new_schedule(service, caller, offer, question, when=schedule)
    body["schedule"] = None if made is None else made.to_body()
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


def set_schedule(service: Serving, caller: Caller, offer: Named, *, name: str, when: When | None) -> Saved:
    """Let a question of one's own be asked by itself, go on after it was stopped, or be asked no more.

    What was answered on the present data is not asked again.

    Raises:
        NotFound: the caller has no such question.
        NotPermitted: they may not ask about this data, or only through a group of their sign-in.
    """
    require(service, caller, offer, "analyst", "owner", deed="have questions asked by themselves")
    saved = find_saved(service, caller, name)
    if saved.dataset != offer.id:
        raise _missing(name)
    made = None if when is None else _new_schedule(service, caller, offer, saved.question, when=when)
    old = saved.schedule
    if made is not None and old is not None and old.run is not None and old.run.state == "done":
        made = replace(made, run=old.run)
    return put_schedule(service, saved, made, by=caller.name)


def put_schedule(service: Serving, saved: Saved, schedule: Schedule | None, *, by: str) -> Saved:
    """Write the schedule of a question as it was read; who may is decided by whoever calls.

    Raises:
        Outdated: the question was changed meanwhile.
    """
    records = ledger_of(service.setting).records
    record = records.find(KIND, saved.id)
    if record is None:
        raise _missing(saved.name)
    body = {**record.body, "schedule": None if schedule is None else schedule.to_body()}
    return _saved(records.put(KIND, saved.id, body, owner=record.owner, by=by, edition=saved.edition))


def scheduled(service: Serving) -> Iterator[Saved]:
    """All questions that are asked by themselves, whoever's they are; those that were stopped are left out."""
    records, after = ledger_of(service.setting).records, ""
    while page := records.page(KIND, after=after, size=_PAGE):
        after = page[-1].id
        found = map(_saved, page)
        yield from (one for one in found if one.schedule is not None and one.schedule.stopped is None)


def remove(service: Serving, caller: Caller, name: str) -> None:
    """Forget a saved question of one's own; its releases stay. A published one is taken back first, by an owner."""
    require_asking(caller, deed="remove questions")
    saved = find_saved(service, caller, name)
    if saved.published is not None:
        raise NotPermitted(f"{name!r} is published: an owner takes it back first. Nothing was changed.")
    records = ledger_of(service.setting).records
    records.put(KIND, saved.id, None, owner=saved.owner, by=caller.name, edition=saved.edition)


def note_release(
    service: Serving, saved: Saved, *, release: str, rows: Rows = lambda _: None, schedule: Schedule | None = None
) -> Saved:
    """Note the newest release of a saved question; whoever asked it must be its owner, which `asking` sees to.

    Args:
        service: the service.
        saved: the question.
        release: the id of its newest release.
        rows: the rows of a release, for the table of what is published; called if the question is.
        schedule: its schedule from now on, if it was asked by itself; None leaves it as it is.

    Raises:
        Outdated: the question was changed meanwhile, so that this is an answer to another one; or it was asked by
            itself, and anything of it was changed.
    """
    if not _RELEASE.fullmatch(release):
        raise InvalidParameter("release", release[:20], "the id of a release")
    records = ledger_of(service.setting).records
    record = records.find(KIND, saved.id)
    if record is None:
        raise _missing(saved.name)
    if (record.body["dataset"], record.body["question"]) != (saved.dataset, dict(saved.question)):
        raise Outdated(KIND, saved.name, edition=saved.edition, present=record.edition)
    body = {**record.body, "latest": {"release": release, "at": service.setting.clock().isoformat()}}
    change = _change(record, body, by=record.owner)
    if schedule is not None:
        change = replace(change, body={**body, "schedule": schedule.to_body()}, edition=saved.edition)
    name = record.body["published"]
    shown = None if name is None else _published(service, name)
    columns = rows(release) if shown is not None and shown.id == saved.id else None
    if columns is None:
        return _saved(
            records.put(KIND, saved.id, change.body, owner=change.owner, by=change.by, edition=change.edition)
        )
    return _saved(records.put_shown(change, ShownTable(name=name, columns=columns)))


def publish(
    service: Serving, caller: Caller, saved_id: str, *, offer: Named, name: str, rows: Rows = lambda _: None
) -> Saved:
    """Let all who have a role for a data set read the newest release of a saved question, under a name for all.

    Where the ledger's database has a place for tables, its rows are one from the same moment on.

    Raises:
        NotFound: there is no such question about this data.
        NotPermitted: the caller is not the data's owner, or the name is taken.
    """
    require(service, caller, offer, "owner", deed="publish questions")
    _checked_name(name, most=_LONGEST_TABLE)
    records = ledger_of(service.setting).records
    record = records.find(KIND, saved_id)
    if record is None or record.body["dataset"] != offer.id:
        raise _missing(saved_id)
    if record.body["published"] is not None:
        raise NotPermitted(f"it is published as {record.body['published']!r} already. Nothing was changed.")
    pointer = records.find(PUBLISHED, name)
    # One that broke off, when it was published or taken back, keeps the name from nobody.
    edition = 0 if pointer is None or _published(service, name) is not None else pointer.edition
    try:
        records.put(PUBLISHED, name, {"question": saved_id}, owner=caller.name, by=caller.name, edition=edition)
    except Outdated:
        raise NotPermitted(f"another question is published as {name!r}. Nothing was changed.") from None
    newest = record.body["latest"]
    shown = ShownTable(name=name, columns=None if newest is None else rows(newest["release"]))
    change = _change(record, {**record.body, "published": name}, by=caller.name)
    return _saved(records.put_shown(change, shown))


def take_back(service: Serving, caller: Caller, name: str, *, offer: Named) -> None:
    """Publish a question no longer. What was read was read."""
    require(service, caller, offer, "owner", deed="take back what is published")
    records = ledger_of(service.setting).records
    saved = _published(service, name)
    if saved is None or saved.dataset != offer.id:
        raise _missing(name)
    record = records.find(KIND, saved.id)
    if record is None:
        raise _missing(name)
    # From here on nobody reads it, neither here nor in a table; what is noted meanwhile is of another edition.
    records.put_shown(_change(record, {**record.body, "published": None}, by=caller.name), ShownTable(name=name))
    records.put(PUBLISHED, name, None, owner=caller.name, by=caller.name)


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
        "schedule": schedule_form(saved.schedule) if mine else None,
        "yours": mine,
    }


def _new_schedule(
    service: Serving, caller: Caller, offer: Named, question: Mapping[str, Any], *, when: When
) -> Schedule:
    """A schedule that can be kept: whoever set it is known as well when they are not there."""
    if role_on(service, replace(caller, groups=()), offer) not in {"owner", "analyst"}:
        raise NotPermitted(
            "your role for this data comes from a group that only your sign-in names, and a schedule runs without it. "
            "Have the role given to yourself. Nothing was changed."
        )
    if question.get("fresh"):
        hint = "Each version of the data has noise of its own anyway. Nothing was changed."
        raise InvalidParameter("fresh", "true", "left out of what is asked by itself", hint)
    token = None if caller.token is None else caller.token.id
    return Schedule(when=when, token=token, since=service.setting.clock())


def _change(record: Record, body: Mapping[str, Any], *, by: str) -> Change:
    return Change(kind=KIND, id=record.id, body=body, owner=record.owner, by=by, edition=record.edition)


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


def _checked_name(name: str, *, most: int = _LONGEST_NAME) -> None:
    if not _NAME.fullmatch(name) or len(name) > most:
        want = f"up to {most} small letters, digits and hyphens, beginning with a letter or digit"
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
        schedule=Schedule.from_body(body.get("schedule")),
        edition=record.edition,
    )
