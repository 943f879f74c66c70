"""Audience Engagements API, section 8.3: the three attacks, by simulated attackers in the place of approximations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

import numpy as np
from scipy import stats

from hushcount.accounting.attacks import averaging_success, differencing_results, near_count, unique_count_shown
from hushcount.mechanisms.topk.unknown_domain import unknown_gumbel_at
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Histogram, Items
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured, share_of
from studies.study import Scale, Study

EPSILON, REPEATS = 0.15, 30
# What the paper states: 11.5 % by a normal approximation, p = 0.0368 and 738 results, l* delta e^-epsilon.
PAPER_AVERAGING, PAPER_NEAR, PAPER_RESULTS = 0.115, 0.0368, 738
UNIQUE, UNIQUE_DELTA, UNIQUE_EPSILONS = 100, 0.02, (0.15, 0.5, 1.0, 2.0, 4.0)


def attacks(scale: Scale) -> Findings:
    """Average thirty answers; difference two top lists; look for counts of one person."""
    averaged = {name: _averaging(scale, name) for name in ("known-laplace", "known-gumbel")}
    near, both = _differencing(scale)
    shown = {e: _unique(scale, e) for e in scale.some(UNIQUE_EPSILONS, 2)}
    said = _paper_unique(shown)
    return Findings(
        sentence=(
            f"Thirty averaged answers show the true count to {averaged['known-laplace'].mean:.1%} of attackers with "
            f"the paper's Laplace noise (it states 11.5 %) and to {averaged['known-gumbel'].mean:.1%} with our "
            f"Gaussian noise; two differing top {PAPER_RESULTS} lists have {both.mean:.2f} counts near the truth in "
            "both (it allows one); and a count of one person is shown up to "
            f"{max(shown[e].mean / said[e] for e in shown):.1f} times as often as the paper says, though never more "
            "often than delta."
        ),
        tables=_tables(averaged, (near, both), shown),
        charts=(_unique_chart(shown), _averages_chart()),
        claims=_claims(averaged, near, shown),
        remarks=REMARKS,
        settings={
            "epsilon_per": f"{EPSILON}; of the third attack as in its table",
            "attackers": f"{len(scale.runs(4000, 400)):,} who average, {len(scale.runs(60, 4))} pairs of lists, "
            f"{len(scale.runs(4000, 600)):,} who look for one person",
            "mechanisms": "known-laplace at epsilon_per/2, known-gumbel and unknown-gumbel at epsilon_per",
        },
    )


def _tables(
    averaged: dict[str, Measured], differenced: tuple[Measured, Measured], shown: dict[float, Measured]
) -> tuple[Table, ...]:
    near, both = differenced
    said, exact, most = _paper_unique(shown), averaging_success(EPSILON, REPEATS), differencing_results(EPSILON)
    return (
        Table(
            title="Averaging: 30 fresh answers about the same data (8.3.1)",
            columns=("noise of a count", "simulated", "paper", "simulated / paper", "by formula"),
            rows=(
                (
                    "Laplace of scale 2/epsilon, as in the paper",
                    averaged["known-laplace"],
                    PAPER_AVERAGING,
                    averaged["known-laplace"] / PAPER_AVERAGING,
                    _laplace_mean(),
                ),
                ("Gaussian of deviation 2/epsilon, ours", averaged["known-gumbel"], None, None, exact),
            ),
        ),
        Table(
            title="Differencing: two top lists that differ by one person (8.3.2)",
            words="Ours is Gaussian noise, which has less of its mass in the middle than the paper's Laplace noise.",
            columns=("", "simulated", "paper", "simulated / paper"),
            rows=(
                ("share of counts within ½ of the truth", near, PAPER_NEAR, near / PAPER_NEAR),
                (f"counts near in both lists of {PAPER_RESULTS}", both, 1, both / 1),
                ("largest k with less than one expected", most, PAPER_RESULTS, most / PAPER_RESULTS),
            ),
        ),
        Table(
            title="Counts of one person (8.3.3)",
            words=(
                f"{UNIQUE} items of one person each, delta = {UNIQUE_DELTA} so that it can be seen; at 1e-10 alike."
            ),
            columns=("epsilon_per", "simulated", "paper: delta e^-epsilon", "ours: delta", "simulated / paper"),
            rows=tuple(
                (e, share, said[e], unique_count_shown(UNIQUE_DELTA, calls=1), share / said[e])
                for e, share in shown.items()
            ),
        ),
    )


def _unique_chart(shown: dict[float, Measured]) -> Chart:
    return Chart(
        title="A count of one person is shown",
        x="epsilon_per",
        y="probability",
        series=(
            Series(
                name="simulated, ± 2 errors",
                points=tuple((e, share.mean) for e, share in shown.items()),
                band=tuple((s.mean - 2 * s.error, s.mean + 2 * s.error) for s in shown.values()),
            ),
            Series(name="paper: delta e^-epsilon", points=tuple(_paper_unique(shown).items()), dashed=True),
            Series(name="ours: delta", points=tuple((e, UNIQUE_DELTA) for e in shown), dashed=True),
        ),
    )


def _paper_unique(shown: Iterable[float]) -> dict[float, float]:
    """What the paper says of a list (8.3.3), by epsilon_per."""
    return {e: UNIQUE_DELTA * math.exp(-e) for e in shown}


def _claims(averaged: dict[str, Measured], near: Measured, shown: dict[float, Measured]) -> tuple[Claim, ...]:
    said, exact = _paper_unique(shown), averaging_success(EPSILON, REPEATS)
    return (
        Claim(
            "averaging Laplace noise works as often as 30 simulated noises say",
            averaged["known-laplace"].near(_laplace_mean(), errors=4),
        ),
        Claim("averaging our noise works as often as our formula says", averaged["known-gumbel"].near(exact, errors=4)),
        Claim(
            "our formula for a near count errs to the safe side of our noise",
            near.mean <= near_count(EPSILON) + 4 * near.error,
        ),
        Claim(
            "a count of one person is never shown more often than delta",
            all(s.mean <= UNIQUE_DELTA + 4 * s.error for s in shown.values()),
        ),
        Claim("erratum 42: above epsilon_per = 1 it is shown more often than the paper says", _over(shown, said)),
    )


def _averaging(scale: Scale, name: str) -> Measured:
    """Attackers get 30 answers about items that everybody knows, and round the mean."""
    attackers = len(scale.runs(4000, 400))
    items = _items(attackers)
    counts = np.full(attackers, 10_000, dtype=np.int64)
    public = Histogram(items=items, counts=counts, complete=True)
    # A top list of all items has as many choices as counts, each a unit; Laplace counts of one item each one of half.
    units = rho_budget(2 * attackers * EPSILON**2 / 8, "1e-9")
    budget = units if name == "known-gumbel" else epsilon_budget(EPSILON / 2, "1e-9")
    plan = scale.plan(name, budget, Facts(k=attackers, max_items=1, public_items=items))
    total = np.zeros(attackers)
    for day in range(REPEATS):
        outcome = scale.find(name).run(public, plan, scale.noise(day))
        assert outcome.counts is not None  # noqa: S101  for the type checker
        order = np.argsort(outcome.items.astype(str))
        total += outcome.counts[order]
    return share_of(int(np.count_nonzero(np.abs(total / REPEATS - 10_000) < 0.5)), attackers)


def _laplace_mean() -> float:
    """P[|mean of 30 Laplace noises| < ½], by two million draws of their own: the paper approximates it."""
    chance = np.random.default_rng(8)
    means = chance.laplace(0, 2 / EPSILON, (30_000, REPEATS)).mean(axis=1)
    return float(np.mean(np.abs(means) < 0.5))


def _differencing(scale: Scale) -> tuple[Measured, Measured]:
    """Two top lists with counts; how many of both are so near that rounding shows the truth."""
    items = _items(PAPER_RESULTS)
    counts = np.arange(60_000, 60_000 + 40 * PAPER_RESULTS, 40, dtype=np.int64)
    table = Histogram(items=items, counts=counts, complete=True)
    true = dict(zip(items.tolist(), counts.tolist(), strict=True))
    plan = unknown_gumbel_at(Decimal(str(EPSILON)), Decimal("1e-10"), Facts(k=PAPER_RESULTS))
    run, shares, twice = scale.find("unknown-gumbel").run, [], []
    for pair in scale.runs(60, 4):
        lists = []
        for turn in (0, 1):
            outcome = run(table, plan, scale.noise(2 * pair + turn))
            assert outcome.counts is not None  # noqa: S101  for the type checker
            shown = zip(outcome.items.tolist(), outcome.counts.tolist(), strict=True)
            lists.append({item for item, count in shown if abs(count - true[item]) < 0.5})
        shares += [len(one) / PAPER_RESULTS for one in lists]
        twice.append(len(lists[0] & lists[1]))
    return measured(shares), measured(twice)


def _unique(scale: Scale, epsilon: float) -> Measured:
    """How often a top list shows any of a hundred items of one person each."""
    items = _items(UNIQUE)
    table = Histogram(items=items, counts=np.ones(UNIQUE, dtype=np.int64), complete=True)
    plan = unknown_gumbel_at(
        Decimal(str(epsilon)), Decimal(str(UNIQUE_DELTA)), Facts(k=UNIQUE, with_counts=False), rows=1000
    )
    run, seeds = scale.find("unknown-gumbel").run, scale.runs(4000, 600)
    return share_of(sum(bool(len(run(table, plan, scale.noise(seed)).items)) for seed in seeds), len(seeds))


def _over(shown: dict[float, Measured], said: dict[float, float]) -> bool:
    return all(share.mean - 2 * share.error > said[e] for e, share in shown.items() if e > 1)


def _items(number: int) -> Items:
    return np.array([f"item {n:06}" for n in range(number)], dtype=object)


def _averages_chart() -> Chart:
    """How the chance to see the true count grows with the answers that are averaged."""
    repeats = (1, 2, 5, 10, 20, 30, 60, 120)
    normal = [1 - 2 * float(stats.norm.sf(EPSILON * math.sqrt(n) / (4 * math.sqrt(2)))) for n in repeats]
    return Chart(
        title="Averaging at epsilon_per = 0.15",
        x="answers averaged",
        y="chance to see the true count",
        log_x=True,
        series=(
            Series(
                name="Laplace, the paper's approximation", points=tuple(zip(map(float, repeats), normal, strict=True))
            ),
            Series(name="our Gaussian noise", points=tuple((float(n), averaging_success(EPSILON, n)) for n in repeats)),
        ),
    )


REMARKS = (
    "8.3.1: the paper's 11.5 % is a normal approximation; thirty Laplace noises are not quite normal.",
    (
        "Ours is another noise: a Gaussian at the same cost has 0.71 times the deviation, so counts are "
        "sharper for analysts, and for attackers."
    ),
    (
        "Erratum 42: the paper takes a boundary count of one for the worst case; with fewer items than are "
        "fetched it is zero, and the bound is delta itself."
    ),
)

ENGAGEMENTS_ATTACKS = Study(
    name="engagements-attacks",
    title="Audience Engagements: three attacks",
    source="LinkedIn's Audience Engagements API (Rogers and others 2020), sections 8.3.1 to 8.3.3",
    question="How often do the three attacks work that LinkedIn's parameters were chosen by?",
    run=attacks,
)
