"""Views: what one caller is told of balances, refusals and histories that others had a part in.

Colleagues are told what the ledger tells (`app/forms.py`). Separate analysts are told nothing of one another: every
account that others spend from too is "shared", without amounts; what follows from such an account is left out; a stored
answer that somebody else made is an answer like any other; numbers that count everybody's questions are not shown.
Owners and auditors see all in either case. That a question is refused because a shared account is short cannot be
hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hushcount.accounting.spent import Spent
from hushcount.app.budgets import Left
from hushcount.app.desk import Desk
from hushcount.app.forms import balance_form, deed_form, left_form, refusal_form
from hushcount.app.history import Deed
from hushcount.app.serving.setup.config import Analysts
from hushcount.app.words import in_releases, room, standard_releases
from hushcount.errors import BudgetExhausted
from hushcount.ledger import limits
from hushcount.ledger.ledger import OVERSEERS, Balance, Quote, Refusal, Role
from hushcount.model.budgets import STANDARD

_STANDARD = Spent(rho=STANDARD.rho, delta=STANDARD.delta)


# What became of a question, where somebody else had made the answer.
_AS_IF_NEW = {"given a stored answer": "answered", "given a stored answer, new to them": "answered"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who looks.

    Attributes:
        name: the caller.
        role: their role for the data.
        analysts: what analysts of this service are to one another.
        title: what the data set is called.
    """

    name: str
    role: Role | None
    analysts: Analysts
    title: str

    @property
    def apart(self) -> bool:
        """Whether they are told nothing of others."""
        return self.analysts == "separate" and self.role not in OVERSEERS


def is_shared(balance: Balance, viewer: Viewer) -> bool:
    """Whether an account shows the viewer nothing, since others spend from it too."""
    return viewer.apart and not _is_own(balance, viewer)


def balance_view(balance: Balance, viewer: Viewer) -> dict[str, Any]:
    """An account: with all its amounts, or as shared."""
    if not is_shared(balance, viewer):
        return {**balance_form(balance), "shared": False}
    # The account of the data is called like its people, which may be called like another data set.
    name = viewer.title if balance.account.kind == "dataset" else balance.account.name
    return {"kind": balance.account.kind, "name": name, "shared": True}


def left_view(desk: Desk, left: Left, viewer: Viewer) -> dict[str, Any]:
    """What is left for the viewer, as `forms.left_form`; how many more counts fit, by their own accounts alone."""
    form = left_form(desk, left)
    form["accounts"] = [balance_view(balance, viewer) for balance in left.balances]
    if viewer.apart:
        form["more_standard_counts"] = _more(left.balances, _STANDARD, viewer)
        form["everybody"] = False
        form["charges"] = [deed_view(deed, viewer) for deed in left.deeds if deed.who == viewer.name]
    return form


def deed_view(deed: Deed, viewer: Viewer) -> dict[str, Any]:
    """One line of a history."""
    form = deed_form(deed)
    if viewer.apart:
        form["outcome"] = _AS_IF_NEW.get(deed.outcome, deed.outcome)
        # Which account was over is not told here, and it may be a shared one.
        form["over"] = False
    return form


def deeds_view(deeds: tuple[Deed, ...], viewer: Viewer) -> list[dict[str, Any]]:
    """A history; of separate analysts, what they did themselves."""
    return [deed_view(deed, viewer) for deed in deeds if not viewer.apart or deed.who == viewer.name]


def own_quote(quote: Quote, asked: Spent, viewer: Viewer) -> Quote:
    """The quote as the viewer may reckon with it: how many more fit, and until when, by their own accounts alone.

    Args:
        quote: what the ledger said.
        asked: the worst case of the question.
        viewer: who looks.
    """
    if not viewer.apart:
        return quote
    own = tuple(balance for balance in quote.balances if _is_own(balance, viewer))
    return replace(quote, balances=own, more=_more(own, asked, viewer))


def refusal_view(refusal: Refusal, viewer: Viewer) -> dict[str, Any]:
    """Why a question was refused, as `forms.refusal_form`."""
    form = refusal_form(refusal)
    form["short"] = [balance_view(balance, viewer) for balance in refusal.short]
    if viewer.apart:
        own = _own_short(refusal, viewer)
        alone = len(own) == len(refusal.short)
        left = _room(own)
        renews = [balance.renews for balance in own if balance.renews is not None]
        form["room"] = None if left is None else {"rho": str(left.rho), "delta": str(left.delta)}
        form["spent_lately"] = [one for one in form["spent_lately"] if one["who"] == viewer.name]
        form["renews"] = max(renews).isoformat(timespec="seconds") if alone and len(renews) == len(own) else None
        form["fits"] = form["fits"] if alone else None
        # A release's number counts everybody's.
        form["already_yours"] = [{"what": one["what"]} for one in form["already_yours"]]
    return form


def refusal_words(error: BudgetExhausted, viewer: Viewer) -> str:
    """The refusal in sentences."""
    refusal = error.refusal
    if not viewer.apart or not isinstance(refusal, Refusal):
        return str(error) if not viewer.apart else "This question does not fit into what is left. Nothing was charged."
    own = _own_short(refusal, viewer)
    told = [f"This question may cost {standard_releases(in_releases(refusal.asked))}. Nothing was charged."]
    for balance in own:
        if balance.limit is not None and balance.left is not None:
            have = standard_releases(room(balance.left, balance.limit))
            what = "Your own budget" if balance.account.kind == "analyst" else f"Your token {balance.account.name}"
            told.append(f"{what} has {have} left{_until(balance)}.")
    if len(own) < len(refusal.short):
        told.append(f"The budget of {viewer.title!r}, which is shared, does not have it.")
    elif refusal.variant is not None:
        told.append(f"This would fit: {refusal.variant}.")
    if refusal.ask_whom:
        told.append(f"To have more, ask {', '.join(refusal.ask_whom)}.")
    return " ".join(told)


def _is_own(balance: Balance, viewer: Viewer) -> bool:
    account = balance.account
    return account.kind == "token" or (account.kind == "analyst" and account.name == viewer.name)


def _own_short(refusal: Refusal, viewer: Viewer) -> list[Balance]:
    return [balance for balance in refusal.short if _is_own(balance, viewer)]


def _room(balances: list[Balance]) -> Spent | None:
    """The most that fits into all of these accounts; None if there are none."""
    lefts = [balance.left for balance in balances if balance.left is not None]
    if not lefts:
        return None
    zero = Spent()
    return Spent(
        rho=max(zero.rho, min(left.rho for left in lefts)), delta=max(zero.delta, min(left.delta for left in lefts))
    )


def _more(balances: tuple[Balance, ...], asked: Spent, viewer: Viewer) -> int | None:
    """How many questions of this price fit into the viewer's own enforced accounts; None if nothing limits them."""
    counts = [
        limits.more_like(balance.left, asked)
        for balance in balances
        if _is_own(balance, viewer)
        and balance.left is not None
        and balance.limit is not None
        and balance.limit.mode == "enforce"
    ]
    return min((count for count in counts if count is not None), default=None)


def _until(balance: Balance) -> str:
    return "" if balance.renews is None else f" until {balance.renews:%Y-%m-%d %H:%M} UTC"
