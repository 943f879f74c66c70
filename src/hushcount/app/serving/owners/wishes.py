"""Wishes for more: somebody asks for it with a reason, an owner decides with a sentence, and both are on record."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from hushcount.app.serving.callers import passes
from hushcount.app.serving.callers.callers import Caller, Serving, reaches, require, require_asking, role_on
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.owners.grants import Extra, add_grant, end_for
from hushcount.app.serving.owners.rules import Named, dataset_of
from hushcount.errors import InvalidParameter, NotFound, NotPermitted, Outdated
from hushcount.ledger.ledger import Account
from hushcount.ledger.records import Record
from hushcount.model.amounts import positive
from hushcount.model.frozen import frozen

State: TypeAlias = Literal["waiting", "granted", "declined", "withdrawn"]
Of: TypeAlias = Literal["analyst", "dataset"]
KIND, LETTER = "wish", "w"
LONGEST = timedelta(days=366)
_MOST_RELEASES = Decimal(1000)
_LONGEST_WORDS = 1000
# More would be a way to fill an owner's page.
_MOST_WAITING = 3


@frozen
class Decision:
    """What an owner decided.

    Attributes:
        by: who.
        at: when.
        words: their sentence.
        releases: how much they granted; None if they declined.
        until: when it ends.
        of: whose limit was raised: the asker's own, or the data's.
    """

    by: str
    at: datetime
    words: str
    releases: Decimal | None = None
    until: datetime | None = None
    of: Of = "analyst"


@frozen
class Wish:
    """A wish for more.

    Attributes:
        id: its name.
        who: who wishes.
        dataset: the id of the data set.
        releases: how many standard releases more.
        why: what for.
        until: how long it is needed.
        made: when it was made.
        state: what became of it.
        decision: what an owner decided; None while it waits.
    """

    id: str
    who: str
    dataset: str
    releases: Decimal
    why: str
    until: datetime
    made: datetime
    state: State = "waiting"
    decision: Decision | None = None


@frozen
class OwnerAnswer:
    """An owner's answer to a wish.

    Attributes:
        grant: whether it is granted.
        words: a sentence for who asked.
        releases: how much, if not as much as was wished.
        until: until when, if not as long as was wished.
        of: whose limit is raised.
    """

    grant: bool
    words: str
    releases: str | None = None
    until: datetime | None = None
    of: Of = "analyst"


def make_wish(service: Serving, caller: Caller, offer: Named, *, releases: str, why: str, until: datetime) -> Wish:
    """Ask an owner for more.

    Raises:
        NotPermitted: the caller asks no questions here, or has wishes enough that wait.
        InvalidParameter: how much, why or until when cannot be.
    """
    require(service, caller, offer, "analyst", "owner", deed="ask for more")
    setting = service.setting
    waiting = [one for one in wishes_of(service, caller) if one.state == "waiting" and one.dataset == offer.id]
    if len(waiting) >= _MOST_WAITING:
        raise NotPermitted(f"{_MOST_WAITING} of your wishes wait for this data already. Nothing was changed.")
    body = {
        "dataset": offer.id,
        "releases": str(_releases(releases)),
        "why": _words("why", why),
        "until": _until(until, setting.clock()).isoformat(),
        "state": "waiting",
        "decision": None,
    }
    record = ledger_of(setting).records.put(
        KIND, passes.new_id(LETTER), body, owner=caller.name, by=caller.name, edition=0
    )
    return _wish(record)


def wishes_of(service: Serving, caller: Caller) -> tuple[Wish, ...]:
    """A caller's own wishes, the newest first; those that their token reaches."""
    every = map(_wish, ledger_of(service.setting).records.page(KIND, owner=caller.name, size=1_000))
    found = [wish for wish in every if reaches(caller, wish.dataset)]
    return tuple(sorted(found, key=lambda wish: wish.made, reverse=True))


def wishes_on(service: Serving, caller: Caller, offer: Named, *, after: str = "", size: int = 100) -> tuple[Wish, ...]:
    """Everybody's wishes about a data set, by id; for those who see all of it."""
    require(service, caller, offer, "owner", "auditor", deed="see others' wishes")
    found, records = list[Wish](), ledger_of(service.setting).records
    while len(found) < size and (page := records.page(KIND, after=after, size=1_000)):
        found += [wish for wish in map(_wish, page) if wish.dataset == offer.id]
        after = page[-1].id
    return tuple(found[:size])


def find_wish(service: Serving, caller: Caller, name: str, *, offer: Named | None) -> Wish:
    """One wish, of the caller's own or about a data set of which they see all.

    Args:
        service: the service.
        caller: who looks.
        name: the wish's id.
        offer: the data set that it is about; None if that is no longer served.

    Raises:
        NotFound: there is none, or it is not for them.
    """
    record = ledger_of(service.setting).records.find(KIND, name)
    if record is not None:
        wish = _wish(record)
        mine = offer is not None and offer.id == wish.dataset
        own = wish.who == caller.name and reaches(caller, wish.dataset)
        if own or (mine and role_on(service, caller, offer) in {"owner", "auditor"}):
            return wish
    raise NotFound(f"there is no wish {name!r} here, or it is not for you. Nothing was changed.")


def decide(service: Serving, caller: Caller, name: str, *, offer: Named, answer: OwnerAnswer) -> Wish:
    """Decide a wish: decline it, or grant a limit that ends.

    The decision is on record before the limit changes: of two owners who decide at once one fails. If the limit cannot
    be raised the wish waits again.

    Raises:
        NotFound: there is no such wish about this data.
        NotPermitted: the caller is not its owner, or it was decided before.
        InvalidParameter: what is granted cannot be.
    """
    require(service, caller, offer, "owner", deed="decide wishes")
    wish = find_wish(service, caller, name, offer=offer)
    if wish.dataset != offer.id:
        raise NotFound(f"there is no wish {name!r} about this data. Nothing was changed.")
    if wish.state != "waiting":
        raise NotPermitted(f"the wish {name} was {wish.state} already. Nothing was changed.")
    records, record = ledger_of(service.setting).records, ledger_of(service.setting).records.find(KIND, name)
    if record is None:
        raise NotFound(f"there is no wish {name!r} about this data. Nothing was changed.")
    account = _account(service, wish, offer=offer, of=answer.of)
    decided = _decided(service, wish, answer, account=account)
    body = {
        **record.body,
        "state": "granted" if answer.grant else "declined",
        "decision": {**decided, "by": caller.name},
    }
    kept = records.put(KIND, name, body, owner=wish.who, by=caller.name, edition=record.edition)
    if answer.grant:
        try:
            ends, count = datetime.fromisoformat(decided["until"]), Decimal(decided["releases"])
            add_grant(service.setting, account, Extra(releases=count, until=ends), by=caller.name)
        except (InvalidParameter, NotPermitted, Outdated):
            records.put(KIND, name, record.body, owner=wish.who, by=caller.name)
            raise
    return _wish(kept)


def withdraw(service: Serving, caller: Caller, name: str) -> Wish:
    """Take back a wish of one's own that still waits."""
    require_asking(caller, deed="take back wishes")
    records = ledger_of(service.setting).records
    record = records.find(KIND, name)
    if record is None or record.owner != caller.name or not reaches(caller, record.body["dataset"]):
        raise NotFound(f"there is no wish {name!r} of yours. Nothing was changed.")
    if record.body["state"] != "waiting":
        raise NotPermitted(f"the wish {name} was {record.body['state']} already. Nothing was changed.")
    body = {**record.body, "state": "withdrawn"}
    return _wish(records.put(KIND, name, body, owner=record.owner, by=caller.name, edition=record.edition))


def wish_form(wish: Wish) -> dict[str, Any]:
    """A wish in JSON."""
    decision = wish.decision
    return {
        "id": wish.id,
        "who": wish.who,
        "dataset": wish.dataset,
        "releases": str(wish.releases),
        "why": wish.why,
        "until": wish.until.isoformat(timespec="seconds"),
        "made": wish.made.isoformat(timespec="seconds"),
        "state": wish.state,
        "decision": None
        if decision is None
        else {
            "by": decision.by,
            "at": decision.at.isoformat(timespec="seconds"),
            "words": decision.words,
            "releases": None if decision.releases is None else str(decision.releases),
            "until": None if decision.until is None else decision.until.isoformat(timespec="seconds"),
            "of": decision.of,
        },
    }


def _account(service: Serving, wish: Wish, *, offer: Named, of: Of) -> Account:
    """Whose limit a decision is about."""
    if of not in {"analyst", "dataset"}:
        raise InvalidParameter("of", of, "analyst or dataset", "Nothing was changed.")
    population = dataset_of(service.setting, offer).population
    return Account(kind=of, name=wish.who if of == "analyst" else population, entity=population)


def _decided(service: Serving, wish: Wish, answer: OwnerAnswer, *, account: Account) -> dict[str, Any]:
    """The decision as it is kept, but for who decided."""
    now = service.setting.clock()
    said = {"at": now.isoformat(), "words": _words("words", answer.words), "of": answer.of}
    if not answer.grant:
        return {**said, "releases": None, "until": None}
    releases = wish.releases if answer.releases is None else _releases(answer.releases)
    until = _until(wish.until if answer.until is None else answer.until, now)
    ends = end_for(service.setting, account, until)
    return {**said, "releases": str(releases), "until": ends.isoformat()}


def _releases(given: str) -> Decimal:
    found = positive("releases", given)
    if found > _MOST_RELEASES:
        raise InvalidParameter("releases", str(given)[:20], f"at most {_MOST_RELEASES}")
    return found


def _until(given: datetime, now: datetime) -> datetime:
    if given.tzinfo is None or not now < given <= now + LONGEST:
        want = f"a moment with a time zone, to come within {LONGEST.days} days"
        raise InvalidParameter("until", given.isoformat(), want, "What has no end is a limit: an owner sets it.")
    return given


def _words(what: str, given: str) -> str:
    # Line ends may be typed; other signs that cannot be printed may not.
    if not given.strip() or len(given) > _LONGEST_WORDS or not given.replace("\n", " ").isprintable():
        raise InvalidParameter(what, given[:50], f"a sentence of at most {_LONGEST_WORDS} letters")
    return given.strip()


def _wish(record: Record | None) -> Wish:
    if record is None:  # pragma: no cover (only a body of None removes)
        raise LookupError(KIND)
    body, said = record.body, record.body["decision"]
    return Wish(
        id=record.id,
        who=record.owner,
        dataset=body["dataset"],
        releases=Decimal(body["releases"]),
        why=body["why"],
        until=datetime.fromisoformat(body["until"]),
        made=record.made,
        state=body["state"],
        decision=None
        if said is None
        else Decision(
            by=said["by"],
            at=datetime.fromisoformat(said["at"]),
            words=said["words"],
            releases=None if said["releases"] is None else Decimal(said["releases"]),
            until=None if said["until"] is None else datetime.fromisoformat(said["until"]),
            of=said["of"],
        ),
    )
