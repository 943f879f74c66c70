"""The default of `vocab`: rounds of the ladder, the shares of their budgets, and the bound on lists."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hushcount.mechanisms.selection.ladder import plan_ladder
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, firsts, seconds
from studies.study import Scale, Study

# As new ledgers know their costs: up to order 16.
BUDGET = replace(rho_budget("0.1", "1e-6"), order=Decimal(16))
LOGS = ("git_commit_words 2-grams", "generated 0.9 8000x40", "movielens_1m x 3", "reddit people")
DEFAULT = (1, 4, 16)
PARTS: tuple[tuple[int, ...], ...] = (
    (1,),
    (1, 4),
    (1, 1, 1),
    (1, 2, 4),
    DEFAULT,
    (1, 10, 100),
    (1, 4, 16, 64),
)
BOUNDS = (30, 100, 300)
WAYS = ("weighted-gaussian", "weighted-ks", "sips", "sips-ks", "ladder")


# (log, parts, bound or mechanism) to how many items are named.
ByParts = dict[tuple[str, tuple[int, ...]], Measured]
ByBound = dict[tuple[str, int], Measured]
ByWay = dict[tuple[str, str], Measured]


def default(scale: Scale) -> Findings:
    """Every share-out and every bound; then the mechanisms that could be the default."""
    logs = LOGS[:1] if scale.small else LOGS
    parts = ((1,), DEFAULT) if scale.small else PARTS
    by_parts = {(log, one): _ladder(scale, log, parts=one) for log in logs for one in parts}
    bounds = (10, 100) if scale.small else BOUNDS
    by_bound = {(log, b): _ladder(scale, log, bound=b) for log in logs for b in bounds}
    by_way = {(log, way): _way(scale, log, way) for log in logs for way in WAYS}
    lost = {log: 1 - by_parts[log, DEFAULT].mean / max(by_parts[log, one].mean for one in parts) for log in logs}
    bound_lost = {b: max(_bound_lost(by_bound, log)[b] for log in logs) for b in bounds}
    gain = [by_way[log, "ladder"].mean / by_way[log, "sips"].mean for log in logs]
    return Findings(
        sentence=(
            f"On {len(logs)} logs that it was not chosen on, three rounds with 1, 4 and 16 parts of the budget name "
            f"at most {max(lost.values()):.1%} less than the best share-out tried, a bound of 100 at most "
            f"{bound_lost[100]:.1%} less than the best bound (one of {bounds[-1]} at most "
            f"{bound_lost[bounds[-1]]:.1%} less), and the ladder {min(gain):.2f} to {max(gain):.2f} times what DP-SIPS "
            "names."
        ),
        tables=_tables(by_parts, by_bound, by_way),
        charts=_charts(by_parts, by_bound),
        claims=(
            Claim(
                "the default share-out is within 12 % of the best tried, on every log",
                max(lost.values()) < 0.12,
                seen=True,
            ),
            Claim("a bound of 100 is within 35 % of the best tried, on every log", bound_lost[100] < 0.35, seen=True),
            Claim("the ladder names the most of all mechanisms, on every log", all(_most(by_way, log) for log in logs)),
        ),
        remarks=REMARKS,
        settings={
            "budget": "rho = 0.1, delta = 1e-6, orders up to 16, as a new ledger has them",
            "runs": f"{len(scale.runs(3))} of each",
            "data": ", ".join(logs),
        },
    )


def _tables(by_parts: ByParts, by_bound: ByBound, by_way: ByWay) -> tuple[Table, ...]:
    logs = firsts(by_way)
    parts, bounds = seconds(by_parts), seconds(by_bound)
    return (
        Table(
            title="Items named by the parts of the rounds",
            columns=("parts of rho and delta", *logs),
            rows=tuple((" : ".join(map(str, one)), *(by_parts[log, one] for log in logs)) for one in parts),
        ),
        Table(
            title="Items named by the bound on lists",
            columns=("bound", *logs, "less than the best, at worst"),
            rows=tuple(
                (b, *(by_bound[log, b] for log in logs), max(_bound_lost(by_bound, log)[b] for log in logs))
                for b in bounds
            ),
        ),
        Table(
            title="Items named by each mechanism, bound 100",
            columns=("mechanism", *logs),
            rows=tuple((way, *(by_way[log, way] for log in logs)) for way in WAYS),
        ),
    )


def _charts(by_parts: ByParts, by_bound: ByBound) -> tuple[Chart, ...]:
    logs = firsts(by_parts)
    parts, bounds = seconds(by_parts), seconds(by_bound)
    return (
        Chart(
            title="By the parts of the rounds, over 1 : 4 : 16",
            x="parts of the rounds",
            y="items named, over the default's",
            places=tuple(":".join(map(str, one)) for one in parts),
            series=tuple(
                Series(
                    name=log,
                    points=tuple(
                        (float(n), (by_parts[log, one] / by_parts[log, DEFAULT]).mean) for n, one in enumerate(parts)
                    ),
                    dots=True,
                )
                for log in logs
            ),
        ),
        Chart(
            title="By the bound, over 100",
            x="items of a person",
            y="items named, over the default's",
            log_x=True,
            series=tuple(
                Series(name=log, points=tuple((float(b), (by_bound[log, b] / by_bound[log, 100]).mean) for b in bounds))
                for log in logs
            ),
        ),
    )


def _bound_lost(by_bound: ByBound, log: str) -> dict[int, float]:
    """How much less each bound names than the best of them, on one log."""
    own = {b: one.mean for (at, b), one in by_bound.items() if at == log}
    return {b: 1 - named / max(own.values()) for b, named in own.items()}


def _ladder(scale: Scale, log: str, *, parts: tuple[int, ...] = DEFAULT, bound: int = 100) -> Measured:
    return scale.named("ladder", scale.log(log), plan_ladder(BUDGET, bound, parts=parts), scale.runs(3))


def _way(scale: Scale, log: str, way: str) -> Measured:
    return scale.named(way, scale.log(log), scale.plan(way, BUDGET, Facts(max_items=100)), scale.runs(3))


def _most(by_way: ByWay, log: str) -> bool:
    return by_way[log, "ladder"].mean == max(by_way[log, way].mean for way in WAYS)


REMARKS = (
    (
        "The best bound depends on how long lists are, which nobody may look at for free: 100 is the paper's. "
        "Where lists are much longer, the table says what it costs."
    ),
    (
        "The default share-out is a compromise: long lists want more even rounds, short ones steeper, and "
        "neither is known."
    ),
)

DEFAULT_VOCAB = Study(
    name="default-vocab",
    title="Ours: the default of vocab",
    source="ours",
    question="How many rounds, with which shares of the budget, how long a list, and which mechanism?",
    run=default,
)
