"""What PCR's own parameters do: the wanted error r, the rows that are looked at, and the first epsilon."""

from __future__ import annotations

from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.counts.pcr import plan_pcr
from hushcount.model.budgets import rho_budget
from studies.findings import Chart, Claim, Findings, Series, Table, firsts, seconds
from studies.pcr_figures import DELTA, Found
from studies.study import Scale, Study

RHO = 0.1
LOGS = ("imdb", "movielens_1m", "git_commit_words")
ERRORS = (0.02, 0.05, 0.1, 0.2, 0.4)
ROWS = (100, 300, 1_000, 10_000, 100_000)
FIRSTS = (0.0001, 0.0005, 0.002, 0.01, 0.05, 0.2)


def parameters(scale: Scale) -> Findings:
    """Each of the three by itself, the others as in the paper."""
    logs = LOGS[:1] if scale.small else LOGS
    budget = rho_budget(RHO, DELTA)
    ways: dict[str, dict[float, Plan]] = {
        "r": {r: plan_pcr(budget, relative_error=r) for r in scale.some(ERRORS)},
        "rows": {rows: plan_pcr(budget, rows=int(rows)) for rows in scale.some(ROWS)},
        "first epsilon": {first: plan_pcr(budget, epsilon_first=str(first)) for first in scale.some(FIRSTS)},
    }
    found = {
        (log, what): {value: Found(scale, scale.log(log), "pcr", plan) for value, plan in plans.items()}
        for log in logs
        for what, plans in ways.items()
    }
    firsts = [one for (_, what), by in found.items() if what == "first epsilon" for one in by.items() if one[0] <= 0.01]
    spread = {
        log: _spread([one.rows.mean for value, one in found[log, "first epsilon"].items() if value <= 0.01])
        for log in logs
    }
    few = {log: found[log, "rows"][min(ROWS)].rows.mean for log in logs}
    many = {log: found[log, "rows"][max(ROWS)].rows.mean for log in logs}
    return Findings(
        sentence=(
            "The paper is right that its nuisance parameters hardly matter once they are large or small enough: any "
            f"first epsilon up to 0.01 gives the same number of rows within {100 * max(spread.values()):.0f} %, and "
            "looking at more rows than are released costs a logarithm; but r trades rows for accuracy."
        ),
        tables=_tables(found),
        charts=_charts(found),
        claims=(
            Claim(
                "a first epsilon of 0.0001 to 0.01 changes the rows by less than a tenth",
                max(spread.values()) < 0.1,
                seen=True,
            ),
            Claim(
                "with 100 rows to look at, fewer counts come back than with 100,000",
                all(few[log] < many[log] for log in logs),
            ),
            Claim(
                "a larger r releases more rows, of which more are off",
                all(_rising(found[log, "r"], "rows") and _rising(found[log, "r"], "off") for log in logs),
            ),
            Claim("every run of the first claim released something", all(one.rows.mean > 0 for _, one in firsts)),
        ),
        remarks=REMARKS,
        settings={
            "budget": f"rho = {RHO}, delta = {DELTA}",
            "otherwise": "r = 0.1, 10,000 rows, first epsilon 0.0005",
            "runs": f"{len(scale.runs(5))} of each",
            "data": ", ".join(logs),
        },
    )


def _tables(found: dict[tuple[str, str], dict[float, Found]]) -> tuple[Table, ...]:
    logs, ways = firsts(found), seconds(found)
    return tuple(
        Table(
            title=f"What {what} does",
            columns=("data", what, "rows", "share off by more than 10 %", "accurate"),
            rows=tuple(
                (log, value, one.rows, one.off, one.accurate) for log in logs for value, one in found[log, what].items()
            ),
        )
        for what in ways
    )


def _charts(found: dict[tuple[str, str], dict[float, Found]]) -> tuple[Chart, ...]:
    logs, ways = firsts(found), seconds(found)
    return tuple(
        Chart(
            title=f"Accurate counts by {what}",
            x=what,
            y="counts within 10 %",
            log_x=True,
            series=tuple(
                Series(name=log, points=tuple((v, one.accurate.mean) for v, one in found[log, what].items()))
                for log in logs
            ),
        )
        for what in ways
    )


def _spread(values: list[float]) -> float:
    return max(values) / min(values) - 1 if min(values) else 1.0


def _rising(by: dict[float, Found], what: str) -> bool:
    """Whether the largest r has more than the paper's own, which has more than the smallest that is not clamped."""
    means = [getattr(one, what).mean for value, one in by.items() if value >= 0.1]
    return means == sorted(means) and means[0] < means[-1]


REMARKS = (
    (
        "Erratum 11: below r = 0.0869 the printed noise would cost more than was reserved (2.0 times at "
        "0.05, 9.9 times at 0.02). Here it is clamped, so the wanted error is missed there, and the share "
        "off says by how much."
    ),
)

PCR_PARAMETERS = Study(
    name="pcr-parameters",
    title="Private Count Release: what its parameters do",
    source="Private Count Release (Rogers 2024), Algorithm 2 and the end of section 3",
    question="Do r, the number of rows and the first epsilon matter?",
    run=parameters,
)
