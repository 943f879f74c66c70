"""Grants: more for an account until a moment, after which its limit is what it was before.

A grant is a limit with an end (`limits.lasting`). The ledger itself ends it by its own clock, whoever runs or does not,
and wherever its people go meanwhile. It is set in one step, so nothing can break off. A limit that an owner sets
meanwhile is another one: that stays, and the grant is over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from hushcount.accounting.spent import EXACT
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.owners.rules import RulesRead, read_rules
from hushcount.app.setting import Setting
from hushcount.errors import InvalidParameter, Outdated, UnknownDataset
from hushcount.ledger import limits
from hushcount.ledger.ledger import EVERY, Account
from hushcount.ledger.limits import Limit, in_force, lasting, rho_limit
from hushcount.ledger.windows import ends, micros
from hushcount.model.budgets import STANDARD
from hushcount.model.costs import EVERY_ORDER
from hushcount.model.frozen import frozen

# Of two who change rules at once one looks again; far more than ever meet.
_TRIES = 20
# What grants of earlier versions are on record as: limits without an end, which somebody had to take back.
_OLD = "grant"
_PAGE = 1_000


@frozen
class Extra:
    """What one decision adds to an account: so many standard releases until a moment."""

    releases: Decimal
    until: datetime


def add_grant(setting: Setting, account: Account, extra: Extra, *, by: str) -> Limit:
    """Raise an account's limit until a moment; returns the limit that holds until then. For owners.

    Raises:
        InvalidParameter: the account has no limit that could be raised, or the moment is over.
        Outdated: others changed rules at this moment again and again; nothing was changed.
    """
    if extra.until <= setting.clock():
        raise InvalidParameter("until", extra.until.isoformat(), "a moment to come", "Nothing was changed.")
    for _ in range(_TRIES):
        rules = read_rules(setting)
        own, general = _own(setting, rules, account), _general(setting, rules, account)
        until = _ending(setting, own or general, extra.until)
        limit = _raised(own, general, replace(extra, until=until))
        if limit is None:
            hint = "Whatever was short is another account's: grant it there. Nothing was changed."
            raise InvalidParameter("grant", str(account), "for an account that has a limit", hint)
        with suppress(Outdated):
            ledger_of(setting).set_limit(account, limit, by=by, after=rules.seq)
            return limit
    raise Outdated("limit", str(account), edition=0, present=0)


def end_for(setting: Setting, account: Account, until: datetime) -> datetime:
    """When a grant really ends: with the window of the limit that it raises, or it would be given in each one anew."""
    rules = read_rules(setting)
    return _ending(setting, _own(setting, rules, account) or _general(setting, rules, account), until)


def end_old_grants(setting: Setting) -> None:
    """End what earlier versions granted: such a limit has no end, and is what it was before from now on."""
    ledger, found = ledger_of(setting), list[tuple[str, dict[str, Any]]]()
    while page := ledger.records.page(_OLD, after=found[-1][0] if found else "", size=_PAGE):
        found += [(record.id, dict(record.body)) for record in page]
    for name, body in found:
        entity, kind, whose = body["rule"]
        rule = read_rules(setting).limits.get((entity, kind, whose))
        # Earlier versions knew of no orders.
        if rule is not None and limits.to_json(replace(rule[0], order=EVERY_ORDER)) in body["ours"]:
            base = None if body["base"] is None else limits.from_json(body["base"])
            # Of people who were joined to others the limit binds nothing any more.
            with suppress(UnknownDataset):
                ledger.set_limit(Account(kind=kind, name=whose, entity=entity), base, by=setting.analyst)
        ledger.records.put(_OLD, name, None, owner=setting.analyst, by=setting.analyst)


def _raised(own: Limit | None, general: Limit | None, extra: Extra) -> Limit | None:
    """An account's own limit with more until a moment, through all that it becomes until then; None without a limit."""
    ground = own or general
    if ground is None:
        return None
    rho = EXACT.add(ground.ceiling.rho, EXACT.multiply(extra.releases, STANDARD.rho))
    delta = EXACT.add(ground.ceiling.delta, EXACT.multiply(extra.releases, STANDARD.delta))
    more = rho_limit(rho, delta, window=ground.window, mode=ground.mode)
    if own is None or own.until is None or own.until > extra.until:
        return lasting(more, until=extra.until, then=own)
    if own.until == extra.until:
        return lasting(more, until=extra.until, then=own.then)
    return lasting(more, until=own.until, then=_raised(own.then, general, extra))


def _own(setting: Setting, rules: RulesRead, account: Account) -> Limit | None:
    """The account's own limit as it holds now, with what it will become."""
    return _found(setting, rules, [(account.entity, account.name)], account.kind)


def _general(setting: Setting, rules: RulesRead, account: Account) -> Limit | None:
    """The limit that would hold without one of its own."""
    places = [(EVERY, account.name), (account.entity, EVERY), (EVERY, EVERY)]
    return _found(setting, rules, places, account.kind)


def _found(setting: Setting, rules: RulesRead, places: list[tuple[str, str]], kind: str) -> Limit | None:
    now = micros(setting.clock())
    found = (rules.limits[entity, kind, name][0] for entity, name in places if (entity, kind, name) in rules.limits)
    return next((limit for one in found if (limit := in_force(one, now)) is not None), None)


def _ending(setting: Setting, ground: Limit | None, until: datetime) -> datetime:
    if ground is None or ground.window == "none":
        return until
    return min(until, ends(ground.window, setting.clock()))
