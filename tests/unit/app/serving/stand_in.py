"""Stand-ins for a ledger's records and roles in memory, and a service around them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hushcount.app.secret import Secret
from hushcount.app.setting import Setting
from hushcount.errors import Outdated
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.records import Record

START = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now = START

    def __call__(self):
        """Now."""
        return self.now

    def move(self, **span):
        """Let time pass."""
        self.now += timedelta(**span)


class StandInRecords:
    """Records in a dictionary; the promises of the port that matter here are kept."""

    def __init__(self, clock):
        self.clock, self.kept = clock, {}

    def put(self, kind, id, body, *, owner, by, edition=None):  # noqa: A002
        """Write or remove a record."""
        present = self.kept.get((kind, id))
        standing = 0 if present is None else present.edition
        if edition is not None and edition != standing:
            raise Outdated(kind, id, edition=edition, present=standing)
        if body is None:
            self.kept.pop((kind, id), None)
            return None
        made = self.clock() if present is None else present.made
        record = Record(kind=kind, id=id, owner=owner, body=body, edition=standing + 1, made=made, changed=self.clock())
        self.kept[kind, id] = record
        return record

    def find(self, kind, id):  # noqa: A002
        """One record."""
        return self.kept.get((kind, id))

    def page(self, kind, *, owner=None, after="", size=100):
        """Records by id."""
        found = [one for (k, i), one in sorted(self.kept.items()) if k == kind and i > after]
        return tuple(one for one in found if owner is None or one.owner == owner)[:size]


class StandInLedger:
    """As much of a ledger as signing in and roles need."""

    def __init__(self, clock):
        self.records, self.roles, self.limits = StandInRecords(clock), {}, {}

    def role_of(self, person, *, dataset=None):
        """The role that was given."""
        return self.roles.get((person, dataset)) or self.roles.get((person, EVERY))

    def grant(self, person, role, *, entity=EVERY, by):
        """Give a role."""
        self.roles[person, entity] = role

    def set_limit(self, account, limit, *, by):
        """Note a limit."""
        self.limits[account.kind, account.name, account.entity] = (limit, by)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandInService:
    """What signing in needs of a service."""

    setting: Setting
    config: Any = None
    tokens_key: bytes = field(default=bytes(range(32)), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandInOffer:
    """What roles need of a data set that is served."""

    id: str
    name: str = "engagements"


def make_service(config=None, *, clock=None):
    """A service with an empty ledger, of which "the owner" runs it."""
    clock = clock or Clock()
    ledger: Any = StandInLedger(clock)
    setting = Setting(secret=Secret(bytes(32)), ledger=ledger, analyst="the service", clock=clock)
    return StandInService(setting=setting, config=config)
