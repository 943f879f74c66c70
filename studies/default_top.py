"""The default of `top`: how much of the true top comes back, by comparison, by naming, and by both in which shares."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hushcount.mechanisms.calibration import root_below
from hushcount.mechanisms.topk.hybrid import HybridPlan
from hushcount.mechanisms.topk.unknown_domain import UnknownGumbelPlan
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
# Of rho, the comparison's part where some must be named; of delta likewise; of rho, each choice that tells which it is.
SHARES: dict[str, tuple[float, ...]] = {
    "compared": (0.4, 0.6, 0.8, 0.9, 1.0),
    "delta": (0.25, 0.5, 0.75),
    "tested": (0.0025, 0.01, 0.04),
}
DEFAULTS = {"compared": 0.8, "delta": 0.5, "tested": 0.01}
SHARED_KS = (100, 1000)
# (log, rho, k, way) and (share, its value, log, k) to how much of the true top is found.
Found = dict[tuple[str, str, int, str], Measured]
Shared = dict[tuple[str, float, str, int], Measured]


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
    shared = _shared(scale, logs, (200,) if scale.small else SHARED_KS)
    lost = _lost(found)
    long = [found[log, "0.1", ks[-1], WAYS[2]].mean - found[log, "0.1", ks[-1], WAYS[0]].mean for log in logs]
    gain, at = max((one.mean - shared[at[0], DEFAULTS[at[0]], *at[2:]].mean, at) for at, one in shared.items())
    return Findings(
        sentence=(
            f"Over {len(lost)} cases the two-part top list finds at most {max(lost.values()):.3f} of the list less "
            f"than the better of its parts would alone, and of a top {ks[-1]:,} {min(long):.2f} to {max(long):.2f} "
            f"more than the comparison alone at a standard release; of its shares of the budget no other one tried "
            f"finds more than {max(0.0, gain):.3f} of a list more ({at[0]} {at[1]:g}, top {at[3]:,} of {at[2]})."
        ),
        tables=_tables(found, shared),
        charts=_charts(found, shared),
        claims=_claims(lost, long, shared),
        remarks=REMARKS,
        settings={
            "budget": f"rho = {', '.join(rhos)}; delta = 1e-6; no counts; shares at rho = 0.1",
            "runs": f"{len(scale.runs(3))} of each",
            "data": ", ".join(logs),
        },
    )


def _lost(found: Found) -> dict[tuple[str, str, int], float]:
    """How much less the two-part list finds than the better of its parts, where it is less."""
    cases = sorted({at[:3] for at in found})
    return {at: max(found[*at, way].mean for way in WAYS[:2]) - found[*at, "hybrid-top"].mean for at in cases}


def _shared(scale: Scale, logs: tuple[str, ...], ks: tuple[int, ...]) -> Shared:
    """The list with one share of its budget changed."""
    found = {}
    for log, k in ((log, k) for log in logs for k in ks):
        plan = scale.plan("hybrid-top", rho_budget("0.1", "1e-6"), Facts(k=k, with_counts=False))
        assert isinstance(plan, HybridPlan)  # noqa: S101  for the type checker
        for name, values in SHARES.items():
            for value in scale.some(values, 2) if scale.small else values:
                other = with_shares(plan, **{**DEFAULTS, name: value})
                found[name, value, log, k] = _found_by(scale, scale.log(log), other)
            found[name, DEFAULTS[name], log, k] = _found_by(scale, scale.log(log), plan)
    return dict(sorted(found.items()))


def with_shares(plan: HybridPlan, *, compared: float, delta: float, tested: float) -> HybridPlan:
    """A plan for names only whose budget is shared out otherwise, all of it as before."""

    def epsilon(rho: Decimal, steps: float) -> Decimal:
        return Decimal(root_below(8 * Fraction(rho) / Fraction(str(steps)) * (1 - Fraction(1, 2**30))))

    def left(rho: Decimal, spent: Decimal, steps: int) -> Decimal:
        return rho - steps * (spent**2 / 8).quantize(Decimal("1e-20"))

    choice = epsilon(plan.rho, 1 / tested)
    sure = epsilon(left(plan.rho, choice, 2), plan.k + 1)
    names = left(left(plan.rho, choice, 2), sure, 1)
    whole = plan.deltas[0] + plan.deltas[1]
    part = whole * Decimal(str(delta))
    return replace(
        plan,
        tested=choice,
        sure=(sure, names),
        epsilon=epsilon(names, plan.k / compared),
        names_rho=names,
        deltas=(part, whole - part),
    )


def _recall(scale: Scale, log: Log, way: str, at: tuple[str, int]) -> Measured:
    rho, k = at
    k = min(k, len(log.histogram.items))
    if way == NAMED:
        return measured(_part(log, k, _name_then_choose(scale, log, (rho, k, seed))) for seed in scale.runs(3))
    plan = scale.plan(way, rho_budget(rho, "1e-6"), Facts(k=k, with_counts=False))
    assert isinstance(plan, HybridPlan | UnknownGumbelPlan)  # noqa: S101  for the type checker
    return _found_by(scale, log, plan)


def _found_by(scale: Scale, log: Log, plan: HybridPlan | UnknownGumbelPlan) -> Measured:
    runs = (scale.run(plan.name, log, plan, seed) for seed in scale.runs(3))
    return measured(_part(log, plan.k, outcome.items) for outcome in runs)


def _part(log: Log, k: int, items: Items) -> float:
    """How much of the true top k these are. Whoever has as many people as the last of it is as good as that one."""
    k = min(k, len(log.histogram.items))
    least = int(log.histogram.counts[k - 1])
    return min(1.0, int((log.true_counts(items) >= least).sum()) / k)


def _name_then_choose(scale: Scale, log: Log, at: tuple[str, int, int]) -> Items:
    """What one would build of two mechanisms: names first, then the exponential mechanism among them."""
    rho, k, seed = at
    half = rho_budget(Decimal(rho) / 2, "1e-6")
    named = scale.run("ladder", log, scale.plan("ladder", half), seed).items
    if len(named) <= k:
        return named
    plan = scale.plan("known-gumbel", half, Facts(k=k, with_counts=False, public_items=named))
    return scale.run("known-gumbel", log, plan, seed).items


def _tables(found: Found, shared: Shared) -> tuple[Table, ...]:
    cases, lists = sorted({at[:3] for at in found}), sorted({at[2:] for at in shared})
    shares = list(dict.fromkeys(at[:2] for at in shared))
    return (
        Table(
            title="Share of the true top k that is found, names only",
            words="Name, then choose: half of rho for the ladder, half for choosing k of what it named.",
            columns=("data", "rho", "k", *WAYS),
            rows=tuple((*at, *(found[*at, way] for way in WAYS)) for at in cases),
        ),
        Table(
            title="Share of the true top k by the shares of the budget",
            words=(
                "Compared: of rho for names, what the comparison may use where some have to be named. Delta: the "
                "comparison's part of it there. Tested: of rho, each of the two choices that tell whether they have to."
            ),
            columns=("share", "value", "", *(f"{log}, k = {k:,}" for log, k in lists)),
            rows=tuple(
                (name, value, "default" * (value == DEFAULTS[name]), *(shared[name, value, *at] for at in lists))
                for name, value in shares
            ),
        ),
    )


def _charts(found: Found, shared: Shared) -> tuple[Chart, ...]:
    logs, ks = (sorted({at[place] for at in found}, key=str if place == 0 else int) for place in (0, 2))
    lists = sorted({at[2:] for at in shared})
    return (
        *(
            Chart(
                title=f"{log}, rho = 0.1",
                x="k",
                y="share of the true top",
                log_x=True,
                series=tuple(
                    Series(
                        name=way,
                        points=tuple((float(k), found[str(log), "0.1", int(k), way].mean) for k in ks),
                    )
                    for way in WAYS
                ),
            )
            for log in logs
        ),
        Chart(
            title="By what the comparison may use (0.8)",
            x="compared: part of rho for names",
            y="share of the true top",
            series=tuple(
                Series(
                    name=f"top {k:,} of {log}",
                    points=tuple(
                        (at[1], one.mean) for at, one in shared.items() if at[0] == "compared" and at[2:] == (log, k)
                    ),
                )
                for log, k in lists
            ),
        ),
    )


def _claims(lost: dict[tuple[str, str, int], float], long: list[float], shared: Shared) -> tuple[Claim, ...]:
    default = {at: shared[at[0], DEFAULTS[at[0]], *at[2:]] for at in shared}
    return (
        Claim(
            "the two-part list is at most a quarter of it below the better of both ways, everywhere",
            max(lost.values()) <= 0.25,
            seen=True,
        ),
        Claim("of the longest list it finds more than the comparison alone, on every log", min(long) > 0),
        Claim(
            "no other share of its budget finds more than a twentieth of a list more, beyond two standard errors",
            all(
                one.mean - 2 * one.error <= default[at].mean + 2 * default[at].error + 0.05
                for at, one in shared.items()
            ),
        ),
    )


REMARKS = (
    "Delta is 1e-6 in all cases.",
    (
        "Name, then choose finds more of a long list where the ladder can name nearly all of it in half of rho, and "
        "far less where lists are long and people few: then little is named. Which it is, nobody knows before asking."
    ),
)

DEFAULT_TOP = Study(
    name="default-top",
    title="Ours: the default of top",
    source="ours",
    question="How much of the true top comes back, and would other shares of the budget find more?",
    run=default,
)
