"""Audience Engagements API: Table 2's month, as printed and as tight, and Algorithm 5 until it overspends."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np

from hushcount.accounting import convert, units
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, share_of
from studies.study import Scale, Study

MONTH = units.Units(information=3000, calls=30, epsilon_per=Decimal("0.15"), delta_per_call=Decimal("1e-10"))
TOTAL_DELTA, PAPER = "7e-9", 34.9
DELTAS = ("6.1e-9", "7e-9", "1e-8", "1e-7", "1e-6")
# (k*, questions): how an analyst asks. The paper's k* = 3000 is even, so lists of one length use it up exactly.
ASKED = {"always a top 50": (50,), "always a top 100": (100,), "top 10, 25, 50 or 100": (10, 25, 50, 100)}


def budget(scale: Scale) -> Findings:
    """The month in four readings; then thousands of analysts against both checks."""
    promise = units.guarantee(MONTH, TOTAL_DELTA)
    curve = {delta: units.guarantee(MONTH, delta) for delta in DELTAS}
    analysts = len(scale.runs(2000, 300))
    runs = {
        (how, check): [_spend(ks, _CHECKS[check], np.random.default_rng(seed)) for seed in range(analysts)]
        for how, ks in ASKED.items()
        for check in _CHECKS
    }
    over = {at: share_of(sum(left < 0 for left in lefts), analysts) for at, lefts in runs.items()}
    worst = {at: min(lefts) for at, lefts in runs.items()}
    most = max(share.mean for (_, check), share in over.items() if check == "as printed")
    return Findings(
        sentence=(
            f"LinkedIn's month is ({promise.tight:.2f}, {TOTAL_DELTA})-DP where the paper prints {PAPER}: its "
            f"formula gives {promise.printed:.2f}, the tight conversion {promise.converted:.2f}, and delta counted "
            f"once {promise.tight:.2f}; its Algorithm 5 as printed overspends by a unit for up to {most:.0%} of "
            "simulated analysts, as corrected for none."
        ),
        tables=_tables(promise, over, worst),
        charts=(
            Chart(
                title="Epsilon of the month",
                x="total delta",
                y="epsilon",
                log_x=True,
                series=tuple(
                    Series(name=name, points=tuple((float(d), getattr(one, what)) for d, one in curve.items()))
                    for name, what in (
                        ("as printed", "printed"),
                        ("tight, 2 l* delta", "converted"),
                        ("tight, l* delta", "tight"),
                    )
                ),
            ),
        ),
        claims=(
            Claim("the printed formula gives the printed 34.9, to its digits", round(promise.printed, 1) == PAPER),
            Claim(
                "the tight readings are 33.78 and 32.86",
                _rounded(promise.converted) == 33.78 and _rounded(promise.tight) == 32.86,
            ),
            Claim(
                "as printed, some analysts end with a unit less than none",
                min(worst[at] for at in worst if at[1] == "as printed") == -1,
            ),
            Claim("as corrected, nobody does", all(left >= 0 for at, left in worst.items() if at[1] == "as corrected")),
        ),
        remarks=REMARKS,
        settings={
            "budget": "k* = 3000, l* = 30, epsilon_per = 0.15, delta = 1e-10 for a call, total delta 7e-9",
            "analysts": (
                f"{analysts:,} of each kind, each until a question is refused; with probability 0.8 a list is full"
            ),
        },
    )


def _tables(
    promise: units.Promise, over: dict[tuple[str, str], Measured], worst: dict[tuple[str, str], int]
) -> tuple[Table, ...]:
    more = convert.epsilon_for(Decimal(3001) * Decimal("0.0028125"), delta0="3e-9", total_delta=TOTAL_DELTA)
    return (
        Table(
            title="Table 2, the month",
            columns=("reading", "epsilon", "paper", "ratio"),
            rows=(
                ("equation (6.1), as printed", promise.printed, PAPER, promise.printed / PAPER),
                ("tight conversion, 2 l* delta for the calls", promise.converted, PAPER, promise.converted / PAPER),
                (
                    "tight conversion, l* delta for the calls (erratum 7)",
                    promise.tight,
                    PAPER,
                    promise.tight / PAPER,
                ),
                ("the same after Algorithm 5 overspent by one unit", more, PAPER, more / PAPER),
            ),
        ),
        Table(
            title="Algorithm 5: analysts who ask until they are refused",
            words="A list of k items without bottom uses 2k + 1 units; the printed check lets it run on 2k.",
            columns=("asked", "check", "overspent", "units left, at worst"),
            rows=tuple((how, check, over[how, check], worst[how, check]) for how, check in over),
        ),
    )


_CHECKS: dict[str, Callable[[int, int], bool]] = {
    "as printed": lambda k, left: 2 * k <= left,
    "as corrected": lambda k, left: units.unknown_gumbel(k) <= left,
}


def _spend(ks: tuple[int, ...], may: Callable[[int, int], bool], chance: np.random.Generator) -> int:
    """Units left when the first question is refused; calls are not looked at, so that information alone decides."""
    left = MONTH.information
    while may(k := int(chance.choice(ks)), left):
        full = chance.random() < 0.8
        found = k if full else int(chance.integers(0, k))
        left -= units.unknown_gumbel_used(found, bottom=not full)
    return left


def _rounded(epsilon: float) -> float:
    return round(epsilon, 2)


REMARKS = (
    "Errata 7 and 10: Theorem 2 charges 2 delta for a call; as approximate zCDP it is delta.",
    "Erratum 3: the printed check is `2k > k*`, for a list that may use 2k + 1 units; ours reserves 2k + 1.",
    "Other rows of Table 2 are other systems' own statements, which nothing here can check.",
)

ENGAGEMENTS_BUDGET = Study(
    name="engagements-budget",
    title="Audience Engagements, Table 2 and Algorithm 5: the month",
    source="LinkedIn's Audience Engagements API (Rogers and others 2020), Table 2, Theorem 2 and Algorithm 5",
    question="What does a month of LinkedIn's budget guarantee, and does its budget system keep to it?",
    run=budget,
)
