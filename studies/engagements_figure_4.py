"""Audience Engagements API, Figure 4: UnkLap, noisy against true counts, and how often each item is found."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from hushcount.mechanisms.counts.unknown_domain import UnknownLaplacePlan, difference_tail, plan_unknown_laplace
from hushcount.model.budgets import epsilon_budget
from hushcount.model.inputs import Bound, Histogram
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured, share_of
from studies.study import Scale, Study

DELTA, ROWS, SHOWN = 1e-10, 1000, 400
# Ours is half of LinkedIn's: their noise has scale 2/epsilon_per.
EPSILONS = (0.1, 0.2)
# Of few people nothing would be found at these.
EPSILONS_OF_FEW = (1.0, 2.0)


@dataclass(frozen=True)
class Trials:
    """What some trials at one epsilon_per gave."""

    plan: UnknownLaplacePlan
    found: Counter[str]
    first: dict[str, int]
    cutoff: float
    trials: int
    numbers: Measured


# By rank: the true count, the share of trials in which it was found, and the exact probability.
Shares = list[tuple[int, int, Measured, float]]


def figure_4(scale: Scale) -> Findings:
    """One item of each person: the largest counts, which of them come back, and with what noise."""
    whole = scale.log("reddit_titles")
    salt = b"one item of each"
    log = whole.incidence.histogram(bound=Bound(max_items=1, salt=salt))
    half, whole_epsilon = EPSILONS_OF_FEW if scale.small else EPSILONS
    runs = {e: _trials(scale, log, e) for e in (half, whole_epsilon)}
    shares = {e: _shares(log, one) for e, one in runs.items()}
    exact = {e: sum(chance for *_, chance in _shares(log, one, ROWS)) for e, one in runs.items()}
    even = {e: _even(rows) for e, rows in shares.items()}
    return Findings(
        sentence=(
            f"At epsilon_per = {half} the first {even[half]} items come back in more than half of the trials, at "
            f"{whole_epsilon} the first {even[whole_epsilon]}, and every share is what the exact law of two discrete "
            "Laplace noises says."
        ),
        tables=_tables(runs, shares, exact),
        charts=tuple(chart for e, one in runs.items() for chart in _charts(log, e, one, shares[e])),
        claims=(
            Claim(
                "as many items come back as the exact law says, within five standard errors",
                all(one.numbers.near(exact[e], errors=5) for e, one in runs.items()),
            ),
            Claim("twice the epsilon_per finds more items", even[whole_epsilon] > even[half]),
            Claim(
                "no item comes back that has at most the count behind the fetched rows",
                all(_above(log, one) for one in runs.values()),
            ),
        ),
        remarks=REMARKS,
        settings={
            "delta, rows, items of a person": f"{DELTA}, {ROWS}, 1",
            "epsilon_per": "0.1 and 0.2, which are epsilon 0.05 and 0.1 of `unknown-laplace`",
            "trials": f"{len(scale.runs(1000, 100))}, as in the paper",
            "data": f"{whole.name}, one item of each person",
        },
    )


def _tables(runs: dict[float, Trials], shares: dict[float, Shares], exact: dict[float, float]) -> tuple[Table, ...]:
    even = {e: _even(rows) for e, rows in shares.items()}
    return (
        Table(
            title="Share of trials in which an item is found",
            columns=("epsilon_per", "rank", "true count", "share", "exact"),
            rows=tuple(
                (e, rank, count, share, law)
                for e, rows in shares.items()
                for rank, count, share, law in rows
                if rank in _told(even[e])
            ),
        ),
        Table(
            title="Items in a trial",
            words="The exact law: an item is found if its noise exceeds the threshold's by what it lacks.",
            columns=("epsilon_per", "found", "exact", "found / exact"),
            rows=tuple((e, one.numbers, exact[e], one.numbers / exact[e]) for e, one in runs.items()),
        ),
        Table(
            title="What an item needs",
            words="People above the count behind the fetched rows: as printed (Algorithm 3), and ours.",
            columns=("epsilon_per", "as printed", "ours", "ours / printed"),
            rows=tuple(
                (e, _printed(e), one.plan.offset + 1, (one.plan.offset + 1) / _printed(e)) for e, one in runs.items()
            ),
        ),
    )


def _even(rows: Shares) -> int:
    """How many of the first items come back in more than half of the trials."""
    return next((n for n, row in enumerate(rows) if row[2].mean < 0.5), len(rows))


def _trials(scale: Scale, log: Histogram, epsilon_per: float) -> Trials:
    plan = plan_unknown_laplace(epsilon_budget(epsilon_per / 2, DELTA), 1, rows=ROWS)
    top = Histogram(items=log.items[: ROWS + 1], counts=log.counts[: ROWS + 1], complete=len(log.items) <= ROWS + 1)
    run, found, first, cutoff = scale.find("unknown-laplace").run, Counter[str](), {}, 0.0
    numbers = []
    for seed in (seeds := scale.runs(1000, 100)):
        outcome = run(top, plan, scale.noise(seed))
        found.update(outcome.items.tolist())
        numbers.append(len(outcome.items))
        if seed == seeds[0]:
            assert outcome.counts is not None  # noqa: S101  for the type checker
            first = dict(zip(outcome.items.tolist(), outcome.counts.tolist(), strict=True))
            cutoff = float(outcome.cutoff or 0)
    return Trials(plan, found, first, cutoff, len(seeds), measured(numbers))


def _shares(log: Histogram, one: Trials, most: int = SHOWN) -> Shares:
    """By rank: the true count, the share of trials in which it was found, and the exact probability."""
    behind = int(log.counts[ROWS]) if len(log.counts) > ROWS else 0
    rows = []
    for rank, item in enumerate(log.items[:most].tolist()):
        count = int(log.counts[rank])
        gap = behind + 1 + one.plan.offset - count
        rate = float(one.plan.epsilon)
        exact = difference_tail(rate, gap) if gap >= 0 else 1 - difference_tail(rate, -gap - 1)
        rows.append((rank + 1, count, share_of(one.found[item], one.trials), exact))
    return rows


def _above(log: Histogram, one: Trials) -> bool:
    behind = int(log.counts[ROWS]) if len(log.counts) > ROWS else 0
    low = {str(item) for item, count in zip(log.items, log.counts, strict=True) if count <= behind}
    return not low & set(one.found)


def _printed(epsilon_per: float) -> float:
    """Algorithm 3: 1 + 2 ln(1/dhat)/epsilon_per, delta = dhat/4 (e^(epsilon_per/2) + 1)(3 + ln(1/dhat))."""
    low, high = 1e-30, DELTA
    for _ in range(200):
        middle = math.sqrt(low * high)
        fits = middle / 4 * (math.exp(epsilon_per / 2) + 1) * (3 + math.log(1 / middle)) <= DELTA
        low, high = (middle, high) if fits else (low, middle)
    return 1 + 2 * math.log(1 / low) / epsilon_per


def _told(even: int) -> set[int]:
    return {1, 10, 50, SHOWN, *range(max(1, even - 6), even + 7, 3)}


def _charts(log: Histogram, epsilon: float, one: Trials, rows: Shares) -> tuple[Chart, ...]:
    noisy = [
        (rank + 1.0, float(one.first[str(item)]))
        for rank, item in enumerate(log.items[:SHOWN])
        if str(item) in one.first
    ]
    counts = (
        Series(name="true count", points=tuple((float(rank), float(count)) for rank, count, *_ in rows)),
        Series(name="noisy count, one trial", points=tuple(noisy), dots=True),
    )
    shares = (
        Series(name="share of trials", points=tuple((float(rank), share.mean) for rank, _, share, _ in rows)),
        Series(name="exact", points=tuple((float(rank), exact) for rank, _, _, exact in rows), dashed=True),
    )
    return (
        Chart(title=f"Counts, epsilon_per = {epsilon}", x="rank", y="people", series=counts, log_y=True),
        Chart(title=f"Found, epsilon_per = {epsilon}", x="rank", y="share of trials", series=shares),
    )


REMARKS = (
    (
        "Data: the paper counts job titles of members who read about privacy or California. Here one word "
        "of each of a million Reddit titles stands in: one item of each person, as there."
    ),
    (
        "Errata 5 and 43: ours is higher than printed, since the union is over all fetched rows and not "
        "over the items of one person: with the strict test for ties the printed one spends up to 28 times "
        "its delta."
    ),
)

ENGAGEMENTS_FIGURE_4 = Study(
    name="engagements-figure-4",
    title="Audience Engagements, Figure 4: counts of an unknown domain",
    source="LinkedIn's Audience Engagements API (Rogers and others 2020), Figure 4",
    question="Which of the largest counts come back, how often, and how noisy, where each person has one item?",
    run=figure_4,
)
