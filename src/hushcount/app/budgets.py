"""Budgets as people look after them: what is left, limits as they are said, and limits proposed from history."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from hushcount.accounting.spent import EXACT, Spent
from hushcount.accounting.units import Units
from hushcount.app.desk import Desk
from hushcount.app.history import Deed, last_charges, sees_all
from hushcount.app.paths import read_text
from hushcount.errors import InvalidParameter, NotPermitted
from hushcount.ledger import limits, proposals
from hushcount.ledger.ledger import Account, Ask, Balance, Kind, Proof, Use
from hushcount.ledger.limits import SHOWN_UNITS, Limit, Mode
from hushcount.ledger.proposals import Exceeding, Proposal
from hushcount.ledger.windows import Window
from hushcount.model.amounts import Number, amount, positive, whole
from hushcount.model.budgets import STANDARD
from hushcount.model.costs import Concentrated, Cost, Failure
from hushcount.model.frozen import frozen

# Beside a proposed limit, what smaller and larger ones would have done is shown.
_FACTORS = (Decimal("0.25"), Decimal("0.5"), Decimal(1), Decimal(2))
# More would limit nobody.
_MOST_RELEASES = 10**6
_STANDARD = Spent(rho=STANDARD.rho, delta=STANDARD.delta)


@frozen
class Left:
    """What is left for somebody on one data set.

    Attributes:
        balances: of the data set first, then of their groups and their own account; an auditor has no account.
        more: about how many standard counts still fit; None if nothing is enforced.
        deeds: the last questions that cost something, newest first.
        sees_all: whether those are everybody's.
    """

    balances: tuple[Balance, ...]
    more: int | None
    deeds: tuple[Deed, ...]
    sees_all: bool


@frozen
class Suggestion:
    """A limit for every analyst from what they did, in whole standard releases, and the curves around it."""

    proposal: Proposal
    releases: int
    curves: tuple[Exceeding, ...]


def read_links(path: Path) -> dict[str, Proof]:
    """The last links of every book that `ledger verify` wrote, by book."""
    try:
        heads = json.loads(read_text(path))["heads"]
        return {head["entity"]: Proof(entity=head["entity"], seq=head["seq"], hash=head["hash"]) for head in heads}
    except (OSError, ValueError, LookupError, TypeError):
        raise InvalidParameter("against", str(path), "a file of kept links, as `verify` writes it") from None


def look(desk: Desk, *, last: int = 10) -> Left:
    """What is left of the data's budget for whoever asks, and the last charges that they may see."""
    # The balance is asked first: it charges reservations whose time is over.
    dataset = desk.ledger.balance(Account(kind="dataset", name="", entity=desk.population))
    balances, more = _askable(desk, dataset)
    return Left(balances=balances, more=more, deeds=last_charges(desk, last), sees_all=sees_all(desk))


def _askable(desk: Desk, dataset: Balance) -> tuple[tuple[Balance, ...], int | None]:
    """The accounts of whoever asks, the data set's first, and how many standard counts still fit."""
    if desk.dataset is not None:
        cost = Cost.of((Concentrated(rho=STANDARD.rho), 1), (Failure(delta=STANDARD.delta), 1))
        ask = Ask(
            analyst=desk.by,
            dataset=desk.dataset.id,
            version=desk.version or "none",
            query="none",
            cost=cost,
            key="none",
            fresh=True,
        )
        # An auditor asks no questions and so has no account.
        with contextlib.suppress(NotPermitted):
            quote = desk.ledger.check(ask)
            return tuple(reversed(quote.balances)), quote.more
    # Of data that nobody asked yet, what an analyst may spend is what every analyst may.
    own = desk.ledger.balance(Account(kind="analyst", name=desk.by, entity=desk.population))
    balances = (dataset, own) if own.limit is not None else (dataset,)
    lefts = [
        one.left for one in balances if one.left is not None and one.limit is not None and one.limit.mode == "enforce"
    ]
    counts = [count for left in lefts if (count := limits.more_like(left, _STANDARD)) is not None]
    return balances, min(counts, default=None)


def make_limit(typed: Mapping[str, Any], *, window: Window, mode: Mode) -> Limit | None:
    """The limit that was typed, in one of four currencies; None if it is to be lifted.

    Args:
        typed: `releases`; or `rho` and `delta`; or `epsilon` and `delta`; or `information` and `calls` with, if not
            LinkedIn's, `epsilon_per` and `delta_per_call`; or `none`.
        window: when it is renewed.
        mode: whether it is enforced or only tracked.
    """
    names = ("releases", "rho", "epsilon", "information", "none")
    given = [name for name in names if typed.get(name) is not None and typed[name] is not False]
    if len(given) != 1:
        hint = "Say a number of releases; or rho and delta; or epsilon and delta; or information and calls; or none."
        raise InvalidParameter("limit", " and ".join(given) or "nothing", "said in exactly one way", hint)
    if given == ["none"]:
        return None
    if given == ["releases"]:
        count = amount("releases", typed["releases"])
        _refuse_boundless(
            "releases", typed, worth=EXACT.multiply(min(count, Decimal(2 * _MOST_RELEASES)), STANDARD.rho)
        )
        rho, delta = EXACT.multiply(count, STANDARD.rho), EXACT.multiply(count, STANDARD.delta)
        return limits.rho_limit(rho, delta, window=window, mode=mode)
    if given == ["information"]:
        made = limits.units_limit(_units(typed), window, mode=mode)
        _refuse_boundless("information", typed, worth=made.ceiling.rho)
        return made
    if typed.get("delta") is None:
        raise InvalidParameter("delta", None, f"given with {given[0]}")
    # An epsilon is worth no more rho than its own number, or hardly more, so one bound serves both.
    _refuse_boundless(given[0], typed, worth=amount(given[0], typed[given[0]]))
    make = limits.rho_limit if given == ["rho"] else limits.epsilon_limit
    return make(typed[given[0]], typed["delta"], window=window, mode=mode)


def account(entity: str, *, analyst: str | None = None, group: str | None = None) -> Account:
    """Whose limit is meant: the data set's, or with a name an analyst's or a group's on it."""
    if analyst and group:
        raise InvalidParameter(
            "limit", f"{analyst} and {group}", "for an analyst or for a group", "Set one, then both."
        )
    kind: Kind = "analyst" if analyst else "group" if group else "dataset"
    return Account(kind=kind, name=analyst or group or entity, entity=entity)


def uses_of(desk: Desk) -> tuple[Use, ...]:
    """Every charge to the people of a data set, or for its questions alone to whoever owns or audits only these."""
    try:
        return desk.ledger.usage(desk.population, by=desk.by)
    except NotPermitted:
        if desk.dataset is None:
            raise
        return desk.ledger.usage(desk.population, by=desk.by, dataset=desk.dataset.id)


def suggest(desk: Desk, *, share: Number = "0.95", window: Window = "month") -> Suggestion:
    """A limit that would have left that share of the analysts alone, and curves for it, half, a quarter, twice it."""
    uses = uses_of(desk)
    proposal = proposals.propose(uses, share=share, window=window)
    most = proposal.limit.ceiling
    curves: list[Exceeding] = []
    for measure, proposed in (("rho", most.rho), ("delta", most.delta)):
        if proposed > 0:
            tried = [EXACT.multiply(proposed, factor) for factor in _FACTORS]
            curves += proposals.exceeding(uses, tried, measure="rho" if measure == "rho" else "delta", window=window)
    # Upwards to a whole number, since a limit must also hold the worst case of the last question.
    count = max(1, math.ceil(max(most.rho / STANDARD.rho, most.delta / STANDARD.delta)))
    return Suggestion(proposal=proposal, releases=count, curves=tuple(curves))


def _refuse_boundless(name: str, typed: Mapping[str, Any], *, worth: Decimal) -> None:
    """Refuse what would be told as a limit and limit nobody."""
    if worth > _MOST_RELEASES * STANDARD.rho:
        want, hint = f"worth at most {_MOST_RELEASES:,} standard releases", "More would limit nobody: say none instead."
        raise InvalidParameter(name, typed[name], want, hint)


def _units(typed: Mapping[str, Any]) -> Units:
    if typed.get("calls") is None:
        raise InvalidParameter("calls", None, "given with information")
    return Units(
        information=whole("information", typed["information"]),
        calls=whole("calls", typed["calls"], least=0),
        epsilon_per=positive("epsilon_per", typed.get("epsilon_per") or SHOWN_UNITS.epsilon_per),
        delta_per_call=positive("delta_per_call", typed.get("delta_per_call") or SHOWN_UNITS.delta_per_call),
    )
