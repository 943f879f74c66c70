"""Views: what one caller is told of balances and histories that others had a part in; refusals are told beside.

Colleagues are told what the ledger tells (`app/forms.py`). Separate analysts are told nothing of one another: every
account that others spend from too is "shared", without amounts; what follows from such an account is left out; a stored
answer that somebody else made is an answer like any other; numbers that count everybody's questions are not shown.
Owners and auditors see all in either case.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hushcount.accounting.spent import Spent
from hushcount.app.budgets import Left
from hushcount.app.desk import Desk
from hushcount.app.forms import balance_form, deed_form, left_form
from hushcount.app.history import Deed
from hushcount.app.serving.setup.config import Analysts
from hushcount.ledger import limits
from hushcount.ledger.ledger import OVERSEERS, Balance, Quote, Role
from hushcount.model.budgets import STANDARD
from hushcount.model.frozen import frozen

_STANDARD = Spent(rho=STANDARD.rho, delta=STANDARD.delta)


# What became of a question, where somebody else had made the answer.
_AS_IF_NEW = {"given a stored answer": "answered", "given a stored answer, new to them": "answered"}


@frozen
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


def _is_own(balance: Balance, viewer: Viewer) -> bool:
    account = balance.account
    return account.kind == "token" or (account.kind == "analyst" and account.name == viewer.name)


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
