"""Grants: more for an account until a moment, after which its limit is what it was before.

A limit of the ledger has no end of its own, so a record beside it holds what the limit was, what was added until when,
and which limits were set because of it. `end_grants` takes back what is over: a service calls it at its start and
before every question is paid for. What is to be set is on record before it is set, and whether it was after, so that it
can break off anywhere and run in many workers. A limit that is not one of ours was set by an owner meanwhile: that one
stays, and the grant is over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from hushcount.accounting.spent import EXACT
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.owners.rules import read_rules
from hushcount.app.setting import Setting
from hushcount.errors import InvalidParameter, NotPermitted, Outdated, UnknownDataset
from hushcount.ledger import limits
from hushcount.ledger.chain import canonical
from hushcount.ledger.ledger import EVERY, Account
from hushcount.ledger.limits import Limit, in_force, lasting, rho_limit
from hushcount.ledger.records import Record
from hushcount.ledger.windows import ends
from hushcount.model.budgets import STANDARD

KIND = "grant"
_PAGE = 1_000
# Of two who change an account at once one looks again; a handful is more than ever meet.
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What one decision adds to an account: so many standard releases until a moment, for a wish."""

    wish: str
    releases: Decimal
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """An account's own limit as the log has it, and its record; forms of limits are JSON.

    Attributes:
        account: which.
        own: its own limit now; None if it has none of its own.
        base: its own limit without any grant.
        ours: the limits that were set, or were to be set, because of grants.
        extras: what was added.
        edition: that of the record; 0 if there is none.
        body: what the record says; None if there is none.
    """

    account: Account
    own: Mapping[str, Any] | None
    base: Mapping[str, Any] | None
    ours: tuple[Mapping[str, Any], ...]
    extras: tuple[Extra, ...]
    edition: int
    body: Mapping[str, Any] | None


def add_grant(setting: Setting, account: Account, extra: Extra, *, by: str) -> Limit:
    """Raise an account's limit until a moment; returns the limit that holds until then. For owners.

    Raises:
        InvalidParameter: the account has no limit that could be raised, or the moment is over.
        Outdated: somebody else changed the same account at this moment; nothing was changed.
    """
    if extra.until <= setting.clock():
        raise InvalidParameter("until", extra.until.isoformat(), "a moment to come", "Nothing was changed.")
    end_grants(setting)
    found = _standing(setting, account, ledger_of(setting).records.find(KIND, _name(account)))
    ground = _ground(setting, found)
    if ground is None:
        hint = "Whatever was short is another account's: grant it there. Nothing was changed."
        raise InvalidParameter("grant", str(account), "for an account that has a limit", hint)
    extras = (*found.extras, replace(extra, until=end_for(setting, account, extra.until)))
    _put_in_force(setting, found, extras, ground=ground, by=by)
    return _raised(ground, extras, then=None)


def end_for(setting: Setting, account: Account, until: datetime) -> datetime:
    """When a grant really ends: with the window of the limit that it raises, or it would be given in each one anew."""
    found = _standing(setting, account, ledger_of(setting).records.find(KIND, _name(account)))
    ground = _ground(setting, found)
    if ground is None or ground.window == "none":
        return until
    return min(until, ends(ground.window, setting.clock()))


def end_grants(setting: Setting) -> tuple[Account, ...]:
    """Take back what is over; returns the accounts that were looked at for it. One short read where nothing is due."""
    due, after = list[Account](), ""
    while page := ledger_of(setting).records.page(KIND, after=after, size=_PAGE):
        due += [account_of(record) for record in page if _is_due(record, setting.clock())]
        after = page[-1].id
    for account in due:
        _end(setting, account)
    return tuple(due)


def active_grants(setting: Setting, account: Account) -> tuple[Extra, ...]:
    """What is added to an account now."""
    record = ledger_of(setting).records.find(KIND, _name(account))
    return () if record is None else _living(_extras(record), setting.clock())


def account_of(record: Record) -> Account:
    """The account that a grant's record is about."""
    entity, kind, name = record.body["rule"]
    return Account(kind=kind, name=name, entity=entity)


def _end(setting: Setting, account: Account) -> None:
    """Bring one account in line with its record."""
    for _ in range(_TRIES):
        record = ledger_of(setting).records.find(KIND, _name(account))
        if record is None or not _is_due(record, setting.clock()):
            return
        found = _standing(setting, account, record)
        living, ground = _living(found.extras, setting.clock()), _ground(setting, found)
        # A grant that broke off is completed in the name of who gave it: the service itself gives nothing to anybody.
        by = setting.analyst if record.body["done"] else record.owner
        try:
            _put_in_force(setting, found, living, ground=ground, by=by)
        except NotPermitted:
            if by == setting.analyst:
                raise
            _take_all(setting, account)
        except UnknownDataset:
            # Its people were joined to others: the limit binds nothing any more, and neither does the grant.
            ledger_of(setting).records.put(KIND, _name(account), None, owner=setting.analyst, by=setting.analyst)
        except Outdated:
            continue
        return
    raise Outdated(KIND, _name(account), edition=0, present=0)


def _take_all(setting: Setting, account: Account) -> None:
    """End all grants of an account, where one was given by somebody who may not give it."""
    found = _standing(setting, account, ledger_of(setting).records.find(KIND, _name(account)))
    _put_in_force(setting, found, (), ground=None, by=setting.analyst)


def _is_due(record: Record, now: datetime) -> bool:
    return not record.body["done"] or len(_living(_extras(record), now)) < len(record.body["extras"])


def _standing(setting: Setting, account: Account, record: Record | None) -> _Standing:
    """The account as it stands; where an owner set another limit meanwhile, without any grant."""
    found = read_rules(setting).limits.get((account.entity, account.kind, account.name))
    own = None if found is None else limits.to_json(found[0])
    edition = 0 if record is None else record.edition
    if record is not None:
        body = record.body
        pending = not body["done"] and own == body["base"]
        if own in body["ours"] or pending:
            return _Standing(
                account=account,
                own=own,
                base=body["base"],
                ours=tuple(body["ours"]),
                extras=_extras(record),
                edition=edition,
                body=body,
            )
    kept = None if record is None else record.body
    return _Standing(account=account, own=own, base=own, ours=(), extras=(), edition=edition, body=kept)


def _put_in_force(
    setting: Setting, found: _Standing, extras: tuple[Extra, ...], *, ground: Limit | None, by: str
) -> None:
    """Write what is to hold, make it hold, write that it does; without anything added the record goes."""
    ledger, name = ledger_of(setting), _name(found.account)
    base = None if found.base is None else limits.from_json(dict(found.base))
    raised = limits.to_json(_raised(ground, extras, then=base)) if ground is not None and extras else None
    goal = found.base if raised is None else raised
    ours = [*found.ours, *([raised] if raised is not None else [])]
    body = {
        "rule": [found.account.entity, found.account.kind, found.account.name],
        "base": found.base,
        "ours": ours,
        "extras": [_extra_form(extra) for extra in extras],
        "done": False,
    }
    kept = ledger.records.put(KIND, name, body, owner=by, by=by, edition=found.edition)
    if goal != found.own:
        try:
            ledger.set_limit(found.account, None if goal is None else limits.from_json(dict(goal)), by=by)
        except NotPermitted:
            ledger.records.put(KIND, name, found.body, owner=by, by=by)
            raise
    done = {**body, "ours": [raised], "done": True} if raised is not None else None
    ledger.records.put(KIND, name, done, owner=by, by=by, edition=None if kept is None else kept.edition)


def _ground(setting: Setting, found: _Standing) -> Limit | None:
    """The limit that grants are added to: the account's own, or else the one for all like it."""
    if found.base is not None:
        return limits.from_json(dict(found.base))
    account, rules = found.account, read_rules(setting).limits
    places = [(EVERY, account.name), (account.entity, EVERY), (EVERY, EVERY)]
    rule = next((rule for entity, name in places if (rule := (entity, account.kind, name)) in rules), None)
    return None if rule is None else rules[rule][0]


def _raised(ground: Limit, extras: tuple[Extra, ...], *, then: Limit | None) -> Limit:
    """The limit with all that is added to it, which ends by itself part by part, and what it is after the last."""
    limit = then
    for end in sorted({extra.until for extra in extras}, reverse=True):
        limit = lasting(_sum(ground, [extra for extra in extras if extra.until >= end]), until=end, then=limit)
    if limit is None:  # pragma: no cover (there is something to add)
        raise LookupError("a grant of nothing")
    return limit


def _sum(ground: Limit, extras: Iterable[Extra]) -> Limit:
    rho, delta = ground.ceiling.rho, ground.ceiling.delta
    for extra in extras:
        rho = EXACT.add(rho, EXACT.multiply(extra.releases, STANDARD.rho))
        delta = EXACT.add(delta, EXACT.multiply(extra.releases, STANDARD.delta))
    return rho_limit(rho, delta, window=ground.window, mode=ground.mode)


def _living(extras: Iterable[Extra], now: datetime) -> tuple[Extra, ...]:
    return tuple(extra for extra in extras if extra.until > now)


def _extras(record: Record) -> tuple[Extra, ...]:
    return tuple(
        Extra(wish=form["wish"], releases=Decimal(form["releases"]), until=datetime.fromisoformat(form["until"]))
        for form in record.body["extras"]
    )


def _extra_form(extra: Extra) -> dict[str, str]:
    return {"wish": extra.wish, "releases": str(extra.releases), "until": extra.until.isoformat()}


def _name(account: Account) -> str:
    """The one name of an account among grants: names of people may be longer than a record's."""
    rule = {"rule": [account.entity, account.kind, account.name]}
    return f"g_{hashlib.sha256(canonical(rule).encode()).hexdigest()[:32]}"
