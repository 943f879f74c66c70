"""Which of the cheaper ways to ask is offered in a refusal, and how many of them are planned for it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.app.payment import Cheaper
from hushcount.app.request import make_request
from hushcount.ledger.ledger import Variant, Way
from hushcount.ledger.refusal import fitting
from tests.conformance.ledgers.stores import ask, cost

QUESTIONS = {
    "top": {"k": 10},
    "count": {},
    "count of a list": {"keys": ["a", "b"]},
    "vocab": {"max_items_per_user": 3},
}
ROOMS = [
    Spent(rho=Decimal(rho), delta=Decimal(delta))
    for rho in ("0", "0.001", "0.01", "0.02", "0.1", "1")
    for delta in ("0", "1e-12", "1e-10", "1e-9", "1e-8", "1e-7", "1e-6")
]


def asked(question: str):
    """A question that costs a standard release, with all ways to ask it for less."""
    request = make_request(question.partition(" ")[0], user="user", item="item", options=QUESTIONS[question])
    return ask("dear", cost=cost("0.1"), variants=Cheaper(request=request, order=None))


def exhaustive(question, room: Spent) -> Variant | None:
    """The same choice, of all variants planned: the cheapest that fits, or where only delta is short the dearest."""
    found = [one.plan() if isinstance(one, Way) else one for one in question.variants]
    costs = [(zcdp.spent(one.cost), one) for one in found if one is not None]
    fits = [(spent, one) for spent, one in costs if spent.rho <= room.rho and spent.delta <= room.delta]
    sign = -1 if zcdp.spent(question.cost).rho <= room.rho else 1
    ordered = sorted(fits, key=lambda pair: (sign * pair[0].rho, -pair[0].delta))
    return ordered[0][1] if ordered else None


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_offered_is_what_planning_all_of_them_would_offer(question):
    """In rooms of every size, for questions with and without delta."""
    dear = asked(question)
    ours = [fitting(dear, room) for room in ROOMS]

    assert ours == [exhaustive(dear, room) for room in ROOMS]
    assert any(ours)
    assert not all(ours)


def test_where_nothing_fits_one_is_planned():
    """The cheapest preset is too dear, so all that may cost as much is not looked at."""
    planned = []

    def way(rho: str, delta: str) -> Way:
        made = Variant(label=f"{rho} {delta}", cost=cost(rho, delta))
        return Way(most=zcdp.spent(made.cost), plan=lambda: planned.append(made) or made)

    ways = [way(rho, delta) for rho in ("0.05", "0.02") for delta in ("1e-7", "1e-8", "1e-9")]
    found = fitting(ask("dear", cost=cost("0.1"), variants=ways), Spent(rho=Decimal("0.01"), delta=Decimal(1)))

    assert found is None
    assert [one.label for one in planned] == ["0.02 1e-7"]
