"""Limits from tracked history: figure 5's curves and a proposal, on histories that can be counted by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import InvalidParameter
from hushcount.ledger.ledger import Use
from hushcount.ledger.proposals import exceeding, propose

START = datetime(2026, 5, 4, 10, tzinfo=UTC)


def use(analyst: str, days: float, rho="1", delta="0") -> Use:
    """A charge so many days after the start."""
    return Use(analyst=analyst, at=START + timedelta(days=days), spent=Spent(rho=Decimal(rho), delta=Decimal(delta)))


def test_the_curve_counts_from_each_analysts_first_query():
    """Ann exceeds 2 on the first day of her window, bob four days after his first query, cyd never."""
    uses = [
        *(use("ann", 10 + hour / 24) for hour in range(3)),
        use("bob", 2),
        use("bob", 3),
        use("bob", 6),
        use("cyd", 0),
    ]
    (two, ten) = exceeding(uses, [2, 10], measure="rho")

    assert [round(share * 3) for share in two.shares[:6]] == [1, 1, 1, 1, 2, 2]
    assert len(two.shares) == 31
    assert set(ten.shares) == {0.0}


def test_a_renewal_starts_the_count_again():
    """Two queries in each of two months are two, not four; calls are counted by delta."""
    uses = [use("ann", days, delta="1e-10") for days in (0, 1, 30, 31)]
    one, two = exceeding(uses, ["1e-10", "2e-10"], measure="delta")

    assert (one.shares[0], one.shares[1], two.shares[-1]) == (0.0, 1.0, 0.0)


def test_the_proposal_leaves_most_alone():
    """Of a hundred analysts, the limit that leaves 95 alone stops at most five, each named."""
    uses = [use(f"analyst {number:03}", 0, rho=str(number + 1)) for number in range(100)]
    proposal = propose(uses, share="0.95")

    assert proposal.limit.ceiling.rho == 98
    assert proposal.stopped == ("analyst 098", "analyst 099")
    assert proposal.share >= 0.95
    assert proposal.analysts == 100


def test_the_proposal_looks_at_the_dearest_window():
    """A busy month counts, also if the next one was quiet."""
    uses = [use("ann", 0), use("ann", 1), use("ann", 2), use("ann", 40)]

    assert propose(uses).limit.ceiling.rho == 3
    assert propose(uses, window="day").limit.ceiling.rho == 1


def test_no_history_no_proposal():
    """Nothing can be proposed from nothing, or for a window that never ends."""
    with pytest.raises(InvalidParameter, match="Track for a while"):
        propose([])
    with pytest.raises(InvalidParameter):
        exceeding([use("ann", 0)], [1], measure="rho", window="none")


def test_no_analysts_no_share():
    """An empty history has curves of zero."""
    assert set(exceeding([], [1], measure="rho")[0].shares) == {0.0}
