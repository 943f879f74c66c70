"""Limits, prices and accounts in a few plain words, told in standard releases."""

from __future__ import annotations

from datetime import datetime

from hushcount.accounting.spent import EXACT, Spent
from hushcount.ledger.ledger import EVERY, Account
from hushcount.ledger.limits import Limit
from hushcount.model.budgets import STANDARD

# Fewer than this are what rounding left of a limit.
_DUST = 1e-5


def in_releases(spent: Spent) -> float:
    """What was spent, in standard releases."""
    return float(spent.rho / STANDARD.rho)


def room(left: Spent, limit: Limit) -> float:
    """What a limit, or the rest of one, is worth in standard releases: none beyond what each part of it allows."""
    by_rho = left.rho / STANDARD.rho
    # A limit without any delta is meant for questions with a public list of items: they need none.
    return max(0.0, float(min(by_rho, left.delta / STANDARD.delta) if limit.ceiling.delta else by_rho))


def rest(left: Spent, limit: Limit) -> float:
    """The room as it is told: what rounding left of a limit is none."""
    found = room(left, limit)
    return found if found >= _DUST else 0.0


def naming_runs_out(left: Spent, limit: Limit) -> bool:
    """Whether less is left for naming items, which every question takes alike, than for all else."""
    return bool(limit.ceiling.delta) and room(left, limit) < 0.99 * float(left.rho / STANDARD.rho)


def limit_words(limit: Limit | None) -> str:
    """A limit in a few words."""
    if limit is None:
        return "no limit"
    if not limit.ceiling.rho:
        return "nothing at all"
    period = "in all" if limit.window == "none" else f"a {limit.window}"
    kept = "" if limit.mode == "enforce" else ", tracked and not enforced"
    public = "" if limit.ceiling.delta else ", for public lists of items only"
    until = "" if limit.until is None else f", until {limit.until:%Y-%m-%d %H:%M} UTC"
    if enforced_from(limit) is not None:
        until += " and enforced from then on"
    return f"{standard_releases(room(limit.ceiling, limit))} {period}{public}{kept}{until}"


def enforced_from(limit: Limit) -> datetime | None:
    """When a limit that is tracked now will be enforced; None if no such moment is set."""
    follows = limit.then is not None and limit.then.mode == "enforce"
    return limit.until if limit.mode == "track" and follows else None


def limit_note(limit: Limit | None) -> str:
    """What whoever sets a limit should know of it, in a sentence; empty if nothing.

    All presets take the same delta. Less than that is for questions that ask for less, or need none.
    """
    if limit is None or limit.mode == "track" or not limit.ceiling.rho:
        return ""
    if not 0 < limit.ceiling.delta < STANDARD.delta:
        return ""
    # The first tenth, hundredth, ... of the usual delta of which one fits; a refusal offers the same.
    fits = EXACT.scaleb(STANDARD.delta, limit.ceiling.delta.adjusted() - STANDARD.delta.adjusted())
    return (
        f"Questions take a delta of {STANDARD.delta.normalize():e} unless they say less, and this limit has "
        f"{limit.ceiling.delta.normalize():.3e}: only questions that say so, such as with a delta of "
        f"{fits.normalize():e}, or that list their items fit into it."
    )


def standard_releases(count: float) -> str:
    """So many standard releases, in words."""
    said = f"{count:.3g}"
    return f"{said} standard release{'' if said == '1' else 's'}"


def price_words(rho: float) -> str:
    """A price in standard releases."""
    return about(rho / float(STANDARD.rho))


def about(releases: float) -> str:
    """About so many standard releases: two digits are enough for a price."""
    return "one standard release" if 0.95 <= releases <= 1.0001 else f"{releases:.2g} standard releases"


def whose(rule: Account) -> str:
    """Whose limit it is, in a few words."""
    data = "every data set" if rule.entity == EVERY else "this data set"
    if rule.kind == "dataset":
        return data
    return f"{f'every {rule.kind}' if rule.name == EVERY else f'{rule.kind} {rule.name!r}'} on {data}"
