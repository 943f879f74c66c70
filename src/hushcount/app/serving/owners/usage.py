"""Usage: the curves of figure 5 of "LinkedIn's Audience Engagements API" for limits that an owner tries; a proposal.

Numbers for programs, and the same as a picture.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hushcount.accounting.guessing import best_guess
from hushcount.accounting.spent import EXACT
from hushcount.app import budgets
from hushcount.app.budgets import Suggestion
from hushcount.app.forms import suggestion_form
from hushcount.app.plots import limits as plots
from hushcount.app.serving.callers.callers import Caller, Serving, require
from hushcount.app.serving.owners.rules import Named, desk_of
from hushcount.errors import InvalidParameter
from hushcount.ledger import proposals
from hushcount.ledger.ledger import Use
from hushcount.ledger.limits import Limit, rho_limit
from hushcount.ledger.proposals import Exceeding, Stop
from hushcount.ledger.windows import Window
from hushcount.model.amounts import positive
from hushcount.model.budgets import STANDARD
from hushcount.model.frozen import frozen

# As many as the picture has colours.
MOST_LIMITS = 4


@frozen
class Tried:
    """What limits would have done to those who asked.

    Attributes:
        limits: the limits that were tried, in standard releases, as they were typed.
        curves: the share of analysts over each, by days since their window opened; noise first, then rare items.
        ceilings: the same as what would be enforced.
        stopped: who would have been stopped by each and when first, in the order of `limits`.
        analysts: how many asked at all.
        today: what all of them spent since midnight (UTC), in standard releases.
        window: when the limits would be renewed.
    """

    limits: tuple[str, ...]
    curves: tuple[Exceeding, ...]
    ceilings: tuple[Limit, ...]
    stopped: tuple[tuple[Stop, ...], ...]
    analysts: int
    today: float
    window: Window


def try_limits(
    service: Serving, caller: Caller, offer: Named, *, limits: Sequence[str], window: Window = "month"
) -> Tried:
    """What these limits would have done, from everything that was asked; for owners and auditors.

    Raises:
        InvalidParameter: no limit, too many, or one that is not above zero.
    """
    require(service, caller, offer, "owner", "auditor", deed="see what everybody spent")
    if not 1 <= len(limits) <= MOST_LIMITS:
        raise InvalidParameter("limits", len(limits), f"one to {MOST_LIMITS} numbers of releases")
    counts = [positive("limits", given) for given in limits]
    desk = desk_of(service, caller, offer)
    uses = budgets.uses_of(desk)
    ceilings = [
        rho_limit(EXACT.multiply(count, STANDARD.rho), EXACT.multiply(count, STANDARD.delta), window=window)
        for count in counts
    ]
    curves = [
        *proposals.exceeding(uses, [limit.ceiling.rho for limit in ceilings], measure="rho", window=window),
        *proposals.exceeding(uses, [limit.ceiling.delta for limit in ceilings], measure="delta", window=window),
    ]
    return Tried(
        limits=tuple(map(str, limits)),
        curves=tuple(curves),
        ceilings=tuple(ceilings),
        stopped=tuple(proposals.stops(uses, limit) for limit in ceilings),
        analysts=len({use.analyst for use in uses}),
        today=spent_since_midnight(uses, service.setting.clock()),
        window=window,
    )


def tried_form(tried: Tried) -> dict[str, Any]:
    """What limits would have done, in JSON."""
    count = len(tried.limits)
    noise, rare = tried.curves[:count], tried.curves[count:]
    return {
        "window": tried.window,
        "analysts": tried.analysts,
        "today": tried.today,
        "limits": [
            {
                "releases": given,
                "guess": best_guess(limit.ceiling),
                "stopped": sorted(stop.analyst for stop in stopped),
                "stops": [_stop_form(stop) for stop in stopped],
                "noise": list(by_rho.shares),
                "rare_items": list(by_delta.shares),
            }
            for given, limit, stopped, by_rho, by_delta in zip(
                tried.limits, tried.ceilings, tried.stopped, noise, rare, strict=True
            )
        ],
    }


def propose(
    service: Serving, caller: Caller, offer: Named, *, share: str = "0.95", window: Window = "month"
) -> Suggestion:
    """A limit for every analyst that would have left that share of them alone; see `budgets.suggest`."""
    require(service, caller, offer, "owner", "auditor", deed="see what everybody spent")
    return budgets.suggest(desk_of(service, caller, offer), share=share, window=window)


def proposal_form(suggestion: Suggestion) -> dict[str, Any]:
    """A proposal in JSON, the same as on the command line."""
    return suggestion_form(suggestion)


def picture(suggestion: Suggestion) -> bytes:
    """The curves of a proposal as SVG.

    Raises:
        MissingExtra: the package that draws is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="hushcount-") as folder:
        path = Path(folder) / "usage.svg"
        plots.draw(suggestion, path)
        return path.read_bytes()


def tried_picture(service: Serving, caller: Caller, offer: Named, *, tried: Tried) -> bytes:
    """The curves of limits that were tried as SVG; the proposal is among the words and not among the lines."""
    return picture(replace(propose(service, caller, offer, window=tried.window), curves=tried.curves))


def spent_since_midnight(uses: Sequence[Use], now: datetime) -> float:
    """What everybody spent since midnight (UTC), in standard releases."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return float(sum((use.spent.rho for use in uses if use.at >= midnight), Decimal(0)) / STANDARD.rho)


def _stop_form(stop: Stop) -> dict[str, Any]:
    part = "noise" if stop.measure == "rho" else "rare items"
    return {"name": stop.analyst, "at": stop.at.isoformat(timespec="seconds"), "day": stop.day + 1, "part": part}
