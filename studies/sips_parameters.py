"""DP-SIPS, Table 3 and Figures 6 and 7: the number of rounds, the ratio of their budgets, the bound on lists."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hushcount.mechanisms.selection.sips import plan_sips
from hushcount.model.budgets import rho_budget
from studies import plain
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, firsts, measured, seconds
from studies.logs import Log
from studies.study import Scale, Study

BUDGET = rho_budget("0.1", "1e-5")
# Table 3 of the paper: r/AskReddit, ratio 1/3, bound 50.
PAPER = {1: 5464, 2: 10041, 3: 11126, 4: 11182, 5: 11541, 6: 11061, 8: 11585, 10: 11637}
RATIOS = (0.05, 0.1, 0.2, 0.3333, 0.5, 0.7, 1.0)
BOUNDS = (5, 20, 50, 100, 150, 300)
LOGS = ("imdb", "git_commit_words", "blogs_short")
# (log, ratio or bound) to how many items are named.
ByRatio = dict[tuple[str, float], Measured]
ByBound = dict[tuple[str, int], Measured]


def parameters(scale: Scale) -> Findings:
    """Rounds on the stand-in for the paper's log; ratio and bound on others."""
    reddit = scale.log("reddit people")
    rounds = (1, 2, 3, 5) if scale.small else tuple(PAPER)
    by_rounds = {n: _named(scale, reddit, rounds=n, bound=50) for n in rounds}
    again = _plain(scale, reddit)
    logs = LOGS[:1] if scale.small else LOGS
    ratios, bounds = scale.some(RATIOS), [int(b) for b in scale.some(BOUNDS)]
    by_ratio = {(log, r): _named(scale, scale.log(log), ratio=r) for log in logs for r in ratios}
    by_bound = {(log, b): _named(scale, scale.log(log), bound=b) for log in logs for b in bounds}
    even = {log: by_ratio[log, 1.0] / by_ratio[log, 0.3333] for log in logs}
    flat = {log: by_bound[log, bounds[-1]] / max(by_bound[log, b].mean for b in bounds) for log in logs}
    gain = by_rounds[3] / by_rounds[1]
    return Findings(
        sentence=(
            f"Three rounds name {gain.mean:.2f} times what one names (paper: {PAPER[3] / PAPER[1]:.2f}) and "
            f"{max(rounds)} only {(by_rounds[max(rounds)] / by_rounds[3]).mean:.2f} times what three do (paper: "
            f"{PAPER[max(rounds)] / PAPER[3]:.2f}); equal shares lose "
            f"{1 - max(one.mean for one in even.values()):.0%} and more against a ratio of 1/3."
        ),
        tables=(*_against(by_rounds, again), *_tables(by_ratio, by_bound)),
        charts=_charts(by_rounds, by_ratio, by_bound),
        claims=(
            Claim(
                "ours and the plain DP-SIPS name as many, within four standard errors and half a per cent",
                by_rounds[3].near(again, share=0.005),
            ),
            Claim("three rounds name at least 1.1 times what one names", gain.mean >= 1.1, seen=True),
            Claim(
                "equal shares name less than a ratio of 1/3 on every log, as the paper says",
                all(one.mean < 1 for one in even.values()),
            ),
            Claim(
                "the largest bound is within 12 % of the best, on every log",
                all(one.mean > 0.88 for one in flat.values()),
                seen=True,
            ),
        ),
        remarks=REMARKS,
        settings={
            "budget": "rho = 0.1, delta = 1e-5",
            "runs": f"{len(scale.runs(3))} of each",
            "data": ", ".join(("reddit people", *logs)),
        },
    )


def _against(by_rounds: dict[int, Measured], again: Measured) -> tuple[Table, ...]:
    return (
        Table(
            title="Rounds (Table 3): ratio 1/3, bound 50",
            words=(
                "Paper: r/AskReddit, which cannot be had; its stand-in is *reddit people*. Gains over one round "
                "compare."
            ),
            columns=("rounds", "ours", "over one round", "paper", "over one round, paper", "ratio of the gains"),
            rows=tuple(
                (
                    n,
                    one,
                    one / by_rounds[1],
                    PAPER[n],
                    PAPER[n] / PAPER[1],
                    one / by_rounds[1] / (PAPER[n] / PAPER[1]),
                )
                for n, one in by_rounds.items()
            ),
        ),
        Table(
            title="Against the printed algorithm",
            columns=("rounds", "ours", "plain", "ours / plain"),
            rows=((3, by_rounds[3], again, by_rounds[3] / again),),
        ),
    )


def _tables(by_ratio: ByRatio, by_bound: ByBound) -> tuple[Table, ...]:
    logs, ratios, bounds = firsts(by_ratio), seconds(by_ratio), seconds(by_bound)
    return (
        Table(
            title="Ratio of a round's budget to the next (Figure 6), bound 100",
            columns=("ratio", *logs),
            rows=tuple((r, *(by_ratio[log, r] for log in logs)) for r in ratios),
        ),
        Table(
            title="Bound on lists (Figure 7)",
            columns=("bound", *logs),
            rows=tuple((b, *(by_bound[log, b] for log in logs)) for b in bounds),
        ),
    )


def _charts(by_rounds: dict[int, Measured], by_ratio: ByRatio, by_bound: ByBound) -> tuple[Chart, ...]:
    logs, ratios, bounds = firsts(by_ratio), seconds(by_ratio), seconds(by_bound)
    return (
        Chart(
            title="By rounds, over one round",
            x="rounds",
            y="times as many",
            series=(
                Series(
                    name="ours, reddit people",
                    points=tuple((float(n), (one / by_rounds[1]).mean) for n, one in by_rounds.items()),
                ),
                Series(
                    name="paper, r/AskReddit",
                    points=tuple((float(n), PAPER[n] / PAPER[1]) for n in by_rounds),
                    dashed=True,
                ),
            ),
        ),
        _lines("By the ratio, over a third", "ratio", by_ratio, logs, ratios, 0.3333),
        _lines(
            "By the bound, over 100",
            "items of a person",
            by_bound,
            logs,
            bounds,
            100 if 100 in bounds else bounds[-1],
        ),
    )


def _named(scale: Scale, log: Log, *, rounds: int = 3, ratio: float = 1 / 3, bound: int = 100) -> Measured:
    part = Fraction(1, 3) if abs(ratio - 1 / 3) < 1e-3 else Fraction(str(ratio))
    return scale.named("sips", log, plan_sips(BUDGET, bound, rounds=rounds, ratio=part), scale.runs(3, 6))


def _plain(scale: Scale, log: Log) -> Measured:
    given = plain.pairs(log)
    chances = (np.random.default_rng(seed) for seed in scale.runs(2, 6))
    return measured(plain.sips(given, (0.1, 1e-5), most=50, chance=chance, ratio=1 / 3).sum() for chance in chances)


def _lines(
    title: str,
    x: str,
    found: ByRatio | ByBound,
    logs: list[str],
    xs: object,
    base: float,
) -> Chart:
    values = list(xs)  # type: ignore[call-overload]
    series = tuple(
        Series(name=log, points=tuple((float(v), (found[log, v] / found[log, base]).mean) for v in values))  # type: ignore[index]
        for log in logs
    )
    return Chart(title=title, x=x, y="times as many", series=series)


REMARKS = (
    "Data: the stand-in has lists as long as r/AskReddit's, of other words.",
    "Erratum 31: the ratio of the text is inverted; here it is the budget of a round over that of the next.",
)

SIPS_PARAMETERS = Study(
    name="sips-parameters",
    title="DP-SIPS, Table 3 and Figures 6 and 7: rounds, ratio, bound",
    source="DP-SIPS (Swanberg, Desfontaines and Haney 2023), Table 3, Figures 6 and 7",
    question="How many rounds, with which shares of the budget, and how long a list?",
    run=parameters,
)
