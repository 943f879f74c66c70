"""Limits as owners set and read them through a service: whose, how much, until when, and who said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from hushcount.accounting.guessing import best_guess
from hushcount.app import budgets
from hushcount.app.serving.callers.callers import Caller, Serving, require
from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.owners.rules import Made, Named, Rule, dataset_of, read_rules
from hushcount.app.words import enforced_from, limit_words, room, whose
from hushcount.errors import InvalidParameter
from hushcount.ledger.ledger import EVERY, Account, Kind
from hushcount.ledger.limits import Limit, Mode, in_force, lasting
from hushcount.ledger.windows import Window, micros
from hushcount.model.frozen import frozen

_FURTHEST = timedelta(days=366)


@frozen
class Target:
    """Whose limit is meant.

    Attributes:
        offer: on the people of which data set; None for every one without a rule of its own.
        kind: the data's own account, or that of an analyst, a group or a token.
        name: which; `EVERY` for all without a rule of their own; of no meaning for the data's.
    """

    offer: Named | None = None
    kind: Kind = "dataset"
    name: str = EVERY


def set_limit(service: Serving, caller: Caller, target: Target, *, limit: Limit | None) -> Account:
    """Set a limit, or lift it with None; returns the account that it binds.

    Raises:
        NotFound: the caller has nothing to do with that data set.
        NotPermitted: the caller is not its owner, or the data set shares its people with others that they do not own.
    """
    require(service, caller, target.offer, "owner", deed="change limits")
    entity = EVERY if target.offer is None else dataset_of(service.setting, target.offer).population
    if target.kind == "token" and (target.name == EVERY or entity != EVERY):
        raise InvalidParameter("limit", target.name, "of one token, for all data", "A cap is set with its token.")
    name = entity if target.kind == "dataset" else target.name
    account = Account(kind=target.kind, name=name, entity=entity)
    ledger_of(service.setting).set_limit(account, limit, by=caller.name)
    return account


def typed_limit(typed: Mapping[str, Any], *, window: Window = "month", mode: Mode = "enforce") -> Limit | None:
    """The limit that a caller typed; see `budgets.make_limit`."""
    return budgets.make_limit(typed, window=window, mode=mode)


def tracked_until(limit: Limit | None, starts: datetime, *, now: datetime) -> Limit:
    """A limit that is enforced from a moment on, and tracked until then, so that nobody is stopped without notice.

    Raises:
        InvalidParameter: there is nothing to enforce, or the moment is not to come.
    """
    if limit is None or limit.mode != "enforce":
        hint = "Leave it out. Nothing was changed."
        raise InvalidParameter("enforced_from", starts.isoformat(), "for a limit that is enforced", hint)
    if not now < starts <= now + _FURTHEST:
        want = f"a moment to come within {_FURTHEST.days} days"
        raise InvalidParameter("enforced_from", starts.isoformat(), want, "Nothing was changed.")
    return lasting(replace(limit, mode="track"), until=starts, then=limit)


def limits_in_force(service: Serving, caller: Caller, offer: Named | None) -> list[dict[str, Any]]:
    """Every rule that concerns a data set's people, or with None every rule there is, general ones first."""
    require(service, caller, offer, "owner", "auditor", deed="see limits")
    rules = read_rules(service.setting).limits
    place = None if offer is None else dataset_of(service.setting, offer).population
    # Where the place is the same, rules for all come before those for one.
    ordered = sorted(rules, key=lambda rule: (rule[0] != EVERY, rule[0], rule[1], rule[2] != EVERY, rule[2]))
    now = micros(service.setting.clock())
    holding = ((rule, in_force(rules[rule][0], now), rules[rule][1]) for rule in ordered)
    return [
        rule_form(rule, limit, made)
        for rule, limit, made in holding
        if limit is not None and (place is None or rule[0] in {EVERY, place})
    ]


def rule_form(rule: Rule, limit: Limit, made: Made) -> dict[str, Any]:
    """A rule in JSON."""
    entity, kind, name = rule
    account = Account(kind=cast("Kind", kind), name=name, entity=entity)
    return {
        "people": entity,
        "kind": kind,
        "name": name,
        "whose": whose(account),
        **limit_form(limit),
        "by": made.by,
        "when": made.at.isoformat(timespec="seconds"),
    }


def limit_form(limit: Limit | None) -> dict[str, Any]:
    """A limit in JSON: exact amounts as texts, releases to look at."""
    if limit is None:
        lifted = dict.fromkeys(("releases", "rho", "delta", "window", "mode", "until", "enforced_from", "guess"))
        return {"words": limit_words(None), **lifted}
    return {
        "words": limit_words(limit),
        "releases": room(limit.ceiling, limit),
        "rho": str(limit.ceiling.rho),
        "delta": str(limit.ceiling.delta),
        "window": limit.window,
        "mode": limit.mode,
        "until": None if limit.until is None else limit.until.isoformat(timespec="seconds"),
        "enforced_from": None if (starts := enforced_from(limit)) is None else starts.isoformat(timespec="seconds"),
        "guess": best_guess(limit.ceiling),
    }
