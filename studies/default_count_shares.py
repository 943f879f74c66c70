"""The shares of budget of `ntm` and its other numbers, each smaller and larger, on logs not used to choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from hushcount.mechanisms.counts.ntm_plan import NtmPlan, Settings, Shares, plan_ntm
from studies.default_count import BUDGET, RUNS, UNSEEN, Counted, counted
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, firsts, seconds
from studies.study import Scale, Study

LOGS = ("git_commit_words 2-grams", "generated 0.9 8000x40", "movielens_1m x 3", "generated 0.6 20000x8")
FACTORS = (0.5, 1.0, 2.0)
SHARES = ("names", "rough", "choices", "losses", "crowd", "means")
NUMBERS = ("kappa", "rough_noise", "spread", "dropped", "loss_noise")
# What decides whether naming is given up: on logs where that is close, few people with long lists.
RULES, RULE_FACTORS = ("crowded", "few"), (0.25, 0.5, 1.0, 2.0, 4.0)
CLOSE = ("movielens_1m of 1200", "generated 1.1 600x120", "generated 0.8 1000x50", "git_commit_words x 40")
KAPPAS = (0.5, 0.7, 1.0, 1.4)
# (number, factor) to what it makes of the default's accurate counts.
Ratios = dict[tuple[str, float], Measured]


def shares(scale: Scale) -> Findings:
    """One number at a time; what it adds or takes is taken from, or left to, the final counts."""
    logs, close, unseen = (one[:1] if scale.small else one for one in (LOGS, CLOSE, UNSEEN))
    names = ("names", "rough") if scale.small else (*SHARES, *NUMBERS)
    found = _ratios(scale, logs, names, FACTORS)
    rules = _ratios(scale, close, RULES[: 1 if scale.small else 2], scale.some(RULE_FACTORS))
    kappas = {(log, factor): _counted(scale, log, "kappa", factor) for log in unseen for factor in scale.some(KAPPAS)}
    best = max((at for at in found if at[0] in SHARES), key=lambda at: found[at].mean)
    worst = min(found, key=lambda at: found[at].mean)
    more = [(kappas[log, 0.5].accurate / kappas[log, 1.0].accurate).mean for log in unseen]
    off = {factor: max(kappas[log, factor].off.mean for log in unseen) for factor in (0.5, 1.0)}
    wide = [kappas[log, 0.5].width / kappas[log, 1.0].width for log in unseen]
    return Findings(
        sentence=(
            f"No share of ntm's budget, halved or doubled, adds more than {max(0.0, found[best].mean - 1):.1%} "
            f"accurate counts on average over {len(logs)} logs that it was not chosen on (the best is {best[0]} "
            f"times {best[1]:g}), and the worst change, {worst[0]} times {worst[1]:g}, costs "
            f"{1 - found[worst].mean:.0%}; half of kappa shows {min(more):.2f} to {max(more):.2f} times as many "
            f"accurate counts on {len(unseen)}, of what it shows up to {off[0.5]:.0%} is off by more than 10 % "
            f"in the place of {off[1.0]:.0%}, and intervals are {min(wide):.2f} to {max(wide):.2f} times as wide."
        ),
        tables=_tables(found, rules, kappas),
        charts=_charts(found, rules, kappas),
        claims=_claims(found, rules, kappas),
        remarks=REMARKS,
        settings={
            "budget": "rho = 0.1, delta = 1e-6",
            "runs": f"{len(scale.runs(RUNS))} of each on each log",
            "data": f"{', '.join(logs)}; for the two rules {', '.join(close)}; for kappa {', '.join(unseen)}",
        },
    )


def _ratios(scale: Scale, logs: tuple[str, ...], names: tuple[str, ...], factors: Sequence[float]) -> Ratios:
    """For each number and factor the mean over the logs of the ratio to the default, with its error."""
    base = {log: _counted(scale, log, "names", 1.0).accurate for log in logs}
    found = {}
    for name, factor in ((name, factor) for name in names for factor in factors):
        ratios = [
            _counted(scale, log, name, factor).accurate / base[log] if factor != 1.0 else Measured(1.0) for log in logs
        ]
        error = float(np.hypot.reduce([one.error for one in ratios])) / len(ratios)
        found[name, factor] = Measured(float(np.mean([one.mean for one in ratios])), error)
    return found


def _counted(scale: Scale, log: str, name: str, factor: float) -> Counted:
    return counted(scale, scale.log(log), _plan(name, factor))


def _plan(name: str, factor: float) -> NtmPlan:
    """The default with one number changed."""
    parts, fixed = Shares(), Settings()
    if name in SHARES:
        parts = replace(parts, **{name: _times(getattr(parts, name), Fraction(str(factor)))})
    else:
        fixed = replace(fixed, **{name: _times(getattr(fixed, name), factor)})
    return plan_ntm(BUDGET, shares=parts, settings=fixed)


def _times(value: Any, factor: Any) -> Any:  # noqa: ANN401  a number, or several
    return tuple(one * factor for one in value) if isinstance(value, tuple) else value * factor


def _said(name: str) -> str:
    value = getattr(Shares() if name in SHARES else Settings(), name)
    if name == "few":
        return ", ".join(f"{one:g}" for one in value)
    return f"{float(sum(value) if isinstance(value, tuple) else value):.4g}"


def _tables(found: Ratios, rules: Ratios, kappas: dict[tuple[str, float], Counted]) -> tuple[Table, ...]:
    return (
        _by_factor("Accurate counts over those of the default", found),
        _by_factor("When naming is given up: accurate counts over those of the default", rules),
        Table(
            title="Kappa: the noise aimed at is a tenth of the count over kappa, 1.85",
            words=(
                "Accurate counts and median widths of 95 % intervals are over those of the default; off is the "
                "share of shown counts off by more than 10 %, held that of true counts within their interval."
            ),
            columns=("data", "times", "accurate", "off", "held", "median width"),
            rows=tuple(
                (
                    log,
                    factor,
                    one.accurate / kappas[log, 1.0].accurate,
                    one.off,
                    one.held,
                    one.width / kappas[log, 1.0].width,
                )
                for (log, factor), one in kappas.items()
            ),
        ),
    )


def _by_factor(title: str, found: Ratios) -> Table:
    names, factors = firsts(found), seconds(found)
    return Table(
        title=title,
        words="Mean over the logs; what a number is, is in docs/mechanisms/count.md.",
        columns=("number", "default", *(f"times {factor:g}" for factor in factors)),
        rows=tuple((name, _said(name), *(found[name, factor] for factor in factors)) for name in names),
    )


def _charts(found: Ratios, rules: Ratios, kappas: dict[tuple[str, float], Counted]) -> tuple[Chart, ...]:
    logs = firsts(kappas)
    told = {
        "Shares of rho": _lines({at: one for at, one in found.items() if at[0] in SHARES}),
        "Other numbers": _lines({at: one for at, one in found.items() if at[0] in NUMBERS}),
        "When naming is given up": _lines(rules),
        "Kappa": tuple(
            Series(
                name=log,
                points=tuple(
                    (factor, (one.accurate / kappas[log, 1.0].accurate).mean)
                    for (at, factor), one in kappas.items()
                    if at == log
                ),
            )
            for log in logs
        ),
    }
    return tuple(
        Chart(title=title, x="times the default", y="accurate counts, over the default's", log_x=True, series=lines)
        for title, lines in told.items()
        if lines
    )


def _lines(found: Ratios) -> tuple[Series, ...]:
    return tuple(
        Series(name=name, points=tuple((factor, one.mean) for (at, factor), one in found.items() if at == name))
        for name in firsts(found)
    )


def _claims(found: Ratios, rules: Ratios, kappas: dict[tuple[str, float], Counted]) -> tuple[Claim, ...]:
    pairs = [(kappas[log, 0.5], kappas[log, 1.0]) for log in firsts(kappas)]
    return (
        Claim(
            "no share of the budget, halved or doubled, adds more than 8 %, beyond two standard errors",
            all(one.mean - 2 * one.error < 1.08 for (name, _), one in found.items() if name in SHARES),
            seen=True,
        ),
        Claim(
            "some change costs more than 3 %: the numbers matter",
            min(one.mean for one in found.values()) < 0.97,
            seen=True,
        ),
        Claim(
            "neither rule of when to give naming up, at a quarter to four times its default, adds more than a tenth, "
            "beyond two standard errors",
            all(one.mean - 2 * one.error < 1.1 for one in rules.values()),
        ),
        Claim(
            "with half of kappa a larger share is off than by default, and intervals are wider, on every log",
            all(half.off.mean > one.off.mean and half.width > one.width for half, one in pairs),
        ),
    )


REMARKS = (
    (
        "A smaller kappa shows more counts with more noise: on most logs more of them are accurate, on all a larger "
        "share is off, with nothing to tell which. It is the accuracy that is aimed at, and no share of the budget: "
        "the default keeps what PCR promises, less than a tenth off."
    ),
    ("Losses buy the upper ends of intervals: halving them adds counts and widens intervals where people are few."),
)

DEFAULT_COUNT_SHARES = Study(
    name="default-count-shares",
    title="Ours: how count shares out its budget",
    source="ours",
    question="Would another share of the budget, or another constant, count more, and at what price?",
    run=shares,
)
