"""The rules as they stand, each with who made it and when: limits, roles and groups, read from the log itself.

The log of rules is read by the service under its own name (`Setting.analyst`), which must be an owner or an auditor of
the whole ledger; what a caller is shown of it is decided by whoever calls this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from hushcount.app.desk import Desk
from hushcount.app.serving.callers.callers import Caller, Offered, Serving
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.setting import Setting
from hushcount.errors import NotFound, NotPermitted
from hushcount.ledger import limits
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import EVERY, OVERSEERS, Entry, Ledger, Page, Role
from hushcount.ledger.limits import Limit
from hushcount.model.frozen import frozen

# Where a role holds: for a data set by its id, or for a population, or with `EVERY` for all of them.
Place: TypeAlias = tuple[Literal["dataset", "population"], str]
# What a limit is on: the population, the kind of account, its name; `EVERY` for all without a rule of their own.
Rule: TypeAlias = tuple[str, str, str]
EVERYTHING: Place = ("population", EVERY)
_PAGE = 5_000


@frozen
class Made:
    """Who made a rule, and when."""

    by: str
    at: datetime


@frozen
class RulesRead:
    """The rules after an entry of their log, whose number is `seq`."""

    limits: Mapping[Rule, tuple[Limit, Made]] = field(default_factory=dict)
    roles: Mapping[tuple[Place, str], tuple[Role, Made]] = field(default_factory=dict)
    members: Mapping[tuple[str, str], Made] = field(default_factory=dict)
    seq: int = 0

    def groups_of(self, person: str) -> tuple[str, ...]:
        """The groups that somebody is in."""
        return tuple(sorted(group for analyst, group in self.members if analyst == person))


# What was read of each open ledger: its log only grows, so that nobody needs to read the beginning again.
_READ: WeakKeyDictionary[Ledger, RulesRead] = WeakKeyDictionary()


class Named(Offered, Protocol):
    """What is needed of a data set that is served and shown."""

    @property
    def name(self) -> str:
        """What callers call it."""


def read_rules(setting: Setting) -> RulesRead:
    """The rules as they stand; of an open ledger, only what is new since the last time is read.

    Raises:
        NotPermitted: the service's own name is neither an owner nor an auditor, so that it would read a part only.
    """
    ledger = ledger_of(setting)
    if ledger.role_of(setting.analyst) not in OVERSEERS:
        raise NotPermitted(
            f"the service runs as {setting.analyst!r}, who does not own this ledger, so it cannot read the rules. "
            f"An owner types: hushcount ledger grant {setting.analyst!r} owner. Nothing was changed."
        )
    rules = _READ.get(ledger) or RulesRead()
    found = dict(rules.limits), dict(rules.roles), dict(rules.members)
    seq = rules.seq
    while page := ledger.history(Page(entity=EVERY, after=seq, size=_PAGE), by=setting.analyst):
        for entry in page:
            _apply(entry, *found)
        seq = page[-1].seq
    rules = RulesRead(limits=found[0], roles=found[1], members=found[2], seq=seq)
    # Of two threads the later may keep the older: the next reads on from there.
    _READ[ledger] = rules
    return rules


def dataset_of(setting: Setting, offer: Named) -> Dataset:
    """The data set of the catalog behind one that is served.

    Raises:
        NotFound: it was never registered.
    """
    for dataset in ledger_of(setting).catalog.datasets(by=setting.analyst):
        if dataset.id == offer.id:
            return dataset
    raise NotFound("there is no such thing here, or it is not shared with you. Nothing was charged.")


def desk_of(service: Serving, caller: Caller, offer: Named) -> Desk:
    """The ledger open at the page of a data set, with the caller before it."""
    setting = replace(service.setting, analyst=caller.name)
    return Desk(setting=setting, dataset=dataset_of(service.setting, offer), title=offer.name)


def _apply(
    entry: Entry,
    found: dict[Rule, tuple[Limit, Made]],
    roles: dict[tuple[Place, str], tuple[Role, Made]],
    members: dict[tuple[str, str], Made],
) -> None:
    """Take one entry into account; those of other kinds say nothing about rules."""
    body, made = entry.body, Made(by=entry.by, at=entry.at)
    if entry.kind == "limit":
        _put(found, tuple(body["rule"]), _limit(body["limit"], made))
    elif entry.kind == "found":
        roles[EVERYTHING, body["owner"]] = "owner", made
        _put(found, (EVERY, "dataset", EVERY), _limit(body["limit"], made))
    elif entry.kind == "role":
        dataset = body.get("dataset")
        place: Place = ("population", body["place"]) if dataset is None else ("dataset", dataset)
        _put(roles, (place, body["person"]), None if body["role"] is None else (body["role"], made))
    elif entry.kind == "member":
        _put(members, (body["analyst"], body["group"]), made if body["member"] else None)


def _limit(form: dict[str, Any] | None, made: Made) -> tuple[Limit, Made] | None:
    return None if form is None else (limits.from_json(form), made)


def _put(rules: dict[Any, Any], key: object, value: object) -> None:
    rules.pop(key, None)
    if value is not None:
        rules[key] = value
