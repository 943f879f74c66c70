"""Optimal partition selection, Figure 4: several items of each person, by splitting the budget or by weighting."""

from __future__ import annotations

import math

from hushcount.mechanisms.selection.optimal import midpoint, plan_optimal
from hushcount.mechanisms.selection.union import plan_union
from hushcount.model.budgets import epsilon_budget
from hushcount.model.facts import Facts
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, firsts
from studies.keeping import gaussian_of_counts
from studies.study import Scale, Study

BUDGETS = ((1.0, 1e-5), (0.5, 1e-8), (0.1, 1e-10))
KAPPAS = (1, 2, 3, 4, 5, 7, 10)
LOGS = ("definitelytyped_packages", "git_commit_words", "amazon_cds")
ON_DATA = (1, 2, 3, 5, 10)
WAYS = ("optimal", "weighted-gaussian", "count-gaussian", "ladder")
# (epsilon and delta, kappa) to the people for even odds, by each way.
Mids = dict[tuple[tuple[float, float], int], dict[str, float]]


def figure_4(scale: Scale) -> Findings:
    """Mid-points from the plans, and items named on logs whose lists are cut to kappa."""
    budgets = BUDGETS[:1] if scale.small else BUDGETS
    mids = {(budget, kappa): _midpoints(budget, kappa) for budget in budgets for kappa in KAPPAS}
    logs = LOGS[:1] if scale.small else LOGS
    named = {(log, kappa): _named(scale, log, kappa) for log in logs for kappa in scale.some(ON_DATA)}
    cross = {
        budget: next((k for k in KAPPAS if mids[budget, k]["gaussian"] < mids[budget, k]["optimal"]), 99)
        for budget in budgets
    }
    best = {at: _most(found) for at, found in named.items()}
    return Findings(
        sentence=(
            "Splitting the budget among kappa items is best for one and two items of each person, and Gaussian "
            f"noise needs fewer people from kappa = {', '.join(str(k) for k in sorted(set(cross.values())))} on, "
            "as the paper recommends from four on; on logs pi_opt names the most where people have one item, "
            "and weights do from three on."
        ),
        tables=_tables(mids, named),
        charts=_charts(mids),
        claims=(
            Claim(
                "for one and two items splitting pi_opt needs the fewest people",
                all(_split_wins(mids, b) for b in budgets),
            ),
            Claim("Gaussian noise needs fewer from kappa = 4 on, as the paper recommends", set(cross.values()) == {4}),
            Claim(
                "on logs, weights by length name no less than weights by the bound, within four standard errors",
                all(
                    f["weighted-gaussian"].mean > f["count-gaussian"].mean
                    or f["weighted-gaussian"].near(f["count-gaussian"])
                    for f in named.values()
                ),
            ),
            Claim(
                "with one item of each person pi_opt names the most, on every log",
                all(best[log, k] == "optimal" for log, k in best if k == 1),
            ),
        ),
        remarks=REMARKS,
        settings={
            "mid-points": "exact, from our plans",
            "runs on logs": f"{len(scale.runs(5))} of each",
            "data": ", ".join(logs),
        },
    )


def _tables(mids: Mids, named: dict[tuple[str, int], dict[str, Measured]]) -> tuple[Table, ...]:
    epsilon, delta = next(iter(mids))[0]
    return (
        Table(
            title="People for even odds (Figure 4)",
            words=(
                "A person in kappa items counts as one in each. Optimal and Laplace split; Gaussian does not have to."
            ),
            columns=("epsilon", "delta", "kappa", "optimal, split", "laplace", "gaussian"),
            rows=tuple(
                (*budget, kappa, mid["optimal"], mid["laplace"], mid["gaussian"])
                for (budget, kappa), mid in mids.items()
            ),
        ),
        Table(
            title="Items named, lists cut to kappa",
            words=f"epsilon = {epsilon}, delta = {delta}; optimal is for at most three items.",
            columns=("data", "kappa", *WAYS, "most"),
            rows=tuple((log, k, *(found.get(way) for way in WAYS), _most(found)) for (log, k), found in named.items()),
        ),
    )


def _charts(mids: Mids) -> tuple[Chart, ...]:
    return (
        *(
            Chart(
                title=f"epsilon = {budget[0]}, delta = {budget[1]}",
                x="items of each person",
                y="people for even odds",
                series=tuple(
                    Series(name=way, points=tuple((float(k), mids[budget, k][way]) for k in KAPPAS))
                    for way in ("optimal", "laplace", "gaussian")
                ),
            )
            for budget in firsts(mids)
        ),
    )


def _midpoints(budget: tuple[float, float], kappa: int) -> dict[str, float]:
    epsilon, delta = budget
    whole = epsilon_budget(str(epsilon), str(delta))
    laplace = plan_union("count", "laplace", whole, max_items=kappa)
    if kappa <= 3:
        optimal = float(midpoint(plan_optimal(whole, kappa)))
    else:
        # Our mechanism refuses more than three; its table for one of kappa equal parts is the same thing.
        optimal = float(midpoint(plan_optimal(epsilon_budget(str(epsilon / kappa), f"{delta / kappa:.6e}"), 1)))
    # A count's threshold: a weight of one is kappa people with kappa items each.
    return {
        "optimal": optimal,
        "laplace": float(math.ceil(laplace.threshold * kappa)),
        "gaussian": gaussian_of_counts(epsilon, delta, kappa),
    }


def _named(scale: Scale, log: str, kappa: int) -> dict[str, Measured]:
    budget, facts = epsilon_budget("1", "1e-5"), Facts(max_items=kappa)
    ways = WAYS if kappa <= 3 else WAYS[1:]
    return {way: scale.named(way, scale.log(log), scale.plan(way, budget, facts), scale.runs(5)) for way in ways}


def _most(found: dict[str, Measured]) -> str:
    return max(found, key=lambda way: found[way].mean)


def _split_wins(mids: Mids, budget: tuple[float, float]) -> bool:
    return all(mids[budget, k]["optimal"] == min(mids[budget, k].values()) for k in (1, 2))


REMARKS = (
    (
        "Where most people have fewer items than the bound (definitelytyped_packages), weights win from two "
        "items on: a split pays for items that nobody has, and mid-points do not see that."
    ),
    (
        "Erratum 20: the budget is split as (epsilon/kappa, delta/kappa); the paper and Google's code split "
        "delta by 1 - (1 - delta)^(1/kappa), which differs by less than delta²."
    ),
    "The ladder is planned for one release under (epsilon, delta), by the order that its conversion needs.",
)

PARTITION_FIGURE_4 = Study(
    name="partition-figure-4",
    title="Partition selection, Figure 4: several items of each person",
    source="Differentially private partition selection (Desfontaines, Voss, Gipson and Mandayam 2022), Figure 4",
    question="From how many items of a person on is it better to weigh than to split the budget?",
    run=figure_4,
    reads=("optimal", "count-laplace", "gaussian-threshold"),
)
