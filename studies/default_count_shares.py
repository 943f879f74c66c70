"""The shares of budget of `ntm`, and its other numbers, each halved and doubled, on logs not used to choose them."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hushcount.mechanisms.counts.ntm_plan import Settings, Shares, plan_ntm
from studies.default_count import BUDGET
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, measured
from studies.logs import Log
from studies.study import Scale, Study

LOGS = ("git_commit_words 2-grams", "generated 0.9 8000x40")
FACTORS = (0.5, 1.0, 2.0)
SHARES = ("names", "rough", "choices", "losses", "crowd", "means")
NUMBERS = ("kappa", "rough_noise", "spread", "dropped")


def shares(scale: Scale) -> Findings:
    """One number at a time; what it adds or takes is taken from, or left to, the final counts."""
    logs = LOGS[:1] if scale.small else LOGS
    factors = FACTORS
    names = ("names", "rough", "kappa") if scale.small else (*SHARES, *NUMBERS)
    base = {log: _accurate(scale, scale.log(log), 1.0, "names") for log in logs}
    found = {
        (name, factor): _over(scale, logs, base, (name, factor))
        for name in names
        for factor in factors
        if factor != 1.0
    }
    best = max((at for at in found if at[0] in SHARES), key=lambda at: found[at].mean)
    worst = min(found, key=lambda at: found[at].mean)
    return Findings(
        sentence=(
            f"No share of ntm's budget, halved or doubled, adds more than {max(0.0, found[best].mean - 1):.1%} "
            f"accurate counts on average over {len(logs)} logs that it was not chosen on (the best is {best[0]} "
            f"times {best[1]:g}), and the worst change of any number, {worst[0]} times {worst[1]:g}, costs "
            f"{1 - found[worst].mean:.0%}."
        ),
        tables=(
            Table(
                title="Accurate counts over those of the default",
                words="Mean over the logs; what a share is, is in docs/mechanisms/count.md.",
                columns=("number", "default", *(f"times {factor:g}" for factor in factors)),
                rows=tuple(
                    (name, _said(name), *(found.get((name, factor), Measured(1.0)) for factor in factors))
                    for name in names
                ),
            ),
        ),
        charts=(
            Chart(
                title="Shares of rho",
                x="times the default",
                y="accurate counts, over the default's",
                log_x=True,
                series=tuple(_series(name, found, factors) for name in names if name in SHARES),
            ),
            Chart(
                title="Other numbers",
                x="times the default",
                y="accurate counts, over the default's",
                log_x=True,
                series=tuple(_series(name, found, factors) for name in names if name in NUMBERS),
            ),
        ),
        claims=(
            Claim(
                "no share of the budget, halved or doubled, adds more than 8 %, beyond two standard errors",
                all(one.mean - 2 * one.error < 1.08 for (name, _), one in found.items() if name in SHARES),
            ),
            Claim("some change costs more than 3 %: the numbers matter", found[worst].mean < 0.97),
        ),
        remarks=(
            (
                "A smaller kappa shows more counts with more noise: more are accurate, and a larger share of "
                "what is shown is off. It is the accuracy that is aimed at, and no share of the budget."
            ),
            (
                "Losses buy the upper ends of intervals: halving them adds counts and widens intervals where people "
                "are few."
            ),
        ),
        settings={
            "budget": "rho = 0.1, delta = 1e-6",
            "runs": f"{len(scale.runs(3))} of each on each log",
            "data": ", ".join(logs),
        },
    )


def _accurate(scale: Scale, log: Log, factor: float, name: str) -> Measured:
    parts, fixed = Shares(), Settings()
    if name in SHARES:
        parts = replace(parts, **{name: _times(getattr(parts, name), Fraction(str(factor)))})
    else:
        fixed = replace(fixed, **{name: getattr(fixed, name) * factor})
    plan = plan_ntm(BUDGET, shares=parts, settings=fixed)
    found = []
    for seed in scale.runs(3):
        outcome = scale.run("ntm", log, plan, seed)
        assert outcome.counts is not None  # noqa: S101  for the type checker
        true = log.true_counts(outcome.items)
        found.append(int(np.count_nonzero(np.abs(outcome.counts - true) <= 0.1 * true)))
    return measured(found)


def _over(scale: Scale, logs: tuple[str, ...], base: dict[str, Measured], at: tuple[str, float]) -> Measured:
    """The mean over the logs of the ratio to the default, with its error."""
    ratios = [_accurate(scale, scale.log(log), at[1], at[0]) / base[log] for log in logs]
    return Measured(
        float(np.mean([one.mean for one in ratios])),
        float(np.hypot.reduce([one.error for one in ratios])) / len(ratios),
    )


def _times(share: Any, factor: Fraction) -> Any:  # noqa: ANN401  a share, or several
    return tuple(one * factor for one in share) if isinstance(share, tuple) else share * factor


def _said(name: str) -> str:
    kind = Shares() if name in SHARES else Settings()
    value = next(getattr(kind, field.name) for field in fields(kind) if field.name == name)
    total = sum(value) if isinstance(value, tuple) else value
    return f"{float(total):.4g}"


def _series(name: str, found: dict[tuple[str, float], Measured], factors: tuple[float, ...]) -> Series:
    every = [(factor, found.get((name, factor), Measured(1.0))) for factor in factors]
    return Series(name=name, points=tuple((factor, one.mean) for factor, one in every))


DEFAULT_COUNT_SHARES = Study(
    name="default-count-shares",
    title="Ours: how count shares out its budget",
    source="ours",
    question="Would another share of the budget, or another constant, count more?",
    run=shares,
)
