"""JSON forms of what people are told: balances, prices, refusals, histories, data sets. One for every surface.

Amounts that count are exact and so texts; amounts to look at are numbers. An infinite epsilon is null.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from hushcount.accounting.spent import Spent
from hushcount.app.budgets import Left, Suggestion
from hushcount.app.catalog import DatasetLine
from hushcount.app.desk import Desk
from hushcount.app.estimating import Estimate
from hushcount.app.history import Deed
from hushcount.app.words import in_releases, room
from hushcount.ledger.catalog import ColumnFacts, Dataset
from hushcount.ledger.ledger import Balance, Refusal
from hushcount.ledger.limits import Limit, Rounding, show
from hushcount.ledger.refusal import to_text
from hushcount.ledger.windows import renewal
from hushcount.model.budgets import STANDARD


def amounts_of(balance: Balance) -> list[tuple[str, Spent, Rounding]]:
    """The amounts of an account, each with the rounding that never flatters."""
    amounts: list[tuple[str, Spent, Rounding]] = [
        ("spent", balance.spent, "up"),
        ("held", balance.reserved, "up"),
        ("ever", balance.lifetime, "up"),
    ]
    if balance.limit is not None and balance.left is not None:
        # A limit that was cut below what was spent leaves nothing, and not less than that.
        left = Spent(rho=max(Decimal(0), balance.left.rho), delta=max(Decimal(0), balance.left.delta))
        amounts += [("limit", balance.limit.ceiling, "down"), ("left", left, "down")]
    return amounts


def amount_form(spent: Spent, limit: Limit | None, rounding: Rounding) -> dict[str, Any]:
    """One amount in all currencies."""
    shown = show(spent, limit, rounding=rounding)
    return {
        **_exact(spent),
        "epsilon": None if math.isinf(shown.epsilon) else shown.epsilon,
        "epsilon_delta": str(shown.epsilon_delta),
        "information": shown.information,
        "calls": shown.calls,
        "epsilon_per": str(shown.epsilon_per),
        "delta_per_call": str(shown.delta_per_call),
    }


def balance_form(balance: Balance) -> dict[str, Any]:
    """An account with all its amounts."""
    limit, left = balance.limit, balance.left
    return {
        "kind": balance.account.kind,
        "name": balance.account.name,
        "mode": None if limit is None else limit.mode,
        "window": None if limit is None else limit.window,
        "renewal": None if limit is None else renewal(limit.window),
        "renews": None if balance.renews is None else balance.renews.isoformat(timespec="seconds"),
        "questions": balance.queries,
        "releases": {
            "limit": None if limit is None else room(limit.ceiling, limit),
            "left": None if limit is None or left is None else room(left, limit),
            "spent": in_releases(balance.spent),
            "ever": in_releases(balance.lifetime),
        },
        **{what: amount_form(spent, limit, rounding) for what, spent, rounding in amounts_of(balance)},
    }


def left_form(desk: Desk, left: Left) -> dict[str, Any]:
    """What is left of a data set's budget."""
    return {
        "dataset": desk.title,
        "analyst": desk.by,
        "more_standard_counts": left.more,
        "accounts": [balance_form(balance) for balance in left.balances],
        "everybody": left.sees_all,
        "charges": [deed_form(deed) for deed in left.deeds],
    }


def deed_form(deed: Deed) -> dict[str, Any]:
    """One line of a history."""
    return {
        "when": deed.when.isoformat(timespec="seconds"),
        "who": deed.who,
        "what": deed.what,
        "outcome": deed.outcome,
        "mode": None if deed.spent is None else deed.mode,
        "over": deed.over,
        "spent": None if deed.spent is None else _exact(deed.spent),
    }


def refusal_form(refusal: Refusal) -> dict[str, Any]:
    """Why a question was refused, and what can be done."""
    return {
        "lines": to_text(refusal).splitlines(),
        "releases": {
            "asked": in_releases(refusal.asked),
            "left": min((room(one.left, one.limit) for one in refusal.short if one.left and one.limit), default=0.0),
        },
        "asked": _exact(refusal.asked),
        "charged": _exact(Spent()),
        "short": [balance_form(balance) for balance in refusal.short],
        "room": _exact(refusal.room),
        "spent_lately": [
            {
                "who": one.analyst,
                "what": one.what,
                "spent": _exact(one.spent),
                "when": one.when.isoformat(timespec="seconds"),
            }
            for one in refusal.spenders
        ],
        "renews": None if refusal.renews is None else refusal.renews.isoformat(timespec="seconds"),
        "fits": None if refusal.variant is None else refusal.variant.label,
        "already_yours": [{"release": one.number, "what": one.what} for one in refusal.stored],
        "ask": list(refusal.ask_whom),
    }


def estimate_form(estimate: Estimate) -> dict[str, Any]:
    """What a question would cost and how accurate it would be."""
    planned, expected = estimate.planned, estimate.expectation
    return {
        "mechanism": planned.mechanism.name,
        "reason": planned.reason,
        "rho": estimate.rho,
        "delta": estimate.delta,
        "epsilon": estimate.epsilon,
        "give_or_take": expected.give_or_take,
        "cutoff": expected.cutoff,
        "notes": list(expected.notes),
    }


def suggestion_form(suggestion: Suggestion) -> dict[str, Any]:
    """A proposed limit, and who would have gone over which."""
    proposal = suggestion.proposal
    return {
        "releases": suggestion.releases,
        **_exact(proposal.limit.ceiling),
        "window": proposal.limit.window,
        "share": proposal.share,
        "analysts": proposal.analysts,
        "stopped": list(proposal.stopped),
        "curves": [
            {
                "part": "noise" if curve.measure == "rho" else "rare items",
                "releases": float(curve.limit / getattr(STANDARD, curve.measure)),
                "limit": str(curve.limit),
                "shares": list(curve.shares),
            }
            for curve in suggestion.curves
        ],
    }


def dataset_form(dataset: Dataset) -> dict[str, Any]:
    """A data set of the catalog."""
    return {
        "name": dataset.name,
        "population": dataset.population,
        "person": dataset.person,
        "facts": {column: _facts_form(facts) for column, facts in dataset.facts.items()},
        "identities": [str(identity) for identity in dataset.identities],
        "made": dataset.made.isoformat(timespec="seconds"),
        "by": dataset.by,
    }


def line_form(line: DatasetLine) -> dict[str, Any]:
    """One data set of a report over all data."""
    return {
        "dataset": line.dataset.name,
        "population": line.dataset.population,
        "person": line.dataset.person,
        **balance_form(line.balance),
    }


def _facts_form(facts: ColumnFacts) -> dict[str, Any]:
    return {
        "max_items_per_user": facts.max_items,
        "per_item_cap": facts.per_item_cap,
        "public_items": None if facts.public_items is None else len(facts.public_items),
    }


def _exact(spent: Spent) -> dict[str, str]:
    return {"rho": str(spent.rho), "delta": str(spent.delta)}
