"""The presets: what rho = 0.01, 0.1 and 0.5 buy, what they risk, and what delta has to do with it."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np

from hushcount.accounting.convert import epsilon_for
from hushcount.model.budgets import DEFAULT_DELTA, PRESETS, rho_budget
from hushcount.model.facts import Facts
from studies.findings import Chart, Claim, Findings, Measured, Series, Table, firsts, measured, seconds
from studies.logs import Log
from studies.study import Scale, Study

LOGS = ("git_commit_words 2-grams", "generated 0.9 8000x40", "movielens_1m x 3")
RHOS = ("0.003", "0.01", "0.03", "0.1", "0.5", "1")
DELTAS = ("1e-9", "1e-7", "1e-6", "1e-4")
# (log, rho or delta) to what was counted or named.
Found = dict[tuple[str, str], Measured]


def default(scale: Scale) -> Findings:
    """Accurate counts and names by rho, and by delta at the standard rho."""
    logs = LOGS[:1] if scale.small else LOGS
    rhos = tuple(PRESETS.values()) if scale.small else RHOS
    deltas = ("1e-9", "1e-6") if scale.small else DELTAS
    counts = {(log, rho): _accurate(scale, scale.log(log), rho) for log in logs for rho in rhos}
    told = rhos[1:2] if scale.small else rhos
    names = {(log, rho): _named(scale, scale.log(log), rho, DEFAULT_DELTA) for log in logs for rho in told}
    by_delta = {(log, d): _named(scale, scale.log(log), "0.1", d) for log in logs for d in deltas}
    low, standard, high = PRESETS.values()
    ups = [counts[log, standard].mean / max(1.0, counts[log, low].mean) for log in logs]
    more = [counts[log, high].mean / counts[log, standard].mean for log in logs]
    dear = [1 - by_delta[log, "1e-9"].mean / by_delta[log, "1e-6"].mean for log in logs]
    guess = {rho: _guess(rho) for rho in rhos}
    return Findings(
        sentence=(
            f"A standard release counts {min(ups):.1f} to {max(ups):.1f} times as many items well as a cautious one, "
            f"and a generous one {min(more):.1f} to {max(more):.1f} times as many as a standard one; against "
            f"Gaussian noise of that rho, a guess whether a person is in the data is right in {guess[low]:.0%}, "
            f"{guess[standard]:.0%} and {guess[high]:.0%} of even cases at best, and a delta a thousand times "
            f"smaller costs {min(dear):.0%} to {max(dear):.0%} of the names."
        ),
        tables=_tables(counts, names, by_delta),
        charts=_charts(counts, by_delta),
        claims=(
            Claim("each preset counts more than the one before, on every log", min(ups) > 1 and min(more) > 1),
            Claim("a standard release leaves a guesser below 85 %", guess[standard] < 0.85, seen=True),
            Claim("a delta of 1e-9 costs less than a third of the names", max(dear) < 1 / 3, seen=True),
        ),
        remarks=REMARKS,
        settings={
            "mechanisms": "ntm for counts, ladder for names (orders up to 16, at most 100 items of a person)",
            "runs": f"{len(scale.runs(3))} of each",
            "data": ", ".join(logs),
        },
    )


def _tables(counts: Found, names: Found, by_delta: Found) -> tuple[Table, ...]:
    logs, rhos, deltas = firsts(counts), seconds(counts), seconds(by_delta)
    presets = {rho: name for name, rho in PRESETS.items()}
    return (
        Table(
            title="By rho, delta = 1e-6",
            words="Epsilon at a total delta of 1e-5; the guess is about one person, of even odds before.",
            columns=(
                "rho",
                "preset",
                "epsilon",
                "guess at most",
                *(f"{log}: accurate" for log in logs),
                *(f"{log}: named" for log in logs),
            ),
            rows=tuple(
                (
                    rho,
                    presets.get(rho, ""),
                    _epsilon(rho),
                    _guess(rho),
                    *(counts[log, rho] for log in logs),
                    *(names.get((log, rho)) for log in logs),
                )
                for rho in rhos
            ),
        ),
        Table(
            title="Names by delta, rho = 0.1",
            columns=("delta", *logs),
            rows=tuple((d, *(by_delta[log, d] for log in logs)) for d in deltas),
        ),
    )


def _charts(counts: Found, by_delta: Found) -> tuple[Chart, ...]:
    logs, rhos, deltas = firsts(counts), seconds(counts), seconds(by_delta)
    return (
        Chart(
            title="Accurate counts by rho",
            x="rho",
            y="counts within 10 %",
            log_x=True,
            log_y=True,
            series=tuple(
                Series(name=log, points=tuple((float(r), max(1.0, counts[log, r].mean)) for r in rhos)) for log in logs
            ),
        ),
        Chart(
            title="Names by delta, over 1e-6",
            x="delta",
            y="items named, over the default's",
            log_x=True,
            series=tuple(
                Series(
                    name=log,
                    points=tuple((float(d), (by_delta[log, d] / by_delta[log, "1e-6"]).mean) for d in deltas),
                )
                for log in logs
            ),
        ),
    )


def _epsilon(rho: str) -> float:
    return epsilon_for(rho, delta0=DEFAULT_DELTA, total_delta="1e-5")


def _guess(rho: str) -> float:
    """Phi(mu/2): the chance to tell both sides apart, each as likely."""
    return 0.5 * (1 + math.erf(math.sqrt(2 * float(rho)) / 2 / math.sqrt(2)))


def _accurate(scale: Scale, log: Log, rho: str) -> Measured:
    plan = scale.plan("ntm", rho_budget(rho, DEFAULT_DELTA))
    found = []
    for seed in scale.runs(3):
        outcome = scale.run("ntm", log, plan, seed)
        assert outcome.counts is not None  # noqa: S101  for the type checker
        true = log.true_counts(outcome.items)
        found.append(int(np.count_nonzero(np.abs(outcome.counts - true) <= 0.1 * true)))
    return measured(found)


def _named(scale: Scale, log: Log, rho: str, delta: str) -> Measured:
    budget = replace(rho_budget(rho, delta), order=Decimal(16))
    return scale.named("ladder", log, scale.plan("ladder", budget, Facts(max_items=100)), scale.runs(3))


REMARKS = (
    (
        "The guess is the best that a test of N(0, 1) against N(mu, 1), mu = sqrt(2 rho), can do, "
        "beside delta: what Gaussian noise at this rho allows. Real attackers do worse (`hushcount "
        "audit`)."
    ),
)

DEFAULT_PRESETS = Study(
    name="default-presets",
    title="Ours: the presets",
    source="ours",
    question="What do a cautious, a standard and a generous release buy, and what do they risk?",
    run=default,
)
