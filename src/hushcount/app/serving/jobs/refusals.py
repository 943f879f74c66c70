"""A refusal for want of budget, told once: what its caller may know of it, as sentences and as members of a problem.

In standard releases, of accounts and answers as callers know them. The ledger's own sentences are of its book: they
name populations, which may be called like data sets that the caller never heard of, and speak in rho. Separate analysts
learn of accounts of their own alone: of one that others spend from too, that it does not have it, which cannot be
hidden; nothing that follows from such an account, neither what is left nor what would fit nor when it renews.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hushcount.accounting import zcdp
from hushcount.app.serving.jobs.tasks import Order
from hushcount.app.serving.owners.views import Viewer, is_shared
from hushcount.app.serving.problems import Problem
from hushcount.app.words import in_releases, room, standard_releases
from hushcount.errors import BudgetExhausted
from hushcount.ledger.jobs import Jobs
from hushcount.ledger.ledger import Balance, Owned, Refusal, Spender, Variant
from hushcount.model.frozen import frozen

_WORDS = {
    "analyst": "your own budget",
    "group": "your group's budget",
    "token": "this token's cap",
    "dataset": "the data's shared budget",
}
_SHARED = "a budget that is shared with others"
# Less than this is told as less than this: nobody asks for less, and digits of it are no help.
_LITTLE = 0.001


@frozen
class Short:
    """An account that does not have it: in words, and how many standard releases are left; None if others share it."""

    words: str
    left: float | None


@frozen
class Told:
    """A refusal, as far as one caller may know of it.

    Attributes:
        title: what the data set is called.
        asked: the worst case of the question, in standard releases.
        short: the accounts that do not have it.
        renews: when they all will; None if one never does, or is others' too.
        spent: on what it was spent; None if that is not theirs to know.
        variant: what would fit; None if nothing does, or that would tell of others.
        answered: what is theirs already: in words, and where; None if that is not known.
        owners: whom to ask for more.
    """

    title: str
    asked: float
    short: tuple[Short, ...]
    renews: datetime | None
    spent: tuple[Spender, ...] | None
    variant: Variant | None
    answered: tuple[tuple[str, str | None], ...]
    owners: tuple[str, ...]

    @property
    def left(self) -> float | None:
        """The least that is left of the caller's accounts that do not have it; None if these are others' too."""
        return min((one.left for one in self.short if one.left is not None), default=None)

    def sentences(self) -> str:
        """For people."""
        told = [f"This question may cost {standard_releases(self.asked)}; nothing was charged."]
        for one in self.short:
            if one.left is None:
                told.append(f"The budget of {self.title!r}, which is shared, does not have it.")
            else:
                told.append(f"{one.words[0].upper()}{one.words[1:]} has {_left_words(one.left)} left.")
        if self.renews is not None:
            told.append(f"It renews on {self.renews:%Y-%m-%d %H:%M} UTC.")
        if self.variant is not None:
            told.append(f"This would fit: {self.variant}.")
        if self.answered:
            # Of one question asked anew each time there may be several, all in the same words.
            words = dict.fromkeys(what or "a question" for what, _ in self.answered)
            told.append(f"Yours already, and free: {'; '.join(words)}.")
        if self.owners:
            told.append(f"To have more, ask {', '.join(self.owners)}: POST /v1/requests.")
        return " ".join(told)

    def members(self) -> dict[str, Any]:
        """For programs (API part 5.4)."""
        form: dict[str, Any] = {
            "asked": {"releases": round(self.asked, 6)},
            "left": {"releases": None if self.left is None else round(self.left, 6)},
            "short": [one.words for one in self.short],
            "renews": None if self.renews is None else self.renews.isoformat(timespec="seconds"),
            "would_fit": [] if self.variant is None else [_variant_form(self.variant)],
            "already_answered": [{"what": what, "release": place} for what, place in self.answered],
            "ask": {"owners": list(self.owners), "with": "POST /v1/requests"},
        }
        if self.spent is not None:
            form["spent_on"] = [_spender_form(one) for one in self.spent]
        return form


def refusal_problem(error: BudgetExhausted, viewer: Viewer, jobs: Jobs) -> Problem:
    """A refusal as the problem that its caller is told; reads the caller's own jobs."""
    if not isinstance(error.refusal, Refusal):
        return Problem(code="budget-exhausted", detail="It does not fit into what is left. Nothing was charged.")
    told = told_to(viewer, error.refusal, jobs)
    return Problem(code="budget-exhausted", detail=told.sentences(), more=told.members())


def told_to(viewer: Viewer, refusal: Refusal, jobs: Jobs) -> Told:
    """What one caller may know of a refusal."""
    short = tuple(_short(balance, viewer) for balance in refusal.short)
    # What follows from an account that others spend from would tell what they spent.
    own = all(one.left is not None for one in short)
    return Told(
        title=viewer.title,
        asked=in_releases(refusal.asked),
        short=short,
        renews=refusal.renews if own else None,
        spent=None if viewer.apart else refusal.spenders,
        variant=refusal.variant if own else None,
        answered=tuple((one.what, _place(one, viewer, jobs)) for one in refusal.stored),
        owners=refusal.ask_whom,
    )


def _place(one: Owned, viewer: Viewer, jobs: Jobs) -> str | None:
    """Where an answer of the viewer's is read, by itself or as one of several that were asked at once."""
    # The key of one of several is that of all of them and its place; see `Order.key_of`.
    together, _, place = (one.key or "").rpartition("#")
    for key, number in ((one.key, 0), (together, int(place) if place.isdecimal() else 0)):
        job = jobs.of_key(viewer.name, key) if key else None
        if job is None:
            continue
        order = Order.from_json(job.body)
        if number < len(order.tasks) and order.key_of(job.key, number) == one.key:
            return f"/v1/releases/{order.release_of(job.id, number)}"
    return None


def _short(balance: Balance, viewer: Viewer) -> Short:
    if is_shared(balance, viewer):
        return Short(words=_SHARED, left=None)
    have = 0.0 if balance.left is None or balance.limit is None else room(balance.left, balance.limit)
    return Short(words=_WORDS[balance.account.kind], left=have)


def _left_words(count: float) -> str:
    if not count:
        return "nothing"
    return "hardly anything" if count < _LITTLE else standard_releases(count)


def _spender_form(one: Spender) -> dict[str, Any]:
    return {"what": one.what, "releases": round(in_releases(one.spent), 6), "when": one.when.date().isoformat()}


def _variant_form(variant: Variant) -> dict[str, Any]:
    """What to send instead, as members of the question; what it costs at most, and how accurate it would be."""
    return {
        "change": dict(variant.change),
        "releases": round(in_releases(zcdp.spent(variant.cost)), 6),
        "give_or_take": variant.give_or_take,
        "cutoff": variant.cutoff,
    }
