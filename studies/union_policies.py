"""Set union, Table 4 and Figure 12: whether a second pass over people helps, and how high the cap should be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hushcount.mechanisms.selection.union import UnionPlan
from hushcount.model.budgets import epsilon_budget
from hushcount.model.facts import Facts
from studies import plain
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured
from studies.logs import Log
from studies.study import Scale, Study

BUDGET, BOUND = ("3", f"{math.exp(-10):.12e}"), 100
ALPHAS, BOUNDS = (0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0), (1, 10, 50, 100)
WAYS = ("policy-laplace", "policy-gaussian", "policy-ks")
# Table 4 of the paper, one pass and two; its rows from 100 on are void (erratum 27).
PAPER = {
    ("policy-laplace", 1): (4236, 4257),
    ("policy-laplace", 10): (12452, 12389),
    ("policy-laplace", 50): (15056, 15080),
    ("policy-gaussian", 1): (3135, 3131),
    ("policy-gaussian", 10): (10784, 10817),
    ("policy-gaussian", 50): (15763, 15809),
}


def policies(scale: Scale) -> Findings:
    """Our policies with other caps; the plain ones with one pass and with two."""
    log = scale.log("git_commit_words")
    by_alpha = {(way, a): _with_cap(scale, log, way, a) for way in WAYS for a in ALPHAS}
    few = scale.log("git_commit_words of 8000")
    bounds = (10,) if scale.small else BOUNDS
    passes = {(way, b, n): _passes(scale, few, (way, b, n)) for way in WAYS[:2] for b in bounds for n in (1, 2)}
    best = {way: max((by_alpha[way, a].mean, a) for a in ALPHAS)[1] for way in WAYS}
    ours = {"policy-laplace": 5.0, "policy-gaussian": 3.0, "policy-ks": 2.0}
    lost = {way: 1 - by_alpha[way, ours[way]].mean / by_alpha[way, best[way]].mean for way in WAYS}
    apart = {(way, b): _apart(passes[way, b, 1], passes[way, b, 2]) for way, b, n in passes if n == 1}
    return Findings(
        sentence=(
            f"A second pass over people changes nothing that {len(apart)} comparisons could see (the largest "
            f"difference is {max(apart.values()):.1f} standard errors), as the paper says; and our caps of 5, 3 and "
            f"2 scales above the threshold lose at most {max(lost.values()):.1%} against the best cap tried."
        ),
        tables=(
            _table_4(passes, apart),
            Table(
                title="The cap, in scales above the threshold (Figure 12)",
                columns=("alpha", *WAYS),
                rows=tuple((a, *(by_alpha[way, a] for way in WAYS)) for a in ALPHAS),
            ),
        ),
        charts=(
            Chart(
                title="Items named by the cap",
                x="alpha: cap in noise scales above the threshold",
                y="items named",
                series=tuple(
                    Series(name=way, points=tuple((a, by_alpha[way, a].mean) for a in ALPHAS)) for way in WAYS
                ),
            ),
        ),
        claims=(
            Claim("two passes name as many as one, within four standard errors", max(apart.values()) < 4),
            Claim(
                "a cap at the threshold itself names less than the best",
                all(by_alpha[w, 0.0].mean < by_alpha[w, best[w]].mean for w in WAYS),
            ),
            Claim("our caps name at most 12 % less than the best tried", max(lost.values()) < 0.12, seen=True),
        ),
        remarks=REMARKS,
        settings={
            "budget": "epsilon = 3, delta = e^-10",
            "runs": f"{len(scale.runs(3))} of each",
            "data": f"{log.name}, {few.name}",
        },
    )


def _table_4(passes: dict[tuple[str, int, int], Measured], apart: dict[tuple[str, int], float]) -> Table:
    rows = []
    for (way, bound), distance in apart.items():
        one, two = (passes[way, bound, n] for n in (1, 2))
        first, second = PAPER.get((way, bound), (None, None))
        printed = second / first if first and second else None
        rows.append((way, bound, one, two, two / one, distance, printed, two / one / printed if printed else None))
    return Table(
        title="One pass and two (Table 4)",
        words="The plain algorithms in NumPy, cap 2 scales above the threshold, as in the paper.",
        columns=(
            "policy",
            "bound",
            "1 pass",
            "2 passes",
            "2 / 1",
            "standard errors apart",
            "2 / 1, paper",
            "ours / paper",
        ),
        rows=tuple(rows),
    )


def _with_cap(scale: Scale, log: Log, way: str, alpha: float) -> Measured:
    plan = scale.plan(way, epsilon_budget(*BUDGET), Facts(max_items=BOUND))
    assert isinstance(plan, UnionPlan)  # noqa: S101  for the type checker
    return scale.named(way, log, replace(plan, full=plan.threshold + alpha * plan.noise_scale), scale.runs(3))


def _passes(scale: Scale, log: Log, at: tuple[str, int, int]) -> Measured:
    way, bound, times = at
    plan = scale.plan(way, epsilon_budget(*BUDGET), Facts(max_items=bound))
    assert isinstance(plan, UnionPlan)  # noqa: S101  for the type checker
    given, full = plain.pairs(log), plan.threshold + 2 * plan.noise_scale
    found = []
    for seed in scale.runs(3):
        chance = np.random.default_rng(seed)
        if way == "policy-gaussian":
            weight = plain.l2_descent(given, full, most=bound, chance=chance, passes=times)
            noise = chance.normal(0, plan.noise_scale, given.items)
        else:
            weight = plain.l1_descent(given, full, most=bound, chance=chance, passes=times)
            noise = chance.laplace(0, plan.noise_scale, given.items)
        found.append(plain.named_by_noise(weight, noise, plan.threshold))
    return measured(found)


def _apart(one: Measured, other: Measured) -> float:
    return abs(one.mean - other.mean) / (math.hypot(one.error, other.error) or 1.0)


REMARKS = (
    "Erratum 27: rows 100 and more of the paper's Table 4 are the same for both policies, so no target.",
    ("Erratum 26: the paper's alpha is 5 or 3 for Policy Laplace, depending on the place; both are in the curve."),
    ("Data: the stand-in has authors of commit messages; for passes 8,000 of them, visited in plain Python."),
)

UNION_POLICIES = Study(
    name="union-policies",
    title="Set union, Table 4 and Figure 12: passes and caps",
    source="Differentially private set union (Gopi and others 2020), Table 4 and Figure 12",
    question="Does a second pass over people help, and how high should the cap of a policy be?",
    run=policies,
)
