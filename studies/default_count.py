"""The default of `count`: accurate counts beside Private Count Release, on the logs that made it and on others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.app.intervals import intervals
from hushcount.mechanisms.calibration import Plan
from hushcount.model.budgets import rho_budget
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured
from studies.logs import Log
from studies.study import Scale, Study

BUDGET = rho_budget("0.1", "1e-6")
# Logs that rules of `ntm` were chosen on, among others; and logs that nothing was chosen on.
CHOSEN_ON = (
    "imdb",
    "blogs_short",
    "reddit_titles",
    "git_commit_words",
    "movielens_1m",
    "amazon_cds",
    "definitelytyped_packages",
)
UNSEEN = (
    "reddit people",
    "git_commit_words 2-grams",
    "movielens_1m x 3",
    "generated 0.9 8000x40",
    "generated 1.3 3000x15",
    "generated 0.6 20000x8",
)
WAYS = ("pcr", "pcr-batched", "ntm")
RUNS = 8


@dataclass(frozen=True)
class Counted:
    """Of some runs: counts within a tenth, the share that is not, intervals that hold, and how wide they are."""

    accurate: Measured
    off: Measured
    held: Measured
    width: float


Found = dict[str, dict[str, Counted]]


def counted(scale: Scale, log: Log, plan: Plan) -> Counted:
    """Run a plan; widths are shares of the true count, the median over all rows of all runs."""
    accurate, off, held, widths = [], [], [], []
    for seed in scale.runs(RUNS):
        outcome = scale.run(plan.name, log, plan, seed)
        ends, counts = intervals(outcome), outcome.counts
        assert ends is not None and counts is not None  # noqa: S101, PT018  for the type checker
        true = log.true_counts(outcome.items)
        near = np.abs(counts - true) <= 0.1 * true
        accurate.append(int(near.sum()))
        off.append(1 - near.mean() if len(near) else 0.0)
        held.append(((ends[0] <= true) & (true <= ends[1])).mean() if len(near) else 1.0)
        widths += ((ends[1] - ends[0]) / np.maximum(true, 1)).tolist()
    return Counted(measured(accurate), measured(off), measured(held), float(np.median(widths)) if widths else 0.0)


def default(scale: Scale) -> Findings:
    """All three ways on all logs."""
    logs = ("imdb", "reddit people") if scale.small else (*CHOSEN_ON, *UNSEEN)
    found = {log: {way: counted(scale, scale.log(log), scale.plan(way, BUDGET)) for way in WAYS} for log in logs}
    gains = {log: by["ntm"].accurate / by["pcr"].accurate for log, by in found.items()}
    seen = [gains[log].mean for log in logs if log in CHOSEN_ON]
    unseen = [gains[log].mean for log in logs if log in UNSEEN]
    return Findings(
        sentence=(
            f"For one standard release (rho = 0.1, delta = 1e-6) name-then-measure has {min(seen):.1f} to "
            f"{max(seen):.1f} times as many counts within 10 % of the truth as Private Count Release on {len(seen)} "
            f"public logs, and {min(unseen):.1f} to {max(unseen):.1f} times as many on {len(unseen)} logs that "
            f"nothing was chosen on; its 95 % intervals hold {min(by['ntm'].held.mean for by in found.values()):.1%} "
            "of true counts and more."
        ),
        tables=_tables(found, gains),
        charts=(_chart(found),),
        claims=_claims(found, gains),
        remarks=REMARKS,
        settings={
            "budget": "the standard preset: rho = 0.1, delta = 1e-6",
            "runs": f"{len(scale.runs(RUNS))} of each; mean ± standard error",
            "data": ", ".join(logs),
        },
    )


def _tables(found: Found, gains: dict[str, Measured]) -> tuple[Table, ...]:
    return (
        Table(
            title="Counts within 10 % of the truth",
            words="From *reddit people* on, logs that nothing was chosen on.",
            columns=("data", *WAYS, "ntm / pcr", "ntm / pcr-batched"),
            rows=tuple(
                (log, *(by[way].accurate for way in WAYS), gains[log], by["ntm"].accurate / by["pcr-batched"].accurate)
                for log, by in found.items()
            ),
        ),
        Table(
            title="How good they are",
            words=(
                "Share of shown counts that are off by more than 10 %; true counts within their 95 % interval. "
                "Widths are shares of the count, over all rows; ntm shows more of them, and rarer ones."
            ),
            columns=("data", "pcr off", "ntm off", "pcr held", "ntm held", "median width, ntm / pcr"),
            rows=tuple(
                (log, pcr.off, ntm.off, pcr.held, ntm.held, ntm.width / pcr.width if pcr.width else None)
                for log, pcr, ntm in ((log, by["pcr"], by["ntm"]) for log, by in found.items())
            ),
        ),
    )


def _chart(found: Found) -> Chart:
    return Chart(
        title="Accurate counts, over those of PCR",
        x="log, by number in the table",
        y="times as many",
        log_y=True,
        places=tuple(str(n + 1) for n in range(len(found))),
        series=tuple(
            Series(
                name=way,
                points=tuple(
                    (float(n), (by[way].accurate / by["pcr"].accurate).mean) for n, by in enumerate(found.values())
                ),
                dots=True,
            )
            for way in WAYS
        ),
    )


def _claims(found: Found, gains: dict[str, Measured]) -> tuple[Claim, ...]:
    every = [(by["ntm"], by["pcr"]) for by in found.values()]
    return (
        Claim("on every log ntm has more accurate counts than pcr", min(one.mean for one in gains.values()) > 1),
        Claim(
            "at least 94 % of true counts are within ntm's 95 % intervals, on every log, within four standard errors",
            all(ntm.held.mean + 4 * ntm.held.error >= 0.94 for ntm, _ in every),
            seen=True,
        ),
        Claim(
            "no larger a share of ntm's counts is off than of pcr's, within four standard errors and 2 points",
            all(ntm.off.mean <= pcr.off.mean + 0.02 + 4 * ntm.off.error for ntm, pcr in every),
            seen=True,
        ),
    )


REMARKS = (
    (
        "Rules of ntm that stop naming and peel were chosen on some of the first seven logs and on made ones "
        "(docs/mechanisms/count.md says which); all others of its numbers on the first seven."
    ),
)

DEFAULT_COUNT = Study(
    name="default-count",
    title="Ours: the default of count",
    source="ours",
    question="How many counts are within 10 % of the truth, and do their intervals hold?",
    run=default,
)
