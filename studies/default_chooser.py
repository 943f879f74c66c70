"""The chooser: whether the mechanism that it takes, from declared facts alone, is the best one on logs."""

from __future__ import annotations

import numpy as np

from hushcount.mechanisms.chooser import choose
from hushcount.model.budgets import Budget, epsilon_budget, rho_budget
from hushcount.model.facts import Facts
from hushcount.model.queries import Question
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured
from studies.logs import Log
from studies.study import Scale, Study

LOGS = ("git_commit_words 2-grams", "generated 0.9 8000x40", "definitelytyped_packages")
BUDGETS: dict[str, Budget] = {"rho = 0.1": rho_budget("0.1", "1e-6"), "epsilon = 1": epsilon_budget("1", "1e-6")}
BOUNDS = (1, 2, 3, 10)
RIVALS: dict[str, tuple[str, ...]] = {
    "count": ("gaussian-threshold", "unknown-laplace", "tsgd"),
    "vocab": ("optimal", "weighted-gaussian", "ladder"),
}
# (question, budget, items of a person); and a log before it.
Case = tuple[str, str, int]
Found = dict[tuple[str, str, str, int], dict[str, Measured]]


def default(scale: Scale) -> Findings:
    """All rivals at every bound under both currencies: rows with a count, and names."""
    logs = LOGS[:1] if scale.small else LOGS
    bounds = (1, 3) if scale.small else BOUNDS
    cases = [(question, currency, b) for question in RIVALS for currency in BUDGETS for b in bounds]
    found = {(log, *case): _rivals(scale, scale.log(log), case) for log in logs for case in cases}
    taken = {case: _taken(case) for case in cases}
    lost = _lost(found, taken)
    total = {case: 1 - _mean_share(found, logs, case, taken[case]) for case in cases}
    best = sum(value <= 0.02 for value in lost.values())
    return Findings(
        sentence=(
            f"From declared facts alone the chooser takes the best mechanism, or one within 2 % of it, in {best} of "
            f"{len(lost)} cases; on average over the logs of a case it loses {np.mean(list(total.values())):.1%}, and "
            f"{max(total.values()):.0%} in the worst, where lists are shorter than the bound that was declared."
        ),
        tables=_tables(found, taken, logs),
        charts=tuple(_chart(found, logs, question, currency) for question in RIVALS for currency in BUDGETS),
        claims=(
            Claim(
                "it takes the best, or one within 2 %, in at least two thirds of the cases",
                best >= 2 / 3 * len(lost),
                seen=True,
            ),
            Claim("on average it loses less than 10 %", float(np.mean(list(total.values()))) < 0.1, seen=True),
            Claim(
                "under rho, `count` takes the Gaussian threshold, and it is the best",
                all(_gaussian(total, taken, b) for b in bounds),
            ),
        ),
        remarks=REMARKS,
        settings={
            "budgets": "rho = 0.1, delta = 1e-6; epsilon = 1, delta = 1e-6",
            "runs": f"{len(scale.runs(3))} of each",
            "data": ", ".join(logs),
        },
    )


def _tables(found: Found, taken: dict[Case, str], logs: tuple[str, ...]) -> tuple[Table, ...]:
    lost = _lost(found, taken)
    return (
        Table(
            title="What was taken, and what each rival shows, over the most that any shows",
            words="Rows shown (count) or items named (vocab), mean over the logs of the share of the best.",
            columns=("question", "budget", "items of a person", "taken", "its share", "others"),
            rows=tuple(
                (*case, way, _mean_share(found, logs, case, way), _others(found, logs, case, way))
                for case, way in taken.items()
            ),
        ),
        Table(
            title="Where more than 10 % is lost",
            columns=("data", "question", "budget", "items of a person", "taken", "best", "lost"),
            rows=tuple(
                (*at, taken[at[1:]], _most(found[at]), round(value, 3)) for at, value in lost.items() if value > 0.1
            )
            or (("nowhere", "", "", "", "", "", ""),),
        ),
    )


def _chart(found: Found, logs: tuple[str, ...], question: str, currency: str) -> Chart:
    bounds = list(dict.fromkeys(at[3] for at in found))
    return Chart(
        title=f"{question}, {currency}",
        x="items of a person",
        y="shown, over the most of any",
        series=tuple(
            Series(
                name=way,
                points=tuple(
                    (float(b), _mean_share(found, logs, (question, currency, b), way))
                    for b in bounds
                    if way in found[logs[0], question, currency, b]
                ),
            )
            for way in RIVALS[question]
        ),
    )


def _lost(found: Found, taken: dict[Case, str]) -> dict[tuple[str, str, str, int], float]:
    """What the chosen mechanism shows less than the best, on each log."""
    return {at: 1 - by[taken[at[1:]]].mean / max(one.mean for one in by.values()) for at, by in found.items()}


def _taken(case: Case) -> str:
    question: Question = "count" if case[0] == "count" else "vocab"
    return choose(question, BUDGETS[case[1]], Facts(max_items=case[2])).mechanism.name


def _rivals(scale: Scale, log: Log, case: Case) -> dict[str, Measured]:
    question, currency, bound = case
    ways = [way for way in RIVALS[question] if bound <= 3 or way not in {"optimal", "tsgd"}]
    found = {}
    for way in ways:
        plan = scale.plan(way, BUDGETS[currency], Facts(max_items=bound))
        found[way] = measured(len(scale.run(way, log, plan, seed).items) for seed in scale.runs(3))
    return found


def _mean_share(
    found: Found,
    logs: tuple[str, ...],
    case: Case,
    way: str,
) -> float:
    """The mean over the logs of what one way shows over the most that any does."""
    every = [found[log, *case] for log in logs]
    return float(np.mean([by[way].mean / max(1.0, *(one.mean for one in by.values())) for by in every]))


def _most(by: dict[str, Measured]) -> str:
    return max(by, key=lambda way: by[way].mean)


def _others(
    found: Found,
    logs: tuple[str, ...],
    case: Case,
    way: str,
) -> str:
    rest = [one for one in found[logs[0], *case] if one != way]
    return ", ".join(f"{one} {_mean_share(found, logs, case, one):.2f}" for one in rest)


def _gaussian(total: dict[Case, float], taken: dict[Case, str], bound: int) -> bool:
    case = ("count", "rho = 0.1", bound)
    return taken[case] == "gaussian-threshold" and total[case] < 0.01


REMARKS = (
    (
        "Under (epsilon, delta) with two or three items the chooser assumes that people have as many as "
        "was declared. Where most have one, weights by length would name more; that cannot be known "
        "without looking."
    ),
)

DEFAULT_CHOOSER = Study(
    name="default-chooser",
    title="Ours: the chooser",
    source="ours; LinkedIn's Audience Engagements API, Table 1; partition selection, section 5",
    question="Is the mechanism that is taken from declared facts alone the best one on real lists?",
    run=default,
)
