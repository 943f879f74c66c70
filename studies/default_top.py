"""The default of `top`: how much of the true top comes back, by comparison, by naming, and by both."""

from __future__ import annotations

from decimal import Decimal

from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Items
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured
from studies.logs import Log
from studies.study import Scale, Study

LOGS = (
    "git_commit_words 2-grams",
    "generated 0.9 8000x40",
    "movielens_1m x 3",
)
KS = (10, 100, 1000)
RHOS = ("0.01", "0.1")
NAMED = "name, then choose"
WAYS = ("unknown-gumbel", NAMED, "hybrid-top")


def default(scale: Scale) -> Findings:
    """The share of the true top k that is found, names only."""
    logs = LOGS[:1] if scale.small else LOGS
    ks = (10, 50, 200) if scale.small else KS
    rhos = ("0.1",) if scale.small else RHOS
    found = {
        (log, rho, k, way): _recall(scale, scale.log(log), way, (rho, k))
        for log in logs
        for rho in rhos
        for k in ks
        for way in WAYS
    }
    cases = sorted({at[:3] for at in found})
    lost = {at: max(found[*at, way].mean for way in WAYS[:2]) - found[*at, "hybrid-top"].mean for at in cases}
    long = [
        found[log, "0.1", ks[-1], "hybrid-top"].mean - found[log, "0.1", ks[-1], "unknown-gumbel"].mean for log in logs
    ]
    return Findings(
        sentence=(
            f"Over {len(cases)} cases the two-part top list finds at most {max(lost.values()):.3f} of the list less "
            f"than the better of its parts would alone, and of a top {ks[-1]:,} {min(long):.2f} to {max(long):.2f} "
            "more than the comparison alone at a standard release."
        ),
        tables=(
            Table(
                title="Share of the true top k that is found, names only",
                words="Name, then choose: half of rho for the ladder, half for choosing k of what it named.",
                columns=("data", "rho", "k", *WAYS),
                rows=tuple((*at, *(found[*at, way] for way in WAYS)) for at in cases),
            ),
        ),
        charts=tuple(
            Chart(
                title=f"{log}, rho = 0.1",
                x="k",
                y="share of the true top",
                log_x=True,
                series=tuple(
                    Series(name=way, points=tuple((float(k), found[log, "0.1", k, way].mean) for k in ks))
                    for way in WAYS
                ),
            )
            for log in logs[:4]
        ),
        claims=(
            Claim(
                "the two-part list is at most a quarter of it below the better of both ways, everywhere",
                max(lost.values()) <= 0.25,
            ),
            Claim("of the longest list it finds more than the comparison alone, on every log", min(long) > 0),
        ),
        remarks=("Delta is 1e-6 in all cases.",),
        settings={
            "budget": f"rho = {', '.join(rhos)}; delta = 1e-6; no counts",
            "runs": f"{len(scale.runs(3))} of each",
            "data": ", ".join(logs),
        },
    )


def _recall(scale: Scale, log: Log, way: str, at: tuple[str, int]) -> Measured:
    rho, k = at
    k = min(k, len(log.histogram.items))
    ask = _name_then_choose if way == NAMED else _ask
    # Whoever has as many people as the last of the top is as good as that one.
    least = int(log.histogram.counts[k - 1])
    runs = (log.true_counts(ask(scale, log, way, (rho, k, seed))) for seed in scale.runs(3))
    return measured(min(1.0, int((counts >= least).sum()) / k) for counts in runs)


def _ask(scale: Scale, log: Log, way: str, at: tuple[str, int, int]) -> Items:
    rho, k, seed = at
    plan = scale.plan(way, rho_budget(rho, "1e-6"), Facts(k=k, with_counts=False))
    return scale.run(way, log, plan, seed).items


def _name_then_choose(scale: Scale, log: Log, _: str, at: tuple[str, int, int]) -> Items:
    """What one would build of two mechanisms: names first, then the exponential mechanism among them."""
    rho, k, seed = at
    half = rho_budget(Decimal(rho) / 2, "1e-6")
    named = scale.run("ladder", log, scale.plan("ladder", half), seed).items
    if len(named) <= k:
        return named
    plan = scale.plan("known-gumbel", half, Facts(k=k, with_counts=False, public_items=named))
    return scale.run("known-gumbel", log, plan, seed).items


DEFAULT_TOP = Study(
    name="default-top",
    title="Ours: the default of top",
    source="ours",
    question="How much of the true top comes back?",
    run=default,
)
