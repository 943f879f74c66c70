"""The price tag of a question: its cost at most, its expected accuracy, what is left, and cheaper ways to ask."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.app.estimating import Estimate
from hushcount.app.payment import estimated, ways
from hushcount.app.request import Request
from hushcount.app.serving.jobs.asking import Wanted
from hushcount.app.words import in_releases
from hushcount.ledger.ledger import Quote
from hushcount.ledger.limits import Rounding, show


def price_form(wanted: Wanted, quote: Quote, *, presets: tuple[str, ...]) -> dict[str, Any]:
    """A price tag. A stored answer counts only if the caller paid for it: what others asked is not told by a price."""
    estimate = wanted.estimate
    mine = quote.stored and not quote.charge.rho and not quote.charge.delta
    return {
        "mode": "estimate",
        "question": sentence(wanted.request),
        "cost": {
            "releases": shown_releases(quote.charge),
            "at_most": True,
            "expert": expert_form(zcdp.spent(estimate.cost), "up"),
        },
        "expected": {
            "give_or_take": estimate.expectation.give_or_take,
            "cutoff": estimate.expectation.cutoff,
            "rows": _rows_words(wanted.request),
        },
        "fits": quote.refusal is None,
        "left": {"like_this": quote.more, "sentence": left_sentence(quote)},
        "free": "This was answered before, and you paid for it: asking again costs nothing." if mine else None,
        "cheaper": cheaper(wanted, presets, fits=quote.refusal is None),
        "method": {"name": estimate.planned.mechanism.name, "reason": estimate.planned.reason},
        "translation": translation_form(estimate),
        "notes": list(estimate.expectation.notes),
    }


def shown_releases(spent: Spent) -> float:
    """An amount in standard releases, to look at: what counts is told as rho and delta."""
    return round(in_releases(spent), 6)


def expert_form(spent: Spent, rounding: Rounding) -> dict[str, Any]:
    """An amount as experts say it: zCDP, and the units of LinkedIn's Audience Engagements API."""
    shown = show(spent, rounding=rounding)
    return {
        "rho": str(spent.rho),
        "delta": str(spent.delta),
        "information": shown.information,
        "calls": shown.calls,
        "epsilon_per": str(shown.epsilon_per),
        "delta_per_call": str(shown.delta_per_call),
    }


def translation_form(estimate: Estimate) -> dict[str, Any] | None:
    """What is fetched from the store in place of what was asked: k becomes the d + 1 largest (LI section 4)."""
    fetched = estimate.planned.mechanism.fetch(estimate.planned.plan)
    return None if fetched is None else {"fetches": fetched, "of": "the largest items by distinct people"}


def cheaper(wanted: Wanted, presets: tuple[str, ...], *, fits: bool) -> list[dict[str, Any]]:
    """The same question at smaller presets, dearest first, each with its price and accuracy.

    If it does not fit, also with a tenth and a hundredth of its delta: all presets take the same, which may be short.
    """
    return [
        {
            "change": change,
            "releases": shown_releases(zcdp.spent(estimate.cost)),
            "give_or_take": estimate.expectation.give_or_take,
            "cutoff": estimate.expectation.cutoff,
        }
        for change, request in ways(wanted.request, presets, steps=range(1 if fits else 3))
        if (estimate := estimated(change, request, wanted.estimate.planned.order)) is not None
    ]


def sentence(request: Request) -> str:
    """The question as a person would say it."""
    who, what = request.selection.user, request.item_words()
    where = "" if request.filter_words() is None else f", where {request.filter_words()}"
    if not request.selection.item_columns:
        return f"how many {several(who)} there are{where}"
    if request.question == "top":
        largest = what if request.facts.k == 1 else f"{request.facts.k} {several(what)}"
        return f"the {largest} that most {several(who)} have{where}"
    if request.question == "vocab":
        named = several(what) if isinstance(request.selection.item, str) else what
        return f"which {named} may be named without exposing any {who}{where}"
    return f"how many {several(who)} have each {what}{where}"


def several(word: str) -> str:
    """The plural of what a column is called, as far as that can be told."""
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def left_sentence(quote: Quote) -> str:
    """What is left, in words."""
    if quote.more is None:
        return "Nothing limits questions like this."
    until = renewal(quote)
    if quote.more == 0:
        return f"No question like this fits until {day(until)}." if until else "No question like this fits any more."
    times = f"About {quote.more} more question{'' if quote.more == 1 else 's'} like this"
    return f"{times} until {day(until)}." if until else f"{times}."


def renewal(quote: Quote) -> datetime | None:
    """When the first of the accounts that limit the caller is renewed; None if none is or no window is open."""
    ends = [one.renews for one in quote.balances if one.limit is not None and one.renews is not None]
    return min(ends, default=None)


def day(moment: datetime) -> str:
    """A day as people say it."""
    return f"{moment.day} {moment:%B}"


def _rows_words(request: Request) -> str:
    if request.facts.public_items is not None:
        return f"every one of the {len(request.facts.public_items)} listed items"
    if request.question == "top":
        return f"at most {request.facts.k}, fewer if fewer clear the cut-off"
    return "every item that clears the cut-off"
